"""Answer the moments around a tool call from the index as it is, within milliseconds.

This imports no dataclasses, pathlib, YAML, numpy or model. The workspaces of a folder come from the
record of the session, where an earlier hook has saved them.
"""

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..recall import ALL, PLACES, Place, Shown, load_shown
from .events import Event

if TYPE_CHECKING:
    from ..store import Workspace

FindPlaces = Callable[[], tuple[Sequence[Place], int]]
"""Finds the workspaces of the event's folder without the record, and the tokens for an action."""
TOKENS, OPEN_PROMPT = "action_tokens", "open_prompt"


def answer_quickly(event: Event, state_folder: str, find_places: FindPlaces) -> str:
    """Return the rules about a tool call, or the lessons about a call that failed."""
    from ..recall import build_action_context, build_failure_context

    is_failure = event.name != "PreToolUse"
    session = load_shown(state_folder, event.session)
    # A subagent starts without the memories that its parent has received.
    shown = session
    if event.subagent:
        shown = load_shown(state_folder, f"{event.session}/{event.subagent}")
    # The hooks may have been installed during the session, or the agent has changed its folder.
    places, tokens = read_places(session, event.folder) or find_places()
    if not session.record.get(PLACES, {}).get(event.folder):
        save_places(session, event.folder, places, tokens)
        session.save()
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    if is_failure:
        text = build_failure_context(
            places, event.folder, event.arguments, event.error, shown, tokens=tokens, now=now
        )
    else:
        text = build_action_context(
            places, event.folder, event.arguments, shown, tokens=tokens, now=now
        )
    shown.count_tokens(text)
    # The agent is at work, so the prompt was not withdrawn.
    if shown.record.pop(OPEN_PROMPT, "") or text:
        shown.save()
    return text


def build_places(workspaces: Sequence["Workspace"]) -> tuple[list[Place], int]:
    """Return the workspaces as the action hook needs them, and its limit of tokens."""
    from ..index import FILE

    places = [
        Place(
            str(workspace.root),
            str(workspace.machine.folder / FILE),
            # Only the user's own workspace is shared by projects.
            workspace.project if workspace.is_own else ALL,
            str(workspace.root / workspace.purged_path),
        )
        for workspace in workspaces
        if workspace.machine.folder is not None
    ]
    return places, int(workspaces[0].settings["recall.action_tokens"])


def read_places(shown: Shown, folder: str) -> tuple[list[Place], int] | None:
    """Return the workspaces of a folder as an earlier hook of the session saved them."""
    saved: Any = shown.record.get(PLACES)
    try:
        return [Place(*map(str, place)) for place in saved[folder]], int(shown.record[TOKENS])
    # Another version of mem may have written the record.
    except (KeyError, TypeError, ValueError):
        return None


def save_places(shown: Shown, folder: str, places: Sequence[Place], tokens: int) -> None:
    saved = shown.record.get(PLACES)
    shown.record[PLACES] = {
        **(saved if isinstance(saved, dict) else {}),
        folder: [list(place) for place in places],
    }
    shown.record[TOKENS] = tokens
