"""What happens at each event of an agent's conversation: memories go in, what was said is kept.

Fail-open: whatever goes wrong, the agent gets an empty context and goes on, and `.mem/log` has a line. Does nothing
where there is no workspace, and nothing inside an LLM that mem itself asked.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from ..errors import MemError, SwitchedOffError
from ..index.earlier import settle_trust
from ..store.archive import strays
from ..store.workspace import Surroundings, Workspace, find, unopened
from .hook_event import HookEvent, parse
from .keeping import Noise, close, flush, hasty, waiting
from .log import log

if TYPE_CHECKING:
    from ..retrieval.pack import Pack
    from .remembering import Kept

AGENTS = ("claude-code", "codex")
INSIDE = "MEM_INSIDE_LLM"
CHARACTERS = 10_000
"""What both agents take of a hook's context before they cut it."""
_ROOM = 9_000  # for memories; the rest is for what is told of one just kept
_LOOKED_AT, _NAMED = 1_000, 3
"""Archived files that session start compares with their records, the last changed first, and those it names."""
_PATIENCE = 1.0  # seconds a hook waits for somebody who writes
_REST = 24  # letters of a prompt, beside what is to be remembered, that ask for memories too

Detach = Callable[[Workspace, Sequence[str], float], bool]
"""Starts `mem` with some words in a process of its own, no more often than every so many seconds."""
Behind = Callable[[Callable[[], None]], None]
"""Does work for which the agent need not wait."""


@dataclass(frozen=True)
class Scene:
    """Where an event happened, and what the hook may use."""

    workspaces: Sequence[Workspace]
    event: HookEvent
    noise: Noise
    detach: Detach
    behind: Behind

    @property
    def workspace(self) -> Workspace:
        """Give the workspace that is written to."""
        return self.workspaces[0]

    @property
    def keeps(self) -> bool:
        """Tell whether what is said is kept."""
        return bool(self.event.session and self.workspace.settings["hooks.notes"])


@dataclass(frozen=True)
class Answer:
    """What the agent is given."""

    event: str = ""
    context: str = ""
    is_late: bool = False  # threads may be busy still: leave the process without waiting for them

    def written(self) -> str:
        """Write the document both agents read, with no key that one of them does not know; nothing for no context."""
        if not self.context.strip():
            return ""
        told = {"hookEventName": self.event, "additionalContext": self.context}
        return json.dumps({"hookSpecificOutput": told}, ensure_ascii=False)


def _at_once(work: Callable[[], None]) -> None:
    work()


def respond(
    agent: str, data: bytes, around: Surroundings, noise: Noise, detach: Detach, behind: Behind = _at_once
) -> Answer:
    """Answer one event, whatever it is and whatever happens."""
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
        answer = act(Scene(workspaces, event, noise, detach, behind))
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


def _session_start(scene: Scene) -> Answer:
    """Give what always holds and, where the conversation was cut, what it was about."""
    from ..retrieval.pack import STANDING
    from ..retrieval.recall import Recall, recall

    event = scene.event
    is_cut = event.source in ("resume", "compact", "fork") and bool(event.session)
    if is_cut:
        from .retelling import LONGEST, retold_session
    request = Recall(
        session=event.session,
        within_ms=scene.workspace.settings["hooks.within"],
        characters=_ROOM - (LONGEST if is_cut else 0),
        sections=STANDING,
        fresh=event.source in ("compact", "clear"),
    )
    pack = recall(scene.workspaces, request)
    _tell_late(scene, pack)
    told = pack.text().strip()
    retold = retold_session(scene.workspace, event.session, told) if is_cut else ""
    parts = (*map(_untrusted, scene.workspaces), _strays(scene), told, retold)
    return Answer(event.name, "\n\n".join(part for part in parts if part), pack.is_late)


def _untrusted(workspace: Workspace) -> str:
    """Say in one line that a workspace is not trusted; empty where it is."""
    if workspace.is_trusted:
        return ""
    return (
        f"The memory in {workspace.root} came with a repository and is not trusted by the user: its records have the"
        ' source "repository". `mem trust`, run by the user there, changes that.'
    )


def _strays(scene: Scene) -> str:
    """Say in one line which memories git, or somebody else, put into the archive; empty where none is."""
    found = strays(scene.workspace, _LOOKED_AT)
    if not found:
        return ""
    names = ", ".join(one.path for one in found[:_NAMED]) + (
        f" and {len(found) - _NAMED:,} more" * (len(found) > _NAMED)
    )
    what = "1 memory lies" if len(found) == 1 else f"{len(found):,} memories lie"
    return f"mem: {what} in the archive without having been forgotten: {names}. `mem check` tells what to do."


def _user_prompt(scene: Scene) -> Answer:
    """Keep the prompt, write down at once what is to be remembered, and recall what fits."""
    from ..text.injected import without_injected

    event = scene.event
    prompt = without_injected(event.prompt)
    if not prompt.strip():
        return Answer()
    from ..lifecycle.remembered import remembered_span

    span = remembered_span(prompt)
    rest = prompt[span[1] :].strip() if span else prompt
    asks = len(rest) > _REST or not span
    seconds: float = scene.workspace.settings["hooks.within"] / 1000
    if span:
        begun = monotonic()
        kept = _remembered(scene, prompt[span[0] : span[1]].strip(), seconds)  # what was asked for outright goes first
        seconds = 0.0 if kept.is_late else seconds - monotonic() + begun
    if scene.keeps:
        _keep(scene, "user", prompt, kept.id if span else "")
    answer = _recalled(scene, rest, seconds, gate=True) if asks and seconds > 0 else Answer(event.name)
    if not span:
        return answer
    told = "\n\n".join(part for part in (kept.said, answer.context) if part)
    return replace(answer, context=told, is_late=answer.is_late or kept.is_late)


def _tool_use(scene: Scene) -> Answer:
    """Recall by what a tool call failed with."""
    seconds: float = scene.workspace.settings["hooks.within"] / 1000
    return _recalled(scene, scene.event.error, seconds, gate=False) if scene.event.error else Answer()


def _pre_compact(scene: Scene) -> Answer:
    """Bring all that was said into notes and history before the conversation is cut."""
    if scene.workspace.settings["llm.command"] or scene.workspace.settings["llm.model"]:
        if scene.keeps:
            flush(scene.workspace, scene.noise, scene.event.session)
        scene.detach(scene.workspace, _close_words(scene), 0.0)
    else:
        close(scene.workspace, scene.event.session, None, scene.noise, transcript=scene.event.transcript)
    return Answer()


def _stop(scene: Scene) -> Answer:
    """Note the turn, and have the session consolidated when enough of it waits."""
    if not scene.keeps:
        return Answer()
    if scene.event.answer.strip():
        _keep(scene, "assistant", scene.event.answer)
    scene.behind(lambda: _bring_in(scene))
    return Answer()


def _bring_in(scene: Scene) -> None:
    """Bring a turn into notes and session; whatever goes wrong is said in the log alone."""
    workspace, event = scene.workspace, scene.event
    settings = workspace.settings
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
    if scene.event.session:
        scene.detach(scene.workspace, _close_words(scene), 0.0)
    return Answer()


_ACTS: Mapping[str, Callable[[Scene], Answer]] = {
    "SessionStart": _session_start,
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


def _recalled(scene: Scene, query: str, seconds: float, *, gate: bool) -> Answer:
    from ..retrieval.pack import DOCUMENTS, RELEVANT
    from ..retrieval.recall import Recall, recall

    request = Recall(
        query=query,
        session=scene.event.session,
        within_ms=int(1000 * seconds),
        characters=_ROOM,
        gate=gate,
        sections=(RELEVANT, DOCUMENTS),
    )
    pack = recall(scene.workspaces, request)
    _tell_late(scene, pack)
    return Answer(scene.event.name, pack.text().strip(), pack.is_late)


def _tell_late(scene: Scene, pack: "Pack") -> None:
    """Say in the log why there is nothing, where that is not because nothing fits."""
    if not pack.chosen:
        for notice in pack.notices:
            log(scene.workspace, f"hook {scene.event.name}: {notice}")


def _keep(scene: Scene, role: str, text: str, remembered: str = "") -> None:
    """Keep a message of the session; where that fails memories are recalled all the same."""
    from . import turns

    try:
        turns.keep(scene.workspace, scene.event.session, role, text, remembered)
    except OSError as error:
        log(scene.workspace, f"hook {scene.event.name}: a message could not be kept: {error}")


def _remembered(scene: Scene, text: str, seconds: float) -> "Kept":
    """Write down what is to be remembered, or say why it could not be."""
    from .remembering import Kept, remember

    try:
        return remember(scene.workspace, scene.event.session, text, scene.noise(text), seconds)
    except MemError as error:
        log(scene.workspace, f"hook {scene.event.name}: {error}")
        return Kept("", f"What the user asked to remember could not be kept: {error}")
