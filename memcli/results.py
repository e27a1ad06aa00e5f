"""What a job returns, declared once: its JSON document and the schema of that follow from the class.

A field or property of the type `Annotated[kind, "what it says"]` is in the document, and nothing else is. After the
text may stand marks: `OPTIONAL`, `IF_ANY`, or a number of digits to round to. A name that Python or another field has
taken is written with an underscore at its end. A dictionary is JSON already: its class declares keys, and with
`has_more` that there are others.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from types import NoneType
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

OPTIONAL = object()
"""Marks what is left out of the document where it is None."""
IF_ANY = object()
"""Marks what is left out of the document where it is empty or 0."""

Id = Annotated[str, "what `mem read` takes"]
FilePath = Annotated[str, "path of the file in the workspace"]
FileLine = Annotated[int, "line of the file, from 1"]
EntryType = Annotated[
    str,
    "fact, preference, constraint, correction, observation, entity, procedure, lesson, episode or summary; another"
    " tool's own where it has one",
]
Kind = Annotated[str, "entry, memory, history, note, session, document or file"]
Status = Annotated[str, "active, superseded or archived"]
Source = Annotated[str, "user, observed, inferred or repository"]
Title = Annotated[str, "its title; empty where it has none"]
Relevance = Annotated[float, "how well it fits, 0 to 1", 4]
Expired = Annotated[str, "since when it is no longer true, RFC 3339; empty where it is"]
SupersededBy = Annotated[str, "id of the entry that took its place; empty where none did"]
Trust = Annotated[float, "how far to trust it, 0 to 1"]
SessionId = Annotated[str, "id of the session"]
Scope = Annotated[str, "project, user, documents, or the name of a shared workspace"]
CreatedAt = Annotated[str, "when it was made, RFC 3339"]
UpdatedAt = Annotated[str, "when it was changed, RFC 3339"]
Numbers = Mapping[str, int]
Action = Annotated[str, "what was done: created, updated, unchanged, merged, archived, restored, purged, superseded"]
ConflictsWith = Annotated[Sequence[str], "ids of the entries it may contradict; always a list"]
Reason = Annotated[str, "why"]
Summary = Annotated[str, "what it says, in one line"]
Applied = Annotated[bool, "whether it was done, and not only shown"]
ChangedLines = Annotated[tuple[str, ...], "lines of the text that were taken out, after `-`, and put in, after `+`"]
Diff = Annotated[str, "the change as a unified diff"]
OptionalDiff = Annotated[str | None, "the change as a unified diff", OPTIONAL]

_AS_THEY_ARE = (str, int, NoneType)
_NAMES = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}


def number_of(number: int, what: str, singular: str = "", plural: str = "") -> str:
    """Return a number of things as words, with the verb for one or for several: `1 entry has`, `2 days`."""
    things = f"{what[:-1]}ies" if what.endswith("y") and what[-2:-1] not in ("a", "e", "o", "u") else f"{what}s"
    return f"{number:,} {what if number == 1 else things} {singular if number == 1 else plural}".rstrip()


class Result:
    """What a job returns to a program, and the command line shows."""

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON document."""
        document: dict[str, Any] = to_json(self)
        return document


class Member(NamedTuple):
    """What a document has under a name."""

    attribute: str
    kind: Any
    says: str
    may_lack: bool
    lacks_empty: bool
    digits: int | None

    @classmethod
    def of(cls, attribute: str, declared: Any) -> "Member":
        """Return what a type `Annotated[kind, says, …]` declares."""
        says, *marks = declared.__metadata__
        digits = next((mark for mark in marks if isinstance(mark, int)), None)
        lacks_empty = IF_ANY in marks
        return cls(attribute, get_args(declared)[0], says, lacks_empty or OPTIONAL in marks, lacks_empty, digits)


@cache
def members(cls: Any) -> Mapping[str, Member]:
    """Return what is in the document of a class, by name: its annotated fields, then its annotated properties."""
    declared: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        declared |= getattr(base, "__annotations__", {})
        for name, attribute in vars(base).items():
            if getter := getattr(attribute, "fget", None):
                declared[name] = getter.__annotations__.get("return")
    return {name.rstrip("_"): Member.of(name, kind) for name, kind in declared.items() if get_origin(kind) is Annotated}


def to_json(value: Any, digits: int | None = None) -> Any:
    """Return a value as JSON has it, its numbers rounded to so many digits."""
    if isinstance(value, _AS_THEY_ARE):
        return value
    if isinstance(value, float):
        return value if digits is None else round(value, digits)
    if isinstance(value, Mapping):
        return value if digits is None else {key: to_json(item, digits) for key, item in value.items()}
    cls: Any = type(value)
    if not (declared := members(cls)):
        return [to_json(item) for item in value]
    document = {}
    for name, member in declared.items():
        item = getattr(value, member.attribute)
        if item or not (member.lacks_empty or (member.may_lack and item is None)):
            document[name] = item if isinstance(item, _AS_THEY_ARE) else to_json(item, member.digits)
    return document


def schema_of(kind: Any) -> dict[str, Any]:
    """Return the JSON Schema of a type."""
    origin, inside = get_origin(kind), [part for part in get_args(kind) if part is not ...]
    if origin is Literal:
        return {"type": "string"}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": schema_of(inside[1]) or True}
    if isinstance(origin, type) and issubclass(origin, Sequence):
        return {"type": "array", "items": schema_of(inside[0])}
    if inside:
        return _union([schema_of(part) for part in inside])
    if kind in _NAMES:
        return {"type": _NAMES[kind]}
    if not (declared := members(kind) if isinstance(kind, type) else {}):
        return {}
    required = [name for name, member in declared.items() if not member.may_lack]
    schema: dict[str, Any] = {"type": "object", "required": required}
    if getattr(kind, "has_more", False):
        schema["additionalProperties"] = True
    return schema | {"properties": {name: _field(member) for name, member in declared.items()}}


def _field(member: Member) -> dict[str, Any]:
    schema = schema_of(member.kind)
    if member.may_lack and isinstance(schema.get("type"), list):
        schema["type"] = next(name for name in schema["type"] if name != "null")
    return {"description": member.says, **schema}


def _union(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the schema of one of several; a field that not all of them have may be lacking."""
    kinds = sorted({part["type"] for part in parts})
    schema = {key: value for part in parts for key, value in part.items()}
    if len(objects := [part for part in parts if "properties" in part]) > 1:
        schema["properties"] = {name: field for part in objects for name, field in part["properties"].items()}
        schema["required"] = [name for name in schema["required"] if all(name in part["required"] for part in objects)]
    return schema | {"type": kinds if len(kinds) > 1 else kinds[0]}
