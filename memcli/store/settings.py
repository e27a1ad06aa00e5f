"""Every setting there is: one annotated table, which also makes the docs. Values come from files and `MEM_*`.

A workspace's `mem.yaml` may have come with a clone, so it can set only what neither runs, connects nor spends.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import tzinfo
from pathlib import Path
from typing import Any

from ..errors import RefusedError, UsageError
from ..formats.frontmatter.document import load_mapping
from ..formats.text_lines import decoded
from . import file_steps
from .layouts import KINDS, LAYOUTS, adjusted


@dataclass(frozen=True)
class Setting:
    """One setting: its dotted name, default, what it does and who may set it."""

    name: str
    default: Any
    doc: str
    user_only: bool = False  # read only from the user's own file and the environment
    is_secret: bool = False  # may hold a secret, and is not shown unasked
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None

    @property
    def variable(self) -> str:
        """Name the environment variable that sets it."""
        return "MEM_" + self.name.upper().replace(".", "_")

    def read(self, value: object, where: str) -> Any:
        """Check a value from a file or a variable and give it the default's type."""
        try:
            result = _READERS[type(self.default)](value)
        except (TypeError, ValueError):
            kind = _KINDS[type(self.default)]
            raise UsageError(f"{where}: {self.name} should be {kind}, not {value!r}") from None
        given = result if isinstance(result, tuple) else (result,)
        if self.choices and any(one not in self.choices for one in given):
            raise UsageError(f"{where}: {self.name} is one of {', '.join(self.choices)}, not {value!r}")
        if isinstance(result, int | float) and not isinstance(result, bool):
            if self.low is not None and result < self.low:
                raise UsageError(f"{where}: {self.name} is at least {self.low:g}, not {result:g}")
            if self.high is not None and result > self.high:
                raise UsageError(f"{where}: {self.name} is at most {self.high:g}, not {result:g}")
        return result


def _bool(value: object) -> bool:
    if isinstance(value, bool):
        return value
    words = {
        "true": True,
        "yes": True,
        "on": True,
        "1": True,
        "false": False,
        "no": False,
        "off": False,
        "0": False,
    }
    if isinstance(value, str | int) and str(value).lower() in words:
        return words[str(value).lower()]
    raise ValueError


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
        return str(value)
    raise TypeError


def _list(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(value.replace(",", " ").split())
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
    Setting("memory.enabled", True, "Memory as a whole: where it is off, nothing is kept, found or recalled."),
    Setting(
        "timezone",
        "",
        "Time zone of days and of the times in notes, such as Europe/Lisbon; empty: the system's.",
    ),
    Setting(
        "layout",
        "mem",
        "Where things live in this folder: mem's own way, or that of the tool whose folder it is.",
        choices=tuple(LAYOUTS),
    ),
    Setting("paths.memory", "", "Page of long-term memory, such as docs/MEMORY.md; empty: as the layout has it."),
    Setting("paths.history", "", "History files, such as log/HISTORY-{month}.md; empty: as the layout has it."),
    Setting("paths.notes", "", "Daily notes, such as journal/{date}.md; empty: as the layout has it."),
    Setting("paths.entries", "", "Folder of entries, such as docs/memories; empty: as the layout has it."),
    Setting(
        "write.source",
        "",
        "Source of a new entry where `write` is given none; empty: user if typed at a terminal, else observed.",
        user_only=True,
        choices=("", "user", "observed", "inferred"),
    ),
    Setting("write.type", "fact", "Type of a new entry where `write` is given none."),
    Setting(
        "write.merge_similarity",
        0.0,
        "Cosine from which a new text confirms the entry it is like, whatever it says, both wordings kept; 0: never.",
        low=0,
        high=1,
    ),
    Setting("search.limit", 5, "Hits shown where `-n` is not given.", low=1, high=1000),
    Setting(
        "search.kinds",
        ("entry", "memory", "history", "note"),
        "What `search` looks through where `--kind` is not given.",
        choices=(*KINDS, "document"),
    ),
    Setting(
        "search.conversations",
        True,
        "Where the best hit is weak, search and recall look for passages of conversations too.",
    ),
    Setting(
        "search.min_score",
        -1.0,
        "Hits below this relevance are left out; -1: by what was measured for the model (0.02 for the built-in one).",
        low=-1,
        high=1,
    ),
    Setting(
        "search.vector_weight",
        -1.0,
        "Share of meaning against words in a hybrid search, from 0 to 1; below 0 it follows from the kind of text.",
        low=-1,
        high=1,
    ),
    Setting(
        "search.embed_budget",
        2.0,
        "Seconds a search may spend embedding new texts before it answers; the rest is found by its words.",
        low=0,
        high=600,
    ),
    Setting("decay.enabled", True, "Whether memories may be archived when they have faded."),
    Setting("decay.auto", False, "Whether `tend` archives what has faded."),
    Setting("decay.threshold", 0.1, "Entries whose score is below this have faded.", low=0, high=1),
    *(
        Setting(
            f"decay.days.{kind}", days, f"Time constant of {kind}: days in which its score falls to 37 %.", low=0.01
        )
        for kind, days in _DECAY_DAYS.items()
    ),
    Setting("decay.tags", (), "Days by tag, used in place of the type's, such as work=90."),
    Setting(
        "recall.soft_budget",
        1800,
        "Tokens of a pack after which no further memory is added; a token counts as 3.5 characters.",
        low=0,
    ),
    Setting("recall.hard_budget", 3500, "Tokens a pack never exceeds.", low=0),
    Setting("recall.share.long_term", 0.4, "Share of the pack for MEMORY.md; what is left goes on.", low=0, high=1),
    Setting("recall.share.notes", 0.1, "Share of the pack for the notes of today.", low=0, high=1),
    Setting("recall.share.recent", 0.1, "Share of the pack for the days before.", low=0, high=1),
    Setting("recall.share.relevant", 0.3, "Share of the pack for what fits the prompt.", low=0, high=1),
    Setting("recall.share.documents", 0.1, "Share of the pack for documents.", low=0, high=1),
    Setting("recall.limit.working", 6, "At most so many memories of this session in a pack.", low=0, high=1000),
    Setting("recall.limit.episodic", 8, "At most so many episodes, history records and older notes.", low=0, high=1000),
    Setting("recall.limit.semantic", 6, "At most so many facts, preferences and the like.", low=0, high=1000),
    Setting("recall.limit.procedural", 4, "At most so many procedures and lessons.", low=0, high=1000),
    Setting("recall.limit.documents", 3, "At most so many passages from `index.include`.", low=0, high=1000),
    Setting("recall.days", 7, "Days of recent context.", low=0, high=366),
    Setting(
        "recall.recency_weight",
        0.3,
        "How much age, use and trust order what is relevant: 0 not at all, 1 as much as relevance itself.",
        low=0,
        high=1,
    ),
    Setting("recall.min_score", 0.12, "What fits the prompt less than this is left out.", low=0, high=1),
    Setting("recall.cutoff", 0.5, "What fits less than this share of what fits best is left out.", low=0, high=1),
    Setting("recall.embed_budget", 0.3, "Seconds a recall may spend embedding new texts.", low=0, high=600),
    Setting("recall.turns", 50, "Turns of a session after which memories may be shown again.", low=1),
    Setting(
        "recall.gate",
        -1.0,
        "Relevance from which a turn gets memories where the gate is asked; below 0: as measured for the model.",
        low=-1,
        high=1,
    ),
    Setting(
        "recall.topic",
        -1.0,
        "Likeness of two turns below which the topic has changed; below 0: as measured for the model.",
        low=-1,
        high=1,
    ),
    Setting("recall.judge", False, "Let the LLM judge what is recalled before it is shown.", user_only=True),
    Setting(
        "index.include",
        (),
        "Folders of documents that recall and `search --kind document` read, such as ../docs; from a workspace's own"
        " file only within its repository.",
    ),
    Setting("promote.enabled", True, "Whether confirmed memories may become lines of MEMORY.md."),
    Setting("promote.auto", False, "Whether `tend` promotes what is confirmed."),
    Setting("promote.budget", 4096, "Bytes that promoted lines may take in MEMORY.md.", low=0, high=1_000_000),
    Setting("promote.strength", 3, "Confirmations that make a memory ready for MEMORY.md.", low=1),
    Setting("promote.trust", 0.75, "Trust that makes it so, together with `promote.confidence`.", low=0, high=1),
    Setting("promote.confidence", 0.75, "Confidence that makes it so, together with `promote.trust`.", low=0, high=1),
    Setting("memory.budget", 8192, "Bytes that MEMORY.md should not exceed; `check` says when it does.", low=0),
    Setting(
        "history.single_file",
        "",
        "Keep a second copy of history in one file, HISTORY.md, for older tools: on, off; empty: as the layout has it.",
        choices=("", "on", "off"),
    ),
    Setting(
        "session.soft_limit",
        0,
        "Tokens from which a session is compacted; 0: 0.8 of what the model takes, 100,000 where that is not known.",
        low=0,
    ),
    Setting(
        "session.hard_limit",
        0,
        "Tokens a session does not exceed; 0: what the model takes, 125,000 where that is not known.",
        low=0,
    ),
    Setting("session.compact", True, "Let `mem tend` make sessions shorter that are past their soft limit."),
    Setting(
        "llm.model",
        "",
        "LLM that consolidates, as litellm names it, such as gpt-4o-mini or ollama/llama3; empty: none, rules do it.",
        user_only=True,
    ),
    Setting("llm.api_base", "", "Address of an OpenAI-compatible server.", user_only=True),
    Setting(
        "llm.api_key",
        "",
        "Key for it; better set as MEM_LLM_API_KEY or the provider's own variable.",
        user_only=True,
        is_secret=True,
    ),
    Setting(
        "llm.command",
        "",
        "An LLM without a key: `claude`, `codex`, `gemini`, `llm` or `ollama MODEL`; or any command that reads a prompt"
        " on standard input and prints the answer.",
        user_only=True,
    ),
    Setting(
        "llm.timeout",
        0.0,
        "Seconds an answer may take; 0: 30 of a server, 120 of a command.",
        user_only=True,
        low=0,
        high=3600,
    ),
    Setting(
        "llm.decides",
        False,
        "Let the LLM settle by `mem review --judge` what the rules of trust allow; otherwise it only proposes.",
        user_only=True,
    ),
    Setting("consolidate.enabled", True, "Let `mem consolidate`, `mem tend` and hooks make memory of conversations."),
    Setting("consolidate.window", 50, "Messages that must wait before `mem tend` and hooks consolidate.", low=1),
    Setting("consolidate.keep", 10, "Latest messages they leave for next time.", low=0),
    Setting(
        "consolidate.page", True, "Let consolidation without an LLM put lines into MEMORY.md, between mem's marks."
    ),
    Setting(
        "consolidate.page_size", 8192, "Bytes of MEMORY.md past which an LLM is asked to make it shorter.", low=256
    ),
    Setting("consolidate.episodes", True, "Keep an episode of every conversation consolidated."),
    Setting("hooks.enabled", True, "Let the hooks of agents recall, and keep what was said."),
    Setting("hooks.notes", True, "Let them keep each turn: a line of the day's notes, and the session."),
    Setting("hooks.within", 1500, "Milliseconds a recall in a hook may take.", low=50, high=60_000),
    Setting(
        "secrets.personal",
        "refuse",
        "Personal data in what is written on purpose: refuse it as secrets are, redact it, or off; where nobody watches"
        " it is redacted.",
        choices=("off", "redact", "refuse"),
    ),
    Setting(
        "secrets.personal_rules",
        ("card-number", "national-id", "iban"),
        "Which personal data is meant: card-number, national-id, iban, email, phone.",
        choices=("card-number", "national-id", "iban", "email", "phone"),
    ),
    Setting(
        "secrets.allow",
        (),
        "Files in which `check` looks for no secrets, as in a .gitignore, such as entries/fixtures/.",
    ),
    Setting("lock.wait", 10.0, "Seconds to wait for another process that is writing.", low=0, high=3600),
    Setting("grep.timeout", 5.0, "Seconds a regular expression may work on the files.", low=0.1, high=600),
    Setting(
        "embedding.model",
        "",
        "Folder of a sentence-transformers model in ONNX form; empty: the all-MiniLM-L6-v2 that is installed with mem.",
        user_only=True,
    ),
    Setting(
        "embedding.threads",
        0,
        "Processor threads for the model; 0: all there are.",
        user_only=True,
        low=0,
        high=256,
    ),
)
FORMAT_KEY = "format"
FORMAT = 1
"""The format of a workspace's files that this mem writes; `mem.yaml` says it, and one that does not has the first."""
BY_NAME = {setting.name: setting for setting in TABLE}


def written(value: Any) -> str:
    """Write a value as a person would write it in a settings file."""
    if isinstance(value, tuple):
        return ", ".join(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True)
class Settings:
    """The values in force, each with the place it came from."""

    values: Mapping[str, Any]
    places: Mapping[str, str]
    ignored: tuple[str, ...] = ()  # what a file said and was not heeded, one line each

    def __getitem__(self, name: str) -> Any:
        return self.values[name]


def _require_format(path: Path, value: Any) -> None:
    """Refuse a workspace whose files a later mem keeps otherwise: this one would misread or damage them."""
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
    """Settle every setting: defaults, then the user's file, then the workspace's, then `MEM_*`.

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
        for name, value in _file_values(path, ignored if is_lenient else None):
            setting = BY_NAME.get(name)
            if name == FORMAT_KEY and not trusted:
                _require_format(path, value)
            elif setting is None:
                ignored.append(f"{path}: unknown setting {name}")
            elif setting.user_only and not trusted:
                ignored.append(f"{path}: {name} is taken only from {user_file}, since a folder may come from others")
            else:
                try:
                    values[name] = setting.read(value, str(path))
                except UsageError as error:
                    if not is_lenient:
                        raise
                    ignored.append(error.message)
                else:
                    places[name] = str(path)
    if not is_believed:
        for name in (name for name, place in places.items() if place == str(workspace_file)):
            try:
                _require_usable(name, values)
            except UsageError as error:
                values[name], places[name] = BY_NAME[name].default, "default"
                ignored.append(f"{workspace_file}: {error.message}")
    for setting in TABLE:
        if environ.get(setting.variable):
            values[setting.name] = setting.read(environ[setting.variable], setting.variable)
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
    """Give the time zone of a name; UsageError where there is none."""
    from zoneinfo import ZoneInfo

    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise UsageError(f"no time zone {name!r}", "use a name such as Europe/Lisbon") from None


def _file_values(path: Path, told: list[str] | None = None) -> Iterator[tuple[str, object]]:
    """Yield the values of a file; what is wrong with the file is raised, or added to `told` where that is given."""
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise file_steps.refusal("read", path, error) from None
    text, damage = decoded(data)
    mapping, problem = load_mapping(text)
    problem = damage or problem
    if problem and told is None:
        raise UsageError(f"{path}:{problem.line}: {problem.reason}")
    if problem and told is not None:
        told.append(f"{path}: line {problem.line}: {problem.reason}")
        return
    yield from _dotted(mapping, "")


def _dotted(mapping: Mapping[str, object], prefix: str) -> Iterator[tuple[str, object]]:
    for key, value in mapping.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping) and name not in BY_NAME:
            yield from _dotted(value, f"{name}.")
        elif value is not None:
            yield name, value
