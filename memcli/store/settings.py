"""The settings in force: values from the user's file, the workspace's file and `MEM_*`; and writing one into a file.

A workspace's `mem.yaml` may have come with a clone, so it can set only what neither runs, connects nor spends.
"""

from collections.abc import Iterator, Mapping
from datetime import tzinfo
from functools import lru_cache
from io import StringIO
from pathlib import Path
from typing import Any

from ..data import table
from ..dataclass import dataclass
from ..errors import NotFoundError, RefusedError, UsageError
from ..formats.entry_fields import TYPES
from ..formats.frontmatter.document import load_mapping
from ..formats.text_lines import BOM, Problem, conflict_marker, decoded
from . import atomic_files, file_steps
from .layouts import KINDS, LAYOUTS, adjusted


@dataclass(frozen=True)
class Setting:
    """One row of the table of settings."""

    name: str  # with dots
    default: Any  # bool, int, float, str or tuple of str: the type its values have
    user_only: bool = False  # read only from the user's own file and the environment
    is_secret: bool = False  # may hold a secret, and is not shown unasked
    choices: tuple[str, ...] = ()
    low: float | None = None  # the least number allowed
    high: float | None = None  # and the largest

    @property
    def doc(self) -> str:
        """Return what it does, in a sentence."""
        return str(table("settings.toml")[self.name])

    @property
    def variable(self) -> str:
        """Return the name of the environment variable that sets it."""
        return "MEM_" + self.name.upper().replace(".", "_")

    def read(self, value: object, where: str = "") -> Any:
        """Return a value with the default's type; raise UsageError, naming `where` it stands, if it is not allowed."""
        subject = f"{where}: {self.name}" if where else self.name
        try:
            result = _READERS[type(self.default)](value)
        except (TypeError, ValueError):
            kind = _KINDS[type(self.default)]
            raise UsageError(f"{subject} should be {kind}, not {value!r}") from None
        given = result if isinstance(result, tuple) else (result,)
        if self.choices and any(choice not in self.choices for choice in given):
            raise UsageError(f"{subject} is one of {', '.join(self.choices)}, not {value!r}")
        if isinstance(result, int | float) and not isinstance(result, bool):
            if self.low is not None and result < self.low:
                raise UsageError(f"{subject} is at least {self.low:g}, not {result:g}")
            if self.high is not None and result > self.high:
                raise UsageError(f"{subject} is at most {self.high:g}, not {result:g}")
        return result


_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


def _bool(value: object) -> bool:
    if isinstance(value, bool):
        return value
    word = str(value).lower()
    if not isinstance(value, str | int) or word not in (*_TRUE, *_FALSE):
        raise ValueError
    return word in _TRUE


def _int(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise TypeError
    return int(value)


def _float(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise TypeError
    number = float(value)
    if number != number or number in (float("inf"), float("-inf")):
        raise ValueError
    return number


def _str(value: object) -> str:
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        text = str(value).strip()
        return "" if text in ("''", '""') else text  # a file of variables that no shell reads keeps its quotes
    raise TypeError


def _list(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(value.replace(",", " ").split())
    if isinstance(value, Mapping):
        return tuple(f"{name}={_str(item)}" for name, item in value.items())
    if isinstance(value, list | tuple):
        return tuple(_str(item) for item in value)
    raise TypeError


_READERS: dict[type, Any] = {bool: _bool, int: _int, float: _float, str: _str, tuple: _list}
_KINDS = {bool: "true or false", int: "a whole number", float: "a number", str: "a text", tuple: "a list"}

_DECAY_DAYS = {
    "correction": 365.0,
    **dict.fromkeys(("preference", "constraint"), 90.0),
    **dict.fromkeys(("fact", "entity", "procedure", "lesson"), 30.0),
    "observation": 7.0,
}

TABLE = (
    Setting("memory.enabled", True),
    Setting("memory.writing", "tell", choices=("off", "ask", "tell", "quiet")),
    Setting("timezone", ""),
    Setting("layout", "mem", choices=tuple(LAYOUTS)),
    Setting("paths.memory", ""),
    Setting("paths.history", ""),
    Setting("paths.notes", ""),
    Setting("paths.entries", ""),
    Setting("write.source", "", user_only=True, choices=("", "user", "observed", "inferred")),
    Setting("write.type", "fact"),
    *(Setting(f"write.scope.{kind}", "", user_only=True) for kind in TYPES),
    Setting("workspaces", (), user_only=True),
    Setting("write.merge_similarity", 0.0, low=0, high=1),
    Setting("search.limit", 5, low=1, high=1000),
    Setting("search.kinds", ("entry", "memory", "history", "note"), choices=(*KINDS, "document")),
    Setting("search.conversations", True),
    Setting("search.min_score", -1.0, low=-1, high=1),
    Setting("search.vector_weight", -1.0, low=-1, high=1),
    Setting("search.embed_budget", 2.0, low=0, high=600),
    Setting("decay.enabled", True),
    Setting("decay.auto", False),
    Setting("decay.threshold", 0.1, low=0, high=1),
    *(Setting(f"decay.days.{kind}", days, low=0.01) for kind, days in _DECAY_DAYS.items()),
    Setting("decay.tags", ()),
    Setting("recall.soft_budget", 1800, low=0),
    Setting("recall.hard_budget", 3500, low=0),
    Setting("recall.share.long_term", 0.4, low=0, high=1),
    Setting("recall.share.notes", 0.1, low=0, high=1),
    Setting("recall.share.recent", 0.1, low=0, high=1),
    Setting("recall.share.relevant", 0.3, low=0, high=1),
    Setting("recall.share.documents", 0.1, low=0, high=1),
    Setting("recall.limit.working", 6, low=0, high=1000),
    Setting("recall.limit.episodic", 8, low=0, high=1000),
    Setting("recall.limit.semantic", 6, low=0, high=1000),
    Setting("recall.limit.procedural", 4, low=0, high=1000),
    Setting("recall.limit.documents", 3, low=0, high=1000),
    Setting("recall.limit.rules", 3, low=0, high=1000),
    Setting("recall.days", 7, low=0, high=366),
    Setting("recall.recency_weight", 0.3, low=0, high=1),
    Setting("recall.min_score", 0.12, low=0, high=1),
    Setting("recall.cutoff", 0.5, low=0, high=1),
    Setting("recall.embed_budget", 0.3, low=0, high=600),
    Setting("recall.turns", 50, low=1),
    Setting("recall.gate", -1.0, low=-1, high=1),
    Setting("recall.topic", -1.0, low=-1, high=1),
    Setting("recall.judge", False, user_only=True),
    Setting("context.notes", "", choices=("", "digest", "raw", "off")),
    Setting("index.include", ()),
    Setting("index.backend", "embedded", user_only=True, choices=("embedded", "postgres")),
    Setting("index.dsn", "", user_only=True, is_secret=True),
    Setting("index.allow_superuser", False, user_only=True),
    Setting("index.workspace", ""),
    Setting("promote.enabled", True),
    Setting("promote.auto", False),
    Setting("promote.budget", 4096, low=0, high=1_000_000),
    Setting("promote.strength", 3, low=1),
    Setting("promote.trust", 0.75, low=0, high=1),
    Setting("promote.confidence", 0.75, low=0, high=1),
    Setting("memory.budget", 8192, low=0),
    Setting("history.single_file", "", choices=("", "on", "off")),
    Setting("session.soft_limit", 0, low=0),
    Setting("session.hard_limit", 0, low=0),
    Setting("session.compact", True),
    Setting("llm.model", "", user_only=True),
    Setting("llm.api_base", "", user_only=True),
    Setting("llm.api_key", "", user_only=True, is_secret=True),
    Setting("llm.command", "", user_only=True),
    Setting("llm.timeout", 0.0, user_only=True, low=0, high=3600),
    Setting("llm.decides", False, user_only=True),
    Setting("consolidate.enabled", True),
    Setting("consolidate.window", 50, low=1),
    Setting("consolidate.keep", 10, low=0),
    Setting("consolidate.page", True),
    Setting("consolidate.page_size", 8192, low=256),
    Setting("consolidate.episodes", True),
    Setting("hooks.enabled", True),
    Setting("hooks.nudge", 6, low=0, high=1000),
    Setting("hooks.within", 1500, low=50, high=60_000),
    Setting("mcp.warm", True, user_only=True),
    Setting("secrets.personal", "refuse", choices=("off", "redact", "refuse")),
    Setting(
        "secrets.personal_rules",
        ("card-number", "national-id", "iban"),
        choices=("card-number", "national-id", "iban", "email", "phone"),
    ),
    Setting("secrets.allow", ()),
    Setting("lock.wait", 10.0, low=0, high=3600),
    Setting("sync.timeout", 120.0, low=1, high=86_400),
    Setting("grep.timeout", 5.0, low=0.1, high=600),
    Setting("embedding.model", "", user_only=True),
    Setting("embedding.threads", 0, user_only=True, low=0, high=256),
)
BY_NAME = {setting.name: setting for setting in TABLE}


def written(value: Any) -> str:
    """Return a value as a person would write it in a settings file."""
    if isinstance(value, tuple):
        return ", ".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


FORMAT_KEY = "format"
FORMAT = 1
"""The format of a workspace's files that this mem writes; `mem.yaml` says it, and one that does not has the first."""


@dataclass(frozen=True)
class Settings:
    """The values in force, each with the place it came from."""

    values: Mapping[str, Any]
    places: Mapping[str, str]
    ignored: tuple[str, ...] = ()  # what a file said and was not heeded, one line each

    def __getitem__(self, name: str) -> Any:
        return self.values[name]


def require_known_format(path: Path, value: Any) -> None:
    """Raise UsageError where the format that a workspace's settings state is no number.

    Raise RefusedError where a later mem keeps the files otherwise: this one would misread or damage them.
    """
    try:
        number = int(str(value))
    except ValueError:
        raise UsageError(f"{path}: {FORMAT_KEY} {value!r} is no number", f"write {FORMAT_KEY}: {FORMAT}") from None
    if number > FORMAT:
        raise RefusedError(
            f"{path}: the workspace has format {number}, and this mem knows {FORMAT}",
            "install a newer one, as README says",
        )


def load_settings(
    user_file: Path, workspace_file: Path | None, environ: Mapping[str, str], *, is_believed: bool = True
) -> Settings:
    """Settle every setting: defaults, then the user's file, then the workspace's, then `MEM_*`, where empty means none.

    Raises UsageError for a value of the wrong kind; unknown names and names a workspace may not set are
    passed over and told, and so is what is wrong in the file of a workspace that is not believed.
    """
    values = {setting.name: setting.default for setting in TABLE}
    places = dict.fromkeys(values, "default")
    ignored: list[str] = []
    for path, trusted in ((user_file, True), (workspace_file, False)):
        if path is None:
            continue
        is_lenient = not trusted and not is_believed
        for name, value in _file_values(path, ignored, is_lenient=is_lenient):
            setting = BY_NAME.get(name)
            try:
                if name == FORMAT_KEY and not trusted:
                    require_known_format(path, value)
                elif setting is None:
                    ignored.append(f"{path}: unknown setting {name}")
                elif setting.user_only and not trusted:
                    why = f"taken only from {user_file}, since a folder may come from others"
                    ignored.append(f"{path}: {name} is {why}")
                else:
                    values[name] = setting.read(value, str(path))
                    places[name] = str(path)
            except UsageError as error:
                if not is_lenient:
                    raise
                ignored.append(error.message)
    if not is_believed:
        for name in (name for name, file in places.items() if file == str(workspace_file)):
            try:
                _require_usable(name, values)
            except UsageError as error:
                values[name], places[name] = BY_NAME[name].default, "default"
                ignored.append(f"{workspace_file}: {error.message}")
    for setting in TABLE:
        given = environ.get(setting.variable)
        # Empty means none where none is allowed, whatever the files say; elsewhere it is as if it were not there.
        if given or (given is not None and setting.default == ""):
            values[setting.name] = setting.read(given, setting.variable)
            places[setting.name] = setting.variable
    return Settings(values, places, tuple(ignored))


def _require_usable(name: str, values: Mapping[str, Any]) -> None:
    """Refuse a path or a time zone that what uses it would stumble over."""
    if name.startswith("paths."):
        adjusted(LAYOUTS[values["layout"]], {name.removeprefix("paths."): values[name]})
    elif name == "timezone" and values[name]:
        try:
            zone_of(values[name])
        except UsageError as error:
            raise UsageError(f"{name}: {error.message}", error.fix) from None


def zone_of(name: str) -> tzinfo:
    """Return the time zone of a name; raise UsageError if there is none."""
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise UsageError(f"no time zone {name!r}", "use a name such as Europe/Lisbon") from None


def _file_values(path: Path, faults: list[str], *, is_lenient: bool) -> Iterator[tuple[str, object]]:
    """Yield the values of a file; what is wrong with the file is raised, or added to `faults` if that `is_lenient`.

    In the middle of a merge the values of our side count, as before it: else the command that merges could not run.
    """
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise file_steps.refusal("read", path, error) from None
    text, damage = decoded(data)
    line = conflict_marker(text)
    if line is not None:
        from ..formats.three_way import sides_of

        faults.append(f"{path}: line {line}: a git conflict marker: ours count until it is resolved")
        text = (sides_of(text) or ("", text, ""))[1]
    mapping, problem = _parsed(text)
    problem = damage or problem
    if problem and not is_lenient:
        raise UsageError(f"{path}:{problem.line}: {problem.reason}")
    if problem:
        faults.append(f"{path}: line {problem.line}: {problem.reason}")
        return
    yield from _dotted(mapping, "")


@lru_cache(maxsize=4)
def _parsed(text: str) -> tuple[Mapping[str, object], Problem | None]:
    """Read a settings file, once a process: each workspace of a command asks for the user's own."""
    return load_mapping(text)


def stated_settings(text: str) -> dict[str, object]:
    """Return what a settings file says, by dotted name, whatever of it is heeded; nothing where it is no YAML."""
    mapping, problem = load_mapping(text)
    return {} if problem else dict(_dotted(mapping, ""))


def _dotted(mapping: Mapping[str, object], prefix: str) -> Iterator[tuple[str, object]]:
    for key, value in mapping.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping) and name not in BY_NAME:
            yield from _dotted(value, f"{name}.")
        elif value is not None:
            yield name, value


def set_in_file(path: Path, name: str, value: Any) -> None:
    """Write one dotted setting into a YAML file, made if there is none; comments, order, quoting and line ends stay."""
    path = path.resolve()  # people keep their settings as a link into a folder of dotfiles
    from ruamel.yaml import YAML
    from ruamel.yaml.comments import CommentedMap
    from ruamel.yaml.error import YAMLError

    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 4096
    try:
        before = atomic_files.read(path)
    except NotFoundError:
        before = None
    written = (before or b"").decode("utf-8")
    newline = "\r\n" if "\r\n" in written else "\n"
    text = written.removeprefix(BOM).replace("\r\n", "\n")
    try:
        root = yaml.load(text)
    except YAMLError as error:
        raise RefusedError(f"{path} is not YAML", str(error).splitlines()[0]) from None
    if root is None:
        # A file of comments alone loads as nothing, and dumping nothing would lose them.
        root = CommentedMap()
        head = text if not text or text.endswith("\n") else text + "\n"
    else:
        head = ""
    if not isinstance(root, CommentedMap):
        raise RefusedError(f"{path} is not a map of settings", "write `name: value` lines")
    section, key = root, name
    while "." in key and key not in section:
        first, subkey = key.split(".", 1)
        if first in section and not isinstance(section[first], CommentedMap):
            break
        section, key = section.setdefault(first, CommentedMap()), subkey
    section[key] = list(value) if isinstance(value, tuple) else value
    out = StringIO()
    yaml.dump(root, out)
    bom = BOM if written.startswith(BOM) else ""
    data = (bom + (head + out.getvalue()).replace("\n", newline)).encode("utf-8")
    if before is None:
        atomic_files.create(path, data)
    elif data != before:
        atomic_files.replace(path, data, atomic_files.digest(before))
