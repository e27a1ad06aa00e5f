"""The settings in force: values from the user's file, the workspace's file and `MEM_*`; and writing one into a file.

A workspace's `mem.yaml` may have come with a clone, so it can set only what neither runs, connects nor spends.
"""

from collections.abc import Iterator, Mapping
from datetime import tzinfo
from io import StringIO
from pathlib import Path
from typing import Any

from ..dataclass import dataclass
from ..errors import NotFoundError, RefusedError, UsageError
from ..formats.frontmatter.document import load_mapping
from ..formats.text_lines import BOM, conflict_marker, decoded
from . import atomic_files, file_steps
from .layouts import LAYOUTS, adjusted
from .settings_table import BY_NAME, TABLE

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


def format_number(path: Path, value: Any) -> int:
    """Return the format that a workspace's settings state; raise UsageError where it is no number.

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
    return number


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
                    format_number(path, value)
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
        for name in (name for name, place in places.items() if place == str(workspace_file)):
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


def _file_values(path: Path, told: list[str], *, is_lenient: bool) -> Iterator[tuple[str, object]]:
    """Yield the values of a file; what is wrong with the file is raised, or added to `told` if that `is_lenient`.

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

        told.append(f"{path}: line {line}: a git conflict marker: ours count until it is resolved")
        text = (sides_of(text) or ("", text, ""))[1]
    mapping, problem = load_mapping(text)
    problem = damage or problem
    if problem and not is_lenient:
        raise UsageError(f"{path}:{problem.line}: {problem.reason}")
    if problem:
        told.append(f"{path}: line {problem.line}: {problem.reason}")
        return
    yield from _dotted(mapping, "")


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
    place, key = root, name
    while "." in key and key not in place:
        first, rest = key.split(".", 1)
        if first in place and not isinstance(place[first], CommentedMap):
            break
        place, key = place.setdefault(first, CommentedMap()), rest
    place[key] = list(value) if isinstance(value, tuple) else value
    out = StringIO()
    yaml.dump(root, out)
    bom = BOM if written.startswith(BOM) else ""
    data = (bom + (head + out.getvalue()).replace("\n", newline)).encode("utf-8")
    if before is None:
        atomic_files.create(path, data)
    elif data != before:
        atomic_files.replace(path, data, atomic_files.digest(before))
