"""`mem review`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..beliefs.review import Question, Queue, review_queue
from ..beliefs.supersession import EntryFile
from ..errors import NotFoundError, UsageError
from ..store.workspace import Workspace
from . import context, output
from .admission import judge_of
from .options import AsJson, InScope, InWorkspace

if TYPE_CHECKING:
    from ..beliefs.llm_judge import LlmJudge
    from ..store.workspace import Workspace


_ANSWER = "answer"
_BY = ("user", "observed")


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
    """Settle what needs a person: memories that may contradict or repeat each other, faded rules, and what came in.

    In a terminal two memories stand side by side and one key answers: keep both, the newer holds, the older holds, the
    same in other words, edit, forget both, later; q leaves and the rest waits. Elsewhere the questions are listed, and
    `mem review answer ID DECISION` takes keep, newer, older, same, forget or later.

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
        _answer(where, words[1], words[2], source, as_json=as_json)
        return
    asked_of = judge_of(where, is_wanted=judge)
    queue = review_queue(where)
    unheard = ""
    if asked_of is not None:
        unheard = _proposed(where, queue.questions[: limit or None], asked_of)
        queue = review_queue(where)
    for path, reason in queue.problems:
        output.note(f"{context.here(where, path)}: {reason}")
    _shown(where, queue, limit, as_json=as_json)
    if unheard:
        raise typer.Exit(7)


def _shown(where: "Workspace", queue: Queue, limit: int, *, as_json: bool) -> None:
    """Ask at a terminal; elsewhere list the questions."""
    from ..beliefs.review_likelihoods import Weigher

    asked: Sequence[Question] = queue.questions[: limit or None]
    is_asked = context.is_typed() and not as_json
    if not is_asked:
        asked = Weigher(where).weighed(asked, where.settings["search.embed_budget"])
    if as_json:
        output.say_json(_document(queue, asked))
    elif not queue.questions:
        if output.is_heard():
            output.note("nothing waits for a yes or no")
    elif is_asked:
        from .review_terminal import session

        session(where, asked)
    else:
        from .review_page import told

        output.say("\n\n".join(map(told, asked)))


def _proposed(where: "Workspace", questions: Sequence[Question], judge: "LlmJudge") -> str:
    """Let an LLM propose answers, and say what came of it; return why it said nothing of some."""
    from ..beliefs.review_likelihoods import propose
    from .session_show import counted

    bar = output.Bar("asking the LLM", 1)
    done = propose(where, questions, judge, bar)
    bar.clear()
    if done.unheard:
        output.note(f"the LLM could not judge ({done.unheard}): what it did not answer waits as it is")
    said = [f"{done.settled:,} settled"] * bool(done.settled) + [f"{done.proposed:,} with a proposal"]
    if done.asked and (done.settled or done.proposed or not done.unheard):
        output.note(f"the LLM looked at {counted(done.asked, 'pair')}: {', '.join(said)}")
    return done.unheard


def _answer(where: "Workspace", name: str, decision: str, source: str, *, as_json: bool) -> None:
    """Carry out one answer, and say what became of it."""
    from ..beliefs.decisions import DECISIONS, answer_question

    if source not in ("", *_BY):
        raise UsageError(f"no source {source!r}", f"use one of {', '.join(_BY)}")
    if decision not in DECISIONS:
        fix = f"`mem edit` an entry, then answer with one of {', '.join(DECISIONS)}"
        raise UsageError(
            f"no decision {decision!r}", fix if decision == "edit" else f"use one of {', '.join(DECISIONS)}"
        )
    question = _named(where, name)
    by = source or ("user" if context.is_typed() else "observed")
    done = answer_question(where, question, decision, by)
    if as_json:
        output.say_json({"id": question.id, "decision": decision, "action": done.action, "changed": list(done.ids)})
    else:
        output.say_row((done.action, question.id, decision, *done.ids))
    if done.action == "proposed":
        output.note(f"{question.id} is about what a user said: {decision} is noted, and a person decides")


def _named(where: "Workspace", name: str) -> Question:
    questions = review_queue(where).questions
    found = [one for one in questions if one.id == name or one.id.removeprefix("q_") == name]
    if not found and not name.startswith("q_"):
        about = [one.id for one in questions if name and any(name in side.entry.id for side in one.sides)]
        raise NotFoundError(
            f"{name} is no question's id",
            f"an answer names a question: {', '.join(about[:3])}"
            if about
            else "`mem review --json` lists the questions",
        )
    if not found:
        raise NotFoundError(
            f"no question {name!r}: it was answered, or a text of it changed", "`mem review --json` lists what waits"
        )
    return found[0]


def _document(queue: Queue, asked: Sequence[Question]) -> dict[str, Any]:
    from ..beliefs.decisions import allowed

    return {
        "count": len(queue.questions),
        "questions": [
            {
                "id": one.id,
                "kind": one.kind,
                "reason": one.reason,
                "group": one.group,
                "likelihoods": _likelihoods(one),
                "memories": [_memory(side) for side in one.sides],
                "answers": list(allowed(one)),
                "proposal": (
                    {"decision": one.proposal.decision, "by": one.proposal.by, "at": one.proposal.at}
                    if one.proposal
                    else None
                ),
            }
            for one in asked
        ],
        "problems": [{"path": path, "reason": reason} for path, reason in queue.problems],
    }


def _likelihoods(question: Question) -> dict[str, float] | None:
    """Give the probabilities of what the newer text is to the older one; None where they were not asked."""
    found = question.likelihoods
    if found is None:
        return None
    return {name: round(getattr(found, name), 3) for name in ("same", "update", "conflict", "distinct")}


def _memory(side: EntryFile) -> dict[str, Any]:
    entry = side.entry
    names = ("id", "type", "key", "project", "source", "trust", "strength", "created_at", "updated_at", "pinned")
    return {**{name: getattr(entry, name) for name in names}, "path": side.path, "text": entry.body}
