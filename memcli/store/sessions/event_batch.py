"""Remember a batch of events while it is written, so that a retry goes on where a failed write stopped.

Events that come without ids get new ones, and a batch without a session gets a new session: nothing else would tell a
retry from the same words said again. Owns `.mem/batches/`, a file for each batch that is not finished.
"""

import json
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from ...formats.ids import blake2b
from ...formats.session_event import Event, render_event
from .. import atomic_files, file_steps
from ..privacy import make_derived
from ..workspace import Workspace

_FOLDER = "batches"
_FORGOTTEN = 30 * 86400.0  # seconds after which nobody tries again


@dataclass(frozen=True)
class Batch:
    """A batch of events, and what was settled for it when it was first tried."""

    place: Path | None  # None where a retry needs no help
    session: str = ""
    ids: tuple[str, ...] = ()

    def begin(self, session: str, events: Sequence[Event]) -> None:
        """Write down the session and the ids of the events, before the first of them is written."""
        if self.place is None or self.ids:
            return
        with file_steps.naming("write", self.place):
            make_derived(self.place.parent)
        _sweep(self.place.parent)
        file_steps.discard(self.place)  # one that could not be read
        atomic_files.create(self.place, json.dumps([session, [event.id for event in events]]).encode())

    def end(self) -> None:
        """Forget the batch: all of it stands."""
        if self.place is not None:
            file_steps.discard(self.place)


def batch_of(workspace: Workspace, session: str, events: Sequence[Event]) -> Batch:
    """Return the batch of these events, with what an earlier try settled for it.

    A single event is written whole or not at all, and events with ids in a named session are recognized by those.
    """
    if len(events) < 2 or (session and all(event.id for event in events)):
        return Batch(None)
    digest = blake2b(session.encode("utf-8", "surrogateescape"), digest_size=16)
    for event in events:
        digest.update(f"\n{event.id}\t{render_event(replace(event, id=''))}".encode("utf-8", "surrogatepass"))
    place = workspace.derived / _FOLDER / f"{digest.hexdigest()}.json"
    try:
        known, ids = json.loads(place.read_bytes())
        if isinstance(known, str) and len(ids) == len(events) and all(isinstance(one, str) and one for one in ids):
            return Batch(place, known, tuple(ids))
    except (OSError, ValueError, TypeError):  # the first try, or one that failed before anything was written
        pass
    return Batch(place)


def _sweep(folder: Path) -> None:
    """Remove batches that nobody tried again; `time.time` is the clock that stamped the files."""
    with suppress(OSError), os.scandir(folder) as found:
        for one in found:
            if time.time() - one.stat(follow_symlinks=False).st_mtime > _FORGOTTEN:
                file_steps.discard(one.path)
