"""The page about JSON, written from the schema that the tests hold every answer against."""

import json
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

_ABOUT = """\
# JSON

Every command that shows something answers with one JSON document under `--json`. This is version {version} of the
schema. Fields may be added to it; none is renamed or removed and none changes its type without another version.
`mem help json --json` gives it as JSON Schema. An error is one document on stderr, and the exit code says which kind.

Paths are those of the files in the workspace, times are RFC 3339 in UTC. A field is always there unless it is marked
with a question mark. Below, `hits[].id` is the field `id` of each of the `hits`.
"""


def schema() -> dict[str, Any]:
    """Give the schema: `documents` by command, `$defs` that they share, and the version."""
    found: dict[str, Any] = json.loads(files(__package__).joinpath("json_schema.json").read_text(encoding="utf-8"))
    return found


def json_page() -> str:
    """Write the schema as markdown: a heading a document, an item a field."""
    known = schema()
    parts = [_ABOUT.format(version=known["version"])]
    for name, document in sorted(known["documents"].items()):
        lines = [f"- `{field}` {kind}: {told}" for field, kind, told in _fields(document, "", known["$defs"])]
        parts.append(f"## {name}\n\n" + "\n".join(lines) + "\n")
    return "\n".join(parts)


def _fields(one: Mapping[str, Any], before: str, shared: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Yield every field below a schema with its type and what it says."""
    if "$ref" in one:
        yield from _fields(shared[one["$ref"].rpartition("/")[2]], before, shared)
        return
    for name, inner in one.get("properties", {}).items():
        mark = "" if name in one.get("required", ()) else "?"
        path = f"{before}{name}"
        yield f"{path}{mark}", _kind(inner), inner["description"]
        yield from _fields(inner, f"{path}.", shared)
        yield from _fields(inner.get("items", {}), f"{path}[].", shared)


def _kind(one: Mapping[str, Any]) -> str:
    kinds = one.get("type", "anything")
    told = " or ".join(kinds) if isinstance(kinds, list) else str(kinds)
    inner = one.get("items", {}).get("type", "object") if told == "array" else ""
    return f"array of {inner}s" if isinstance(inner, str) and inner else told
