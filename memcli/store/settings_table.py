"""The table of settings: names, defaults, allowed values, who may set them; `data/settings.toml` says what they do."""

from typing import Any

from ..data import table
from ..dataclass import dataclass
from ..errors import UsageError
from .layouts import KINDS, LAYOUTS


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

    def read(self, value: object, where: str) -> Any:
        """Return a value with the default's type; raise UsageError, naming `where`, if it is not allowed."""
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
        text = str(value).strip()
        return "" if text in ("''", '""') else text  # a file of variables that no shell reads keeps its quotes
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
    Setting("memory.enabled", True),
    Setting("timezone", ""),
    Setting("layout", "mem", choices=tuple(LAYOUTS)),
    Setting("paths.memory", ""),
    Setting("paths.history", ""),
    Setting("paths.notes", ""),
    Setting("paths.entries", ""),
    Setting("write.source", "", user_only=True, choices=("", "user", "observed", "inferred")),
    Setting("write.type", "fact"),
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
    Setting("index.include", ()),
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
    Setting("hooks.notes", True),
    Setting("hooks.within", 1500, low=50, high=60_000),
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
