"""Merge three texts of one entry: the frontmatter by field, as the table of fields says, and the body by lines.

The result does not depend on which side is called ours, but for the labels of a clash, so that two clones that merge
the same two commits make the same file of them.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from ..errors import RefusedError
from .entry import FIELDS, Entry, key_of, spelled, stated_id
from .entry_fields import EARLIEST, EITHER, LATEST, LOWER, NEWER, SUM, TRUST, UNION, read_time
from .frontmatter.document import Document, edit, load_mapping, parse
from .frontmatter.edit import Removed, same
from .ids import blake2b
from .links import bare
from .text_lines import lines, with_markers_as_comments
from .three_way import MARKER, Merged, merge_lines, merge_texts, plain_sides, sides_of

_REMARK = re.compile(r"\A[ \t]*#.*|(?<=[ \t])#[^\"'\n]*(?=\n?\Z)")
"""A comment on a line of a value of several: alone, or behind it without any quote, so that it is no part of one."""
MISSING: Final = Removed()
"""The value of a key that a side does not have."""
Rule = Callable[[str, Any, Any, Any], Any]
"""Takes a key and its values in base, newer and older side; both sides changed it, perhaps to the same."""

_KEY = re.compile(r"(?![ \t\r\n#-]|\.\.\.)(?:\"([^\"\\\n]*)\"|'([^'\n]*)'|([^\"'\n]*?))[ \t]*:(?=[ \t\r\n]|\Z)")


def merge_values(
    base: Mapping[str, Any], newer: Mapping[str, Any], older: Mapping[str, Any], rule: Rule
) -> dict[str, Any]:
    """Return the merged values by key, in the order of the newer side."""
    merged = {}
    for key in dict.fromkeys((*newer, *older)):
        old, left, right = (side.get(key, MISSING) for side in (base, newer, older))
        if _same(right, old):
            value = left
        elif _same(left, old):
            value = right
        else:
            value = rule(key, old, left, right)
        if value is not MISSING:
            merged[key] = value
    return merged


def merge_lists(base: Sequence[Any], newer: Sequence[Any], older: Sequence[Any]) -> list[Any]:
    """Return the items of both lists, without those that one side removed and the other left as they were."""
    old, left, right = ([repr(item) for item in side] for side in (base, newer, older))
    remaining = [item for item, name in zip(newer, left, strict=True) if name not in old or name in right]
    return remaining + [item for item, name in zip(older, right, strict=True) if name not in left and name not in old]


Head = tuple[str, Mapping[str, Any]]
"""A block of lines and the fields that it says."""


class _Block(NamedTuple):
    """The lines of a key; without a key what stands below the last one."""

    lead: tuple[str, ...] = ()  # comments above it, and the blank lines between
    text: str = ""  # the key and its value


def merge_heads(base: Head, newer: Head, older: Head, values: Mapping[str, Any]) -> str:
    """Return a head that says these values, as far as possible in the bytes of the sides; lines end in a newline.

    Comments are merged by lines, those above each key apart from its value; of a key that goes they stand above the
    next one.
    """
    cut = [_blocks(*side) for side in (base, newer, older)]
    if any(blocks is None for blocks in cut):
        present = {*lines(base[0]), *lines(newer[0])}
        return "".join((*(line for line in lines(older[0]) if line[0] == "#" and line not in present), newer[0]))
    old, left, right = (blocks or {} for blocks in cut)
    order, before = [*left], ""
    for key in right:
        if key not in left:
            order.insert(order.index(before) + 1 if before in order else 0, key)
        before = key
    merged: list[str] = []
    stood = {line for block in old.values() for line in block.lead if line[0] == "#"}
    for key in sorted(order, key=lambda key: not key):
        was, *sides = (blocks.get(key, _Block()) for blocks in (old, left, right))
        if sides[0] == sides[1] and key in values:
            merged += [*sides[0].lead, sides[0].text]
            continue
        text, remarks = _text(key, was.text, [side.text for side in sides if side.text], values)
        above = [side.lead for side in sides]
        lead = merge_lines(was.lead, above[0], above[1], settle=merge_lists)[0] if any(above) else []
        if key not in old:  # what stood at the end stands above the first of the keys that both sides put below it
            lead = [line for line in lead if line not in stood or line not in merged]
        present = {*lead, *_remarks(was.text), *_remarks(text)}
        merged += [*lead, *dict.fromkeys(remark for remark in remarks if remark not in present), text]
    return "".join(merged)


def _text(key: str, base: str, sides: Sequence[str], values: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Return the lines of a key, and comments of the sides for which these have no place.

    They are from the side whose value they have; where both have it, from the one that changed.
    """
    matching = [side for side in sides if key in values and _says(side, key, values[key])] or sides
    text = next((side for side in matching if side != base), matching[0]) if key in values else ""
    others = [side for side in sides if side != text]
    if text and all(side.count("\n") == 1 for side in sides):
        return _with_remark(text, base, "".join(others)), []
    return text, [remark for side in others for remark in _remarks(side)]


def _remarks(text: str) -> list[str]:
    """Return the comments among the lines of a key, each a line of its own."""
    rows = list(lines(text)) if "#" in text else []
    remarks = [_remark(text)] if len(rows) == 1 else [mark[0].strip() for mark in map(_REMARK.search, rows) if mark]
    return [f"{remark}\n" for remark in remarks if remark]


def comments(head: str, fields: Mapping[str, Any]) -> set[str]:
    """Return the comments of a head; none where no lines belong to one key alone."""
    blocks = (_blocks(head, fields) or {}).values()
    return {line for block in blocks for line in (*block.lead, *_remarks(block.text)) if line.strip()}


def _with_remark(text: str, base: str, other: str) -> str:
    """Return the line of a key with the comment that the other side put, or changed, behind its value."""
    base_remark, own_remark, other_remark = (_remark(side) for side in (base, text, other))
    if not other_remark or other_remark in (base_remark, own_remark):
        return text
    if own_remark == base_remark:
        return f"{text.rstrip().removesuffix(own_remark).rstrip()}  {other_remark}\n"
    return f"{text.rstrip()}; {other_remark.lstrip('# ')}\n"


def _remark(line: str) -> str:
    """Return the comment behind a value: what the line says the same without."""
    stated = load_mapping(line)[0] if "#" in line else {}
    for mark in re.finditer(r"(?<=[ \t])#", line):
        fields, problem = load_mapping(line[: mark.start()])
        if problem is None and same(fields, stated):
            return line[mark.start() :].strip()
    return ""


def _says(block: str, key: str, value: object) -> bool:
    fields, problem = load_mapping(block)
    return problem is None and key in fields and same(fields[key], value)


def _blocks(head: str, fields: Mapping[str, Any]) -> dict[str, _Block] | None:
    """Cut a head into the lines of each key; None where no lines belong to one key alone."""
    blocks: dict[str, _Block] = {}
    key, lead = "", list[str]()
    for line in lines(head if head.endswith("\n") or not head else f"{head}\n"):
        mark = _KEY.match(line)
        if mark:
            key = next(name for name in mark.groups() if name is not None)
            if key in blocks:
                return None
            blocks[key], lead = _Block(tuple(lead), line), []
        elif not key or line.startswith("#") or (lead and not line.strip()):
            lead.append(line)
        else:
            blocks[key], lead = blocks[key]._replace(text="".join((blocks[key].text, *lead, line))), []
    blocks[""] = _Block(tuple(lead))
    return blocks if [*fields] == [name for name in blocks if name] else None


def merge_settings(base: str, ours: str, theirs: str) -> Merged:
    """Merge settings, a key a line; of a setting that both changed one value stays, the other as a comment above it.

    Lists are joined. Which value stays does not depend on the side it comes from. What does not parse is merged by
    lines.
    """
    if base in (ours, theirs) or ours == theirs:
        return merge_texts(base, ours, theirs)
    sides, written = plain_sides(base, ours, theirs)
    read = [load_mapping(side) for side in sides]
    if any(problem for _, problem in read):
        return merge_texts(base, ours, theirs)
    old, left, right = (fields for fields, _ in read)
    newer, older = sorted(((sides[1], left), (sides[2], right)), reverse=True, key=lambda side: side[0])
    lost: dict[str, Any] = {}

    def settle(key: str, was: Any, value: Any, else_value: Any) -> Any:
        if isinstance(value, list) and isinstance(else_value, list):
            return merge_lists(was if isinstance(was, list) else [], value, else_value)
        if MISSING in (value, else_value) or same(value, else_value):
            return else_value if value is MISSING else value
        lost[key] = else_value
        return value

    values = merge_values(old, newer[1], older[1], settle)
    head = with_values(merge_heads((sides[0], old), newer, older, values), values)
    if head is None:
        return merge_texts(base, ours, theirs)
    for key, value in lost.items():
        start = re.search(rf"^[\"']?{re.escape(key)}[\"']?[ \t]*:", head, re.MULTILINE)
        position = start.start() if start else len(head)
        head = f"{head[:position]}# another machine had set {key}: {value!r}\n{head[position:]}"
    return Merged(written(head))


def with_values(head: str, values: Mapping[str, Any]) -> str | None:
    """Return a head changed where it does not say these values; None where no single lines can be changed."""
    fields, problem = load_mapping(head)
    if problem is None and same(fields, dict(values)):
        return head
    changes = {key: values.get(key) for key in (*fields, *values) if not _same(fields.get(key), values.get(key))}
    try:
        text = edit(f"---\n{head}---\n", changes)
    except RefusedError:
        return None
    return parse(text).head if same(parse(text).fields, dict(values)) else None


def _same(left: object, right: object) -> bool:
    return left is right or same(left, right)


LOST = "merged"
"""The key of `metadata` that holds, by field, the values that did not stay."""

_COUNTED = ("strength", "sources", "access_count", "last_accessed_at", "updated_at")
_FLAGS = ("conflicts_with", "verdicts", "verdict_reasons", "distinct", "cited")
_STANDING = ("status", "superseded_by", "superseded_at", "references")
PUT_AWAY = frozenset(("forgotten_at", "forgotten_by", "reason"))
"""Fields that a memory has since it was forgotten."""

ROLLUP = re.compile(
    r"(?ms)^<!-- mem:rollup (?P<made>\w+) (?P<told>[0-9a-f]+) -->\r?\n(?P<body>.*?)"
    r"^<!-- /mem:rollup -->[ \t]*(?:\r?\n|\Z)"
)
"""The part of a page that `mem session rollup` makes; the group `told` has the digest of its body as it was made."""


def digest_of_rollup(text: str) -> str:
    """Return the digest of what a rollup tells."""
    return blake2b(text.replace("\r\n", "\n").encode("utf-8", "replace"), digest_size=4).hexdigest()


class _Side(NamedTuple):
    text: str
    document: Document

    @property
    def fields(self) -> Mapping[str, Any]:
        return self.document.fields

    def time(self, key: str) -> str:
        """Return a time of the entry; empty where it states none."""
        try:
            return read_time(self.fields[spelled(self.fields, key)])
        except (KeyError, TypeError, ValueError):
            return ""

    def status(self) -> str:
        return str(FIELDS["status"].read(self.fields.get(spelled(self.fields, "status")) or "active"))


@lru_cache(maxsize=4)
def _read(text: str) -> Document:
    """Return an entry taken apart, once for all that is asked of its three versions; nobody may change the result."""
    return parse(text)


def merge_entry(base: str, ours: str, theirs: str, size: int = MARKER, *, is_half_merged: bool = False) -> Merged:
    """Merge an entry that two branches changed, or both made (`base` is empty).

    `is_half_merged` says that what git could merge by lines stands on both sides already: then what both say is
    settled, and no confirmation counts twice.

    Two memories with ids of their own, and files whose frontmatter does not parse, are merged by lines; an earlier text
    of one entry that both sides keep is one. Where a side has another memory in the base's place both stand whole.
    """
    if base in (ours, theirs) or ours == theirs:
        return merge_texts(base, ours, theirs, size)
    if (is_another(base, ours) or is_another(base, theirs)) and is_another(ours, theirs):
        return merge_texts("", ours, theirs, size)
    texts, written = plain_sides(base, ours, theirs)
    old, left, right = (_Side(text, _read(text)) for text in texts)
    newer, older = sorted((left, right), key=lambda side: (side.time("updated_at"), side.text), reverse=True)
    parts = [_made_part(side.document.body) for side in (newer, older)]
    is_page = not base and None not in parts  # both machines summed up one project
    ids = {stated_id(side.fields) for side in (newer, older)} - {""}
    are_two = not is_page and len(ids) > 1 and (is_half_merged or not base) and not _is_one_version(newer, older)
    if any(side.document.problem for side in (old, newer, older)) or are_two:
        return merge_texts(base, ours, theirs, size)
    rules = _Rules(has_base=bool(base), is_half_merged=is_half_merged)
    values = merge_values(old.fields, newer.fields, older.fields, rules.settle)
    _settle_status(values, old, newer, older, rules)
    head = _head(rules.with_lost(values), old, newer, older)
    if head is None:
        return merge_texts(base, ours, theirs, size)
    bodies = [side.document.body for side in (old, left, right)]
    if parts[0] and parts[1]:  # of what is made anew, lines of the one among lines of the other say nothing
        rollup = parts[0]
        bodies = [ROLLUP.sub(lambda _: rollup, body, count=1) for body in bodies]
    body, clashes = merge_lines(bodies[0].split("\n"), bodies[1].split("\n"), bodies[2].split("\n"), size)
    return Merged(written(head + "\n".join(body)), clashes)


def is_another(left: str, right: str) -> bool:
    """Return whether two texts are of two memories: their ids differ, and not only their ids.

    git takes a new memory that reads like a deleted one for the same file under another name.
    """
    old, new = _read(left), _read(right)
    if old.head == new.head or old.problem or new.problem:
        return False
    if len({stated_id(old.fields), stated_id(new.fields)} - {""}) < 2:
        return False
    names = {name for name in {*old.fields, *new.fields} if key_of(name) != "id"}
    return old.body != new.body or any(old.fields.get(name) != new.fields.get(name) for name in names)


def is_bookkeeping(before: str, after: str) -> bool:
    """Return whether an entry was only counted or flagged, its text unchanged."""
    return _changed(before, after) <= {*_COUNTED, *_FLAGS}


def says_the_same(before: str, after: str) -> bool:
    """Return whether an entry was at most counted, flagged or superseded, replaced another or came back into use."""
    return _changed(before, after) <= {*_COUNTED, *_FLAGS, *_STANDING, *PUT_AWAY}


def _changed(before: str, after: str) -> set[str]:
    """Return the keys of an entry that changed; `body` if its text did, or if the keys cannot be compared."""
    old, new = _read(before), _read(after)
    if old.problem or new.problem or old.body != new.body or old.head is None:
        return {"body"} if before != after else set()
    if "#" in (new.head or "") and not comments(new.head or "", new.fields) <= comments(old.head, old.fields):
        return {"body"}  # a person's words
    names = {name for name in {*old.fields, *new.fields} if old.fields.get(name) != new.fields.get(name)}
    return {key_of(name) or name for name in names}


def is_said_again(before: str, after: str) -> bool:
    """Return whether an entry was confirmed, its text unchanged."""
    return _strength(after) > _strength(before) and is_bookkeeping(before, after)


def _strength(text: str) -> int:
    fields = _read(text).fields
    try:
        return int(FIELDS["strength"].read(fields[spelled(fields, "strength")]))
    except (KeyError, TypeError, ValueError):
        return Entry.strength


def stated_ids(text: str) -> set[str]:
    """Return the ids that a file states, under any spelling; those of each side where a conflict is left in it."""
    return {stated_id(parse(side).fields) for side in sides_of(text) or (with_markers_as_comments(text),)} - {""}


def successors(entry: Entry) -> list[str]:
    """Return what took the place of an entry on all machines, by the marks that a merge left."""
    merged = entry.metadata.get(LOST)
    others = merged.get("superseded_by") if isinstance(merged, Mapping) else None
    return list(dict.fromkeys(bare(str(name)) for name in (entry.superseded_by, *(others or ()))))


def _made_part(body: str) -> str | None:
    """Return the part of a page that `mem session rollup` made and no person has changed."""
    match = ROLLUP.search(body)
    return match[0] if match and match["told"] == digest_of_rollup(match["body"]) else None


def _is_one_version(left: _Side, right: _Side) -> bool:
    """Return whether both sides keep the same earlier text of the same entry, each under an id of its own."""
    names = [side.fields.get("version_of") for side in (left, right)]
    return bool(names[0]) and names[0] == names[1] and left.document.body == right.document.body


class _Rules:
    """What becomes of a field that both sides changed; keeps the values that do not stay."""

    def __init__(self, *, has_base: bool, is_half_merged: bool) -> None:
        self.has_base = has_base
        self.is_half_merged = is_half_merged
        self.lost: dict[str, Any] = {}

    def settle(self, name: str, base: Any, newer: Any, older: Any) -> Any:
        """Return the merged value; of what cannot be read as its field demands the newer one stays."""
        key = key_of(name)
        if self.is_half_merged and same(newer, older):
            return newer
        try:
            return self._by_field(key, base, newer, older) if key else self.plain(name, base, newer, older)
        except (TypeError, ValueError):
            return self.plain(name, base, newer, older)

    def plain(self, name: str, base: Any, newer: Any, older: Any) -> Any:
        """Join lists, merge maps key by key; of other values the newer one stays, and a changed one before none."""
        if isinstance(newer, list) and isinstance(older, list):
            return merge_lists(base if isinstance(base, list) else [], newer, older)
        if isinstance(newer, Mapping) and isinstance(older, Mapping):
            base_values = base if isinstance(base, Mapping) else {}
            return merge_values(base_values, newer, older, lambda key, *values: self.plain(f"{name}.{key}", *values))
        if MISSING in (newer, older) or same(newer, older):
            return older if newer is MISSING else newer
        self.lost[name] = older
        return newer

    def _by_field(self, key: str, base: Any, newer: Any, older: Any) -> Any:
        rule, read = FIELDS[key].branches, FIELDS[key].read
        if rule == UNION:
            sides = [base, newer, older]
            if not all(isinstance(side, list) for side in (newer, older)):
                sides = [[] if side is MISSING else list(read(side)) for side in sides]
            joined = merge_lists(sides[0] if isinstance(sides[0], list) else [], sides[1], sides[2])
            return joined if joined or newer is not MISSING else MISSING
        if (
            key == "id" and MISSING not in (newer, older) and not same(newer, older)
        ):  # each side gave one to a file that had none
            self.lost[key] = max(newer, older, key=read)
            return min(newer, older, key=read)
        if rule == NEWER or MISSING in (newer, older):
            return self.plain(key, base, newer, older) if rule != SUM else _total(key, base, newer, older)
        if rule == SUM:
            is_known = self.has_base and not (self.is_half_merged and base is MISSING)
            return _total(key, base, newer, older) if is_known else max(newer, older, key=read)
        if rule == EITHER:
            return newer if read(newer) else older
        least = min if rule in (EARLIEST, LOWER) else max
        assert rule in (EARLIEST, LATEST, LOWER)
        return least(newer, older, key=lambda value: TRUST[read(value)] if key == "source" else read(value))

    def with_lost(self, values: dict[str, Any]) -> dict[str, Any]:
        """Return the values with those that did not stay below `metadata`."""
        metadata = values.get("metadata", {})
        earlier = metadata.get(LOST, {}) if isinstance(metadata, Mapping) else None
        if not self.lost or not isinstance(earlier, Mapping):
            return values
        merged = dict(earlier)
        for name, value in self.lost.items():
            before = merged.get(name, [])
            merged[name] = merge_lists([], before if isinstance(before, list) else [before], [value])
        return {**values, "metadata": {**metadata, LOST: merged}}


def _total(key: str, base: Any, newer: Any, older: Any) -> int:
    """Return a count with what each side added to it."""
    least: int = getattr(Entry, key)
    was, left, right = (least if side is MISSING else FIELDS[key].read(side) for side in (base, newer, older))
    total: int = left + right - was
    return max(total, least)


def _settle_status(values: dict[str, Any], base: _Side, newer: _Side, older: _Side, rules: _Rules) -> None:
    """Merge what took an entry's place: put away by one side it stays away, unless the other changed its text later.

    Then it is active and flagged with what had taken its place. Of two that did, the later one stays.
    """
    if newer.status() == older.status():
        name = spelled(values, "superseded_by")
        sides = sorted((newer, older), key=lambda side: (side.time("superseded_at"), str(side.fields.get(name))))
        if name in rules.lost:
            rules.lost[name], values[name] = (side.fields[name] for side in sides)
        return
    active = next((side for side in (newer, older) if side.status() == "active"), None)
    away = older if newer is active else newer
    if active is None or base.status() != "active":
        return
    is_told = active.document.body not in (base.document.body, away.document.body)
    if is_told and active.time("updated_at") > max(away.time("superseded_at"), away.time("updated_at")):
        by = away.fields.get(spelled(away.fields, "superseded_by"))
        for name in [name for name in values if key_of(name) in ("status", "superseded_by", "superseded_at")]:
            del values[name]
        if by:
            for key in ("conflicts_with", "verdicts"):
                name = spelled(values, key) or key
                values[name] = list(dict.fromkeys((*FIELDS[key].read(values.get(name, [])), str(by))))


def _head(values: Mapping[str, Any], base: _Side, newer: _Side, older: _Side) -> str | None:
    """Return the frontmatter with its fences; empty where it says nothing, None where the values cannot be written."""
    like = newer if newer.document.head is not None else older
    if like.document.head is None:
        return ""
    heads = [(side.document.head or "", side.fields) for side in (base, newer, older)]
    if heads[0][0] == heads[1][0] == heads[2][0]:
        head: str | None = heads[0][0]
    else:
        head = with_values(merge_heads(heads[0], heads[1], heads[2], values), values)
    start = like.text.index("\n") + 1
    closing = like.text[start + len(like.document.head) : len(like.text) - len(like.document.body)]
    return None if head is None else like.text[:start] + head + closing
