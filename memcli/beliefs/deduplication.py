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
from ..results import Applied, OptionalDiff, Result
from ..store.access_log import read_review
from ..store.journal import Change, Step
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
_ENTRIES = Filter(kinds=("entry",))


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
        why = {one.path: reasons.get(frozenset((self.kept.path, one.path)), "") for one in self.taken}
        texts = {one.path: superseded_text(workspace, one, name, moment, why[one.path]) for one in self.taken}
        gone = [Change(one.path, one.text, texts[one.path]) for one in self.taken]
        return [Change(self.kept.path, self.kept.text, self.whole.text), *gone]


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


class Twins(NamedTuple):
    """What a changed entry and its twins became."""

    supersedes: tuple[str, ...] = ()  # ids of those it took in
    superseded_by: str = ""  # id of the one that took it in: the oldest of the most trusted


NO_TWINS = Twins()


@dataclass(frozen=True)
class _Seen:
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
    seen = ask(workspace, lambda index: _look(index, MOST if judge else MOST_LIKELY if likely else 0))
    known: dict[str, EntryFile | None] = {}

    def read(path: str) -> EntryFile | None:
        if path not in known:
            known[path] = _read(workspace, path, problems)
        return known[path]

    judged, unheard = _judged(seen, read, judge) if judge else ({}, "")

    def are_one(one: EntryFile, other: EntryFile) -> bool:
        return are_duplicates(one.entry, other.entry) or frozenset((one.path, other.path)) in judged

    for paths in _connected([*seen.alike, *map(sorted, judged)]):
        members = [one for path in paths if (one := read(path))]
        strengths = {seen.rows[path]["id"]: seen.rows[path]["strength"] for path in paths}  # with those that wait
        for fold in folds(workspace, members, strengths, are_one):
            steps += fold.steps(workspace, workspace.stamp, judged)
            ids = tuple(one.entry.id for one in fold.taken)
            groups.append(DuplicateGroup(fold.kept.entry.id, ids, shorten(fold.whole.entry.body, 120)))
    reasons = tuple(f"{group.kept} takes in {', '.join(group.merged)}: {group.says}" for group in groups)
    plan = Plan(tuple(steps), reasons)
    report = DedupReport(workspace, plan, False, tuple(groups), tuple(problems), seen.notices, unheard)
    merged = {identifier for group in groups for identifier in group.merged}
    pairs = [pair for pair in _open_pairs(seen, read) if merged.isdisjoint(side.entry.id for side in pair)]
    return _with_likely(report, pairs, likely) if likely and not judge and pairs else report


def fold_twins(workspace: Workspace, path: str, command: str) -> Twins:
    """Let the oldest of the most trusted take in the others; raise as `with_current`, with the entry changed."""
    if workspace.layout.kind_of(path) != "entry" or workspace.layout.is_vault:
        return NO_TWINS

    body = read_entry_file(workspace, path).entry.body
    if not ask(workspace, partial(_has_twin, path=path, body=body)):
        return NO_TWINS  # whoever writes the same meanwhile looks after us, and sees it

    def look(*_: object) -> dict[str, int]:
        strengths = ask(workspace, partial(_strengths, body=read_entry_file(workspace, path).entry.body))
        return strengths if path in strengths else {}

    def decide(strengths: Mapping[str, int]) -> tuple[Sequence[Step], Twins]:
        for group in alike([read_entry_file(workspace, twin) for twin in strengths]):
            ids = {member.entry.id: strengths[member.path] for member in group}
            for fold in folds(workspace, group, ids, lambda left, right: says(left.entry, right.entry.body)):
                taken = {member.path: member.entry.id for member in fold.taken}
                changed = Twins(superseded_by=fold.kept.entry.id) if path in taken else Twins(tuple(taken.values()))
                return tuple(fold.steps(workspace, workspace.stamp, {})), changed
        return (), NO_TWINS

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


def _look(index: Index, most: int) -> _Seen:
    """Return the active entries that share a text or a wording, and at most so many pairs that are near in meaning."""
    index.refresh()
    rows = {row["path"]: row for row in index.list_entries(_ENTRIES, "path") if row["type"] not in EPISODIC}
    texts: dict[str, Sequence[str]] = {}
    for path, text in index.texts(_ENTRIES):
        document = parse(text)
        if path in rows and not document.problem:
            entry, _ = read_entry(document, path, index.workspace.now)
            texts[path] = entry.body, *entry.wordings
    seen = _Seen(rows, sharing(texts))
    return _with_near(index, seen, most) if most else seen


def _with_near(index: Index, seen: _Seen, most: int) -> _Seen:
    from ..index.similarity import similar_pairs

    try:
        missing = index.embedding.embed_missing(index.workspace.settings["search.embed_budget"], wanted=_ENTRIES)
    except UnavailableError as error:
        return replace(seen, notices=(f"what says the same in other words is not looked for: {error}",))
    notices = [f"{missing:,} texts not embedded yet are not compared: run `mem index`"] if missing else []
    paths = paths_of_chunks(index)
    count = 0
    nearest: list[tuple[float, str, str]] = []
    for one, other, cosine in similar_pairs(index, NEAR, _ENTRIES):
        first, second = sorted((paths[one], paths[other]))
        if first != second and first in seen.rows and second in seen.rows:
            count += 1
            (heappush if len(nearest) < most else heappushpop)(nearest, (cosine, first, second))
    if count > len(nearest):
        notices.append(f"only the {len(nearest):,} nearest of {count:,} pairs are compared")
    near = dict.fromkeys((one, other) for _, one, other in sorted(nearest, reverse=True))
    return replace(seen, near=tuple(near), notices=tuple(notices))


def _judged(
    seen: _Seen, read: Callable[[str], EntryFile | None], judge: "LlmJudge"
) -> tuple[dict[frozenset[str], str], str]:
    """Return the reasons of pairs of paths that a judge is sure say the same, and why it was not heard about some."""
    asked = {
        frozenset((newer.path, older.path)): (older.entry.body, newer.entry.body)
        for newer, older in _open_pairs(seen, read)
    }
    heard = judge.compare(list(asked.values()))
    found = {paths: heard.verdicts.get(texts) for paths, texts in asked.items()}
    return {
        paths: verdict.reason for paths, verdict in found.items() if verdict and verdict.kind == "same" and verdict.sure
    }, heard.error


def _open_pairs(seen: _Seen, read: Callable[[str], EntryFile | None]) -> Iterator[tuple[EntryFile, EntryFile]]:
    """Yield the pairs near in meaning whose words do not tell whether they are one, of each the newer first."""
    for pair in seen.near:
        one, other = map(read, pair)
        if one and other and _may_be_asked(one.entry, other.entry):
            yield by_age(one, other)


def _with_likely(report: DedupReport, pairs: Sequence[tuple[EntryFile, EntryFile]], limit: int) -> DedupReport:
    """Ask about the pairs that may say the same, the surest first and those put off last.

    Pairs are compared until there are enough, the nearest first. What the review asks about is left to it; what
    somebody proposed to merge is asked about however unlikely it is.
    """
    from ..index.text_vectors import ReadTexts
    from .neighbours import Learned

    workspace = report.workspace
    learned, texts = Learned(), ReadTexts(in_bulk=True)
    embedder = ask(workspace, lambda index: index.embedding.embedder(bulk=True))
    noted = read_review(workspace)
    questions: list[Question] = []
    compared = 0
    while compared < len(pairs) and sum(question.id not in noted.later for question in questions) < limit:
        batch = pairs[compared : compared + MOST]
        compared += len(batch)
        learned.ask(embedder, [(older.entry.body, newer.entry.body) for newer, older in batch], texts)
        for newer, older in batch:
            flagged = (*newer.entry.conflicts_with, *older.entry.conflicts_with)
            if is_same_slot(older.entry, newer.entry) or {newer.entry.id, older.entry.id}.intersection(flagged):
                continue
            chance = learned.known.get((older.entry.body, newer.entry.body), 0.0)
            question = pair_question("likely", newer, older, f"likely: {chance:.2f}")
            question = replace(question, chance=chance, proposal=noted.proposals.get(question.id))
            if chance >= LIKELY or question.proposal:
                questions.append(question)
    questions.sort(key=lambda question: (noted.later.get(question.id, ""), -question.chance, question.id))
    has_more = compared < len(pairs) or len(questions) > limit
    notices = (*report.notices, *filter(None, [learned.notice]))
    return replace(report, questions=tuple(questions[:limit]), has_more=has_more, notices=notices)


def _may_be_asked(one: Entry, other: Entry) -> bool:
    """Tell whether only a judge can say that two entries are one: they could be, and their words do not tell."""
    is_told = says(one, other.body) or says(other, one.body) or are_apart(one, other)
    return not is_told and could_be_one(one, other) and is_comparable(one.body) and is_comparable(other.body)


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


def _read(workspace: Workspace, path: str, problems: list[tuple[str, str]]) -> EntryFile | None:
    try:
        return read_entry_file(workspace, path)
    except MemError as error:
        problems.append((path, str(error)))
        return None


def alike(entries: Sequence[EntryFile]) -> list[list[EntryFile]]:
    """Return those of some active entries that share a text or a wording, in groups."""
    by_path = {one.path: one for one in entries if one.entry.type not in EPISODIC}
    groups = sharing({path: (one.entry.body, *one.entry.wordings) for path, one in by_path.items()})
    return [[by_path[path] for path in paths] for paths in _connected(groups)]


def _rank(one: EntryFile) -> tuple[float, str, str]:
    return -one.entry.trust, one.entry.created_at, one.path


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
        kept, *others = members
        whole, taken = kept, list[EntryFile]()
        for one in others:
            if are_one(whole, one) and could_be_one(whole.entry, one.entry) and not _distinct(whole.entry, one.entry):
                whole = taking_in(workspace, whole, one.entry, strengths.get(one.entry.id, one.entry.strength))
                taken.append(one)
        members = [one for one in others if one not in taken]
        if taken:
            yield Fold(kept, whole, tuple(taken))


def _distinct(one: Entry, other: Entry) -> bool:
    """Tell whether a person, or who was asked, found two entries distinct."""
    return one.id in other.distinct or other.id in one.distinct


def taking_in(workspace: Workspace, kept: EntryFile, other: Entry, strength: int) -> EntryFile:
    """Return an entry as it stands once it has taken in another one, whose `strength` counts for it."""
    told, body = told_anew(kept.entry, other)
    told["strength"] = kept.entry.strength + strength
    told["updated_at"] = max(kept.entry.updated_at, other.updated_at)
    if more := [source for source in other.sources if source not in kept.entry.sources]:
        told["sources"] = [*kept.entry.sources, *more]
    return revised_entry(workspace, kept, told, body)


def could_be_one(kept: Entry, other: Entry) -> bool:
    """Tell whether two entries are about the same thing by name."""
    if not are_of_one_kind(kept.type, other.type):
        return False
    names = ((getattr(kept, key), getattr(other, key)) for key in ("title", "project", "key"))
    return all(are_twins(ours, theirs) for ours, theirs in names if ours and theirs)


def are_duplicates(kept: Entry, other: Entry) -> bool:
    """Tell whether two entries say the same by their words alone."""
    return says(kept, other.body) or says(other, kept.body)
