"""The queue of what needs a person's yes or no: filled keys, verdicts, faded rules, the inbox, conflicts of a merge.

Only looks. An id names a question and the texts it is about: once one of these is edited, it is another question.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from typing import Annotated, Any, Literal, NamedTuple, get_args

from ..dataclass import dataclass
from ..errors import MemError, NotFoundError
from ..formats.entry import slot_of
from ..formats.ids import blake2b
from ..index.filters import Filter
from ..index.index import Index, ask
from ..recall.retention import faded_rules, unread_paths
from ..results import FilePath, Id, Result
from ..store import access_log
from ..store.access_log import ProposedDecision
from ..store.workspace import Workspace
from .forgotten import NEW, held_files, told_of
from .supersession import EntryFile, is_same_slot, read_entry_file


def review_rows(index: Index) -> tuple[list[dict[str, Any]], list[tuple[str, str]]]:
    """Return the active entries, newest first, and the files that cannot be read with their reasons."""
    index.refresh()
    problems = index.problems()
    unread = unread_paths(index.workspace, [problem.path for problem in problems])
    passed_over = unread | {
        problem.path
        for problem in problems
        if problem.left_out and index.workspace.layout.kind_of(problem.path) == "entry"
    }
    faults = [
        (problem.path, f"line {problem.line}: {problem.reason}") for problem in problems if problem.path in passed_over
    ]
    return index.list_entries(Filter(managed=True), "entries.created_at desc, path"), faults


QuestionKind = Literal["conflict", "key", "faded", "held", "new", "likely"]
KINDS: tuple[QuestionKind, ...] = ("key", "conflict", "faded", "held", "new")
"""In the order they are asked; `mem dedup` asks about likely repeats."""
HUB = 3
"""Pairs one entry is in from which they are asked about together."""
_DONE = "the question was settled meanwhile, or one of its memories is gone"


Decision = Literal["keep", "newer", "older", "same", "forget", "later"]
DECISIONS: tuple[Decision, ...] = get_args(Decision)
_SINGLE: tuple[Decision, ...] = ("keep", "forget", "later")


class QuestionMemory(NamedTuple):
    """A memory as a question shows it."""

    id: Id
    type: Annotated[str, "what it claims, such as fact or preference"]
    key: Annotated[str, "the slot it fills; empty for none"]
    project: Annotated[str, "the project it belongs to; empty for none"]
    source: Annotated[str, "who said it: user, observed, inferred or repository"]
    trust: Annotated[float, "how far it is trusted, from 0 to 1"]
    strength: Annotated[int, "how often it was confirmed"]
    created_at: Annotated[str, "when it was made"]
    updated_at: Annotated[str, "when it was last changed"]
    pinned: Annotated[bool, "whether it never fades"]
    path: FilePath
    text: Annotated[str, "its whole text"]


@dataclass(frozen=True)
class Question:
    """What is asked, and of which memories; of a pair the newer comes first."""

    id: Annotated[str, "what `mem review answer` takes; another one once a text of it is edited"]
    kind: Annotated[QuestionKind, "conflict, same, key, faded, held or new"]
    sides: tuple[EntryFile, ...]
    reason: Annotated[str, "why it is asked"]
    group: Annotated[
        str, "what it has in common with others: the id of an entry in many pairs, or what brought it in"
    ] = ""
    proposal: Annotated[ProposedDecision | None, "a decision of somebody who may not take it; null for none"] = None
    chance: float = 0.0  # learned probability that a likely pair says the same

    @property
    def is_pair(self) -> bool:
        """Tell whether two memories are held against each other."""
        return len(self.sides) == 2

    @property
    def memories(self) -> Annotated[list[QuestionMemory], "what it is about; of a pair the newer first"]:
        """Return what is shown of its sides."""
        names = QuestionMemory._fields[:-2]
        return [
            QuestionMemory(**{name: getattr(side.entry, name) for name in names}, path=side.path, text=side.entry.body)
            for side in self.sides
        ]

    @property
    def answers(self) -> Annotated[tuple[Decision, ...], "the decisions it takes"]:
        """Return the decisions it takes; one key holds one value, so that both cannot be kept."""
        if not self.is_pair:
            return _SINGLE
        return tuple(decision for decision in DECISIONS if decision != "keep" or self.kind != "key")


class UnreadFile(NamedTuple):
    """A file that nothing can be asked about."""

    path: FilePath
    reason: Annotated[str, "what is wrong"]


@dataclass(frozen=True)
class Proposed:
    """What came of asking an LLM."""

    asked: int  # pairs
    settled: int = 0  # questions it decided
    proposed: int = 0
    unheard: str = ""  # why it said nothing of some


@dataclass(frozen=True)
class ReviewReport(Result):
    """The questions in the order they are asked, and the files that could not be read."""

    count: Annotated[int, "how many questions wait, also where fewer are listed"]
    questions: Annotated[tuple[Question, ...], "what waits for a yes or no, in the order it is asked"]
    problems: Annotated[tuple[UnreadFile, ...], "files nothing can be asked about"]
    judged: Proposed | None = None  # what came of asking an LLM; None where none was asked


def review_queue(workspace: Workspace) -> ReviewReport:
    """Return what waits; a file that cannot be read is a problem, and nothing is asked about it."""
    rows, faults = ask(workspace, review_rows)
    noted = access_log.read_review(workspace)
    desk = _Desk(workspace, rows)
    questions = [*desk.pairs(), *desk.faded(), *held(workspace)]
    asked = {side.entry.id for question in questions for side in question.sides}
    questions += desk.disputed(noted.disputed - asked)
    questions = [replace(question, proposal=noted.proposals.get(question.id)) for question in _grouped(questions)]
    sizes = Counter(question.group for question in questions)
    questions.sort(
        key=lambda question: (
            noted.later.get(question.id, ""),
            KINDS.index(question.kind),
            -sizes[question.group],
            question.group,
        )
    )
    problems = dict.fromkeys([*desk.problems, *faults])
    return ReviewReport(len(questions), tuple(questions), tuple(UnreadFile(*problem) for problem in problems))


_WAITS = {NEW: "new, of a conversation: memory.writing is ask"}


def held(workspace: Workspace) -> list[Question]:
    """Ask about what waits in the inbox."""
    questions = []
    for file in held_files(workspace):
        why, since, about = told_of(file)
        reason = (
            f"held back since {since[:10]}: may say what was forgotten in {about}"
            if about
            else _WAITS.get(why, f"held: {why}")
        )
        questions.append(Question(_id("held", (file,)), "held", (file,), reason, f"inbox {about}"))
    return questions


class Now:
    """Files and the log as they are now, each read once."""

    def __init__(self, workspace: Workspace) -> None:
        """Belong to a workspace."""
        self._workspace = workspace
        self._read: dict[str, EntryFile] = {}

    def standing(self, path: str) -> EntryFile:
        """Read an entry's file."""
        if path not in self._read:
            self._read[path] = read_entry_file(self._workspace, path)
        return self._read[path]

    @cached_property
    def disputed(self) -> frozenset[str]:
        """Read of what a merge needs a word."""
        return access_log.read_review(self._workspace).disputed


def fresh(question: Question, now: Now) -> Question:
    """Return a question as its files stand now; raise NotFoundError where nothing is left to ask."""
    try:
        sides = tuple(now.standing(side.path) for side in question.sides)
    except NotFoundError:
        raise NotFoundError(_DONE, "`mem review` shows what waits") from None
    ids = [side.entry.id for side in question.sides]
    if [side.entry.id for side in sides] != ids or any(side.entry.status != "active" for side in sides):
        raise NotFoundError(_DONE, "`mem review` shows what waits")
    is_open = True
    if question.kind == "conflict":
        is_open = any(other.entry.id in side.entry.conflicts_with for side, other in (sides, sides[::-1]))
    elif question.kind == "key":
        is_open = is_same_slot(sides[0].entry, sides[1].entry)
    elif question.kind == "new":
        is_open = ids[0] in now.disputed
    if not is_open:
        raise NotFoundError(_DONE, "`mem review` shows what waits")
    return replace(question, id=_id(question.kind, sides), sides=sides)


class _Desk:
    """One look at a workspace: what stands, read once."""

    def __init__(self, workspace: Workspace, rows: Sequence[Mapping[str, Any]]) -> None:
        self.workspace = workspace
        self.rows = rows
        self.paths = {row["id"]: row["path"] for row in reversed(rows)}
        self.problems: list[tuple[str, str]] = []
        self._read: dict[str, EntryFile | None] = {}

    def read(self, identifier: str) -> EntryFile | None:
        """Return an active entry's file; None where there is none or it cannot be changed as it is."""
        if identifier not in self._read:
            self._read[identifier] = None
            if identifier in self.paths:
                try:
                    self._read[identifier] = read_entry_file(self.workspace, self.paths[identifier])
                except MemError as error:
                    self.problems.append((self.paths[identifier], error.message))
        return self._read[identifier]

    def pairs(self) -> list[Question]:
        """Ask about entries that are flagged with each other, or fill one key."""
        questions: dict[frozenset[str], Question] = {}
        for left, right in self._same_slot_pairs():
            questions[frozenset((left.entry.id, right.entry.id))] = pair_question(
                "key", left, right, f"both fill {left.entry.key}"
            )
        for newer, older in self._flagged():
            both = frozenset((newer.entry.id, older.entry.id))
            if both not in questions:
                questions[both] = pair_question("conflict", newer, older, "flagged by a verdict")
        return list(questions.values())

    def _flagged(self) -> Iterator[tuple[EntryFile, EntryFile]]:
        """Yield the pairs that are flagged by a verdict on either side, and that nobody found distinct."""
        for row in self.rows:
            file = self.read(row["id"]) if row["conflicts_with"] else None
            for name in file.entry.conflicts_with if file else ():
                other = self.read(name)
                if file is None or other is None or file is other or file.entry.id in other.entry.distinct:
                    continue
                if other.entry.id in file.entry.verdicts or file.entry.id in other.entry.verdicts:
                    yield by_age(file, other)

    def _same_slot_pairs(self) -> Iterator[tuple[EntryFile, EntryFile]]:
        slots: dict[tuple[str, str], list[str]] = {}
        for row in self.rows:
            if row["key"]:
                slots.setdefault(slot_of(row["key"], row["project"]), []).append(row["id"])
        for ids in slots.values():
            for left, right in combinations(filter(None, map(self.read, ids)) if len(ids) > 1 else (), 2):
                if is_same_slot(left.entry, right.entry):
                    yield by_age(left, right)

    def faded(self) -> list[Question]:
        """Ask whether a rule that nobody confirmed or read for long still holds: decay never archives these."""
        questions = []
        for faded_rule in faded_rules(self.workspace, self.rows):
            rule = self.read(faded_rule.row["id"])
            if rule is not None:
                reason = f"nobody confirmed or read it for {faded_rule.age_days:.0f} days"
                questions.append(Question(_id("faded", (rule,)), "faded", (rule,), reason, "rules"))
        return questions

    def disputed(self, ids: Iterable[str]) -> list[Question]:
        """Ask whether what one machine forgot and another one said again is to stay."""
        sides = filter(None, map(self.read, sorted(ids)))
        return [
            Question(_id("new", (side,)), "new", (side,), access_log.DISPUTED, access_log.DISPUTED) for side in sides
        ]


def pair_question(kind: QuestionKind, newer: EntryFile, older: EntryFile, reason: str) -> Question:
    """Return the question about two memories."""
    return Question(_id(kind, (newer, older)), kind, (newer, older), reason)


def by_age(left: EntryFile, right: EntryFile) -> tuple[EntryFile, EntryFile]:
    """Return the newer first: by when they changed, then by when they were made, as ids sort."""
    older, newer = sorted((left, right), key=_moment)
    return newer, older


def _moment(side: EntryFile) -> tuple[str, str, str]:
    entry = side.entry
    return max(entry.created_at, entry.updated_at), entry.created_at, entry.id


def _grouped(questions: Sequence[Question]) -> list[Question]:
    """Group pairs that one entry is in, where it is in many."""
    sizes = Counter(side.entry.id for question in questions if question.is_pair for side in question.sides)
    questions_grouped = []
    for question in questions:
        hub = (
            max((side.entry.id for side in question.sides), key=lambda name: (sizes[name], name))
            if question.is_pair
            else ""
        )
        questions_grouped.append(replace(question, group=hub) if hub and sizes[hub] >= HUB else question)
    return questions_grouped


def _id(kind: QuestionKind, sides: Iterable[EntryFile]) -> str:
    """Return the id of a question: a hash of the ids of its memories and their texts, in no order."""
    about = sorted(f"{side.entry.id}\0{side.entry.body}" for side in sides)
    is_pair = "pair" if len(about) == 2 else kind
    return f"q_{blake2b(chr(0).join([is_pair, *about]).encode('utf-8', 'surrogateescape'), digest_size=5).hexdigest()}"
