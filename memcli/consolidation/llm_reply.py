"""Read an LLM's consolidation reply: a history paragraph, a memory page, entries.

Owns: which fields count, their types, what is mended and what is refused. Refuses: half a reply, a text of the
wrong kind, and any doubt; whoever asked keeps the messages and may ask again with the reason.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from .. import data
from ..dataclass import dataclass
from ..errors import ReplyError
from ..formats.entry import SOURCES, TYPES, checked
from ..formats.text_lines import clean_text
from ..llm.lenient_json import LARGEST, dicts, readings, without_thoughts

FIELDS = ("history_entry", "memory_update", "entries")

_NAMES = frozenset(FIELDS)
_CUT = ("length", "max_tokens", "max_output_tokens")
_FAILED = ("content_filter", "error", "refusal", "safety")
_HTML = re.compile(r"\s*(?:<!doctype\s+html|<html[\s>]|<\?xml|<head[\s>])", re.IGNORECASE)
_JSON_TYPES = {"string", "str", "text", "object", "array", "list", "integer", "number", "boolean"}
_TEMPLATE = re.compile(rf"^\s*\[YYYY-MM-DD|\{{\{{?(?:{'|'.join(FIELDS)})\}}?\}}|^\W*(?:{'|'.join(FIELDS)})\W*$")
_SENTINELS = {"(empty)", "null", "none", "n/a"}
_MOMENT = re.compile(r"\s*\[[\d\s:.TZ-]+\]|\s*\d{4}-\d\d-\d\d(?:[T ]\d\d:[\d:.Z]+)?")
_REPEATED = 0.7  # of the runs of three words, which a text shares with the instruction it only repeats
_LONGEST_PLACEHOLDER = 60  # words
_TYPE_NAMES = {
    "correction_by_user": "correction",
    "user_preference": "preference",
    "user_correction": "correction",
    "codebase": "fact",
    "decision": "fact",
    "rule": "constraint",
    "workflow": "procedure",
    "how_to": "procedure",
    "debugging": "lesson",
    "mistake": "lesson",
    "person": "entity",
}
_SOURCE_NAMES = {"user_stated": "user", "stated": "user", "assistant": "observed", "agent": "observed"}
_TEXT_KEYS = ("content", "text", "value", "summary", "body", "memory", "fact", "entry")


@dataclass(frozen=True)
class ReplyEntry:
    """One memory the LLM proposes."""

    content: str
    type: str = "fact"
    source: str = "inferred"
    files: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    message: int = 0  # the number of the message it cites; 0 where it cites none
    key: str = ""  # the slot it fills


@dataclass(frozen=True)
class Reply:
    """What the LLM proposes; an absent field is empty, an absent page None."""

    history_entry: str = ""
    memory_update: str | None = None
    entries: tuple[ReplyEntry, ...] = ()
    tier: int = 0  # of lenient: 1 the text itself, 2 an object in it, 3 fields by pattern, 4 a library's repair

    @property
    def is_empty(self) -> bool:
        """Tell whether the LLM found nothing worth keeping."""
        return not (self.history_entry or self.memory_update or self.entries)


def parse_reply(text: str, finish_reason: str | None = None, prompts: Sequence[str] = ()) -> Reply:
    """Read a reply, or raise ReplyError with one line that says what is wrong with it.

    `prompts` are what was asked, the instruction first. A cut-off reply is read only where all it began is closed. One
    that repeats a prompt is refused, since what it holds may be the conversation's words and not the model's.
    """
    if finish_reason in _FAILED:
        raise ReplyError(f"the model stopped with {finish_reason}")
    if _HTML.match(text):
        raise ReplyError("the answer is an HTML page, not a reply", "check llm.api_base")
    if _repeats(text, prompts):
        raise ReplyError("the reply repeats the prompt")
    ended = text.rstrip("` \t\r\n;,")[-1:] in ("}", "]")
    even = text.count("{") == text.count("}") and text.count("[") == text.count("]")
    reason = f"no JSON object with {', '.join(FIELDS)} in {_quoted(text)}"
    try:
        for values, tier in readings(text, FIELDS, cut=finish_reason in _CUT or not (ended and even)):
            try:
                if reply := _reply(values, tier):
                    _require_statements(reply, prompts)
                    return reply
            except ReplyError as error:
                reason = error.message
    except ValueError as error:
        raise ReplyError(f"unusable reply: {error}") from None
    if finish_reason in _CUT:
        reason = "the reply was cut off at the model's limit of tokens"
    raise ReplyError(reason)


def _reply(values: Sequence[Any], tier: int) -> Reply | None:
    """Join the objects found: the first to have a field gives it, and the entries of all are kept."""
    history, page, entries = "", None, []
    items = [item for value in values for item in dicts(value)]
    items = [item for outer in items for item in (outer, *_wrapped(outer)) if not _NAMES.isdisjoint(item)]
    for item in items:
        history = history or _text(item.get("history_entry"), "history_entry")
        page = page or _text(item.get("memory_update"), "memory_update") or None
        entries += [entry for entry in _entries(item.get("entries")) if entry not in entries]
    return Reply(history, page, tuple(entries), tier) if items else None


def _wrapped(outer: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the objects one level down, where some models put the object they were asked for."""
    if not _NAMES.isdisjoint(outer):
        return []
    inner: list[dict[str, Any]] = []
    for value in outer.values():
        if isinstance(value, str) and value.lstrip().startswith("{"):
            inner += [item for part, _ in readings(value, FIELDS) for values in part for item in dicts(values)][:1]
        inner += [value] if isinstance(value, dict) else []
    return inner


def _text(value: Any, field: str) -> str:
    """Return a field's text; an object or a list where text was due is salvaged only if it holds one plain text."""
    if value is None:
        return ""
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        value = "\n".join(value)
    if isinstance(value, dict):
        if str(value.get("type", "")).lower() in _JSON_TYPES:
            raise ReplyError(f"{field} repeats the schema")
        texts = [item for key, item in value.items() if key in _TEXT_KEYS or len(value) == 1]
        if len(texts) != 1 or {"properties", "description"} & value.keys():  # a schema sent back
            raise ReplyError(f"{field} should be a text, not an object")
        value = texts[0]
    if not isinstance(value, str):
        raise ReplyError(f"{field} should be a text, not {_kind(value)}")
    text = clean_text(value)
    return "" if text.lower() in _SENTINELS else text


def _require_statements(reply: Reply, prompts: Sequence[str]) -> None:
    """Raise ReplyError where a field only repeats the schema or the instruction; lines the page had are not judged."""
    shown = {line.strip() for prompt in prompts[1:] for line in prompt.split("\n")}
    page = "\n".join(line for line in (reply.memory_update or "").split("\n") if line.strip() not in shown)
    fields = [("history_entry", reply.history_entry), ("memory_update", page)]
    for field, text in [*fields, *(("an entry's content", entry.content) for entry in reply.entries)]:
        if text and states_nothing(text, *prompts[:1]):
            raise ReplyError(f"{field} repeats the schema or the instruction")


def states_nothing(text: str, instruction: str = "") -> bool:
    """Return whether a text is a placeholder, such as "summary paragraph here", or only the words of an instruction."""
    start = _MOMENT.match(text)
    words = _words(text[start.end() if start else 0 :])
    if not words or _TEMPLATE.search(text[:200]):
        return True
    marks, others = (data.words("llm_replies.toml", key) for key in ("marks", "others"))
    if len(words) <= _LONGEST_PLACEHOLDER and marks & set(words) and marks | others >= set(words):
        return True
    runs, asked = _runs(words), set(_runs(_words(instruction)))
    return bool(runs) and sum(run in asked for run in runs) >= _REPEATED * len(runs)


def _runs(words: Sequence[str]) -> list[tuple[str, ...]]:
    return [*zip(words, words[1:], words[2:], strict=False)]


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())


def _entries(value: Any) -> list[ReplyEntry]:
    if value is None or value == "":
        return []
    if isinstance(value, dict):
        value = [value] if any(key in value for key in _TEXT_KEYS) else list(value.values())
    if not isinstance(value, list):
        raise ReplyError(f"entries should be a list, not {_kind(value)}")
    return [entry for item in value if (entry := _entry(item))]


def _entry(item: Any) -> ReplyEntry | None:
    if isinstance(item, str):
        item = {"content": item}
    if not isinstance(item, dict):
        raise ReplyError(f"an entry should be an object, not {_kind(item)}")
    key = next((key for key in _TEXT_KEYS if item.get(key) is not None), "content")
    content = _text(item.get(key), "an entry's content")
    if not content:
        if any(isinstance(value, str) and len(value) > 20 for value in item.values()):
            raise ReplyError("an entry has no content")
        return None
    return ReplyEntry(
        content,
        _name(item.get("type"), TYPES, _TYPE_NAMES, "fact"),
        _name(item.get("source"), SOURCES, _SOURCE_NAMES, "inferred"),
        _names(item.get("files")),
        _names(item.get("tags")),
        _number(item.get("message")),
        _slot(item.get("key")),
    )


def _slot(value: Any) -> str:
    """Read a key; one that cannot be one is none."""
    try:
        return str(checked("key", clean_text(value).strip())) if isinstance(value, str) else ""
    except ValueError:
        return ""


def _name(value: Any, names: Sequence[str], others: Mapping[str, str], default: str) -> str:
    name = re.sub(r"\W+", "_", value.strip().lower()) if isinstance(value, str) else ""
    name = others.get(name, name)
    return name if name in names else default


def _number(value: Any) -> int:
    """Return a message's number, also of `"#12"`; 0 for anything else."""
    match = re.fullmatch(r"#?(\d{1,9})", str(value).strip())
    return int(match[1]) if match else 0


def _names(value: Any) -> tuple[str, ...]:
    """Return a list of short texts; one text is split at commas, anything else is left out."""
    items = value.split(",") if isinstance(value, str) else value if isinstance(value, list) else []
    plain = (clean_text(str(item)).replace("\n", " ") for item in items if isinstance(item, str | int))
    return tuple(dict.fromkeys(item for item in plain if item))


def _kind(value: Any) -> str:
    return {dict: "an object", list: "a list", str: "a text", bool: "true or false"}.get(type(value), "a number")


def _repeats(text: str, prompts: Sequence[str]) -> bool:
    folded = _folded(without_thoughts(text[:LARGEST]))
    openings = [_folded(prompt[:1000])[:200] for prompt in prompts]
    return any(len(opening) >= 40 and opening in folded for opening in openings)


def _folded(text: str) -> str:
    return " ".join(text.split())


def _quoted(text: str) -> str:
    start = _folded(clean_text(text[:400]))
    return repr(start[:77] + "…" if len(start) > 80 else start)
