"""Sort the records of a history file by time and drop exact duplicates, without changing a byte of any record."""

import re
from collections.abc import Iterator
from datetime import UTC, tzinfo

from .history import records
from .lines import BOM


def disorder(text: str, zone: tzinfo = UTC) -> Iterator[tuple[int, str, bool]]:
    """Yield line and reason of each record out of place, and whether sorting mends it."""
    latest = ""
    first: dict[str, str] = {}
    for record in records(text, zone):
        if record.timestamp and record.timestamp < latest:
            yield record.line, f"a record of {record.timestamp} after one of {latest}", True
        latest = max(latest, record.timestamp)
        if record.id and record.id in first:
            is_same = first[record.id] == record.text
            what = "stands here twice" if is_same else "stands here twice with different texts"
            yield record.line, f"the record {record.id} {what}", is_same
        first.setdefault(record.id, record.text)


def in_order(text: str, zone: tzinfo = UTC) -> str:
    """Return the file with its records sorted by time and exact duplicates left out.

    Text that states no time stays behind the record it follows.
    """
    if text.startswith(BOM):
        return BOM + in_order(text.removeprefix(BOM), zone)
    found = [record for record in records(text, zone) if record.timestamp]
    if not found:
        return text
    starts = [record.start for record in found]
    blocks = [text[start:stop] for start, stop in zip(starts, [*starts[1:], len(text)], strict=True)]
    kept: dict[tuple[str, str], tuple[str, str]] = {}
    for number, (record, block) in enumerate(zip(found, blocks, strict=True)):
        kept.setdefault((record.id or str(number), block.strip()), (record.timestamp, block))
    ordered = [block for _, block in sorted(kept.values(), key=lambda one: one[0])]
    if ordered == blocks:
        return text
    # Blank lines stay where they are, not with their record: the last record of a file has fewer behind it.
    gaps = [block[len(block.rstrip()) :] for block in blocks]
    gaps = [*gaps[: len(ordered) - 1], gaps[-1]]
    return text[: starts[0]] + "".join(block.rstrip() + gap for block, gap in zip(ordered, gaps, strict=True))


def unreal_dates(text: str, zone: tzinfo = UTC) -> Iterator[tuple[int, str]]:
    """Yield line and heading of each record whose heading names a day that does not exist."""
    lines = text.removeprefix(BOM).split("\n")
    for record in records(text, zone):
        heading = lines[record.line - 1].strip() if record.line <= len(lines) else ""
        if not record.timestamp and re.match(r"## \d{4}-\d\d", heading):
            yield record.line, heading
