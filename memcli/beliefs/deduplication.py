"""Tidy a whole workspace of memories that say the same, word for word or as a judge finds, in one plan.

The oldest of the most trusted stays and takes in the others, which are marked as superseded by it and keep their text.
Doing it again finds nothing. What only seems to say the same is a question to a person, and changes nothing.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from heapq import heappush, heappushpop
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from ..dataclass import dataclass
from ..errors import MemError, UnavailableError
from ..formats.entry import EPISODIC, Entry, read_entry
from ..formats.frontmatter.document import parse
from ..formats.text_lines import shorten
from ..index.filters import Filter
from ..index.index import Index, ask
from ..index.lookups import paths_of_chunks
from ..index.similarity import twins
from ..results import Applied, OptionalDiff, Result, number_of
from ..store.access_log import read_review
from ..store.entries import is_managed
from ..store.journal import Change
from ..store.workspace import Workspace
from .neighbours import are_twins, is_comparable
from .plan import Plan, as_diff
from .review import Question, by_age, pair_question
from .supersession import (
    EntryFile,
    are_apart,
    are_of_one_kind,
    is_same_slot,
    read_entry_file,
    revised_entry,
    says,
    sharing,
    superseded_text,
    told_anew,
)

if TYPE_CHECKING:
    from .llm_judge import LlmJudge

NEAR = 0.6
"""Cosine from which two entries are compared, by a judge or the pair model: .99 of 745 generated repeats reach it."""
MOST = 400
"""Pairs that a judge is asked about in one run, or that the pair model compares at a time, the nearest first."""
MOST_LIKELY = 5 * MOST
"""Pairs that the pair model compares in one run where it finds too few: about 15 seconds."""
LIKELY = 0.4
"""p(same) from which a pair is offered as a likely repeat.

Of 3,000 generated pairs .81 of the repeats reach it and .86 of what does is one (.3: .86 and .83; .5: .75 and .89); of
250 natural ones .80 and .85. Nearly all others are updates, which want an answer too; among 1,666 texts that two
authors wrote side by side about a tenth of what lies from .3 to .4 is a repeat.
"""
_ENTRIES = Filter(kinds=("entry",), managed=True)


@dataclass(frozen=True)
class DuplicateGroup:
    """Memories that say the same: the one that stays, and those it takes in."""

    kept: Annotated[str, "the entry that stays"]
    merged: Annotated[tuple[str, ...], "the ids of those that are merged into it"]
    says: Annotated[str, "what they say"]


@dataclass(frozen=True)
class Fold:
    """An entry that takes in others which say the same."""

    kept: EntryFile
    whole: EntryFile  # as it stands then
    taken: tuple[EntryFile, ...]

    def steps(self, workspace: Workspace, moment: str, reasons: Mapping[frozenset[str], str]) -> list[Change]:
        """Return the changes that do it, at a moment; the reasons of an LLM's verdicts are by the paths of a pair."""
        name = self.kept.entry.id
        why = {file.path: reasons.get(frozenset((self.kept.path, file.path)), "") for file in self.taken}
        texts = {file.path: superseded_text(workspace, file, name, moment, why[file.path]) for file in self.taken}
        superseded = [Change(file.path, file.text, texts[file.path]) for file in self.taken]
        return [Change(self.kept.path, self.kept.text, self.whole.text), *superseded]


class LikelyPair(NamedTuple):
    """Two entries that may say the same, the newer first."""

    ids: Annotated[tuple[str, ...], "the newer entry and the older"]
    texts: Annotated[tuple[str, ...], "what they say, in this order"]
    dates: Annotated[tuple[str, ...], "when they were made, in this order"]
    p: Annotated[float, "how likely they say the same, 0 to 1"]


@dataclass(frozen=True)
class DedupReport(Result):
    """The entries that say what another one says, merged or to be merged, and what could not be looked at."""

    workspace: Workspace
    plan: Plan
    applied: Applied = False
    groups: Annotated[tuple[DuplicateGroup, ...], "entries that say the same"] = ()
    problems: Annotated[tuple[tuple[str, str], ...], "path and reason of what could not be looked at"] = ()
    notices: tuple[str, ...] = ()
    unheard: str = ""  # why a judge said nothing of some
    questions: tuple[Question, ...] = ()  # about pairs that may say the same, the surest first
    has_more: bool = False  # whether other pairs were left out
    unapplied: tuple[tuple[str, str], ...] = ()  # files that changed meanwhile: path, and where our text is

    @property
    def likely(
        self,
    ) -> Annotated[
        tuple[LikelyPair, ...],
        "pairs that may say the same in other words, the surest first; `mem dedup ID ID` makes one memory of two",
    ]:
        """Return the pairs that are asked about."""
        pairs = ((question, [side.entry for side in question.sides]) for question in self.questions)
        return tuple(
            LikelyPair(
                tuple(entry.id for entry in entries),
                tuple(entry.body for entry in entries),
                tuple(entry.created_at for entry in entries),
                round(question.chance, 3),
            )
            for question, entries in pairs
        )

    @property
    def diff(self) -> OptionalDiff:
        """Return as a unified diff what is not done yet."""
        return None if self.applied else as_diff(self.plan, self.workspace)


@dataclass(frozen=True)
class _IndexedEntries:
    """What the index tells of active entries."""

    rows: Mapping[str, Mapping[str, Any]]  # by path
    alike: Sequence[Sequence[str]]  # paths of those that share a text or a wording
    near: Sequence[tuple[str, str]] = ()  # paths of pairs, the nearest in meaning first
    notices: tuple[str, ...] = ()


def dedup_plan(workspace: Workspace, judge: "LlmJudge | None" = None, *, likely: int = 0) -> DedupReport:
    """Propose to merge what says the same: word for word, or as a judge finds of what is near in meaning.

    Without a judge also return `likely` pairs that may say the same in other words.
    """
    problems: list[tuple[str, str]] = []
    groups: list[DuplicateGroup] = []
    steps: list[Change] = []
    indexed = ask(workspace, lambda index: _read_index(index, MOST if judge else MOST_LIKELY if likely else 0))
    files: dict[str, EntryFile] = {}
    for path in dict.fromkeys(path for paths in (*indexed.alike, *indexed.near) for path in paths):
        try:
            files[path] = read_entry_file(workspace, path)
        except MemError as error:
            problems.append((path, str(error)))
    open_pairs = list(_open_pairs(indexed, files))
    reasons_by_paths, unheard = _judged_same(open_pairs, judge) if judge else ({}, "")

    def are_one(left: EntryFile, right: EntryFile) -> bool:
        return are_duplicates(left.entry, right.entry) or frozenset((left.path, right.path)) in reasons_by_paths

    for paths in _connected([*indexed.alike, *map(sorted, reasons_by_paths)]):
        members = [files[path] for path in paths if path in files]
        strengths = {indexed.rows[path]["id"]: indexed.rows[path]["strength"] for path in paths}  # with those that wait
        for fold in folds(workspace, members, strengths, are_one):
            steps += fold.steps(workspace, workspace.stamp, reasons_by_paths)
            ids = tuple(file.entry.id for file in fold.taken)
            groups.append(DuplicateGroup(fold.kept.entry.id, ids, shorten(fold.whole.entry.body, 120)))
    reasons = tuple(f"{group.kept} takes in {', '.join(group.merged)}: {group.says}" for group in groups)
    plan = Plan(tuple(steps), reasons)
    report = DedupReport(workspace, plan, False, tuple(groups), tuple(problems), indexed.notices, unheard)
    merged = {identifier for group in groups for identifier in group.merged}
    pairs = [pair for pair in open_pairs if merged.isdisjoint(side.entry.id for side in pair)]
    return _with_likely(report, pairs, likely) if likely and not judge and pairs else report


def fold_twins(workspace: Workspace, path: str, command: str) -> tuple[tuple[str, ...], str]:
    """Let the oldest of the most trusted take in the others that say what a changed entry says.

    Return the ids of those it took in, and the id of the one that took it in. Raise as `with_current`.
    """
    if workspace.layout.kind_of(path) != "entry" or not is_managed(workspace, path):
        return (), ""

    body = read_entry_file(workspace, path).entry.body
    if not ask(workspace, partial(_has_twin, path=path, body=body)):
        return (), ""  # whoever writes the same meanwhile looks after us, and sees it

    def look(*_: object) -> dict[str, int]:
        strengths = ask(workspace, partial(_strengths, body=read_entry_file(workspace, path).entry.body))
        return strengths if path in strengths else {}

    def decide(strengths: Mapping[str, int]) -> tuple[Plan, tuple[tuple[str, ...], str]]:
        for group in alike([read_entry_file(workspace, twin) for twin in strengths]):
            ids = {member.entry.id: strengths[member.path] for member in group}
            for fold in folds(workspace, group, ids, lambda left, right: says(left.entry, right.entry.body)):
                taken = {member.path: member.entry.id for member in fold.taken}
                changed = ((), fold.kept.entry.id) if path in taken else (tuple(taken.values()), "")
                return Plan(tuple(fold.steps(workspace, workspace.stamp, {}))), changed
        return Plan(), ((), "")

    from .admission import with_current  # late: most edits have no twin

    return with_current(workspace, command, look, decide)[0]


def _has_twin(index: Index, path: str, body: str) -> bool:
    """Return whether another active entry has the text of the one at a path, which was just changed."""
    index.refresh(changing=path)
    return bool({*paths_of_chunks(index, twins(index, [body], _ENTRIES).get(body, ())).values()} - {path})


def _strengths(index: Index, body: str) -> dict[str, int]:
    """Map the paths of the active entries with this text to their strengths; nothing where there is but one."""
    index.refresh()
    paths = {*paths_of_chunks(index, twins(index, [body], _ENTRIES).get(body, ())).values()}
    if len(paths) < 2:
        return {}
    rows = index.list_entries(replace(_ENTRIES, paths=tuple(paths)), "path")
    return {row["path"]: row["strength"] for row in rows if row["path"] in paths}


def _read_index(index: Index, most: int) -> _IndexedEntries:
    """Return the active entries that share a text or a wording, and at most so many pairs that are near in meaning."""
    index.refresh()
    rows = {row["path"]: row for row in index.list_entries(_ENTRIES, "path") if row["type"] not in EPISODIC}
    texts: dict[str, Sequence[str]] = {}
    for path, text in index.texts(_ENTRIES):
        document = parse(text)
        if path in rows and not document.problem:
            entry, _ = read_entry(document, path, index.workspace.now)
            texts[path] = entry.body, *entry.wordings
    indexed = _IndexedEntries(rows, sharing(texts))
    return _with_near(index, indexed, most) if most else indexed


def _with_near(index: Index, indexed: _IndexedEntries, most: int) -> _IndexedEntries:
    from ..index.similarity import similar_pairs

    try:
        missing = index.embedding.embed_missing(index.workspace.settings["search.embed_budget"], wanted=_ENTRIES)
    except UnavailableError as error:
        return replace(indexed, notices=(f"what says the same in other words is not looked for: {error}",))
    notices = [f"{number_of(missing, 'text')} not embedded yet, so not compared: run `mem index`"] if missing else []
    paths = paths_of_chunks(index)
    count = 0
    nearest: list[tuple[float, str, str]] = []
    for left, right, cosine in similar_pairs(index, NEAR, _ENTRIES):
        first, second = sorted((paths[left], paths[right]))
        if first != second and first in indexed.rows and second in indexed.rows:
            count += 1
            (heappush if len(nearest) < most else heappushpop)(nearest, (cosine, first, second))
    if count > len(nearest):
        notices.append(f"only the {len(nearest):,} nearest of {count:,} pairs are compared")
    near = dict.fromkeys((left, right) for _, left, right in sorted(nearest, reverse=True))
    return replace(indexed, near=tuple(near), notices=tuple(notices))


def _judged_same(
    pairs: Iterable[tuple[EntryFile, EntryFile]], judge: "LlmJudge"
) -> tuple[dict[frozenset[str], str], str]:
    """Return the reasons of pairs of paths that a judge is sure say the same, and why it was not heard about some."""
    texts_by_paths = {
        frozenset((newer.path, older.path)): (older.entry.body, newer.entry.body) for newer, older in pairs
    }
    verdicts_by_texts, error = judge.compare(list(texts_by_paths.values()))
    verdicts_by_paths = {paths: verdicts_by_texts.get(texts) for paths, texts in texts_by_paths.items()}
    return {
        paths: verdict.reason
        for paths, verdict in verdicts_by_paths.items()
        if verdict and verdict.kind == "same" and verdict.sure
    }, error


def _open_pairs(indexed: _IndexedEntries, files: Mapping[str, EntryFile]) -> Iterator[tuple[EntryFile, EntryFile]]:
    """Yield the pairs near in meaning whose words do not tell whether they are one, of each the newer first."""
    for pair in indexed.near:
        left, right = map(files.get, pair)
        if left and right and _may_be_asked(left.entry, right.entry):
            yield by_age(left, right)


def _with_likely(report: DedupReport, pairs: Sequence[tuple[EntryFile, EntryFile]], limit: int) -> DedupReport:
    """Ask about the pairs that may say the same, the surest first and those put off last.

    Pairs are compared until there are enough, the nearest first. What the review asks about is left to it; what
    somebody proposed to merge is asked about however unlikely it is.
    """
    from ..index.text_vectors import ReadTexts
    from .neighbours import Comparer

    workspace = report.workspace
    embedder = ask(workspace, lambda index: index.embedding.embedder(bulk=True))
    comparer = Comparer(embedder=embedder, texts=ReadTexts(in_bulk=True))
    noted = read_review(workspace)
    questions: list[Question] = []
    compared = 0
    while compared < len(pairs) and sum(question.id not in noted.later for question in questions) < limit:
        batch = pairs[compared : compared + MOST]
        compared += len(batch)
        comparer.compare([(older.entry.body, newer.entry.body) for newer, older in batch])
        for newer, older in batch:
            flagged = (*newer.entry.conflicts_with, *older.entry.conflicts_with)
            if is_same_slot(older.entry, newer.entry) or {newer.entry.id, older.entry.id}.intersection(flagged):
                continue
            chance = comparer.repeats.get((older.entry.body, newer.entry.body), 0.0)
            question = pair_question("likely", newer, older, f"likely: {chance:.2f}")
            question = replace(question, chance=chance, proposal=noted.proposals.get(question.id))
            if chance >= LIKELY or question.proposal:
                questions.append(question)
    questions.sort(key=lambda question: (noted.later.get(question.id, ""), -question.chance, question.id))
    has_more = compared < len(pairs) or len(questions) > limit
    notices = (*report.notices, *filter(None, [comparer.notice]))
    return replace(report, questions=tuple(questions[:limit]), has_more=has_more, notices=notices)


def _may_be_asked(left: Entry, right: Entry) -> bool:
    """Tell whether only a judge can say that two entries are one: they could be, and their words do not tell."""
    is_told = says(left, right.body) or says(right, left.body) or are_apart(left, right)
    return not is_told and could_be_one(left, right) and is_comparable(left.body) and is_comparable(right.body)


def _connected(groups: Iterable[Sequence[str]]) -> list[list[str]]:
    """Join groups that have a member in common, so that each path is in one; in the order of paths."""
    leader: dict[str, str] = {}

    def find(path: str) -> str:
        while leader.setdefault(path, path) != path:
            path = leader[path]
        return path

    for first, *others in groups:
        for other in others:
            leader[find(other)] = find(first)
    joined: dict[str, list[str]] = defaultdict(list)
    for path in sorted(leader):
        joined[find(path)].append(path)
    return sorted(joined.values())


def alike(entries: Sequence[EntryFile]) -> list[list[EntryFile]]:
    """Return those of some active entries that share a text or a wording, in groups."""
    by_path = {file.path: file for file in entries if file.entry.type not in EPISODIC}
    groups = sharing({path: (file.entry.body, *file.entry.wordings) for path, file in by_path.items()})
    return [[by_path[path] for path in paths] for paths in _connected(groups)]


def _rank(file: EntryFile) -> tuple[float, str, str]:
    return -file.entry.trust, file.entry.created_at, file.path


def folds(
    workspace: Workspace,
    members: Sequence[EntryFile],
    strengths: Mapping[str, int],
    are_one: Callable[[EntryFile, EntryFile], bool],
) -> Iterator[Fold]:
    """Yield which of these entries takes in which others; `strengths` by id count for more than those of the files.

    Nothing takes in what it was found distinct from, or what is about something else by name.
    """
    members = sorted(members, key=_rank)
    while members:
        staying, *others = members
        whole, taken = staying, list[EntryFile]()
        for file in others:
            is_same = are_one(whole, file) and could_be_one(whole.entry, file.entry)
            if is_same and not _distinct(whole.entry, file.entry):
                whole = taking_in(workspace, whole, file.entry, strengths.get(file.entry.id, file.entry.strength))
                taken.append(file)
        members = [file for file in others if file not in taken]
        if taken:
            yield Fold(staying, whole, tuple(taken))


def _distinct(left: Entry, right: Entry) -> bool:
    """Tell whether a person, or who was asked, found two entries distinct."""
    return left.id in right.distinct or right.id in left.distinct


def taking_in(workspace: Workspace, staying: EntryFile, other: Entry, strength: int) -> EntryFile:
    """Return an entry as it stands once it has taken in another one, whose `strength` counts for it."""
    fields, body = told_anew(staying.entry, other)
    fields["strength"] = staying.entry.strength + strength
    fields["updated_at"] = max(staying.entry.updated_at, other.updated_at)
    if more := [source for source in other.sources if source not in staying.entry.sources]:
        fields["sources"] = [*staying.entry.sources, *more]
    return revised_entry(workspace, staying, fields, body)


def could_be_one(staying: Entry, other: Entry) -> bool:
    """Tell whether two entries are about the same thing by name."""
    if not are_of_one_kind(staying.type, other.type):
        return False
    names = ((getattr(staying, key), getattr(other, key)) for key in ("title", "project", "key"))
    return all(are_twins(ours, theirs) for ours, theirs in names if ours and theirs)


def are_duplicates(staying: Entry, other: Entry) -> bool:
    """Tell whether two entries say the same by their words alone."""
    return says(staying, other.body) or says(other, staying.body)
