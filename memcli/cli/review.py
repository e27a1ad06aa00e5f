"""`mem review`."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ..api import review as api
from ..api.review import Decision, EntryFile, Question, ReviewSession, shorten
from ..api.workspace import Workspace
from ..errors import MemError, UsageError
from ..results import number_of
from . import output, workspaces
from .options import COMMON, Common
from .output import judge_progress

if TYPE_CHECKING:
    from ..api.workspace import Workspace


_LONGEST = 400  # characters of a memory
_ASKS: Mapping[str, str] = {
    "conflict": "do these contradict each other",
    "key": "which of these holds",
    "faded": "does this still hold",
    "held": "may this be a memory again",
    "new": "is this worth keeping",
    "likely": "do these say the same",
}
_LETTERS: Mapping[str, Decision] = {
    "k": "keep", "n": "newer", "o": "older", "s": "same", "f": "forget", "l": "later"
}  # fmt: skip
_DONE: Mapping[Decision, str] = {
    "keep": "kept", "newer": "the newer holds", "older": "the older holds", "same": "one memory, both wordings kept",
    "forget": "in the archive: `mem restore` brings it back", "later": "asked again later",
}  # fmt: skip


def told(question: Question) -> str:
    """Write what is asked, and each memory in a line."""
    names = ("newer", "older") if question.is_pair else (question.kind,)
    name = "" if question.kind == "likely" else f"{question.id}: "
    lines = [f"{name}{_ASKS[question.kind]}? ({question.reason})"]
    for name, side in zip(names, question.sides, strict=True):
        text = shorten(" ".join(side.entry.body.split()), _LONGEST)
        lines.append(output.visible(f"  {name}: {_head(side)}: {text}"))
    if question.proposal:
        lines.append(f"  proposed: {question.proposal.decision} ({question.proposal.by})")
    return "\n".join(output.wrapped(line, 4) for line in lines)


def _head(side: EntryFile) -> str:
    entry = side.entry
    named = [f"{name} {value}" for name, value in (("key", entry.key), ("project", entry.project)) if value]
    pinned = ["pinned"] * entry.pinned
    return " · ".join((entry.id, entry.created_at[:10], entry.source, entry.type, *named, *pinned))


def session(workspace: Workspace, questions: Sequence[Question], command: str = "review") -> None:
    """Ask until all is answered or the person leaves; what is not answered waits until the command is run again."""
    asking = _Asking(workspace, questions, command)
    try:
        while (question := asking.current()) and asking.obey(question, _line(asking.prompt(question))):
            pass
    finally:  # also at Ctrl-C
        left = len(asking.waiting)
        remaining = f"; {left:,} left, `mem {command}` goes on there" if left else ""
        output.note(f"{asking.count:,} answered{remaining}")


def _line(prompt: str) -> list[str]:
    """Return the words of a line that a person types; `q` at the end of input."""
    output.say(prompt, end="")
    output.flush()
    try:
        return input().split()
    except EOFError:
        output.say("")
        return ["q"]


class _Asking:
    """The questions that wait, the place of the one at hand, and what was answered, for who goes back."""

    def __init__(self, workspace: Workspace, questions: Sequence[Question], command: str) -> None:
        self.workspace = workspace
        self.review = ReviewSession(workspace, command)
        self.waiting = list(questions)
        self.place = 0
        self.words: Sequence[str] = ()  # that a question must have
        self.count = 0
        self._answered: list[tuple[int, list[Question], int]] = []  # place, questions, number of the command

    def _shown(self) -> list[int]:
        """Return the places of the questions that have the words asked for."""
        texts = (told(question).casefold() for question in self.waiting)
        return [position for position, text in enumerate(texts) if all(word.casefold() in text for word in self.words)]

    def current(self) -> Question | None:
        """Return the question at hand as its files stand now; None where none is left."""
        while places := self._shown():
            self.place = next((position for position in places if position >= self.place), places[0])
            try:
                self.waiting[self.place] = self.review.current(self.waiting[self.place])
            except MemError as error:
                if not self._is_settled_here(self.waiting[self.place]):
                    output.note(str(error))
                del self.waiting[self.place]
                continue
            return self.waiting[self.place]
        if self.words and self.waiting:
            output.note(f"no question has {' '.join(self.words)}")
            self.words = ()
            return self.current()
        return None

    def _is_settled_here(self, question: Question) -> bool:
        """Tell whether an answer given here was about one of its memories."""
        ids = {side.entry.id for side in question.sides}
        return any(
            side.entry.id in ids for _, done, _ in self._answered for answered in done for side in answered.sides
        )

    def _group(self, question: Question) -> list[Question]:
        """Return the questions shown that are of one kind and have the same in common."""
        return api.by_group(self.waiting[position] for position in self._shown())[question.kind, question.group]

    def prompt(self, question: Question) -> str:
        """Write the question, and what may be typed."""
        both = " both" if question.is_pair else ""
        names = {"keep": f"keep{both}", "forget": f"forget{both}"}
        letters = [letter for letter, decision in _LETTERS.items() if decision in question.answers]
        choices = [f"[{letter}]{names.get(_LETTERS[letter], _LETTERS[letter])[1:]}" for letter in letters]
        proposed = [f"[y] as proposed: {question.proposal.decision}"] if question.proposal else []
        size = len(self._group(question))
        group = [f"all LETTER: these {size:,}"] if size > 1 else []
        more = [
            "[e]dit, e o the older" if question.is_pair else "[e]dit",
            *group,
            "[b]ack",
            "[u]ndo",
            "[q]uit",
            "or words to look for",
        ]
        left = f"{len(self._shown()):,} to go" + (f" with {' '.join(self.words)}" if self.words else "")
        return f"\n{left}\n{told(question)}\n{output.beside([*proposed, *choices, *more], ' · ')} ? "

    def obey(self, question: Question, words: Sequence[str]) -> bool:
        """Do what a line says; return whether to go on."""
        word = words[0].lower() if words else ""
        letter = words[1].lower() if word == "all" and len(words) == 2 else word
        proposed = question.proposal.decision if question.proposal and letter == "y" else None
        decision: Decision | None = proposed or _LETTERS.get(letter)  # type: ignore[assignment]
        if word == "q":
            return False
        if decision and (letter != word or len(words) == 1):
            self._answer(self._group(question) if letter != word else [question], decision)
        elif word == "b" and len(words) == 1:
            self.place = max((position for position in self._shown() if position < self.place), default=self.place)
        elif word == "u" and len(words) == 1:
            self._undo()
        elif word == "e" and words[1:] in ([], ["n"], ["o"]):
            _edit(self.workspace, question.sides[int(question.is_pair and words[1:2] == ["o"])])
        else:
            self.words, self.place = words, 0
        return True

    def _answer(self, questions: Sequence[Question], decision: Decision) -> None:
        """Carry out a decision about questions; one that cannot be carried out waits."""
        bar = output.Bar("answering")
        done, problems, number = self.review.answer(questions, decision, bar)
        bar.clear()
        for problem in problems:
            output.note(problem)
        if not done:
            return
        output.say(f"{len(done):,} × {_DONE[decision]}" if len(questions) > 1 else _DONE[decision])
        self.count += len(done)
        self._answered.append((self.place, done, number))
        ids = {question.id for question in done}
        self.waiting = [question for question in self.waiting if question.id not in ids]

    def _undo(self) -> None:
        """Take back the last answer, and ask again."""
        if not self._answered:
            output.note("nothing was answered here that could be taken back")
            return
        self.place, questions, number = self._answered[-1]
        try:
            if number:
                self.review.take_back(number)
        except MemError as error:
            output.note(str(error))
            return
        self._answered.pop()
        self.count -= len(questions)
        self.waiting[self.place : self.place] = questions


def _edit(workspace: Workspace, side: EntryFile) -> None:
    from .edit import edit

    try:
        edit(side.path, common=workspaces.Common(str(workspace.root)))
    except MemError as error:
        output.note(str(error))


_ANSWER = "answer"


def review(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[answer ID DECISION]", help="Answer one question: its id, and what it says there."),
    ] = None,
    source: Annotated[
        str,
        typer.Option(help="Whose answer it is: user or observed.", show_default="user on a terminal, else observed"),
    ] = "",
    judge: Annotated[
        bool, typer.Option("--judge", help="Let your LLM propose answers about pairs; you take one with y.")
    ] = False,
    limit: Annotated[
        int, typer.Option("-n", "--limit", min=0, help="List at most so many questions.", show_default="all")
    ] = 0,
    common: Common = COMMON,
) -> None:
    """Settle what needs a person: keys that two memories fill, verdicts, faded rules, the inbox, conflicts of a merge.

    In a terminal one question comes after the other, and a letter answers: keep both, the newer holds, the older holds,
    the same in other words, forget both, later. `all` before the letter answers all that have the same in common, other
    words show only the questions that have them, b goes back, u takes the last answer back, e edits, q leaves and the
    rest waits. Elsewhere the questions are listed, and `mem review answer ID DECISION` takes keep, newer, older, same,
    forget or later.

    What is decided stands in the files: of two that are kept each names the other as `distinct` and they are not
    flagged again, what is over is superseded, and of two that say the same one stays with both wordings. What an agent
    answers counts as observed: where it would retire what a user said, it is noted with the question as a proposal.

    With --judge your LLM proposes an answer where it is sure. With `llm.decides` in your own settings its answer is
    carried out, unless that would retire what is trusted more, pinned, or of another project.
    """
    where = workspaces.writing(common, "reviewed in")
    if words:
        if words[0] != _ANSWER or len(words) != 3:
            raise UsageError(
                f"mem review {' '.join(words)}", "write `mem review answer ID DECISION`, or `mem review` alone"
            )
        if judge or limit:
            raise UsageError("an answer is given to one question", "leave out --judge and --limit")
        _answer(where, words[1], words[2], source, as_json=common.as_json)
        return
    if source:
        raise UsageError("--source says whose answer it is", "write `mem review answer ID DECISION --source …`")
    is_asked = workspaces.is_typed() and not common.as_json
    bar = output.Bar("asking the LLM")
    report = api.review(where, limit=limit, judge=judge, progress=judge_progress(), asking=bar)
    bar.clear()
    if report.judged is not None:
        _tell_judged(report.judged)
    for path, reason in report.problems:
        output.note(f"{workspaces.here(where, path)}: {reason}")
    if common.as_json:
        output.say_json(report.as_dict())
    elif not report.count:
        if output.is_heard():
            output.note("nothing waits for a yes or no")
    elif is_asked:
        session(where, report.questions)
    else:
        output.say(
            "\n\n".join(f"{told(question)}\n  answers: {' '.join(question.answers)}" for question in report.questions)
        )
    if report.judged is not None and report.judged.unheard:
        raise typer.Exit(7)


def _tell_judged(done: api.Proposed) -> None:
    """Say what came of asking an LLM."""
    if done.unheard:
        output.note(f"the LLM could not judge ({done.unheard}): what it did not answer waits as it is")
    parts = [f"{done.settled:,} settled"] * bool(done.settled) + [f"{done.proposed:,} with a proposal"]
    if done.asked and (done.settled or done.proposed or not done.unheard):
        output.note(f"the LLM looked at {number_of(done.asked, 'pair')}: {', '.join(parts)}")


def _answer(where: "Workspace", name: str, decision: str, source: str, *, as_json: bool) -> None:
    """Carry out one answer, and say what became of it."""
    done = api.answer(where, name, decision, source=source or ("user" if workspaces.is_typed() else "observed"))
    if as_json:
        output.say_json(done.as_dict())
    else:
        output.say_row((done.action, done.id, decision, *done.changed))
    if done.action == "proposed":
        output.note(f"{done.id} is about what a user said: {decision} is noted, and a person decides")
