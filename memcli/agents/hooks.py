"""Answer the events of an agent's conversation: show memories, and record messages.

Consolidation runs in a separate process. A failure is written to the log of the workspace and
never reaches the agent.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from ..api import (
    Context,
    MemError,
    add_gates,
    log_error,
    open_all,
    open_recording,
    withdraw_from_team,
)
from ..formats import CONTEXT, is_unrecorded, parse_time
from ..index import open_index
from ..recall import START_TIME, Shown, delete_old_records, load_fork, load_shown, lock_session
from ..store import NICENESS, Workspace, list_sessions
from ..transcripts.transcript import build_message
from .events import Event, build_answer, read_event
from .messages import (
    SAVED,
    Answer,
    read_request_tokens,
    record_answer,
    record_event,
    record_message,
    record_tool,
    remove_withdrawn_prompt,
    save_requests,
)
from .quick import OPEN_PROMPT, build_places, save_places

SAME_START = timedelta(seconds=5)  # between two hooks that report one start
PENDING_START, REPORTED_START = "pending_start", "reported_start"
# Tokens of Gemini's last request, and of the last one before a compression that it reported.
REQUEST_TOKENS, COMPRESSED_TOKENS = "request_tokens", "compressed_tokens"
START_SECONDS = 1.0  # left to the agent before the preparation
EMBED_SECONDS = 5.0  # for conversations, at the next start


class Hook(NamedTuple):
    """An event, with everything that its answer needs."""

    event: Event
    agent: str
    context: Context
    workspaces: Sequence[Workspace]  # to read from
    shown: Shown


class ReadAnswer(NamedTuple):
    """An answer that needs only reading, and the function that records it as shown."""

    text: str
    save: Callable[[], None]


def respond(event: Event, agent: str, context: Context) -> str:
    """Return the answer to an event as the agent reads it."""
    handle = HANDLERS.get(event.name)
    if handle is None or not event.session:
        return ""
    with log_problems(event, agent, context) as workspaces:
        hook = build_hook(event, agent, context, workspaces)
        text = finish_answer(hook, handle(hook))
        hook.shown.save()
        return text
    return ""


def read_answer(agent: str, data: bytes, context: Context) -> ReadAnswer | None:
    """Return the answer to a start or a prompt, or None if more than reading is needed.

    The caller runs the cleanups of the context, which end the lock of the session.
    """
    event, agent = read_event(agent, data, str(context.folder))
    handle = READERS.get(event.name) if event else None
    if event is None or handle is None or not event.session:
        return None
    context = context._replace(folder=Path(event.folder), is_terminal=False)
    # The server answers one caller at a time, so it cannot wait for a hook of this session.
    lock = lock_session(str(context.state_folder or ""), event.session, seconds=0)
    if lock < 0:
        return None  # an earlier hook is still recording
    if context.cleanups is not None:
        context.cleanups.callback(os.close, lock)
    hook = build_hook(event, agent, context, open_all(context))
    answer = handle(hook)
    if answer is None:
        return None
    return ReadAnswer(finish_answer(hook, answer), hook.shown.save)


def build_hook(event: Event, agent: str, context: Context, workspaces: Sequence[Workspace]) -> Hook:
    """Load the record of the session."""
    # A subagent starts without the memories that its parent has received.
    name = f"{event.session}/{event.subagent}" if event.subagent else event.session
    state_folder = str(context.state_folder or "")
    shown = load_shown(state_folder, name)
    if event.source == "fork" and not shown.sentences:
        shown = load_fork(state_folder, name, event.folder)
    return Hook(event, agent, context, workspaces, shown)


def finish_answer(hook: Hook, answer: Answer) -> str:
    """Return an answer as the agent reads it, and note it in the record of the session."""
    places, tokens = build_places(hook.workspaces)
    save_places(hook.shown, hook.event.folder, places, tokens)
    hook.shown.count_tokens(answer.text)
    return build_answer(hook.event, hook.agent, answer.text, answer.message)


def record_tool_call(event: Event, agent: str, context: Context) -> None:
    """Record a tool call in the session."""
    with log_problems(event, agent, context):
        if event.session:
            record_tool(open_recording(context), event, agent)


def record_prompt(event: Event, agent: str, context: Context) -> None:
    """Record a prompt that `mem serve` has answered."""
    with log_problems(event, agent, context) as workspaces:
        hook = build_hook(event, agent, context, workspaces)
        store_prompt(hook, clean_prompt(event))
        hook.shown.save()


def prepare_session(event: Event, agent: str, context: Context) -> None:
    """Prepare the model, and start a consolidation of the sessions that never ended."""
    # The agent itself is starting and needs the processor.
    time.sleep(START_SECONDS)
    os.nice(NICENESS)
    with log_problems(event, agent, context):
        from ..consolidate.queue import start_background
        from ..index import prepare_model

        workspace = open_recording(context)
        # If a language model failed for a session last time, it is tried again.
        start_background(workspace, list_sessions(workspace))
        prepare_model(context.cache_folder)
        open_index(workspace).embed_missing(EMBED_SECONDS)


def update_index(event: Event, agent: str, context: Context) -> None:
    """Read the turn into the index, so that the next start need not do it.

    What the user asked to forget leaves the team's server now, because a prompt cannot wait.
    """
    os.nice(NICENESS)
    with log_problems(event, agent, context) as workspaces:
        open_index(open_recording(context))
        for workspace in workspaces:
            withdraw_from_team(workspace)


@contextmanager
def log_problems(event: Event, agent: str, context: Context) -> Iterator[Sequence[Workspace]]:
    """Yield the workspaces to read. Write every error to the log of the first workspace."""
    try:
        yield open_all(context)
    except Exception as error:  # an agent must not stop because its memory does
        # Without a workspace there is no log either.
        with suppress(MemError):
            log_error(context, f"{agent} {event.name}", error)


def handle_start(hook: Hook) -> Answer:
    """Show the text for the start of a session."""
    from ..recall import build_start

    shown, source = hook.shown, hook.event.source
    if is_reported_again(hook):
        return Answer()
    # These belong to the start before this one: a prompt that can no longer be withdrawn, and the
    # text that the next prompt would have shown.
    shown.record[REPORTED_START] = hook.event.time or source
    shown.record.pop(OPEN_PROMPT, None)
    shown.record.pop(PENDING_START, None)
    delete_old_records(str(hook.context.state_folder or ""))
    if hook.agent == "gemini" and source == "clear":
        # Gemini ignores the answer to this event.
        shown.record[PENDING_START] = "1"
        return Answer()
    # A resumed conversation still contains its memories. After a compaction it starts anew.
    is_resumed = source in ("resume", "fork")
    if is_resumed and hook.agent in ("copilot", "gemini"):
        # Copilot does not store the texts of hooks, and Gemini leaves out messages with such texts.
        shown.forget_all()
        is_resumed = False
    notices = [
        workspace.machine.take_notice(workspace.project if workspace.is_own else "")
        for workspace in hook.workspaces
    ]
    message = "\n".join(f"mem: {notice}" for notice in notices if notice)
    return Answer(build_start(hook.workspaces, shown, is_resumed=is_resumed).text, message)


def is_reported_again(hook: Hook) -> bool:
    """Return whether another hook has reported this start already.

    Copilot also runs the hooks of Claude Code, and Claude Code also runs the hooks of plugins.
    """
    record, event = hook.shown.record, hook.event
    if record.get(REPORTED_START) != (event.time or event.source):
        return False
    last = parse_time(str(record.get(START_TIME, "")))
    is_recent = last is not None and hook.context.now - last < SAME_START
    # A conversation can be resumed twice in a moment. The second time it gets only new memories.
    return bool(event.time) or (is_recent and event.source not in ("resume", "fork"))


def handle_subagent_start(hook: Hook) -> Answer:
    """Show the text for the start of a subagent. Its messages are not recorded."""
    from ..recall import build_start

    return Answer(build_start(hook.workspaces, hook.shown, is_subagent=True).text)


def handle_prompt(hook: Hook) -> Answer:
    """Record a prompt, carry out its requests, and show the memories that fit it."""
    from ..recall import build_prompt_context, build_start

    shown = hook.shown
    prompt = clean_prompt(hook.event)
    workspace, message, is_new = store_prompt(hook, prompt)
    if not message:
        return Answer()
    # If another agent's hook received the same prompt, it has carried out the requests.
    result = Answer()
    # Two messages that are not recorded look the same.
    if is_new or is_unrecorded(prompt):
        # Hooks open the workspaces only to read. A request to forget changes each of them.
        others = [add_gates(item) for item in hook.workspaces if item.root != workspace.root]
        result = save_requests(workspace, prompt, message, shown, others)
    start = ""
    if hook.agent == "gemini":
        note_compression(hook)
    if shown.record.pop(PENDING_START, ""):
        start = build_start(hook.workspaces, shown).text
    text = build_prompt_context(hook.workspaces, prompt, shown)
    parts = [part.strip() for part in (start, result.text, text) if part.strip()]
    notice = result.message if workspace.settings["notify"] else ""
    return Answer("\n\n".join(parts), notice)


def read_prompt(hook: Hook) -> Answer | None:
    """Show the memories for a prompt. None if it has a request, and in other rare cases."""
    from ..consolidate.rules import find_requests
    from ..recall import build_prompt_context

    prompt = clean_prompt(hook.event)
    is_late = hook.workspaces[0].settings["recall.late"]
    if hook.agent == "gemini" or is_late or {PENDING_START, SAVED} & hook.shown.record.keys():
        return None
    # A request changes memories, and a notice of the agent's own program gets no answer.
    is_notice = build_message("user", prompt, None) is None
    if is_notice or is_unrecorded(prompt) or find_requests(prompt):
        return None
    return Answer(build_prompt_context(hook.workspaces, prompt, hook.shown).strip())


def clean_prompt(event: Event) -> str:
    # An agent may have copied mem's own context, and the user did not write it.
    return CONTEXT.sub("", event.prompt).strip()


def store_prompt(hook: Hook, prompt: str) -> tuple[Workspace, str, bool]:
    """Record a prompt. Return its workspace, SESSION#ID, and whether it is new.

    The name is empty if the user did not say it.
    """
    workspace = open_recording(hook.context)
    record = hook.shown.record
    if not prompt:
        return workspace, "", False
    withdrawn = record.pop(OPEN_PROMPT, "")
    message, is_new = record_message(workspace, hook.event, hook.agent, "user", prompt)
    if message:
        if withdrawn and withdrawn != message:
            remove_withdrawn_prompt(workspace, withdrawn, prompt)
        record[OPEN_PROMPT] = message
    return workspace, message, is_new


def handle_turn_end(hook: Hook) -> Answer:
    """Record the agent's answer, and start a consolidation if enough messages are pending."""
    from ..consolidate.batch import FALLBACK_TO
    from ..consolidate.queue import start_background

    hook.shown.record.pop(OPEN_PROMPT, None)
    workspace = open_recording(hook.context)
    session = record_answer(workspace, hook.event, hook.agent)
    # A failing model is asked again at the next start, not after each turn.
    if session is not None and FALLBACK_TO not in session.other:
        start_background(workspace, [session])
    return Answer()


def handle_compaction(hook: Hook) -> Answer:
    """Let the start after the compaction show everything again."""
    # Gemini reports this event before every request to its model.
    if hook.agent == "gemini" and hook.event.source == "auto":
        note_compression(hook)
        return Answer()
    hook.shown.forget_all()
    if hook.agent == "gemini":
        hook.shown.record[COMPRESSED_TOKENS] = read_request_tokens(hook.event.transcript)
    # Gemini and Copilot report no start, so the next prompt shows it.
    hook.shown.record[PENDING_START] = "1"
    return Answer()


def note_compression(hook: Hook) -> None:
    """Let the next prompt show the start again if Gemini has compressed the conversation.

    Gemini does not report it, but its requests become much smaller.
    """
    record, tokens = hook.shown.record, read_request_tokens(hook.event.transcript)
    if not tokens or tokens == record.get(COMPRESSED_TOKENS):
        return
    is_reported = record.pop(COMPRESSED_TOKENS, 0)
    if tokens < record.get(REQUEST_TOKENS, 0) // 2 and not is_reported:
        hook.shown.forget_all()
        record[PENDING_START] = "1"
    record[REQUEST_TOKENS] = tokens


def handle_session_end(hook: Hook) -> Answer:
    """Mark the session as ended, and start its consolidation."""
    from ..consolidate.queue import start_background

    workspace = open_recording(hook.context)
    session = record_event(workspace, hook.event, hook.agent, [], state="TERMINATED")
    if session is not None:
        start_background(workspace, [session])
    return Answer()


HANDLERS: dict[str, Callable[[Hook], Answer]] = {
    "SessionStart": handle_start,
    "SubagentStart": handle_subagent_start,
    "UserPromptSubmit": handle_prompt,
    "Stop": handle_turn_end,
    # Claude Code reports this instead of Stop after an error of its API.
    "StopFailure": handle_turn_end,
    "PreCompact": handle_compaction,
    "SessionEnd": handle_session_end,
}
# `mem serve` may answer these, because they only read. The hook records the prompt itself.
READERS: dict[str, Callable[[Hook], Answer | None]] = {
    "SessionStart": handle_start,
    "UserPromptSubmit": read_prompt,
}
