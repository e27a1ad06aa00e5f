"""`mem review`."""

from typing import TYPE_CHECKING, Annotated

import typer

from ..api import review as api
from ..errors import UsageError
from . import context, output
from .admission import judge_progress
from .options import AsJson, InScope, InWorkspace

if TYPE_CHECKING:
    from ..api.workspace import Workspace

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
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
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
    where = context.writing(workspace, scope, "reviewed in")
    if words:
        if words[0] != _ANSWER or len(words) != 3:
            raise UsageError(
                f"mem review {' '.join(words)}", "write `mem review answer ID DECISION`, or `mem review` alone"
            )
        if judge or limit:
            raise UsageError("an answer is given to one question", "leave out --judge and --limit")
        _answer(where, words[1], words[2], source, as_json=as_json)
        return
    if source:
        raise UsageError("--source says whose answer it is", "write `mem review answer ID DECISION --source …`")
    is_asked = context.is_typed() and not as_json
    bar = output.Bar("asking the LLM", 1)
    found = api.review(where, limit=limit, judge=judge, progress=judge_progress(), asking=bar)
    bar.clear()
    if found.judged is not None:
        _tell_judged(found.judged)
    for path, reason in found.problems:
        output.note(f"{context.here(where, path)}: {reason}")
    if as_json:
        output.say_json(found.as_dict())
    elif not found.count:
        if output.is_heard():
            output.note("nothing waits for a yes or no")
    elif is_asked:
        from .review_terminal import session

        session(where, found.questions)
    else:
        from .review_terminal import told

        output.say("\n\n".join(f"{told(one)}\n  answers: {' '.join(one.answers)}" for one in found.questions))
    if found.judged is not None and found.judged.unheard:
        raise typer.Exit(7)


def _tell_judged(done: api.Proposed) -> None:
    """Say what came of asking an LLM."""
    if done.unheard:
        output.note(f"the LLM could not judge ({done.unheard}): what it did not answer waits as it is")
    said = [f"{done.settled:,} settled"] * bool(done.settled) + [f"{done.proposed:,} with a proposal"]
    if done.asked and (done.settled or done.proposed or not done.unheard):
        output.note(f"the LLM looked at {output.number_of(done.asked, 'pair')}: {', '.join(said)}")


def _answer(where: "Workspace", name: str, decision: str, source: str, *, as_json: bool) -> None:
    """Carry out one answer, and say what became of it."""
    done = api.answer(where, name, decision, source=source or ("user" if context.is_typed() else "observed"))
    if as_json:
        output.say_json(done.as_dict())
    else:
        output.say_row((done.action, done.id, decision, *done.changed))
    if done.action == "proposed":
        output.note(f"{done.id} is about what a user said: {decision} is noted, and a person decides")
