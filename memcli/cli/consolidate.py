"""mem consolidate: turn conversations into history and memories."""

from collections.abc import Sequence
from typing import Annotated

from typer import Argument, Option

from ..api import open_recording
from ..consolidate.consolidate import (
    BatchResult,
    build_agent_prompt,
    consolidate_sessions,
    find_due_sessions,
    save_agent_reply,
)
from ..consolidate.queue import WAIT_SECONDS, hold_queue, run_consolidation
from ..context import Context
from ..errors import BusyError, LlmError, UsageError
from ..formats import count_noun, shorten
from ..store import Session, Workspace, get_session
from .terminal import Result

SESSION_FIELDS = (
    "session",
    "messages",
    "method",
    "history",
    "memories",
    "forgotten",
    "error",
    "undo",
)
CONSOLIDATE_FIELDS = (*SESSION_FIELDS, "batch", "prompt")
NOTHING = "Nothing to consolidate."
SAVED = ("saved", "restored", "confirmed")
LABELS = {
    "saved": "Saved",
    "confirmed": "Confirmed",
    "restored": "Restored",
    "held": "In the inbox",
    "would save": "Would save",
}


def run_consolidate(
    context: Context,
    name: Annotated[
        str, Argument(metavar="[SESSION]", help="Only this conversation, up to its end.")
    ] = "",
    all_: Annotated[
        bool, Option("--all", help="Every conversation up to its end, including running ones.")
    ] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Only show what would be saved.")] = False,
    no_llm: Annotated[bool, Option("--no-llm", help="Do not ask the language model.")] = False,
    ask: Annotated[
        bool,
        Option("--ask", help="Print the prompt, for an agent that answers instead of a model."),
    ] = False,
    answer: Annotated[
        str,
        Option(metavar="FILE", help="Save the agent's answer to --ask; - reads standard input."),
    ] = "",
    background: Annotated[
        bool,
        Option(
            "--background",
            help="Process pending conversations; do nothing if another process already does.",
        ),
    ] = False,
) -> Result:
    """Turn conversations into history and memories.

    Without SESSION, mem processes the pending conversations: those that have ended, and long
    running ones except their latest messages. A language model reads them if you configured one.
    Otherwise mem saves only what you asked for, your rules, preferences and corrections.
    """
    if sum((bool(name) or all_, bool(answer), background)) > 1 or (name and all_):
        raise UsageError("use one of SESSION, --all, --answer and --background")
    workspace = open_recording(context)
    if answer:
        return save_agent_answer(context, workspace, answer)
    is_forced = bool(name) or all_
    if ask or dry_run:
        sessions = (
            [get_session(workspace, name)]
            if name
            else find_due_sessions(workspace, is_forced=is_forced or ask)
        )
        if ask:
            return print_prompt(context, workspace, sessions)
        done = consolidate_sessions(
            workspace, sessions, is_forced=is_forced, use_llm=not no_llm, is_dry_run=True
        )
        return render_batches(context, workspace, done, [])
    try:
        done, messages = run_consolidation(
            workspace,
            name=name,
            is_forced=is_forced,
            use_llm=not no_llm,
            actor="hook" if background else "person",
            seconds=0.0 if background else WAIT_SECONDS,
        )
    except BusyError:
        if background:
            return Result()
        raise
    result = render_batches(context, workspace, done, messages)
    if background:
        # Nobody reads this output. The log of the workspace records problems.
        result = Result(messages=result.messages if result.exit_code else ())
    return result


def print_prompt(context: Context, workspace: Workspace, sessions: Sequence[Session]) -> Result:
    prompt = build_agent_prompt(workspace, sessions)
    if prompt is None:
        return Result({"batch": "", "prompt": ""}, exit_code=1, nothing=NOTHING)
    hint = "save the answer: mem consolidate --answer FILE"
    messages = [hint] if context.is_terminal and not context.common.as_json else []
    lines = prompt.prompt.split("\n")
    return Result(prompt._asdict(), lines, None, messages)


def save_agent_answer(context: Context, workspace: Workspace, answer: str) -> Result:
    if answer == "-":
        text = context.stdin.read()
    else:
        try:
            text = (context.folder / answer).expanduser().read_text("utf-8", "replace")
        except OSError as error:
            raise UsageError(f"cannot read {answer}: {error.strerror}") from None
    with hold_queue(workspace, WAIT_SECONDS):
        try:
            return render_batches(context, workspace, [save_agent_reply(workspace, text)], [])
        except LlmError as error:
            # Nothing was stored, and the agent can answer again.
            raise UsageError(error.message, "answer again with one JSON object") from None


def render_batches(
    context: Context, workspace: Workspace, done: Sequence[BatchResult], messages: Sequence[str]
) -> Result:
    """Return the saved sentences, and a line for the person about them."""
    lines: list[str] = []
    rows: list[list[str]] = []
    outcomes = [outcome for item in done for outcome in item.memories]
    for outcome in outcomes:
        if outcome.action in LABELS:
            short_id = f"  ({outcome.short_id})" if outcome.short_id else ""
            lines.append(f"{LABELS[outcome.action]}: {outcome.text}{short_id}")
            rows.append([outcome.action, outcome.id, outcome.path, outcome.text])
    for item in done:
        lines += [f"Forgotten: {text}" for text in item.forgotten]
        if item.history_path:
            lines.append(f"Added to {item.history_path}: {shorten(item.history, 100)}")
            rows.append(["history", item.session, item.history_path, shorten(item.history, 300)])
    errors = [
        f"not saved: {shorten(item.text, 60)}: {item.error.message}"
        for item in outcomes
        if item.error
    ]
    problems = [problem for item in done for problem in item.problems]
    failed = [item.error for item in done if item.error]
    if done and not lines:
        count = sum(item.messages for item in done)
        lines.append(f"Read {count_noun(count, 'message')}: nothing to remember")
    notes = [*messages, *errors, *problems]
    if failed:
        notes.append(f"the language model failed ({failed[0]}): the next run tries again")
    summary = summarize_saved(done) if workspace.settings["notify"] else ""
    if summary and context.is_terminal:
        lines.append(f"mem: {summary}")
    elif summary:
        notes.append(summary)
    data = {"sessions": [build_fields(item) for item in done]}
    code = LlmError.exit_code if failed else 0
    return Result(data, lines, rows, notes, exit_code=code, nothing=NOTHING)


def summarize_saved(done: Sequence[BatchResult]) -> str:
    """Return how many memories were saved, and how to revert that."""
    counts = [sum(outcome.action in SAVED for outcome in item.memories) for item in done]
    commands = [item.undo for item, count in zip(done, counts, strict=True) if count]
    if not commands:
        return ""
    undo = "mem undo" if len(commands) == 1 else "mem undo --list"
    return f"saved {count_noun(sum(counts), 'memory')} ({undo})"


def build_fields(item: BatchResult) -> dict[str, object]:
    fields = {name: getattr(item, name) for name in SESSION_FIELDS}
    memories = [
        {"action": outcome.action, "id": outcome.id, "path": outcome.path, "text": outcome.text}
        for outcome in item.memories
    ]
    return {**fields, "memories": memories}
