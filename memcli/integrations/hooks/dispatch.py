"""What happens at each event of an agent's conversation: memories go in, what was said is kept.

Fail-open: whatever goes wrong, the agent gets an empty context and goes on, and `.mem/log` has a line. Does nothing
where there is no workspace, and nothing inside an LLM that mem itself asked.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from ...errors import MemError, SwitchedOffError
from ...index.peek import settle_trust
from ...store.workspace import Surroundings, Workspace, find, unopened
from .background import log
from .event import Answer, Behind, Detach, Scene, parse
from .session_start import ROOM, session_start, tell_late
from .turn_flush import Noise, close, flush, hasty, last_answer, waiting

if TYPE_CHECKING:
    from ...recall.request import Judge
    from .turn_flush import Kept

AGENTS = ("claude-code", "codex")
INSIDE = "MEM_INSIDE_LLM"
CHARACTERS = 10_000
"""What both agents take of a hook's context before they cut it."""
_PATIENCE = 1.0  # seconds a hook waits for somebody who writes
_REST = 24  # letters of a prompt, beside what is to be remembered, that ask for memories too


def _at_once(work: Callable[[], None]) -> None:
    work()


def respond(
    agent: str,
    data: bytes,
    around: Surroundings,
    noise: Noise,
    detach: Detach,
    behind: Behind = _at_once,
    began: float | None = None,
) -> Answer:
    """Answer one event, whatever it is and whatever happens; `began` is when the agent began to wait."""
    began = monotonic() if began is None else began
    if around.environ.get(INSIDE):
        return Answer()
    name, log_to = "", None
    try:
        event = parse(data)
        name = event.name
        folder = event.folder or around.environ.get("CLAUDE_PROJECT_DIR", "")
        around = replace(around, folder=Path(folder)) if folder else around
        act = _ACTS.get(name)
        workspaces = [hasty(one, _PATIENCE) for one in find(around)]
        for one in workspaces:
            settle_trust(one)
        log_to = workspaces[0]
        if act is None or not log_to.settings["hooks.enabled"]:
            return Answer()
        answer = act(Scene(workspaces, event, noise, detach, behind, began))
        if len(answer.context) <= CHARACTERS:
            return answer
        log(log_to, f"hook {agent} {name}: {len(answer.context):,} characters are more than an agent takes")
    except SwitchedOffError:
        return Answer()
    except Exception as error:  # an agent must not stop because its memory does
        told = str(error) if isinstance(error, MemError) else f"{type(error).__name__}: {error}"
        is_open = log_to is not None
        log_to = log_to or unopened(around)
        if log_to is not None:
            log(log_to, f"hook {agent} {name}: {told}")
        if log_to is not None and not is_open and name == "SessionStart":
            # Without the reason, which may quote a file of somebody else's.
            return Answer(name, f"The long-term memory in {log_to.root} cannot be used: `mem check` there says why.")
    return Answer()


def _user_prompt(scene: Scene) -> Answer:
    """Keep the prompt, write down at once what is to be remembered, and recall what fits."""
    from ...language.harness_text import without_injected

    event = scene.event
    prompt = without_injected(event.prompt)
    if not prompt.strip():
        return Answer()
    from ...consolidation.remember_requests import remember_request

    request = remember_request(prompt)
    rest = prompt[request.stop :].strip() if request else prompt
    asks = len(rest) > _REST or not request
    if request:
        asked = prompt[request.start : request.stop].strip()
        kept = _remembered(scene, asked, request.source)  # what was asked for outright goes first
        asks = asks and not kept.is_late
    _keep(scene, "user", prompt, kept.id if request else "")
    answer = _recalled(scene, rest, gate=True) if asks and scene.left > 0 else Answer(event.name)
    if not request:
        return answer
    told = "\n\n".join(part for part in (kept.said, answer.context) if part)
    return replace(answer, context=told, is_late=answer.is_late or kept.is_late)


def _tool_use(scene: Scene) -> Answer:
    """Recall by what a tool call failed with."""
    return _recalled(scene, scene.event.error, gate=False) if scene.event.error else Answer()


def _pre_compact(scene: Scene) -> Answer:
    """Bring all that was said into notes and history before the conversation is cut."""
    keeper = scene.keeper
    if keeper is None:
        return Answer()
    if keeper.settings["llm.command"] or keeper.settings["llm.model"]:
        flush(keeper, scene.noise, scene.event.session)
        scene.detach(keeper, _close_words(scene), 0.0)
    else:
        close(keeper, scene.event.session, None, scene.noise, transcript=scene.event.transcript)
    return Answer()


def _stop(scene: Scene) -> Answer:
    """Note the turn, and have the session consolidated when enough of it waits."""
    keeper = scene.keeper
    if keeper is None:
        return Answer()
    if scene.event.answer.strip():
        _keep(scene, "assistant", scene.event.answer)
    elif scene.event.transcript:
        scene.behind(lambda: _keep_from_transcript(scene))
        return Answer()
    scene.behind(lambda: _bring_in(scene, keeper))
    return Answer()


def _keep_from_transcript(scene: Scene) -> None:
    """Bring in a turn whose answer the harness did not send: it is the last of the transcript."""
    answer = ""
    try:
        answer = last_answer(Path(scene.event.transcript), scene.workspace.zone)
    except (MemError, OSError) as error:
        log(scene.workspace, f"hook {scene.event.name}: the transcript cannot be read: {error}")
    if answer.strip():
        _keep(scene, "assistant", answer)
    else:
        log(scene.workspace, f"hook {scene.event.name}: the event and its transcript hold no answer, so none is kept")
    if scene.keeper is not None:
        _bring_in(scene, scene.keeper)


def _bring_in(scene: Scene, workspace: Workspace) -> None:
    """Bring a turn into notes and session; whatever goes wrong is said in the log alone."""
    event, settings = scene.event, workspace.settings
    try:
        flush(workspace, scene.noise, event.session)
        if settings["consolidate.enabled"] and waiting(workspace, event.session) >= settings["consolidate.window"]:
            scene.detach(workspace, [*_close_words(scene), "--keep", str(settings["consolidate.keep"])], 60.0)
    except MemError as error:
        log(workspace, f"hook {event.name}: {error}")
    except Exception as error:  # nobody would hear of it
        log(workspace, f"hook {event.name}: {type(error).__name__}: {error}")


def _session_end(scene: Scene) -> Answer:
    """Leave the rest to a process of its own: there is a second and a half."""
    if scene.keeper is not None:
        scene.detach(scene.keeper, _close_words(scene), 0.0)
    return Answer()


_ACTS: Mapping[str, Callable[[Scene], Answer]] = {
    "SessionStart": session_start,
    "UserPromptSubmit": _user_prompt,
    "PostToolUse": _tool_use,
    "PostToolUseFailure": _tool_use,
    "PreCompact": _pre_compact,
    "Stop": _stop,
    "SessionEnd": _session_end,
}


def _close_words(scene: Scene) -> list[str]:
    words = ["hook", "close", "--session", scene.event.session]
    return [*words, "--transcript", scene.event.transcript] if scene.event.transcript else words


def _recalled(scene: Scene, query: str, *, gate: bool) -> Answer:
    from ...recall.pack import DOCUMENTS, RELEVANT
    from ...recall.recall import recall
    from ...recall.request import RecallRequest

    request = RecallRequest(
        query=query,
        session=scene.event.session,
        within_ms=int(1000 * scene.left),
        characters=ROOM,
        gate=gate,
        judge=_judge(scene.workspace),
        sections=(RELEVANT, DOCUMENTS),
    )
    pack = recall(scene.workspaces, request)
    tell_late(scene, pack)
    return Answer(scene.event.name, pack.text().strip(), pack.is_late)


def _judge(workspace: Workspace) -> "Judge | None":
    if not workspace.settings["recall.judge"]:
        return None
    from ...recall.relevance_judge import judge_of

    return judge_of(workspace.settings)


def _keep(scene: Scene, role: str, text: str, remembered: str = "") -> None:
    """Keep a message of the session; where that fails memories are recalled all the same."""
    from . import turn_buffer

    if scene.keeper is None:
        return
    try:
        turn_buffer.keep(scene.keeper, scene.event.session, role, text, remembered)
    except OSError as error:
        log(scene.workspace, f"hook {scene.event.name}: a message could not be kept: {error}")


def _remembered(scene: Scene, text: str, source: str) -> "Kept":
    """Write down what is to be remembered, or say why it could not be."""
    from .turn_flush import Kept, remember

    try:
        return remember(scene.workspace, scene.event.session, text, source, scene.noise(text), scene.left)
    except MemError as error:
        log(scene.workspace, f"hook {scene.event.name}: {error}")
        return Kept("", f"What the user asked to remember could not be kept: {error}")
