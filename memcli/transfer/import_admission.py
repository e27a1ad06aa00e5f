"""Admit imported memories: one whose text is there already is merged, one that contradicts is settled or marked.

Files of an export are not compared with each other, nor with what stands here and in the export alike: they lived
together where they come from. Records of other tools are compared with each other too. What says nothing to anything
here comes in byte for byte. An entry that took one in names it among its sources; a second import finds it done.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..beliefs.admission import ask_judge, is_settled_here, look, note_settled, settle_drafts, with_current
from ..beliefs.neighbours import Nearby
from ..beliefs.plan import Draft, Settled
from ..dataclass import dataclass
from ..errors import RefusedError
from ..formats.entry import Entry
from ..formats.frontmatter.document import parse
from ..store.entries import Admitted
from ..store.journal import Change, Step
from ..store.layouts import is_archived
from ..store.workspace import Workspace
from .bundle import USUAL_MODES, BundledFile
from .foreign_memories import is_made_here
from .import_target import IMPORT_SOURCE, lasting_name

if TYPE_CHECKING:
    from ..beliefs.llm_judge import Heard, LlmJudge


@dataclass(frozen=True)
class ImportCandidate:
    """A file that is to be let in."""

    line: int
    file: BundledFile
    entry: Entry
    text: str


@dataclass(frozen=True)
class AdmittedFiles:
    """What became of files, and the notices about all of them."""

    admitted: list[Admitted | None]  # None for what comes in as it is because its place cannot be changed
    notices: tuple[str, ...] = ()
    unheard: str = ""  # why a judge said nothing of some


def import_candidate(line: int, file: BundledFile, entry: Entry) -> ImportCandidate | None:
    """Return what is to be compared with what stands; None for what comes in as it is."""
    try:
        text = file.data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    if is_archived(file.path):
        return None
    is_sound = is_settled_here(entry) and entry.body.strip() and not parse(text).problem
    return ImportCandidate(line, file, entry, text) if is_sound else None


def admit_files(
    workspace: Workspace,
    candidates: Sequence[ImportCandidate],
    together: frozenset[str],
    make: Callable[[BundledFile], None],
    judge: "LlmJudge | None" = None,
    *,
    dry_run: bool,
) -> AdmittedFiles:
    """Admit files as one change; `together` are existing paths of the same export, `make` makes one as it is.

    A judge says what each is to what stands, before a lock is taken.
    """
    try:
        settled = _admit(workspace, candidates, together, make, judge, dry_run=dry_run)
    except RefusedError:
        if len(candidates) == 1:
            return AdmittedFiles([None])
        half = len(candidates) // 2
        parts = [
            admit_files(workspace, part, together, make, judge, dry_run=dry_run)
            for part in (candidates[:half], candidates[half:])
        ]
        errors = dict.fromkeys(part.unheard for part in parts if part.unheard)
        return AdmittedFiles(
            [admitted for part in parts for admitted in part.admitted], parts[0].notices, "; ".join(errors)
        )
    return AdmittedFiles(list(settled.admitted), settled.notices, settled.error)


def _admit(
    workspace: Workspace,
    candidates: Sequence[ImportCandidate],
    together: frozenset[str],
    make: Callable[[BundledFile], None],
    judge: "LlmJudge | None",
    *,
    dry_run: bool,
) -> Settled:
    drafts = [
        Draft({}, candidate.entry.body, lambda _: b"", candidate.file.path, candidate.text) for candidate in candidates
    ]
    seen: Nearby | None = None
    heard: Heard | None = None
    if dry_run or judge is not None:
        seen = look(workspace, drafts)
        apart = _apart(seen, candidates, together)
        heard = ask_judge(workspace, apart, judge) if judge is not None else None
        if dry_run:
            return settle_drafts(workspace, apart, heard)

    def again(last: Nearby | None, seconds: float | None) -> Nearby:
        return look(workspace, drafts, last, budget=seconds)

    def decide(now: Nearby) -> tuple[list[Step], tuple[Settled, list[BundledFile]]]:
        settled = settle_drafts(workspace, _apart(now, candidates, together), heard)
        changes, as_they_are = _sorted_out(settled, candidates, make)
        return [*changes], (settled, as_they_are)

    def note(result: tuple[Settled, list[BundledFile]]) -> None:
        note_settled(workspace, result[0])

    (settled, as_they_are), _ = with_current(workspace, "mem import", again, decide, seen, note=note)
    for file in as_they_are:
        make(file)
    return settled


def _apart(seen: Nearby, candidates: Sequence[ImportCandidate], together: frozenset[str]) -> Nearby:
    """Leave out that files of one export are like each other, and name where each comes from."""
    near, before, entries = [], [], []
    for candidate, neighbours, earlier, entry in zip(candidates, seen.near, seen.before, seen.entries, strict=True):
        is_foreign = is_made_here(candidate.file.path)
        near.append({path: cosine for path, cosine in neighbours.items() if is_foreign or path not in together})
        before.append({row: cosine for row, cosine in earlier.items() if is_foreign})
        entries.append(replace(entry, sources=(*entry.sources, IMPORT_SOURCE + lasting_name(candidate.file, entry))))
    return replace(seen, entries=tuple(entries), near=near, before=before)


def _sorted_out(
    settled: Settled, candidates: Sequence[ImportCandidate], make: Callable[[BundledFile], None]
) -> tuple[list[Step], list[BundledFile]]:
    """Return what is changed as one, and what only has to be put in its place, with its age and its mode."""
    texts = {candidate.file.path: candidate for candidate in candidates}
    changes: list[Step] = []
    as_they_are: list[BundledFile] = []
    for step in settled.plan.steps:
        if not isinstance(step, Change):  # what had faded comes back
            changes.append(step)
            continue
        candidate = texts.get(step.path) if step.before is None else None
        if candidate is None:
            changes.append(step)
        elif step.after == candidate.text:
            as_they_are.append(candidate.file)
        elif candidate.file.mode in USUAL_MODES:
            changes.append(step)
        else:  # a private file is private from its first moment
            make(candidate.file)
            changes.append(replace(step, before=candidate.text))
    return changes, as_they_are
