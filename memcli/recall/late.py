"""Recall for which nobody waits longer than they say: what is found later is given with the next prompt.

The search goes on in a fork and leaves what it found in a file of `.mem/late`, the memories of each workspace in its
own. Whoever gives it to the session gives that file another name first, so that it is given once, and notes it as shown
then: what was never given is found again.
"""

import json
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from operator import itemgetter
from select import select
from shutil import rmtree
from typing import Any, NamedTuple

from ..errors import MemError
from ..formats.text_lines import blanked
from ..search.query import is_telling
from ..store import access_log
from ..store.privacy import make_derived, write_private
from ..store.workspace import Workspace
from .pack import Memory, Pack, mark
from .recall import find, note, without_last
from .request import TOPIC, RecallRequest, SurfacedTurn, load_state, read_turn, session_digest, turn_line

FOLDER = "late"
_MOST = 200  # files; the oldest go

Behind = Callable[[Callable[[int], None], int], None]
"""Does work for which nobody waits, and gives it a descriptor that stays open until it is done; -1 is none."""


class Recalled(NamedTuple):
    """What a recall found, and the turn that is noted where it is given."""

    pack: Pack
    turn: SurfacedTurn


def recall_in_time(
    workspaces: Sequence[Workspace], request: RecallRequest, seconds: float, behind: Behind
) -> tuple[Pack, Pack]:
    """Return what is recalled for a prompt within the time, and what came too late for earlier prompts of its session.

    Both are noted as shown. What is not found in time is given with the next prompt, unless that is about something
    else.
    """
    earlier = _taken(workspaces, request.session)
    request = replace(request, earlier=tuple(recalled.turn for recalled in earlier))
    recalled = Recalled(Pack(), SurfacedTurn())
    if not request.gate or is_telling(request.asked):
        nothing = Pack(notices=("hooks.within was over before the search: what it finds comes with the next prompt",))
        recalled = _searched(workspaces, request, seconds, behind) or Recalled(nothing, SurfacedTurn(turns=0))
    given = set(map(mark, recalled.pack.chosen))
    earlier = [] if recalled.turn.reset == TOPIC else earlier
    late = {mark(memory): memory for each in earlier for memory in each.pack.chosen}
    overdue = Pack(chosen=tuple(memory for noted, memory in late.items() if noted not in given))
    room = (request.characters or 0) - len(recalled.pack.text())
    while request.characters and overdue.chosen and len(overdue.text()) > room:
        overdue = replace(overdue, chosen=tuple(without_last(overdue.chosen)))
    for each in earlier:
        note(workspaces, request, Pack(), replace(each.turn, shown=()))
    note(workspaces, request, overdue, SurfacedTurn(tuple(map(mark, overdue.chosen)), turns=0))
    note(workspaces, request, recalled.pack, recalled.turn)
    return recalled.pack, overdue


def _searched(
    workspaces: Sequence[Workspace], request: RecallRequest, seconds: float, behind: Behind
) -> Recalled | None:
    """Search behind this process; return what was found, None where that takes longer than so many seconds."""
    name = f"{session_digest(request.session)}-{os.urandom(6).hex()}"
    done, doing = os.pipe()
    try:
        try:
            behind(lambda held: _leave(workspaces, request, name, held), doing)
        finally:
            os.close(doing)
        # It is closed where the search has ended, however that was, and holds what no file could take.
        is_over = select([done], [], [], seconds)[0]
        with open(done, "rb", closefd=False) as unwritten:
            data = unwritten.read() if is_over else b""
    finally:
        os.close(done)
    return _parsed([data.decode()]) if data else _read(workspaces, name)


def _leave(workspaces: Sequence[Workspace], request: RecallRequest, name: str, doing: int) -> None:
    """Recall, however long that takes, and leave what was found for whoever gives it."""
    try:
        pack, turn = find(workspaces, request)
    except Exception as error:  # nobody would hear of it
        reason = str(error) if isinstance(error, MemError) else f"{type(error).__name__}: {error}"
        pack, turn = Pack(notices=(reason,)), SurfacedTurn(turns=0)
    fields = {"turn": turn_line(turn), "notices": pack.notices}
    memories = [(number, memory.scope, vars(memory)) for number, memory in enumerate(pack.chosen)]
    try:
        if not request.session:
            raise FileNotFoundError
        left = memories
        for workspace in workspaces[1:]:  # each keeps its own, so that a purge there finds them
            own = [row for row in left if row[1] == workspace.scope]
            with suppress(OSError):  # one that cannot be written leaves them to the first
                if own:
                    _write(workspace, name, json.dumps({**fields, "memories": own}))
                    left = [row for row in left if row not in own]
        _write(workspaces[0], name, json.dumps({**fields, "memories": left}))
    except OSError:
        with suppress(OSError), open(doing, "wb", closefd=False) as waiting:
            waiting.write(json.dumps({**fields, "memories": memories}).encode())


def _write(workspace: Workspace, name: str, text: str) -> None:
    path = workspace.derived / FOLDER / name
    if path.parent.is_symlink():
        raise FileNotFoundError(path.parent)  # a clone may lead it anywhere
    make_derived(path.parent)
    write_private(path.with_name(f"{name}.new"), text)
    os.replace(path.with_name(f"{name}.new"), path)
    access_log.sweep(path.parent, f"{'?' * 24}-*", _MOST)


def _memory(fields: Mapping[str, Any]) -> Memory:
    values: Any = {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}
    return Memory(**values)


def _taken(workspaces: Sequence[Workspace], session: str) -> list[Recalled]:
    """Take away what waits for a session, but for what it was shown, and what was changed or forgotten, meanwhile."""
    folder = workspaces[0].derived / FOLDER
    begin = f"{session_digest(session)}-"
    try:
        listed = [] if folder.is_symlink() or not session else sorted(os.listdir(folder))
        names = [name for name in listed if name.startswith(begin) and "." not in name]
        if not names:
            return []
        waiting = [_parsed([_text(each, name) for each in workspaces]) for name in names]
        paths = {memory.path for recalled in waiting if recalled for memory in recalled.pack.chosen}
        indexed = {opened.scope: _known(opened, paths) for opened in workspaces}  # before anything is taken away
    except (OSError, MemError):
        return []
    shown = set(load_state(workspaces[0], session).shown)
    forgotten = frozenset().union(*(texts for _, texts in indexed.values()))

    def holds(memory: Memory) -> bool:
        digests, _ = indexed.get(memory.scope, ({}, frozenset()))
        is_same = memory.kind != "entry" or memory.elsewhere or digests.get(memory.path, "")[:12] == memory.digest
        return is_same and mark(memory) not in shown

    def without(recalled: Recalled) -> Recalled:
        chosen = tuple(
            replace(memory, text=blanked(memory.text, forgotten)) for memory in filter(holds, recalled.pack.chosen)
        )
        return Recalled(replace(recalled.pack, chosen=chosen), replace(recalled.turn, shown=tuple(map(mark, chosen))))

    every = [_read(workspaces, name) for name in names]
    return [without(recalled) for recalled in every if recalled is not None]


def _known(workspace: Workspace, paths: Collection[str]) -> tuple[Mapping[str, str], frozenset[str]]:
    """Return the digests of some files as they are now, by path, and the texts that were forgotten."""
    from ..index.lookups import ask_current, digests_of, forgotten_texts

    return ask_current(workspace, lambda index: (digests_of(index, paths), forgotten_texts(index)))


def drop_all(workspace: Workspace) -> None:
    """Remove what waits for any session: it may say what was deleted for good."""
    rmtree(workspace.derived / FOLDER, ignore_errors=True)


def _read(workspaces: Sequence[Workspace], name: str) -> Recalled | None:
    """Take a recall's files away and return what they hold; None where there is none, or another process took it."""
    taken = f"{name}.{os.getpid()}"
    try:
        os.rename(workspaces[0].derived / FOLDER / name, workspaces[0].derived / FOLDER / taken)
    except OSError:
        return None
    files = [(workspace, taken if workspace is workspaces[0] else name) for workspace in workspaces]
    texts = [_text(workspace, file) for workspace, file in files]
    for workspace, file in files:
        with suppress(OSError):
            os.unlink(workspace.derived / FOLDER / file)
    return _parsed(texts)


def _text(workspace: Workspace, name: str) -> str:
    """Return the text of a file that waits; empty where there is none, or a link leads to it."""
    return "" if (workspace.derived / FOLDER).is_symlink() else access_log.text_of(workspace, f"{FOLDER}/{name}")


def _parsed(texts: Sequence[str]) -> Recalled | None:
    """Return what the files of a recall say together, the first of which tells of its turn; None if that is damaged."""
    try:
        fields, *others = [json.loads(text) for text in texts if text]
        rows = sorted((row for each in (fields, *others) for row in each["memories"]), key=itemgetter(0))
        memories = [_memory(values) for _, _, values in rows]
        turn = read_turn(fields["turn"])
        return Recalled(Pack(chosen=tuple(memories), notices=tuple(fields["notices"])), turn) if turn else None
    except (ValueError, TypeError, KeyError, AttributeError):  # cut off
        return None
