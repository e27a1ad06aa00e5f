"""Settings: one table with type, default and description.

A value comes from `MEM_*`, the user's config.yaml or the workspace's mem.yaml, in this order.
Settings that run a command or connect somewhere are never read from a workspace, because a
workspace may come from a stranger.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from ..errors import UsageError
from ..formats import CONTROL, FrontmatterError, frontmatter
from .files import read_small_text

# A line of its own, or the end of `limit: 5  # hits`. A `#` between quotes is text.
COMMENT = re.compile(r"(?m)^[ \t]*#.*\n?|[ \t]+#[^\"'\n]*$")
# `host=db password='a b'` and `postgresql://ana:secret@host/memory`
PASSWORD = re.compile(r"(?i)(password\s*=\s*)(?:'(?:[^'\\]|\\.)*'|[^\s&]+)|(://[^:/@\s]*:)\S*(?=@)")
UNREADABLE = "all settings are ignored, and no new files are read"
LAYOUT = re.compile(r"(?m)^layout: *(standard|vault|claude)\b")  # in mem.yaml
BLANK_LINE = re.compile(r"(?m)^[ \t]*\n")


class Setting(NamedTuple):
    """One setting. The type of its default is its type."""

    default: Any
    help: str
    is_user_only: bool = False
    choices: tuple[str, ...] = ()
    limits: tuple[float, float] | None = None


class SettingProblem(NamedTuple):
    """A setting or a whole file of settings that is ignored."""

    path: Path
    line: int
    reason: str


SETTINGS: dict[str, Setting] = {
    "timezone": Setting(
        "", "time zone of notes and history, such as Europe/Lisbon; default: the system's"
    ),
    "layout": Setting(
        "standard",
        "standard, vault (read a folder of notes in place) or claude (Claude Code's memory folder)",
        choices=("standard", "vault", "claude"),
    ),
    "vault.daily_note": Setting(
        False, "let `mem note` write into the daily note of the Obsidian vault"
    ),
    "project": Setting(
        "", "project of new memories; default: the name of the folder of the repository"
    ),
    "owner": Setting("", "owner of new memories in a workspace that several people share"),
    "share.history": Setting(False, "commit HISTORY files of a shared workspace"),
    "search.limit": Setting(10, "hits that a search shows", limits=(1, 1000)),
    "search.vector_weight": Setting(
        -1.0, "weight of meaning against words, 0 to 1 (-1: measured weights)", limits=(-1, 1)
    ),
    "search.min_score": Setting(
        0.15, "hits below this relevance are not shown, 0 to 1", limits=(0, 1)
    ),
    "index.include": Setting((), "more folders of documents inside the workspace to search"),
    "index.exclude": Setting((), "patterns of files that are not searched"),
    "secrets.personal": Setting(
        ("card-number", "national-id", "iban"),
        "personal data that the scanner also finds: card-number, national-id, iban, email, phone",
        choices=("card-number", "national-id", "iban", "email", "phone"),
    ),
    "llm.model": Setting(
        "",
        "model that litellm or llm.url calls, such as anthropic/claude-haiku-4-5",
        is_user_only=True,
    ),
    "llm.command": Setting(
        "",
        "command that answers a prompt on standard input, such as `claude -p`",
        is_user_only=True,
    ),
    "llm.url": Setting("", "OpenAI-compatible server; key in OPENAI_API_KEY", is_user_only=True),
    "llm.timeout": Setting(30.0, "seconds to wait for an answer", limits=(1, 600)),
    "llm.input_tokens": Setting(
        125_000, "tokens that the model accepts", limits=(1_000, 10_000_000)
    ),
    "llm.judge": Setting(
        False, "ask the model whether memories contradict each other or fit a prompt", True
    ),
    "team.dsn": Setting(
        "",
        "PostgreSQL server of your team, such as service=team or postgresql://ana@host/memory",
        is_user_only=True,
    ),
    "team.space": Setting(
        "", "the team's space that shares this workspace; only its own mem.yaml can name it"
    ),
    "consolidate.automatic": Setting(True, "consolidate conversations in the background"),
    "consolidate.messages": Setting(
        50, "unprocessed messages at which a conversation is consolidated", limits=(2, 10_000)
    ),
    "consolidate.keep": Setting(
        10, "latest messages of a running conversation that are left for later", limits=(0, 1_000)
    ),
    "consolidate.idle_minutes": Setting(
        60, "minutes after which a conversation counts as ended", limits=(1, 100_000)
    ),
    "compact.tokens": Setting(
        100_000, "tokens at which a conversation is compacted", limits=(1_000, 10_000_000)
    ),
    "compact.keep_tokens": Setting(
        20_000, "latest tokens that a compaction leaves in place", limits=(0, 1_000_000)
    ),
    "page.bytes": Setting(
        8192,
        "size of MEMORY.md in bytes above which a model shortens it",
        limits=(1_024, 1_000_000),
    ),
    "recall.tokens": Setting(1_800, "usual size of a recall in tokens", limits=(50, 100_000)),
    "recall.most_tokens": Setting(
        3_500, "largest size of a recall in tokens", limits=(50, 100_000)
    ),
    "recall.prompt_tokens": Setting(800, "most tokens added to a prompt", limits=(0, 100_000)),
    "recall.start_tokens": Setting(
        600, "most tokens at the start, in addition to MEMORY.md", limits=(0, 100_000)
    ),
    "recall.action_tokens": Setting(150, "most tokens before an action", limits=(0, 10_000)),
    "recall.late": Setting(False, "deliver memories one turn later, so that no agent waits"),
    "recall.retention_weight": Setting(
        0.3, "weight of age and use in recall, 0 to 1", limits=(0, 1)
    ),
    "decay.max_fraction": Setting(
        0.25, "share of the active memories that may fade in one run", limits=(0, 1)
    ),
    "sync.sessions": Setting(
        False, "let `mem sync` send conversations, if you are the only user of the repository", True
    ),
    "sync.timeout": Setting(60.0, "seconds that `mem sync` waits for the remote", limits=(1, 3600)),
    "notify": Setting(True, "print a line when something was saved for you"),
    "undo.commands": Setting(200, "commands in the undo log", limits=(1, 10_000)),
    "undo.days": Setting(90, "days after which a command leaves the undo log", limits=(1, 3650)),
    "editor": Setting(
        "", "command that edits a file; default: $VISUAL or $EDITOR", is_user_only=True
    ),
    "pager": Setting(
        "", "command that shows long output; default: $PAGER or less", is_user_only=True
    ),
}


class Settings:
    """The settings in effect for one workspace."""

    def __init__(
        self,
        values: Mapping[str, Any],
        sources: Mapping[str, str],
        problems: Sequence[SettingProblem] = (),
        local_zone: str = "",  # $TZ, which may also be a rule such as CET-1CEST
    ) -> None:
        self.values = values
        self.sources = sources
        self.problems = problems
        self.local_zone = local_zone

    def __getitem__(self, name: str) -> Any:
        return self.values.get(name, SETTINGS[name].default)

    @property
    def unreadable(self) -> dict[str, str]:
        """The names of files that do not parse, with the reason. Any new memory may be private."""
        return {
            path.name: reason for path, _, reason in self.problems if reason.startswith(UNREADABLE)
        }

    @property
    def zone(self) -> ZoneInfo:
        for name in (str(self["timezone"]), self.local_zone, get_system_zone()):
            with suppress(KeyError, ValueError, OSError):
                return ZoneInfo(name)
        return ZoneInfo("UTC")


def read_settings(root: Path, config_file: Path | None, environment: Mapping[str, str]) -> Settings:
    """Read the settings of a workspace. A wrong value in a file is a problem, and not used.

    Raises UsageError for a wrong value in a variable.
    """
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    problems: list[SettingProblem] = []
    for source, path in (("workspace", root / "mem.yaml"), ("user", config_file)):
        if path is None:
            continue
        try:
            text = read_small_text(path)
            if not text and path.is_file() and path.stat().st_size:
                raise FrontmatterError("the file is too large, or may not be read")
            fields = parse_settings(text)
        except FrontmatterError as error:
            reason = f"{UNREADABLE}: {error.reason}"
            # Otherwise, mem would write its own files between the notes of a vault.
            for layout in LAYOUT.findall(text) if source == "workspace" else ():
                values["layout"] = layout
            # It counts the fence above a frontmatter.
            problems.append(SettingProblem(path, max(error.line - 1, 1), reason))
            continue
        for name, value in fields.items():
            try:
                parsed = parse_setting(name, value)
                if SETTINGS[name].is_user_only and source == "workspace":
                    raise UsageError(f"only your own settings can have {name}")
            except UsageError as error:
                line = find_line(text, name)
                problems.append(SettingProblem(path, line, f"{error.message}: ignored"))
                continue
            values[name] = parsed
            sources[name] = source
    for name in SETTINGS:
        variable = "MEM_" + name.upper().replace(".", "_")
        if environment.get(variable):
            values[name] = parse_setting(name, environment[variable])
            sources[name] = variable
    return Settings(values, sources, problems, environment.get("TZ", ""))


def parse_settings(text: str) -> dict[str, Any]:
    """Return the settings in a text by their dotted names. Raises FrontmatterError."""
    # The YAML library takes 15 ms to import, and most settings files are simple.
    plain = BLANK_LINE.sub("", COMMENT.sub("", text))
    fields = frontmatter.parse_simple(plain if plain.endswith("\n") else f"{plain}\n")
    if not plain.strip():
        return {}
    if fields is None:
        fields = frontmatter.parse_yaml(text)
    return flatten(fields)


def find_line(text: str, name: str) -> int:
    """Return the line of a setting in a file, or 1 if its key has an unusual spelling."""
    # In a nested map, the line has only the last part of the name.
    for key in (name, name.rpartition(".")[2]):
        match = re.search(rf"(?m)^[^#\n]*\b{re.escape(key)}\b.*:", text)
        if match:
            return text.count("\n", 0, match.start()) + 1
    return 1


def flatten(fields: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return nested maps as dotted names: {"search": {"limit": 5}} is {"search.limit": 5}."""
    flat = {}
    for name, value in fields.items():
        if isinstance(value, Mapping):
            flat.update(flatten(value, f"{prefix}{name}."))
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def parse_setting(name: str, value: Any) -> Any:
    """Return a value in the type of a setting. Raises UsageError."""
    if name not in SETTINGS:
        raise UsageError(f"unknown setting {name!r}", "list the settings: mem config list")
    setting = SETTINGS[name]
    default = setting.default
    text = str(value).strip()
    # Before the numbers, because in Python a bool is an int.
    if isinstance(default, bool):
        if text.lower() in ("true", "yes", "on", "1"):
            return True
        if text.lower() in ("false", "no", "off", "0"):
            return False
        raise UsageError(f"{name} must be true or false, not {text!r}")
    if isinstance(default, tuple):
        items = value if isinstance(value, list | tuple) else text.strip("[]").split(",")
        names = tuple(str(item).strip() for item in items if str(item).strip())
        for item in names:
            if setting.choices and item not in setting.choices:
                known = ", ".join(setting.choices)
                raise UsageError(f"{name} can contain {known}, not {item!r}")
        return names
    if isinstance(default, int | float):
        try:
            number = type(default)(text)
            low, high = setting.limits or (number, number)
            if not low <= number <= high:
                raise UsageError(f"{name} must be between {low} and {high}")
            return number
        except ValueError:
            raise UsageError(f"{name} must be a number, not {text!r}") from None
    if setting.choices and text not in setting.choices:
        raise UsageError(f"{name} must be one of {', '.join(setting.choices)}, not {text!r}")
    if name == "timezone":
        check_zone(text)
    # It becomes part of memories and of the output, and a clone may have set it.
    if CONTROL.search(text) or "\n" in text:
        raise UsageError(f"{name} contains a control character")
    return text


def check_zone(name: str) -> None:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise UsageError(f"unknown time zone {name!r}", "for example: Europe/Lisbon") from None


def get_system_zone() -> str:
    try:
        target = str(Path("/etc/localtime").readlink())
    except OSError:
        return "UTC"
    # The link leads to /usr/share/zoneinfo/Europe/Lisbon, on macOS to /var/db/timezone/zoneinfo/….
    return target.partition("zoneinfo/")[2] or "UTC"


def edit_settings_text(text: str, name: str, value: Any) -> str:
    """Return the text of a settings file with one setting changed, or removed if None."""
    from io import StringIO

    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    yaml = YAML()
    # A person's comments, order and quotes survive.
    yaml.preserve_quotes = True
    try:
        data = yaml.load(text) if text.strip() else None
    except YAMLError as error:
        reason = str(error).splitlines()[0]
        raise UsageError(
            f"the settings do not parse: {reason}", "fix them: mem config edit"
        ) from None
    if data is not None and not hasattr(data, "items"):
        raise UsageError("the settings are not `name: value` lines", "fix them: mem config edit")
    if data is None:
        # Comments alone are no map. They stay above the first setting.
        comments = text if not text or text.endswith("\n") else f"{text}\n"
        line = "" if value is None else f"{name}: {frontmatter.format_value(value)}\n"
        return comments + line
    remove_setting(data, name)
    if value is not None:
        data[name] = list(value) if isinstance(value, tuple) else value
    stream = StringIO()
    yaml.dump(data, stream)
    result = stream.getvalue()
    # That is how ruamel.yaml writes an empty map.
    return "" if result.strip() == "{}" else result


def remove_setting(data: Any, name: str) -> None:
    """Remove a setting in its dotted and in its nested form."""
    data.pop(name, None)
    group, _, rest = name.partition(".")
    if rest and isinstance(data.get(group), dict):
        data[group].pop(rest, None)
        if not data[group]:
            del data[group]


def format_setting(value: Any) -> str:
    """Return a value to show."""
    return frontmatter.format_value(hide_password(value))


def hide_password(value: Any) -> Any:
    """Return a value without the password that a connection string may contain."""
    return PASSWORD.sub(r"\1\2…", value) if isinstance(value, str) else value
