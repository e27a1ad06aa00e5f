"""What must hold of a workspace's files beyond that each can be read: ids, links, chains, dates, order, budget.

Pure: judges files that were read by others, from disk or from git's index.
"""

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from datetime import tzinfo
from typing import Annotated

from ..dataclass import dataclass
from ..formats.entry import SPELLINGS, STATUSES, Entry
from ..formats.frontmatter import document as frontmatter
from ..formats.history import disorder, records, unreal_dates
from ..formats.ids import parse_time
from ..formats.links import bare, links
from ..formats.memory_page import END_OF_KEEP, KEEP, read_promoted
from ..formats.text_lines import FileProblem, leftover_marker, without_code
from ..index.file_reader import Reading
from ..results import OPTIONAL

LEFT_OVER = "a git conflict marker that was left: remove it and look whether both sides are there, or indent it"
_REAL = re.compile(r"(?<!\d)\d{4}-\d\d(?:-\d\d)?(?!\d)")
_IS_ID = re.compile(r"(?:mem|hist)_\w+")


@dataclass(frozen=True)
class Fault(FileProblem):
    """Something that must not be so, as `path:line: reason`."""

    rule: Annotated[str, "the name of the rule", OPTIONAL]  # read, conflict, id and so on
    fixable: Annotated[bool, "whether `mem check --fix` mends it", OPTIONAL] = False  # there is one right answer


@dataclass(frozen=True)
class Names:
    """What can be linked to."""

    ids: Mapping[str, str] = field(default_factory=dict)  # id → path
    words: frozenset[str] = frozenset()  # paths, file names and titles, in lower case and without `.md`
    records: frozenset[str] = frozenset()  # ids of history records
    is_file: Callable[[str], bool] = lambda path: False  # for what is no memory, by path or by bare name

    def has(self, reference: str) -> bool:
        """Return whether a reference leads somewhere."""
        name = bare(reference)
        return name in self.ids or name in self.records or _word(name) in self.words or self.is_file(name)


def names_of(
    entries: Iterable[tuple[str, str, str]],
    paths: Iterable[str],
    history: Iterable[str],
    is_file: Callable[[str], bool],
) -> Names:
    """Gather the names of entries (id, path, title), of all files and of the records in texts of history."""
    ids: dict[str, str] = {}
    words: set[str] = set()
    for identifier, path, title in entries:
        ids.setdefault(identifier, path)
        words.add(title.casefold())
    for path in paths:
        parts = path.split("/")
        words.update(_word("/".join(parts[start:])) for start in range(len(parts)))
    record_ids = (record.id for text in history for record in records(text) if record.id)
    return Names(ids, frozenset(words - {""}), frozenset(record_ids), is_file)


def faults(readings: Sequence[Reading], names: Names, zone: tzinfo, budget: int) -> Iterator[Fault]:
    """Yield what is wrong with files that mem keeps, each for itself and with one another."""
    for reading in readings:
        for problem in reading.problems:
            yield Fault(reading.path, problem.line, problem.reason, "read")
        yield from _left_over(reading)
        yield from _date_in_name(reading)
        if reading.entry is not None:
            yield from _status(reading)
            yield from _links_of_entry(reading, reading.entry, names)
        elif reading.kind == "memory":
            yield from _page(reading, names, budget)
        elif reading.kind == "history":
            yield from _history(reading, zone)
    yield from circles(
        [(reading.path, reading.text, reading.entry) for reading in readings if reading.entry is not None]
    )
    yield from _out_of_use(readings)


def _status(reading: Reading) -> Iterator[Fault]:
    if reading.status not in STATUSES:
        reason = (
            f"status: {reading.status!r} is none of {', '.join(STATUSES)}: the memory is not recalled, and found only"
            f" with --status {reading.status}"
        )
        yield Fault(reading.path, line_in_head(reading.text, "status"), reason, "status")


def _left_over(reading: Reading) -> Iterator[Fault]:
    """Yield the first marker of a conflict that was removed by half."""
    line = leftover_marker(without_code(reading.text))
    if line and not any("conflict" in problem.reason for problem in reading.problems):
        yield Fault(reading.path, line, LEFT_OVER, "conflict")


def _out_of_use(readings: Sequence[Reading]) -> Iterator[Fault]:
    """Yield the superseded entries of which nothing that took their place is in use: search finds none of them."""
    successors = {
        reading.entry.id: (reading.status, reading.entry.superseded_by)
        for reading in readings
        if reading.entry is not None
    }
    for reading in readings:
        last = put_away_after(reading.entry.id, successors) if reading.entry is not None else ""
        if last and reading.status == "superseded":
            reason = f"is superseded by {shown_name(last)}, which is in the archive: `mem restore` one of them"
            yield Fault(reading.path, line_in_head(reading.text, "superseded_by"), reason, "chain")


def put_away_after(identifier: str, states: Mapping[str, tuple[str, str]]) -> str:
    """Return the last memory that took the place of one where it is in the archive; empty where it is in use.

    `states` has status and successor by id.
    """
    last, seen = identifier, {identifier}
    while (after := bare(states.get(last, ("", ""))[1])) and after not in seen:
        last = after
        seen.add(last)
    return last if last != identifier and states.get(last, ("", ""))[0] == "archived" else ""


def doubles(readings: Iterable[Reading], others: Mapping[str, str]) -> Iterator[Fault]:
    """Yield the second and further files of one id; `others` are ids and paths of entries not among the readings."""
    first = dict(others)
    for reading in sorted(readings, key=_seniority):
        entry = reading.entry
        if entry is None or (reading.problems and entry.id == reading.path):
            continue
        if first.setdefault(entry.id, reading.path) != reading.path:
            reason = f"has the id {entry.id} of {first[entry.id]}: give one of them another"
            yield Fault(reading.path, line_in_head(reading.text, entry.id), reason, "id", fixable=True)


def circles(entries: Sequence[tuple[str, str, Entry]]) -> Iterator[Fault]:
    """Yield the entries whose successors lead back to themselves."""
    after = {entry.id: bare(entry.superseded_by) for _, _, entry in entries if entry.superseded_by}
    for path, text, entry in entries:
        circle: dict[str, None] = {}
        name = entry.id
        while name in after and name not in circle:
            circle[name] = None
            name = after[name]
        if circle and name == entry.id:
            shown = [*circle, entry.id] if len(circle) < 6 else [entry.id, "…", entry.id]
            reason = f"superseded in a circle: {' → '.join(shown)}: make one of them active"
            yield Fault(path, line_in_head(text, "superseded_by"), reason, "chain", fixable=True)


def line_in_head(text: str, word: str) -> int:
    """Return the line of the frontmatter that has a word, or one of the names of a key; 1 if none has."""
    head = frontmatter.parse(text).head or ""
    wanted = (word, *SPELLINGS.get(word, ()))
    for number, line in enumerate(head.split("\n"), 2):
        if any(name in line for name in wanted):
            return number
    return 1


def _seniority(reading: Reading) -> tuple[bool, str, str]:
    """Order files of one id so that the one to keep it comes first: not archived, then the oldest."""
    return reading.status == "archived", reading.entry.created_at if reading.entry else "", reading.path


def _links_of_entry(reading: Reading, entry: Entry, names: Names) -> Iterator[Fault]:
    if reading.status == "archived":
        return  # out of service; what it names may have gone since

    def nowhere(key: str, target: str) -> Fault:
        line = line_in_head(reading.text, target)
        return Fault(reading.path, line, f"{key} names {shown_name(target)}, which is not there", "link")

    if entry.superseded_by:
        if not names.has(entry.superseded_by):
            yield nowhere("superseded_by", entry.superseded_by)
        elif reading.status == "active":
            line = line_in_head(reading.text, "superseded_by")
            reason = (
                f"is superseded by {shown_name(entry.superseded_by)} but active: change its status, or take that away"
            )
            yield Fault(reading.path, line, reason, "chain")
    for target in entry.conflicts_with:
        if not names.has(target):
            yield nowhere("conflicts_with", target)
    for target in entry.references:
        name = bare(target)
        is_ours = name != target.strip() or _IS_ID.fullmatch(name) or (name.endswith(".md") and ":" not in name)
        if is_ours and not names.has(target):
            yield nowhere("references", target)
    if "[[" in entry.body or "](" in entry.body:
        document = frontmatter.parse(reading.text)
        yield from _dead_links(reading.path, document.body, document.body_line, names)


def _dead_links(path: str, text: str, first: int, names: Names) -> Iterator[Fault]:
    for link in links(text):
        if not (_leads(path, link.target, names) if link.is_path else names.has(link.target)):
            yield Fault(path, first + link.line - 1, f"links to {shown_name(link.target)}, which is not there", "link")


def _leads(path: str, target: str, names: Names) -> bool:
    """Return whether a path leads to a file from the page's folder or the workspace's; one that leads out is let be."""
    folder = posixpath.dirname(path)
    candidates = [posixpath.normpath(posixpath.join(folder, target)), posixpath.normpath(target)]
    return any(candidate.startswith("../") or names.is_file(candidate) for candidate in candidates)


def _page(reading: Reading, names: Names, budget: int) -> Iterator[Fault]:
    if any("conflict" in problem.reason for problem in reading.problems):
        return
    size = len(reading.text.encode("utf-8", "replace"))
    if budget and size > budget:
        line = reading.text.encode("utf-8", "replace")[:budget].count(b"\n") + 1
        yield Fault(reading.path, line, f"{size:,} bytes are more than memory.budget ({budget:,}): shorten it", "page")
    promoted = read_promoted(reading.text)
    if promoted.problem:
        yield Fault(reading.path, promoted.problem.line, promoted.problem.reason, "page")
    for statement in promoted.lines:
        if statement.id not in names.ids:
            number = reading.text.count("\n", 0, statement.start) + 1
            yield Fault(reading.path, number, f"the promoted {shown_name(statement.id)} is not there", "link")
    yield from _keep_marks(reading)
    yield from _dead_links(reading.path, reading.text, 1, names)


def _keep_marks(reading: Reading) -> Iterator[Fault]:
    opened = 0
    for number, line in enumerate(reading.text.split("\n"), 1):
        mark = line.strip("\ufeff \t\r")
        if (mark == KEEP and opened) or (mark == END_OF_KEEP and not opened):
            yield Fault(reading.path, number, f"{mark} without its other half", "page")
        opened = number if mark == KEEP else 0 if mark == END_OF_KEEP else opened
    if opened:
        yield Fault(reading.path, opened, f"{KEEP} is never closed", "page")


def _history(reading: Reading, zone: tzinfo) -> Iterator[Fault]:
    if any("conflict" in problem.reason for problem in reading.problems):
        return
    for line, heading in unreal_dates(reading.text, zone):
        yield Fault(reading.path, line, f"{heading!r} is no time that exists", "date")
    for line, reason, mends in disorder(reading.text, zone):
        yield Fault(reading.path, line, reason, "history", mends)


def _date_in_name(reading: Reading) -> Iterator[Fault]:
    if reading.kind not in ("note", "history"):
        return
    for date in _REAL.findall(posixpath.basename(reading.path)):
        if parse_time(date if len(date) == 10 else f"{date}-01") is None:
            yield Fault(reading.path, 1, f"{date} in its name is no date that exists: rename it", "date")


def _word(name: str) -> str:
    return name.removesuffix(".md").casefold()


def shown_name(name: str) -> str:
    plain = "".join(letter if letter.isprintable() else "?" for letter in name)
    return plain if len(plain) <= 80 else f"{plain[:79]}…"
