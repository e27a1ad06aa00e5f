"""Carry out a prompt's requests to remember or forget something.

Such a request is the user's own command, so it is committed with the actor `person`, and a plain
`mem undo` reverts it. What hooks do automatically has the actor `hook`.
"""

from typing import TYPE_CHECKING, NamedTuple

from ..errors import MemError
from ..formats.session import ANSWERED
from ..formats.text import count_noun
from ..recall.shown import Shown
from ..store.gates import redact_text
from ..store.sessions import append_events
from ..store.workspace import Workspace

if TYPE_CHECKING:
    from ..consolidate.rules import Statement


class RequestResult(NamedTuple):
    """The result of a prompt's requests: for the agent, and for the user."""

    text: str = ""
    notice: str = ""


def save_requests(workspace: Workspace, prompt: str, message: str, shown: Shown) -> RequestResult:
    """Carry out the requests in a prompt.

    `message` is the SESSION#ID of the prompt. It confirms a memory only once.
    """
    from ..consolidate.rules import find_requests

    lines: list[str] = []
    counts = {"saved": 0, "forgotten": 0}
    problems = 0
    for statement in find_requests(prompt):
        try:
            if statement.kind == "forget":
                lines += forget_request(workspace, statement.text, counts)
            else:
                lines.append(save_request(workspace, statement, message, shown))
                counts["saved"] += 1
        except MemError as error:
            lines.append(f"Not done: {error.message}")
            problems += 1
    if not lines:
        return RequestResult()
    if not problems:
        # A consolidation would otherwise carry them out again, even if the user undoes them.
        session, _, message_id = message.partition("#")
        append_events(workspace, session, [{"type": ANSWERED, "message": message_id}])
    from ..recall.render import render_context, render_line

    done = [f"{action} {count_noun(count, 'memory')}" for action, count in counts.items() if count]
    notice = f"mem: {', '.join(done)} (mem undo)" if done else f"mem: {lines[0]}"
    about = "Result of the user's request to remember or forget:"
    return RequestResult(
        render_context([f"- {render_line(line)}" for line in lines], about), notice
    )


def save_request(workspace: Workspace, statement: "Statement", message: str, shown: Shown) -> str:
    from ..reconcile.admit import write_memories
    from ..reconcile.draft import Draft

    draft = Draft(
        statement.text,
        type=statement.type,
        source="user",
        project=statement.project,
        sources=(message,),
    )
    outcome = write_memories(workspace, [draft], actor="person")[0][0]
    if outcome.error is not None:
        raise outcome.error
    # The agent reads it in the prompt, so it needs no reminder.
    shown.add(statement.text, outcome.id)
    return f"{outcome.action} {outcome.short_id}: {outcome.text}"


def forget_request(workspace: Workspace, text: str, counts: dict[str, int]) -> list[str]:
    from ..reconcile.forget import forget_described

    done = forget_described(workspace, text, project=workspace.project)
    counts["forgotten"] += len(done.outcomes)
    lines = [f"forgot {outcome.short_id}" for outcome in done.outcomes]
    for candidate in done.candidates:
        lines.append(f"could not tell which one to forget: {candidate.short_id} {candidate.text}")
    return lines or [f"found no memory that says: {redact_text(workspace, text)}"]
