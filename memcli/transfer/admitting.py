"""Let imported memories in: what is said already is merged into it, what contradicts is settled or marked.

Files of an export are not compared with each other, nor with what stands here and in the export alike: they lived
together where they come from. Records of other tools are compared with each other too. What says nothing to anything
here comes in byte for byte. An entry that took one in names it among its sources; a second import finds it done.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ..beliefs.admission import Admitted, Draft
from ..beliefs.admit import Looked, Settled, ask_judge, is_settled_here, look, settle
from ..beliefs.plan import without_lines
from ..errors import RefusedError
from ..formats.entry import Entry
from ..formats.frontmatter.document import parse
from ..index.filters import Filter
from ..index.index import Index
from ..index.lookups import ids
from ..store import local_log
from ..store.journal import Change, apply, exclusive
from ..store.layouts import is_archived
from ..store.lock import next_turn, one_by_one
from ..store.workspace import Workspace
from .bundle import USUAL_MODES, Parcel
from .foreign_memories import is_made_here

if TYPE_CHECKING:
    from ..beliefs.llm_judge import LlmJudge

MARK = "import:"
"""What a source begins with that names an imported memory."""
MARKS = frozenset(
    ["status", "superseded_by", "conflicts_with", "likely_same", "references", "sources", "strength"]
) | frozenset(["updated_at", "access_count", "last_accessed_at", "superseded_at", "wordings", "distinct"])
"""Fields that mem changes by itself: two files that differ in them alone hold the same memory."""
_TRIES = 3
_MARKED = re.compile(rf"{MARK}(.+?)(?=[\"']?\s*(?:[,\]\n]|$))")


@dataclass(frozen=True)
class Known:
    """What a workspace has before an import."""

    ids: dict[str, str]  # id → path
    taken_in: Mapping[str, str]  # imported memory → path of the entry that took it in
    is_empty: bool  # of active entries


@dataclass(frozen=True)
class Candidate:
    """A file that is to be let in."""

    line: int
    parcel: Parcel
    entry: Entry
    text: str


@dataclass(frozen=True)
class LetIn:
    """What became of files, and what is to be said of them all."""

    admitted: list[Admitted | None]  # None for what comes in as it is because its place cannot be changed
    notices: tuple[str, ...] = ()
    unheard: str = ""  # why a judge said nothing of some


def known(index: Index) -> Known:
    """Read it from the index, brought in step first."""
    index.refresh()
    rows = index.connection.execute(
        f"select path, text from texts join files using(file) where kind = 'entry' and text like '%{MARK}%'"
    )
    taken = {found[1]: path for path, text in rows for found in _MARKED.finditer(text)}
    places = ids(index)
    for one, noted in local_log.confirmations(index.workspace).items():
        marks = (source.removeprefix(MARK) for source in noted.sources if source.startswith(MARK))
        taken |= {name: places[one] for name in marks if one in places}
    return Known(places, taken, not index.list_entries(Filter(kinds=("entry",)), "path", 1))


def name_of(parcel: Parcel, entry: Entry) -> str:
    """Name an imported memory for good: an undated record gets another id every time, but never another path."""
    return parcel.path if is_made_here(parcel.path) else entry.id


def candidate(line: int, parcel: Parcel, entry: Entry) -> Candidate | None:
    """Give what is to be compared with what stands; None for what comes in as it is."""
    try:
        text = parcel.data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    if is_archived(parcel.path):
        return None
    is_sound = is_settled_here(entry) and entry.body.strip() and not parse(text).problem
    return Candidate(line, parcel, entry, text) if is_sound else None


def is_same_memory(one: bytes, other: bytes) -> bool:
    """Tell whether two files of one id differ only in what mem itself notes in them."""
    try:
        documents = [parse(data.decode("utf-8")) for data in (one, other)]
    except UnicodeDecodeError:
        return False
    (ours, theirs) = ({key: said for key, said in one.fields.items() if key not in MARKS} for one in documents)
    return not any(one.problem for one in documents) and documents[0].body == documents[1].body and ours == theirs


def let_in(
    workspace: Workspace,
    candidates: Sequence[Candidate],
    together: frozenset[str],
    put: Callable[[Parcel], None],
    judge: "LlmJudge | None" = None,
    *,
    dry_run: bool,
) -> LetIn:
    """Let files in as one change; `together` are paths of the same export that stand here, `put` makes a file as it is.

    A judge says what each is to what stands, before a lock is taken.
    """
    try:
        settled = _let_in(workspace, candidates, together, put, judge, dry_run=dry_run)
    except RefusedError:
        if len(candidates) == 1:
            return LetIn([None])
        half = len(candidates) // 2
        parts = [
            let_in(workspace, part, together, put, judge, dry_run=dry_run)
            for part in (candidates[:half], candidates[half:])
        ]
        errors = dict.fromkeys(part.unheard for part in parts if part.unheard)
        return LetIn([one for part in parts for one in part.admitted], parts[0].notices, "; ".join(errors))
    return LetIn(list(settled.admitted), settled.notices, settled.error)


def _let_in(
    workspace: Workspace,
    candidates: Sequence[Candidate],
    together: frozenset[str],
    put: Callable[[Parcel], None],
    judge: "LlmJudge | None",
    *,
    dry_run: bool,
) -> Settled:
    drafts = [Draft({}, one.entry.body, lambda _: b"", one.parcel.path, one.text) for one in candidates]
    looked: Looked | None = None
    heard = None
    if dry_run or judge is not None:
        looked = look(workspace, drafts)
        apart = _apart(looked, candidates, together)
        heard = ask_judge(workspace, apart, judge) if judge is not None else None
        if dry_run:
            return settle(workspace, apart, heard)
    for attempt in range(_TRIES):
        with one_by_one(workspace, "mem import"):
            looked = look(workspace, drafts, looked)
            with exclusive(workspace, "mem import") as held:
                if not looked.is_current(workspace):
                    if attempt < _TRIES - 1:
                        continue
                    looked = look(workspace, drafts, looked, budget=0.0)
                settled = settle(workspace, _apart(looked, candidates, together), heard)
                next_turn(workspace)
                changes, as_they_are = _sorted_out(settled, candidates, put)
                plan = without_lines(workspace, settled.superseded)
                apply(workspace, [*changes, *plan.steps], held)
                local_log.confirm(workspace, settled.confirmed)
        for one in as_they_are:
            put(one)
        return settled
    raise AssertionError("unreachable")


def _apart(looked: Looked, candidates: Sequence[Candidate], together: frozenset[str]) -> Looked:
    """Leave out that files of one export are like each other, and name where each comes from."""
    near, before, entries = [], [], []
    for one, found, earlier, entry in zip(
        candidates, looked.seen.near, looked.seen.before, looked.entries, strict=True
    ):
        is_foreign = is_made_here(one.parcel.path)
        near.append([each for each in found if is_foreign or each.path not in together])
        before.append({row: cosine for row, cosine in earlier.items() if is_foreign})
        entries.append(replace(entry, sources=(*entry.sources, MARK + name_of(one.parcel, entry))))
    return replace(looked, entries=tuple(entries), seen=replace(looked.seen, near=near, before=before))


def _sorted_out(
    settled: Settled, candidates: Sequence[Candidate], put: Callable[[Parcel], None]
) -> tuple[list[Change], list[Parcel]]:
    """Tell what is changed as one from what only has to be put in its place, with its age and its mode."""
    texts = {one.parcel.path: one for one in candidates}
    changes: list[Change] = []
    as_they_are: list[Parcel] = []
    for step in settled.plan.steps:
        assert isinstance(step, Change)
        one = texts.get(step.path) if step.before is None else None
        if one is None:
            changes.append(step)
        elif step.after == one.text:
            as_they_are.append(one.parcel)
        elif one.parcel.mode in USUAL_MODES:
            changes.append(step)
        else:  # a private file is private from its first moment
            put(one.parcel)
            changes.append(replace(step, before=one.text))
    return changes, as_they_are
