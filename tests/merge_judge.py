"""What must be true of a merged workspace, read with nothing of what merged it."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import yaml

TOKEN = re.compile(r"tok\d+")
_ENTRY = re.compile(r"---\n(?P<head>.*?\n)---\n\n?(?P<body>.*)", re.DOTALL)
_PROMOTED = re.compile(r"^- .* <!-- (mem_\d+) [0-9a-f]{6} -->$", re.MULTILINE)


class Memory(NamedTuple):
    """A file of an entry."""

    path: str
    fields: dict[str, Any]
    body: str

    @property
    def id(self) -> str:
        return str(self.fields["id"])

    @property
    def is_active(self) -> bool:
        return self.path.startswith("entries/") and self.fields.get("status", "active") == "active"

    def names(self, other: "Memory", *fields: str) -> bool:
        """Return whether one of two memories names the other in a field."""
        pairs = ((self, other), (other, self))
        return any(there.id in (here.fields.get(field) or ()) for here, there in pairs for field in fields)


def memories(root: Path) -> list[Memory]:
    """Read every entry of a workspace, archived ones too; one that waits for a person is left out."""
    found = []
    for path in sorted(root.rglob("mem_*.md")):
        text = path.read_text()
        match = _ENTRY.fullmatch(text)
        if match and "<<<<<<< " not in text:
            fields = yaml.load(match["head"], yaml.BaseLoader)
            found.append(Memory(path.relative_to(root).as_posix(), fields, match["body"].strip()))
    return found


def tokens(root: Path, *, folded: bool = True) -> Counter[str]:
    """Count what is said in all files; of what was written twice only one, unless what was `folded` counts too."""
    found: Counter[str] = Counter()
    for path in root.rglob("*"):
        if path.is_file() and ".mem" not in path.parts:
            text = path.read_text(encoding="utf-8", errors="replace")
            if folded or "\nTwin " not in text or "\nstatus: superseded\n" not in text:
                found.update(TOKEN.findall(text))
    return found


def clashes(root: Path) -> tuple[int, list[tuple[str, str]]]:
    """Return how many pairs of one key are flagged or found distinct, and those that are not."""
    pairs = [
        (one, other)
        for one, other in combinations([one for one in memories(root) if one.is_active], 2)
        if _key(one) and _key(one) == _key(other)
    ]
    unflagged = [(one.id, other.id) for one, other in pairs if not one.names(other, "conflicts_with", "distinct")]
    return len(pairs) - len(unflagged), unflagged


def _key(one: Memory) -> str:
    return re.sub(r"\s", "", str(one.fields.get("key", ""))).lower()


def written_twice(root: Path) -> list[tuple[str, str]]:
    """Return the pairs of active memories that say the same and that nobody found distinct."""
    twins = [one for one in memories(root) if one.is_active and one.body.startswith("Twin ")]
    return [
        (one.id, other.id)
        for one, other in combinations(twins, 2)
        if one.body == other.body
        and not one.names(other, "distinct")
        and len({one.fields.get("title", ""), other.fields.get("title", "")} - {""}) < 2
    ]


def faults(root: Path) -> Iterator[str]:
    """Yield what is wrong with ids, successors and promoted lines."""
    known = memories(root)
    ids = Counter(one.id for one in known)
    yield from (f"{name} stands in {count} files" for name, count in ids.items() if count > 1)
    after = {one.id: str(one.fields.get("superseded_by", "")) for one in known}
    for name in after:
        seen, here = {name}, after[name]
        while here and here not in seen:
            seen.add(here)
            here = after.get(here, "")
        if here:
            yield f"{name} is superseded in a circle"
    active = {one.id for one in known if one.is_active}
    page = (root / "MEMORY.md").read_text()
    lines = Counter(_PROMOTED.findall("" if "<<<<<<< " in page else page))  # a page in conflict waits for a person
    yield from (f"{name} has {count} promoted lines" for name, count in lines.items() if count > 1)
    yield from (f"{name} is put away and promoted" for name in lines if name in ids.keys() - active)


def strengths(root: Path) -> dict[str, int]:
    """Return how often each memory was confirmed, by id."""
    return {one.id: int(one.fields.get("strength", 1)) for one in memories(root)}
