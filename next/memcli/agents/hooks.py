"""Answer the events of an agent's conversation: show memories, record what is said.

Nothing here consolidates: that is started as a process of its own. A failure is written to the log
of the workspace and never reaches the agent.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from ..api import open_all, open_recording
from ..context import Context
from ..errors import MemError
from ..index.database import FILE as INDEX_FILE
from ..recall.lookup import ALL, Place
from ..recall.shown import Shown, delete_old_records, load_shown
from ..store.log import append_log
from ..store.sessions import list_sessions, name_session
from ..store.workspace import Workspace
from .events import Event, build_answer
from .messages import record_answer, record_event, record_message, take_back
from .quick import OPEN_PROMPT, note_places


class Hook(NamedTuple):
    """An event, and what its answer needs."""

    event: Event
    agent: str
    context: Context
    workspaces: Sequence[Workspace]  # to read from
    shown: Shown

    def open_recording(self) -> Workspace:
        return open_recording(self.context)


class Answer(NamedTuple):
    """What the agent is given, and the line that the person sees."""

    text: str = ""
    message: str = ""


def respond(event: Event, agent: str, context: Context) -> str:
    """Return the answer to an event as the agent reads it."""
    handle = HANDLERS.get(event.name)
    if handle is None or not event.session:
        return ""
    with log_problems(event, agent, context) as workspaces:
        shown = load_shown(str(context.state_folder or ""), event.session)
        answer = handle(Hook(event, agent, context, workspaces, shown))
        places, tokens = build_places(workspaces)
        note_places(shown, event.folder, places, tokens)
        shown.count_tokens(answer.text)
        shown.save()
        return build_answer(event.name, answer.text, answer.message)
    return ""


def record_tool_call(event: Event, agent: str, context: Context) -> None:
    """Record a tool call in the session."""
    from .tool_calls import record_tool

    with log_problems(event, agent, context):
        if event.session:
            record_tool(open_recording(context), event, agent)


@contextmanager
def log_problems(event: Event, agent: str, context: Context) -> Iterator[Sequence[Workspace]]:
    """Yield the workspaces to read. Write whatever goes wrong to the log of the first one."""
    workspaces: Sequence[Workspace] = ()
    try:
        workspaces = open_all(context)
        yield workspaces
    except Exception as error:  # an agent must not stop because its memory does
        for workspace in workspaces[:1]:
            write_error(workspace, f"{agent} {event.name}", error)


def log_error(agent: str, error: Exception, context: Context) -> None:
    """Write an error of a quick moment to the log of the workspace."""
    write_error(open_all(context)[0], agent, error)


def write_error(workspace: Workspace, moment: str, error: Exception) -> None:
    reason = error.message if isinstance(error, MemError) else f"{type(error).__name__}: {error}"
    append_log(workspace, f"hook {moment}: {reason}")


def build_places(workspaces: Sequence[Workspace]) -> tuple[list[Place], int]:
    """Return what the action hook needs to know of the workspaces, and its tokens."""
    places = [
        Place(
            str(workspace.root),
            str(workspace.machine.folder / INDEX_FILE),
            # Only the user's own workspace is shared by projects.
            workspace.project if workspace.is_own else ALL,
            str(workspace.root / workspace.purged_path),
        )
        for workspace in workspaces
        if workspace.machine.folder is not None
    ]
    return places, int(workspaces[0].settings["recall.action_tokens"])


def start_session(hook: Hook) -> Answer:
    """Show what is known here, and have old sessions consolidated."""
    from ..consolidate.queue import start_background
    from ..consolidate.batch import find_due_messages
    from ..recall.start import build_start_context

    shown, source = hook.shown, hook.event.source
    shown.record.pop(OPEN_PROMPT, None)
    delete_old_records(str(hook.context.state_folder or ""))
    # A resumed conversation still has what it was shown. After a compaction it starts anew.
    is_resumed = source in ("resume", "fork")
    text = build_start_context(hook.workspaces, shown, is_resumed=is_resumed)
    workspace = hook.open_recording()
    # Sessions that never ended, and texts that a language model could not read the last time.
    if any(find_due_messages(workspace, session) for session in list_sessions(workspace)):
        start_background(workspace)
    return Answer(text)


def take_prompt(hook: Hook) -> Answer:
    """Record a prompt, save what it asks to remember, and show what fits it."""
    from ..recall.prompt import build_prompt_context
    from .requests import Saved, save_requests

    event, shown = hook.event, hook.shown
    if not event.prompt:
        return Answer()
    workspace = hook.open_recording()
    taken_back = shown.record.pop(OPEN_PROMPT, "")
    message_id, is_new = record_message(workspace, event, hook.agent, "user", event.prompt)
    if not message_id:
        return Answer()
    if taken_back and taken_back != message_id:
        take_back(workspace, event.session, taken_back)
    shown.record[OPEN_PROMPT] = message_id
    # Another agent's hook has received the same prompt, and saved what it asks for.
    source = f"{name_session(event.session)}#{message_id}"
    saved = save_requests(workspace, event.prompt, source, shown) if is_new else Saved()
    text = build_prompt_context(hook.workspaces, event.prompt, shown)
    parts = [part.strip() for part in (saved.text, text) if part.strip()]
    message = saved.message if workspace.settings["notify"] else ""
    return Answer("\n\n".join(parts), message)


def end_turn(hook: Hook) -> Answer:
    """Record the agent's answer, and have the session consolidated if enough has gathered."""
    from ..consolidate.queue import start_background
    from ..consolidate.batch import find_due_messages

    hook.shown.record.pop(OPEN_PROMPT, None)
    workspace = hook.open_recording()
    session = record_answer(workspace, hook.event, hook.agent)
    if session is not None and find_due_messages(workspace, session):
        start_background(workspace)
    return Answer()


def prepare_compaction(hook: Hook) -> Answer:
    """Let the start after the compaction show everything again."""
    hook.shown.forget_all()
    return Answer()


def end_session(hook: Hook) -> Answer:
    """Mark the session as ended, and have it consolidated."""
    from ..consolidate.queue import start_background

    workspace = hook.open_recording()
    if record_event(workspace, hook.event, hook.agent, [], state="TERMINATED"):
        start_background(workspace)
    return Answer()


HANDLERS: dict[str, Callable[[Hook], Answer]] = {
    "SessionStart": start_session,
    "UserPromptSubmit": take_prompt,
    "Stop": end_turn,
    "StopFailure": end_turn,
    "PreCompact": prepare_compaction,
    "SessionEnd": end_session,
}
