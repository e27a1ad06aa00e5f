"""What a job returns, declared once: its JSON document and the schema of that follow from the class.

A field or property of the type `Annotated[kind, "what it says"]` is in the document, and nothing else is. A name that
Python keeps for itself is written with an underscore at its end.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin

OPTIONAL = object()
"""Marks what is left out of the document where it is None."""
IF_ANY = object()
"""Marks what is left out of the document where it is empty or 0."""
OPEN = object()
"""Marks rows that may have fields which nobody can declare."""

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
Expired = Annotated[str, "since when it is no longer true, RFC 3339; empty where it is"]
SupersededBy = Annotated[str, "id of the entry that took its place; empty where none did"]
Trust = Annotated[float, "how far to trust it, 0 to 1"]
LikelySame = Annotated[Sequence[str], "always empty: an earlier version guessed"]
Problems = "what is wrong with files"
SessionId = Annotated[str, "id of the session"]
Scope = Annotated[str, "project, user or documents"]
CreatedAt = Annotated[str, "when it was made, RFC 3339"]
UpdatedAt = Annotated[str, "when it was changed, RFC 3339"]
Numbers = Mapping[str, int]
Action = Annotated[str, "what was done: created, updated, unchanged, merged, archived, restored, purged, superseded"]
ConflictsWith = Annotated[Sequence[str], "ids of the entries it may contradict; always a list"]
Reason = Annotated[str, "why"]
Summary = Annotated[str, "what it says, in one line"]
Applied = Annotated[bool, "whether it was done, and not only shown"]
Diff = Annotated[str, "the change as a unified diff"]
OptionalDiff = Annotated[str | None, "the change as a unified diff", OPTIONAL]

_NAMES = {str: "string", int: "integer", float: "number", bool: "boolean", NoneType: "null"}


class Result:
    """What a job returns to a program, and the command line shows."""

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON document."""
        document: dict[str, Any] = to_json(self)
        return document


@cache
def members(cls: Any) -> Mapping[str, Any]:
    """Return what of a class is in its document: the declared types by the names of fields and properties."""
    declared: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        declared |= getattr(base, "__annotations__", {})
        for name, member in vars(base).items():
            if getter := getattr(member, "fget", None):
                declared[name] = getter.__annotations__.get("return")
    return {name: kind for name, kind in declared.items() if get_origin(kind) is Annotated}


def to_json(value: Any) -> Any:
    """Return a value as JSON has it; a dictionary is taken to be so already."""
    if isinstance(value, str | int | float | dict | None):
        return value
    cls: Any = type(value)
    if declared := members(cls):
        return {
            name.rstrip("_"): to_json(member)
            for name, kind in declared.items()
            if (member := getattr(value, name))
            or not (IF_ANY in kind.__metadata__ or (OPTIONAL in kind.__metadata__ and member is None))
        }
    return dict(value) if isinstance(value, Mapping) else [to_json(item) for item in value]


def schema_of(kind: Any) -> dict[str, Any]:
    """Return the JSON Schema of a type."""
    origin, inside = get_origin(kind), [part for part in get_args(kind) if part is not ...]
    if origin is Annotated:
        inner = schema_of(inside[0])
        if _may_lack(kind) and isinstance(inner.get("type"), list):
            inner["type"] = next(name for name in inner["type"] if name != "null")
        if OPEN in kind.__metadata__:
            inner["items"]["additionalProperties"] = True
        return {"description": kind.__metadata__[0], **inner}
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
    required = [name.rstrip("_") for name, member in declared.items() if not _may_lack(member)]
    properties = {name.rstrip("_"): schema_of(member) for name, member in declared.items()}
    return {"type": "object", "required": required, "properties": properties}


def _union(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the schema of one of several; a field that not all of them have may be lacking."""
    kinds = sorted({part["type"] for part in parts})
    schema = {key: value for part in parts for key, value in part.items()}
    if len(objects := [part for part in parts if "properties" in part]) > 1:
        schema["properties"] = {name: field for part in objects for name, field in part["properties"].items()}
        schema["required"] = [name for name in schema["required"] if all(name in part["required"] for part in objects)]
    return schema | {"type": kinds if len(kinds) > 1 else kinds[0]}


def _may_lack(kind: Any) -> bool:
    return OPTIONAL in kind.__metadata__ or IF_ANY in kind.__metadata__
