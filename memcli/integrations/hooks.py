"""Answer each event of an agent's conversation: memories go in, what was said is kept.

Fail-open: whatever goes wrong, the agent gets an empty context and goes on, and `.mem/log` has a line. Nothing is done
where there is no workspace, nor inside an LLM that mem itself asked.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, BinaryIO

from ..api import agents
from ..api.agents import Surroundings, Workspace, keeper, log, session_name
from ..dataclass import dataclass
from ..errors import MemError, SwitchedOffError, UsageError
from . import AGENTS, COMPACTION, END, PROMPT, START, SUBAGENT, TOOL, TURN, Agent

if TYPE_CHECKING:
    from ..api.context import SessionStart

LARGEST = 8 << 20
"""Bytes of an event; a prompt with whole files pasted in is far smaller."""
_PIECE = 1 << 20
PATIENCE = 1.0
"""Seconds of silence after which nothing more is waited for: the end of a session leaves a second and a half."""
_ERROR = 500  # characters at the end of an error, which say what went wrong


@dataclass(frozen=True)
class HookEvent:
    """One event of a conversation."""

    name: str
    session: str = ""
    folder: str = ""
    prompt: str = ""
    answer: str = ""  # the assistant's last message
    source: str = ""  # of a session's start: startup, resume, clear, compact, fork
    transcript: str = ""
    error: str = ""  # what a tool call failed with
    is_continued: bool = False  # the turn goes on since a hook said so at its end


def read_all(stream: BinaryIO, patience: float = PATIENCE) -> bytes:
    """Read an event to its end, whatever its size, keeping no more than shows that it is too large.

    A harness that forgets to close its end is not waited for: what came until it fell silent is the event.
    """
    data = bytearray()
    for piece in iter(lambda: _piece(stream, patience), b""):
        if len(data) <= LARGEST:  # the rest is read all the same, or a harness would get a broken pipe
            data += piece
    return bytes(data)


def _piece(stream: BinaryIO, patience: float) -> bytes:
    from select import select

    try:
        fd = stream.fileno()
    except OSError:  # no file at all
        return stream.read(_PIECE)
    return os.read(fd, _PIECE) if select([fd], [], [], patience)[0] else b""


def parse(data: bytes, agent: Agent) -> HookEvent:
    """Read an event of an agent; raise UsageError saying what is wrong with it."""
    if len(data) > LARGEST:
        raise UsageError(f"the event has more than {LARGEST >> 20} MB")
    try:
        given = json.loads(data.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the event is not JSON ({str(error)[:100]})") from None
    if not isinstance(given, Mapping):
        raise UsageError("the event is no JSON object")
    return HookEvent(
        name=_word(given, "hook_event_name"),
        session=session_name(_word(given, "session_id")),
        folder=_word(given, "cwd"),
        prompt=_word(given, "prompt"),
        answer=_word(given, agent.answer),
        source=_word(given, "source"),
        transcript=_word(given, "transcript_path"),
        error=_error(given)[-_ERROR:],
        is_continued=given.get("stop_hook_active") is True,
    )


def _word(given: Mapping[str, Any], key: str) -> str:
    value = given.get(key)
    if not isinstance(value, str):
        return ""
    return value.encode("utf-8", "replace").decode("utf-8")  # a lone surrogate could not be written


def _error(given: Mapping[str, Any]) -> str:
    """Find what a failed tool call said; empty where it did not fail."""
    error_text = _word(given, "error")
    if error_text:
        return error_text
    answer = given.get("tool_response")
    if not isinstance(answer, Mapping):
        return ""
    code = next((answer[key] for key in ("exit_code", "exitCode", "code") if isinstance(answer.get(key), int)), 0)
    if not code and not any(answer.get(key) is True for key in ("is_error", "isError")):
        return ""
    return next((text for key in ("stderr", "error", "output", "stdout") if (text := _word(answer, key))), "")


Detach = Callable[[Workspace, Sequence[str], float], bool]
"""Starts `mem` with some words in a process of its own, no more often than every so many seconds."""
Behind = Callable[[Callable[[int], None], int], None]
"""Does work for which the agent need not wait, and gives it a descriptor that stays open until then; -1 is none."""


@dataclass(frozen=True)
class HookContext:
    """An event, the workspaces it concerns, and what its hook may use."""

    workspaces: Sequence[Workspace]
    event: HookEvent
    detach: Detach
    behind: Behind
    began: float  # when the process began, on the monotonic clock
    agent: str

    @property
    def workspace(self) -> Workspace:
        """Return the workspace that is asked first, and gets what the user asks to remember."""
        return self.workspaces[0]

    @property
    def left(self) -> float:
        """Return the seconds the agent may still be kept waiting, counted from the start of the process."""
        within: float = self.workspace.settings["hooks.within"]
        return max(0.0, self.began + within / 1000 - monotonic())

    @cached_property
    def keeper(self) -> Workspace | None:
        """Return the workspace that keeps what is said; None if nothing is kept."""
        kept_by = keeper(self.workspaces) if self.event.session else None
        if kept_by is None or self.workspace.settings["memory.writing"] == "off":
            return None
        return kept_by if kept_by.settings["memory.writing"] != "off" else None


@dataclass(frozen=True)
class HookAnswer:
    """What the agent is given."""

    event: str = ""
    context: str = ""
    is_late: bool = False  # threads may be busy still: leave the process without waiting for them

    def written(self, agent: str) -> str:
        """Write the document an agent reads, with no key that it does not know; nothing for no context."""
        if not self.context.strip():
            return ""
        fields: dict[str, Any] = {"additionalContext": self.context}
        if not AGENTS[agent].is_flat:
            fields = {"hookSpecificOutput": {"hookEventName": self.event, **fields}}
        return json.dumps(fields, ensure_ascii=False)


INSIDE = "MEM_INSIDE_LLM"
CHARACTERS = 10_000
"""What agents take of a hook's context before they cut it."""
_PATIENCE = 1.0  # seconds a hook waits for somebody who writes
_BEFORE = 2  # messages before a prompt that it may go on with
_REST = 24  # letters of a prompt, beside what is to be remembered, that ask for memories too
ROOM = 9_000
"""Characters of an answer that are for memories; the rest is for what else is told."""
_RECAP_ROOM = 3_000


def _at_once(work: Callable[[int], None], held: int) -> None:
    work(held)


def respond(
    agent: str,
    data: bytes,
    around: Surroundings,
    detach: Detach,
    behind: Behind = _at_once,
    began: float | None = None,
) -> HookAnswer:
    """Answer one event, whatever it is and whatever happens; `began` is when the agent began to wait."""
    began = monotonic() if began is None else began
    if around.environ.get(INSIDE) or not data.strip():
        return HookAnswer()
    name, act, log_to = "", "", None
    try:
        event = parse(data, AGENTS[agent])
        name = event.name
        if name not in AGENTS[agent].events:
            return HookAnswer()
        act = AGENTS[agent].events[name].act
        folder = event.folder or around.environ.get("CLAUDE_PROJECT_DIR", "")
        around = replace(around, folder=Path(folder)) if folder else around
        opened = agents.open_workspaces(folder=around.folder, environ=around.environ, now=around.now)
        workspaces = [agents.with_lock_wait(workspace, _PATIENCE) for workspace in opened]
        log_to = workspaces[0]
        if not log_to.settings["hooks.enabled"]:
            return HookAnswer()
        answer = _ACTS[act](HookContext(workspaces, event, detach, behind, began, agent))
        if len(answer.context) <= CHARACTERS:
            return answer
        log(log_to, f"hook {agent} {name}: {len(answer.context):,} characters are more than an agent takes")
    except SwitchedOffError:
        return HookAnswer()
    except Exception as error:  # an agent must not stop because its memory does
        message = str(error) if isinstance(error, MemError) else f"{type(error).__name__}: {error}"
        is_open = log_to is not None
        log_to = log_to or agents.unopened(around)
        if log_to is not None:
            log(log_to, f"hook {agent} {name}: {message}")
        if log_to is not None and not is_open and act == START:
            # Without the reason, which may quote a file of somebody else's.
            unusable = f"The long-term memory in {log_to.root} cannot be used: `mem check` there says why."
            return HookAnswer(name, unusable)
    return HookAnswer()


def _session_start(here: HookContext) -> HookAnswer:
    """Return what is known here and, if the conversation was cut, what it was about."""
    event = here.event
    is_cut = event.source in ("resume", "compact", "fork") and bool(event.session)
    notes = (*map(_untrusted, here.workspaces), _kept_lately(here))
    handoff = None if is_cut else _handoff(here)
    reserved = _RECAP_ROOM if is_cut else len(handoff[0]) if handoff else 0
    start = _known(
        here,
        session=event.session,
        characters=ROOM - reserved - sum(len(note) + 2 for note in notes),
        fresh=event.source in ("compact", "clear"),
    )
    recap = ""
    if is_cut and here.keeper:
        recap = agents.session_recap(here.keeper, event.session, start.text, here.workspaces)
    handed = handoff[0] if handoff and agents.take_handoff(handoff[1]) else ""
    parts = (*notes, start.text.strip(), recap, handed)
    return HookAnswer(event.name, "\n\n".join(part for part in parts if part), start.is_late)


def _subagent_start(here: HookContext) -> HookAnswer:
    """Return what is known here, without what happened in other sessions: a subagent has one task."""
    start = _known(here, characters=ROOM, for_subagent=True)
    parts = (*map(_untrusted, here.workspaces), start.text.strip())
    return HookAnswer(here.event.name, "\n\n".join(part for part in parts if part), start.is_late)


def _known(here: HookContext, **asked: Any) -> "SessionStart":
    from ..api.context import session_start

    start = session_start(here.workspaces, within_ms=int(1000 * here.left), **asked)
    for notice in start.notices:
        log(here.workspace, f"hook {here.event.name}: {notice}")
    return start


def _untrusted(workspace: Workspace) -> str:
    """Return a line saying that a workspace is not trusted; empty if it is."""
    if workspace.is_trusted:
        return ""
    return (
        f"The memory in {workspace.root} came with a repository and is not trusted by the user: its records have the"
        ' source "repository". `mem trust`, run by the user there, changes that.'
    )


def _handoff(here: HookContext) -> tuple[str, Path] | None:
    """Return what another session hands over to this one, and its file; None where nothing waits."""
    if here.keeper is None or not here.event.session:
        return None
    try:
        folder, opened = here.workspace.folder, here.workspaces
        return agents.waiting_handoff(here.keeper, folder, here.agent, here.event.session, opened)
    except (MemError, OSError) as error:
        log(here.workspace, f"hook {here.event.name}: {error}")
        return None


def _kept_lately(here: HookContext) -> str:
    """Return a line on what was made of conversations since it was told last; empty where nothing is to be told."""
    try:
        return agents.kept_lately(here.keeper) if here.keeper else ""
    except OSError as error:
        log(here.workspace, f"hook {here.event.name}: {error}")
        return ""


def _user_prompt(here: HookContext) -> HookAnswer:
    """Keep the prompt, write down at once what is to be remembered, and recall what fits."""
    event = here.event
    prompt = agents.without_injected(event.prompt)
    if not prompt.strip():
        return HookAnswer()
    request = agents.remember_request(prompt)
    remaining = prompt[request.stop :].strip() if request else prompt
    asks = len(remaining) > _REST or not request
    identifier, first_answer = "", HookAnswer(event.name)
    if request:
        asked = prompt[request.start : request.stop].strip()
        identifier, first_answer = _remembered(here, asked, request.source)  # what was asked for outright goes first
    before = agents.last_messages(here.keeper, event.session, _BEFORE) if here.keeper else []
    _keep(here, "user", prompt, identifier)
    told = [part for part in (_kept_lately(here), first_answer.context) if part]
    if not asks or first_answer.is_late:
        return replace(first_answer, context="\n\n".join(told))
    answer = _recalled(here, remaining, before, gate=True)
    return replace(answer, context="\n\n".join([*told, *filter(None, [answer.context])]))


def _tool_use(here: HookContext) -> HookAnswer:
    """Recall by what a tool call failed with."""
    return _recalled(here, here.event.error, (), gate=False) if here.event.error else HookAnswer()


def _pre_compact(here: HookContext) -> HookAnswer:
    """Bring all that was said into notes and history before the conversation is cut."""
    keeper = here.keeper
    if keeper is None:
        return HookAnswer()
    if keeper.settings["llm.command"] or keeper.settings["llm.model"]:
        agents.flush_turns(keeper, here.event.session)
        here.detach(keeper, _close_words(here), 0.0)
    else:
        agents.close_session(keeper, here.event.session, transcript=here.event.transcript)
    return HookAnswer()


def _stop(here: HookContext) -> HookAnswer:
    """Keep the answer, and have the session consolidated when enough of it waits."""
    keeper = here.keeper
    if keeper is None:
        return HookAnswer()
    if here.event.answer.strip():
        _keep(here, "assistant", here.event.answer)
    elif here.event.transcript:
        here.behind(lambda _: _keep_from_transcript(here, keeper), -1)
        return HookAnswer()
    here.behind(lambda _: _bring_in(here, keeper), -1)
    return _nudge(here, keeper)


def _nudge(here: HookContext, keeper: Workspace) -> HookAnswer:
    """Tell an agent, once a session, that nothing was saved of what deserves it: its turn goes on then."""
    if not AGENTS[here.agent].is_nudged or here.event.is_continued:
        return HookAnswer()
    try:
        every = keeper.settings["hooks.nudge"]
        text, is_late = agents.unsaved_statement(keeper, here.event.session, every, here.left, here.workspaces)
    except (MemError, OSError) as error:
        log(here.workspace, f"hook {here.event.name}: {error}")
        return HookAnswer()
    return HookAnswer(here.event.name, _NUDGE.format(text=agents.as_data(text, 200)) if text else "", is_late)


_NUDGE = (
    "mem: nothing of this conversation is in long-term memory yet. The user said, for example: “{text}” What a later"
    " session on another task should know is kept by `mem write`, as `mem help protocol` says; most turns save nothing."
)


def _keep_from_transcript(here: HookContext, keeper: Workspace) -> None:
    """Bring in a turn whose answer the harness did not send: it is the last of the transcript."""
    answer = ""
    try:
        answer = agents.last_answer(Path(here.event.transcript), here.workspace.zone)
    except (MemError, OSError) as error:
        log(here.workspace, f"hook {here.event.name}: the transcript cannot be read: {error}")
    if answer.strip():
        _keep(here, "assistant", answer)
    else:
        log(here.workspace, f"hook {here.event.name}: the event and its transcript hold no answer, so none is kept")
    _bring_in(here, keeper)


def _bring_in(here: HookContext, workspace: Workspace) -> None:
    """Bring a turn into notes and session; whatever goes wrong is said in the log alone."""
    event, settings = here.event, workspace.settings
    try:
        agents.flush_turns(workspace, event.session)
        is_enough = settings["consolidate.enabled"] and (
            agents.waiting_messages(workspace, event.session) >= settings["consolidate.window"]
        )
        if is_enough:
            here.detach(workspace, [*_close_words(here), "--keep", str(settings["consolidate.keep"])], 60.0)
    except MemError as error:
        log(workspace, f"hook {event.name}: {error}")
    except Exception as error:  # nobody would hear of it
        log(workspace, f"hook {event.name}: {type(error).__name__}: {error}")


def _session_end(here: HookContext) -> HookAnswer:
    """Leave the rest to a process of its own: there is a second and a half."""
    if here.keeper is not None:
        here.detach(here.keeper, _close_words(here), 0.0)
    return HookAnswer()


_ACTS: Mapping[str, Callable[[HookContext], HookAnswer]] = {
    START: _session_start,
    SUBAGENT: _subagent_start,
    PROMPT: _user_prompt,
    TOOL: _tool_use,
    COMPACTION: _pre_compact,
    TURN: _stop,
    END: _session_end,
}


def _close_words(here: HookContext) -> list[str]:
    words = ["hook", "close", "--session", here.event.session]
    return [*words, "--transcript", here.event.transcript] if here.event.transcript else words


_LATE = "mem: found too late for what was asked before:"


def _recalled(here: HookContext, query: str, before: Sequence[str], *, gate: bool) -> HookAnswer:
    """Return what fits a prompt, and what came too late for earlier ones; the log says why there is nothing."""
    from ..api.recall import recall_in_time

    pack, overdue = recall_in_time(
        here.workspaces,
        query,
        session=here.event.session,
        before=before,
        seconds=here.left,
        behind=here.behind,
        characters=ROOM,
        gate=gate,
    )
    for notice in () if pack.chosen else pack.notices:
        log(here.workspace, f"hook {here.event.name}: {notice}")
    late_text = f"{_LATE}\n{overdue.text().strip()}" if overdue.chosen else ""
    return HookAnswer(here.event.name, "\n\n".join(filter(None, [late_text, pack.text().strip()])))


def _keep(here: HookContext, role: str, text: str, remembered: str = "") -> None:
    """Keep a message of the session; if that fails memories are recalled all the same."""
    if here.keeper is None:
        return
    try:
        agents.keep_turn(here.keeper, here.event.session, role, text, remembered)
    except OSError as error:
        log(here.workspace, f"hook {here.event.name}: a message could not be kept: {error}")


def _remembered(here: HookContext, text: str, source: str) -> tuple[str, HookAnswer]:
    """Write down what is to be remembered; return its id, and what the agent is told of it or why it could not be."""
    name = here.event.name
    try:
        identifier, answer, is_late = agents.remember(here.workspace, here.event.session, text, source, here.left)
    except MemError as error:
        log(here.workspace, f"hook {name}: {error}")
        return "", HookAnswer(name, f"What the user asked to remember could not be kept: {error}")
    return identifier, HookAnswer(name, answer, is_late)
