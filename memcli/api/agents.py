"""What the hooks of an agent ask of memory at each event, where a person waits: heavy modules are loaded late.

Turns that hooks keep wait in `.mem/turns`; `flush_turns` brings them into notes and sessions.
"""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import MemError
from ..formats.ids import blake2b
from ..git.place import place_of
from ..store import access_log
from ..store.access_log import is_due, log
from ..store.conversation_keeper import keeper
from ..store.layouts import HANDOFF, SESSION_FOLDER
from ..store.workspace import Workspace, unopened
from .workspace import Surroundings, open_workspaces, recorded

if TYPE_CHECKING:
    from ..consolidation.requests import RememberRequest


def with_lock_wait(workspace: Workspace, seconds: float) -> Workspace:
    """Return the workspace with no more than so many seconds of waiting for others who write."""
    values = {**workspace.settings.values, "lock.wait": min(seconds, workspace.settings["lock.wait"])}
    return replace(workspace, settings=replace(workspace.settings, values=values))


def without_injected(prompt: str) -> str:
    """Return what a person said in a prompt, without what harnesses and memory tools put into it."""
    from ..language.foreign_text import without_injected as said

    return said(prompt)


def as_data(text: str, characters: int) -> str:
    """Return a text as one line for an agent: cut at a word, and with nothing in it that opens or closes a block."""
    from ..formats.text_lines import shorten
    from ..language.foreign_text import quoted

    return quoted(shorten(text, characters))


def remember_request(prompt: str) -> "RememberRequest | None":
    """Return which part of a prompt the user asks to remember; None if there is none."""
    from ..consolidation.requests import remember_request as found

    return found(prompt)


_SESSIONS = 200  # whose turns are counted; the oldest go first
_TOLD_MARK = "told"
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def session_name(given: str) -> str:
    """Return the id by which an agent's session is kept: its own, or a digest where that is a secret or cannot be one.

    It is written beside each message and memory of the session, and a refusal would lose what is said.
    """
    if not given or _UUID.fullmatch(given):  # as most agents have it
        return given
    from ..store.redaction import Redactor, secret_in_name

    is_usable = given.isprintable() and len(given) <= 1000 and given.strip()
    if is_usable and not secret_in_name(Redactor("the session"), given):
        return given
    return f"session-{blake2b(given.encode('utf-8', 'replace'), digest_size=8).hexdigest()}"


@recorded("hook remember")
def remember(workspace: Workspace, session: str, text: str, source: str, seconds: float) -> tuple[str, str, bool]:
    """Keep what a user asked to remember: admitted by the rules if that is done within `seconds`, else as it is.

    Return the id of the entry that says it now, what to tell the agent, and whether a thread may be busy still. Raise a
    MemError if not even a plain file can be written.
    """
    from ..consolidation.live_session import remember as kept

    return kept(workspace, session, text, source, seconds)


def keep_turn(workspace: Workspace, session: str, role: str, text: str, remembered: str = "") -> None:
    """Keep one message of a session until it is brought in; `remembered` is the id of the entry made of it already.

    No lock is waited for. Raise OSError if it cannot be written.
    """
    from ..store.sessions.turn_buffer import keep

    keep(workspace, session, role, text, remembered)


def last_messages(workspace: Workspace, session: str, most: int) -> list[str]:
    """Return the last messages of a session, at most so many, the latest last."""
    from ..store.sessions.turn_buffer import latest

    return [event.text for event in latest(workspace, session)[-most:]]


@recorded("hook turns")
def flush_turns(workspace: Workspace, session: str = "") -> None:
    """Bring the turns that wait, of one session or all, into notes and sessions; raise a MemError if that fails."""
    from ..transcripts.live_events import flush

    flush(workspace, session)


@recorded("hook session")
def close_session(workspace: Workspace, session: str, *, keep: int = 0, transcript: str = "") -> None:
    """Bring in all turns that wait and consolidate a session but for its last `keep` messages.

    A session that memory knows nothing of is read from its transcript, a file, if there is one. Raise BusyError if
    another consolidation runs.
    """
    from ..consolidation.live_session import close_session as close

    close(workspace, session, keep=keep, transcript=transcript)


def waiting_messages(workspace: Workspace, session: str) -> int:
    """Count the messages of a session that wait to be consolidated."""
    from ..consolidation.live_session import waiting_messages as waiting

    return waiting(workspace, session)


def unsaved_statement(
    workspace: Workspace, session: str, every: int, seconds: float, opened: Sequence[Workspace]
) -> tuple[str, bool]:
    """Return what a user said that should be kept, at each so many turns of a session in which nothing was written.

    Empty at other turns, where nothing deserves it, where it was told before, and where that takes longer than so many
    seconds; then a thread may be busy still, as the second value says. `every` 0 is never. What was forgotten in one of
    the `opened` workspaces deserves nothing.
    """
    if not every:
        return "", False
    name = f"nudges/{blake2b(session.encode('utf-8', 'surrogatepass'), digest_size=8).hexdigest()}"
    turns = access_log.append(workspace, name, b"\n", 0o600)
    if turns == 1:
        access_log.sweep(workspace.derived / "nudges", "*", _SESSIONS)
    if not turns or turns % every or _TOLD_MARK in access_log.text_of(workspace, name):
        return "", False
    from ..beliefs.forgotten import forgotten_in
    from ..consolidation.live_session import unsaved_statement as statement
    from ..recall.request import TimedWork

    work = TimedWork(lambda: statement(workspace, session, forgotten_in(opened)))
    text = work.answer(seconds) or ""
    if text:
        access_log.replace_text(workspace, name, _TOLD_MARK)
    return text, work.is_busy


def last_answer(transcript: Path, zone: tzinfo) -> str:
    """Return what the agent said after the last prompt of a transcript; empty if it said nothing."""
    from ..transcripts.live_events import last_answer as said

    return said(transcript, zone)


def session_recap(workspace: Workspace, session: str, told_already: str, opened: Sequence[Workspace]) -> str:
    """Return what a session was about, for its agent, without what was told already; empty for an unknown session.

    What was forgotten in one of the `opened` workspaces is blanked out.
    """
    from ..beliefs.forgotten import forgotten_in
    from ..consolidation.recap import retold_session

    return retold_session(workspace, session, told_already, forgotten_in(opened))


_TOLD, _EACH = 3, 80  # memories of which it is told what they say, in so many characters


def kept_lately(workspace: Workspace) -> str:
    """Return a line on the memories made of conversations since it was told last; empty where none were made."""
    lines = [line.partition(" ") for line in access_log.text_of(workspace, access_log.KEPT).splitlines()]
    paths = dict.fromkeys(path for _, _, path in lines)
    if not paths:
        return ""
    from ..formats.entry import read_entry
    from ..formats.frontmatter.document import parse
    from ..formats.text_lines import shorten
    from ..language.foreign_text import quoted
    from ..store.text_files import read_file
    from ..store.undo_log import places, read_record

    texts = []
    for path in paths:
        with suppress(MemError):
            entry, _ = read_entry(parse(read_file(workspace, path)), path, workspace.now)
            texts.append(shorten(entry.body, _EACH))
    access_log.replace_text(workspace, access_log.KEPT, "")
    if not texts:
        return ""
    more = f"; and {len(texts) - _TOLD} more" if len(texts) > _TOLD else ""
    records = ((number, read_record(workspace, path)) for number, path in places(workspace))
    last = next((str(number) for number, record in records if record and record["command"] == "hook session"), "")
    last = last if last and len({mark for mark, _, _ in lines}) == 1 else "--list"
    return quoted(f"mem kept {len(texts)}: {'; '.join(texts[:_TOLD])}{more} · mem undo {last}")


def waiting_handoff(
    workspace: Workspace, place: Path, agent: str, besides: str, opened: Sequence[Workspace]
) -> tuple[str, Path] | None:
    """Return the handoff that waits for an agent in a place, and its file for `take_handoff`; None for none.

    What was forgotten in one of the `opened` workspaces is blanked out.
    """
    if not any((workspace.root / SESSION_FOLDER).glob(f"*/{HANDOFF}")):
        return None  # what reads sessions is loaded where there is one
    from ..beliefs.forgotten import forgotten_in
    from ..consolidation.recap import waiting_handoff as waiting

    return waiting(workspace, place_of(place), agent, besides, forgotten_in(opened))


def take_handoff(path: Path) -> bool:
    """Mark a handoff as taken; return False where another session has it already."""
    from ..consolidation.recap import is_taken

    return is_taken(path)
