"""What mem can read is in one list: a format or a tool that is written and not listed would never be found."""

from importlib import import_module
from pathlib import Path
from typing import TypeVar

from memcli import transcripts
from memcli.transcripts import registry
from memcli.transcripts.transcript_format import Tool, TranscriptFormat

Kind = TypeVar("Kind")
MODULES = [path.stem for path in Path(transcripts.__file__).parent.glob("*.py") if path.stem != "__init__"]


def written(kind: type[Kind]) -> dict[int, tuple[str, Kind]]:
    """Find what the modules define of a kind, by identity, with the name it has."""
    found = {}
    for name in MODULES:
        for key, value in vars(import_module(f"memcli.transcripts.{name}")).items():
            if isinstance(value, kind):
                found[id(value)] = f"{name}.{key}", value
    return found


def test_every_format_that_is_written_is_looked_for() -> None:
    listed = {id(one) for one in (*registry.FORMATS, registry.MESSAGES_DOCUMENT, registry.CHAT)}
    assert [name for key, (name, _) in written(TranscriptFormat).items() if key not in listed] == []


def test_every_tool_that_is_written_is_looked_for() -> None:
    listed = {id(one) for one in registry.TOOLS}
    assert [name for key, (name, _) in written(Tool).items() if key not in listed] == []


def test_no_two_formats_or_tools_share_a_name() -> None:
    for names in ([one.name for one in registry.FORMATS], [one.name for one in registry.TOOLS]):
        assert len(names) == len(set(names))


def test_each_listed_format_can_be_told_and_read() -> None:
    empty = TranscriptFormat("none")
    for one in registry.FORMATS:
        tells = (one.is_line, one.is_first_line, one.document) != (empty.is_line, empty.is_first_line, None)
        reads = one.conversations is not None or one.read is not empty.read
        assert (tells, reads) == (True, True), one.name
