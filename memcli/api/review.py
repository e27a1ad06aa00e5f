"""Settle what needs a person's yes or no: list the questions, let an LLM propose answers, answer them."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

from ..beliefs import decisions
from ..beliefs.decisions import Answered as Answered
from ..beliefs.decisions import propose
from ..beliefs.review import DECISIONS, Now, Proposed, fresh, pair_question, review_queue
from ..beliefs.review import Decision as Decision
from ..beliefs.review import Question as Question
from ..beliefs.review import ReviewReport as ReviewReport
from ..beliefs.supersession import EntryFile
from ..errors import BusyError, MemError, NotFoundError, UsageError
from ..formats.text_lines import shorten
from ..index.filters import Filter
from ..store import access_log
from ..store.file_steps import naming
from ..store.privacy import make_derived, write_private
from .edit import two_entries
from .find import EntryRow
from .sync import undo
from .workspace import Workspace, recorded, recording

BY = ("user", "observed")
"""Whose answers are taken."""
_SEEN = "seen"
"""The file of derived data with the mark up to which a person looked."""


@recorded("review")
def review(
    workspace: Workspace,
    *,
    limit: int = 0,
    judge: bool = False,
    progress: Callable[[int, int], object] = lambda done, total: None,
    asking: Callable[[int, int], object] = lambda done, total: None,
) -> ReviewReport:
    """List the questions that wait, in the order to ask them; 0 is no limit.

    With `judge` the configured LLM proposes answers about pairs first, or decides where `llm.decides` is set;
    `progress` is told how many of its answers are there, `asking` how many pairs are done. Raise UsageError if no LLM
    is configured.
    """
    judged = None
    if judge:
        from ..beliefs.llm_judge import llm_judge

        asked_of = llm_judge(workspace, progress)
        judged = propose(workspace, review_queue(workspace).questions[: limit or None], asked_of, asking)
    report = review_queue(workspace)
    return replace(report, questions=report.questions[: limit or None], judged=judged)


def waiting_count(workspace: Workspace) -> int:
    """Return how many questions wait, by the index alone: no memory's file is read for it."""
    from ..index.index import Index, ask
    from ..index.lookups import telling_files
    from ..recall import retention

    columns = (*retention.COLUMNS, "key", "project", "verdicts")

    def rows(index: Index, named: frozenset[str]) -> list[dict[str, Any]]:
        among = telling_files(index, named, 0)
        entries = index.list_entries(Filter(managed=True), "file", among=among, columns=columns)
        flagged = {name for entry in entries for name in entry["verdicts"]}
        others = flagged - named - {entry["id"] for entry in entries}
        return rows(index, named | others) if others else entries

    def asked(index: Index) -> list[dict[str, Any]]:
        index.refresh()
        return rows(index, access_log.read_review(workspace).disputed)

    return retention.waiting_count(workspace, ask(workspace, asked))


@recorded("review answer")
def answer(workspace: Workspace, name: str, decision: str, *, source: str = "observed") -> Answered:
    """Answer the question of an id with one of `DECISIONS`; as `observed` it may only become a proposal.

    Raise UsageError for a decision or source that there is not, NotFoundError if the question was settled, RefusedError
    if a text changed since it was asked.
    """
    if source not in BY:
        raise UsageError(f"no source {source!r}", f"use one of {', '.join(BY)}")
    decided = require_decision(decision)
    return decisions.answer_question(workspace, _named(workspace, name), decided, source)


def require_decision(name: str) -> Decision:
    """Return the decision of a name; raise UsageError for one that there is not."""
    for decision in DECISIONS:
        if decision == name:
            return decision
    fix = f"`mem edit` an entry, then answer with one of {', '.join(DECISIONS)}"
    raise UsageError(f"no decision {name!r}", fix if name == "edit" else f"use one of {', '.join(DECISIONS)}")


def by_group(questions: Iterable[Question]) -> dict[tuple[str, str], list[Question]]:
    """Return questions by their kind and what they have in common: those that one answer may be given to."""
    groups: dict[tuple[str, str], list[Question]] = {}
    for question in questions:
        groups.setdefault((question.kind, question.group), []).append(question)
    return groups


class ReviewSession:
    """A person's way through the questions of a workspace, which the command named asks."""

    def __init__(self, workspace: Workspace, command: str = "review") -> None:
        """Belong to a workspace."""
        self._workspace, self._command = workspace, command

    def current(self, question: Question) -> Question:
        """Return a question as its files stand now; raise NotFoundError if it was settled meanwhile."""
        return fresh(question, Now(self._workspace))

    def answer(
        self, questions: Sequence[Question], decision: Decision, progress: Callable[[int, int], object]
    ) -> tuple[list[Question], list[str], int]:
        """Carry out a decision of the user's about questions as one command.

        Return those that are settled, why others wait, and the number by which `take_back` knows the command: 0 where
        no file changed.
        """
        with recording(self._command, [self._workspace]) as command:
            done, problems = self._answer(self._workspace, questions, decision, progress)
        return done, problems, command.number(self._workspace)

    def repeat(self, name: str, newer: str, older: str) -> Question:
        """Return the question of an id whether two entries say the same; raise NotFoundError once a text changed."""
        where, *paths = two_entries(self._workspace, newer, older)
        now = Now(where)
        question = pair_question("likely", now.standing(paths[0]), now.standing(paths[1]), "")
        if question.id != name:
            raise NotFoundError("a text of it changed since it was asked", "look for repeats again")
        return self.current(question)

    @staticmethod
    def _answer(
        workspace: Workspace,
        questions: Sequence[Question],
        decision: Decision,
        progress: Callable[[int, int], object],
    ) -> tuple[list[Question], list[str]]:
        if len(questions) > 1 and decision == "keep" and all("keep" in question.answers for question in questions):
            return decisions.keep_all(workspace, questions, progress)
        done: list[Question] = []
        problems: list[str] = []
        for question in questions:
            try:
                decisions.answer_question(workspace, question, decision)
            except BusyError:
                raise
            except MemError as error:
                settled = {side.path for other in done for side in other.sides}
                if settled.isdisjoint(side.path for side in question.sides):  # else it is asked anew, or settled too
                    problems.append(str(error))
            else:
                done.append(question)
        return done, problems

    def take_back(self, number: int) -> None:
        """Take back an answer by its number; raise RefusedError where a file was changed since."""
        undo(self._workspace, number)


def _named(workspace: Workspace, name: str) -> Question:
    questions = review_queue(workspace).questions
    matching = [question for question in questions if question.id == name or question.id.removeprefix("q_") == name]
    if not matching and not name.startswith("q_"):
        about = [
            question.id for question in questions if name and any(name in side.entry.id for side in question.sides)
        ]
        raise NotFoundError(
            f"{name} is no question's id",
            f"an answer names a question: {', '.join(about[:3])}"
            if about
            else "`mem review --json` lists the questions",
        )
    if not matching:
        raise NotFoundError(
            f"no question {name!r}: it was answered, or a text of it changed", "`mem review --json` lists what waits"
        )
    return matching[0]


def seen_mark(workspace: Workspace) -> str:
    """Return the time and id of the last added memory that a person looked at; a week ago where none is noted."""
    with suppress(OSError, UnicodeDecodeError):
        if mark := (workspace.derived / _SEEN).read_text(encoding="utf-8").strip():
            return mark
    return f"{workspace.now - timedelta(days=7):%Y-%m-%dT%H:%M:%SZ}"


def added_since(workspace: Workspace, mark: str, limit: int) -> tuple[dict[str, EntryRow], int]:
    """Return by their marks the entries that came after a mark, at most so many, and how many there are."""
    from ..index.index import ask
    from ..index.lookups import arrived_since

    rows, count = ask(workspace, lambda index: arrived_since(index, mark, limit))
    return {name: EntryRow(row) for name, row in rows.items()}, count


def mark_seen(workspace: Workspace, mark: str) -> None:
    """Note the time and id of the last added memory that a person looked at; a mark neither falls nor is to come."""
    latest = max(seen_mark(workspace), min(mark, f"{workspace.stamp} ~"))
    with naming("write", workspace.derived / _SEEN):
        make_derived(workspace.derived)
        write_private(workspace.derived / _SEEN, latest)
