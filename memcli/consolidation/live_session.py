"""A conversation that goes on: keep at once what a user asks to remember, and consolidate the rest when it ends.

Hooks wait for both, so that what is heavy is loaded where it is used.
"""

from collections.abc import Collection
from pathlib import Path
from threading import Lock
from time import time_ns
from typing import TYPE_CHECKING

from ..errors import BusyError, RefusedError, UnfinishedError
from ..formats.text_lines import blanked
from ..store import access_log
from ..store.sessions.event_file import is_due, recent_events
from ..store.sessions.sessions import counts, made
from ..store.workspace import Workspace
from ..transcripts.live_events import flush, session_from_transcript

if TYPE_CHECKING:
    from ..beliefs.plan import Draft, Plan

_LONGEST = 200  # characters told back
_DESERVING = 0.7  # worth of a statement from which its agent is told that nothing was saved
_WRITING = 1.0  # seconds more for what is being written when the time is over


def remember(workspace: Workspace, session: str, text: str, source: str, seconds: float) -> tuple[str, str, bool]:
    """Keep what a user asked to remember: admitted by the rules if that is done within `seconds`, else as it is.

    Return the id of the entry that says it now, what to tell the agent, and whether a thread may be busy still. Raise a
    MemError if not even a plain file can be written.
    """
    from .requests import request_draft

    draft, has_secret = request_draft(workspace, session, text, source)
    blanked = " A secret in it was blanked out." if has_secret else ""
    identifier, answer, is_late = _admitted(workspace, draft, seconds)
    return identifier, answer + blanked, is_late


class _Turn:
    """Lets a request be written by whoever comes first: the admission, or who has waited too long for it."""

    def __init__(self) -> None:
        self.plan: Plan | None = None
        self._lock, self._is_over = Lock(), False

    def begin(self, plan: "Plan") -> None:
        """Write what was decided; raise BusyError if the request was written as it is."""
        with self._lock:
            if self._is_over:
                raise BusyError("the request was written as it is meanwhile")
            self.plan = plan

    def end(self) -> bool:
        """Let no writing begin any more, and return whether none has."""
        with self._lock:
            self._is_over = True
            return self.plan is None


def _admitted(workspace: Workspace, draft: "Draft", seconds: float) -> tuple[str, str, bool]:
    """Admit a draft within the time, or else write it as it is."""
    from ..beliefs.admission import admit
    from ..beliefs.forgotten import pass_by_the_forgotten
    from ..formats.text_lines import shorten
    from ..recall.request import TimedWork
    from ..store import entries

    text = shorten(draft.body, _LONGEST)
    turn = _Turn()

    def admitted() -> tuple[str, str]:
        try:
            plan = admit(workspace, [draft], "mem hook run", begin=turn.begin)
        except UnfinishedError:  # the next command writes it
            if turn.plan is None:
                raise
            plan = turn.plan
        (admission,) = plan.admitted
        if not admission.is_let_in:
            return admission.id, f"Not kept: {admission.reason}"
        if admission.action == "merged":
            return admission.id, f"Known already as {admission.id}, confirmed {admission.strength} times now: {text}"
        places = (
            ("It takes the place of {}.", admission.supersedes),
            ("Believed in its place is {}.", (admission.superseded_by,) if admission.superseded_by else ()),
            ("It contradicts {}: both are kept.", admission.conflicts_with),
        )
        also = "".join(f" {wording.format(', '.join(ids))}" for wording, ids in places if ids)
        near = "".join(f"\n{entry.line(admission.id)}" for entry in admission.near)
        return admission.id, f"Kept in memory as {admission.id}: {text}{also}{near}"

    work = TimedWork(admitted)
    done = work.answer(seconds)
    if not done and not turn.end():
        done = work.answer(_WRITING)
    if done:
        return *done, False
    try:
        pass_by_the_forgotten(workspace, draft.told, draft.body, "mem hook run")
    except RefusedError as error:
        return "", f"Not kept: {error.message}", work.is_busy
    written = entries.write(workspace, draft.told, draft.body, draft.noise)
    return written.id, f"Kept in memory as {written.id}: {text}", work.is_busy


def unsaved_statement(workspace: Workspace, session: str, forgotten: Collection[str]) -> str:
    """Return what the user of a session said that most deserves to be kept, where nothing was written since it began.

    Empty where nothing deserves it, or something was written.
    """
    from ..index.filters import SORTS, Filter
    from ..index.lookups import ask_current
    from .candidates import candidates
    from .worth import judge

    path = workspace.path(made(workspace, session).path)
    events = [event for event in recent_events(path) if event.type == "message"]
    spoken = [candidate for candidate in candidates(events) if candidate.role == "user" and candidate.is_own]
    spoken = [candidate for candidate in spoken if blanked(candidate.text, forgotten) == candidate.text]
    best = max(zip(judge(spoken), spoken, strict=True), key=lambda pair: pair[0].probability, default=None)
    if best is None or best[0].probability < _DESERVING:
        return ""
    since = Filter(since=events[0].timestamp, statuses=())
    written = ask_current(workspace, lambda index: index.list_entries(since, SORTS["created"], 1))
    return "" if written else best[1].text


def waiting_messages(workspace: Workspace, session: str) -> int:
    """Count the messages of a session that wait to be consolidated."""
    return counts(workspace, made(workspace, session)).waiting


def close_session(workspace: Workspace, session: str, *, keep: int = 0, transcript: str) -> None:
    """Bring in all turns that wait and consolidate a session but for its last `keep` messages.

    A session that memory knows nothing of is read from its transcript, if there is one. Raise BusyError if another
    consolidation runs.
    """
    is_writing = workspace.settings["memory.writing"] != "off"
    if is_writing:
        flush(workspace)
    if not session or not workspace.settings["consolidate.enabled"]:
        return
    appended = made(workspace, session)
    if not any(is_due(event) for event in recent_events(workspace.path(appended.path))):
        is_readable = transcript and is_writing
        imported = session_from_transcript(workspace, session, Path(transcript)) if is_readable else None
        if imported is None:
            return
        appended = imported
    from ..llm import chosen_llm
    from .consolidate import consolidate

    outcomes = consolidate(workspace, appended, chosen_llm(workspace.settings), keep=keep, wait=0.0)
    if workspace.settings["memory.writing"] == "tell":
        mark = time_ns()  # of one consolidation, which one undo takes back
        kept = [memory.path for outcome in outcomes for memory in outcome.memories if memory.action == "created"]
        access_log.append(workspace, access_log.KEPT, "".join(f"{mark} {path}\n" for path in kept).encode())
