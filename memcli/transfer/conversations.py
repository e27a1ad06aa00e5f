"""Conversations: exports of ChatGPT and Claude.ai, transcripts of agents, and plain chats."""

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

from ..store.workspace import Workspace
from ..transcripts import exports, reader
from ..transcripts.importer import import_transcript
from ..transcripts.transcript import Transcript
from .items import BadItem, Item, Source


def read_conversations(source: Source) -> Iterator[Item] | None:
    """Read a file with one conversation or many."""
    is_file = source.stream is None and source.path.is_file()
    is_database = is_file and source.path.name in reader.DATABASES
    if is_database or (is_file and source.is_tree and exports.is_archive(source.path)):
        return read_items(source, is_text=False)
    if source.is_tree or not reader.is_conversation(source.decode_head()):
        return None
    return read_items(source, is_text=True)


def read_items(source: Source, *, is_text: bool) -> Iterator[Item]:
    problems: list[str] = []
    # A conversation without an id is named after its file, whatever folder or archive that is in.
    path = Path(source.name) if source.is_inner else source.path
    with source.open_text() if is_text else nullcontext() as file:
        if file:
            transcripts = reader.read_text(path, source.decode_head(), file, problems, source.zone)
        else:
            transcripts = reader.read_file(source.path, problems, source.zone, source.on_progress)
        for transcript in transcripts:
            if transcript.events:
                transcript.path, transcript.written = path, source.modified
                yield Item(source.name, transcript)
    yield from (Item(source.name, BadItem(problem)) for problem in problems)


def import_conversation(workspace: Workspace, transcript: Transcript, *, is_dry_run: bool) -> int:
    """Add the new events of a conversation to its session, and return their number."""
    if not transcript.events:
        return 0
    written = transcript.written or workspace.stamp
    imported = import_transcript(
        workspace, transcript, transcript.path, written=written, is_dry_run=is_dry_run
    )
    return imported.added
