"""What mem can read is in one list: a format or a tool that is written and not listed would never be found."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TypeVar

from memcli import transcripts
from memcli.transcripts import registry
from memcli.transcripts.transcript_format import Tool, TranscriptFormat
from tests.conftest import Mem, Ran

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


def test_the_help_and_the_refusal_name_every_tool_that_is_read(mem: Mem, workspace: Path) -> None:
    named = {tool.title for tool in registry.TOOLS} | {one for form in registry.FORMATS for one in form.writers}
    (workspace.parent / "list.csv").write_text("a,b\n1,2\n")
    for said in (mem("session", "import", "--help").out, mem("session", "import", "list.csv").err):
        assert [one for one in sorted(named) if one not in " ".join(said.split())] == []
    assert "ChatGPT" in named


def test_a_group_shows_the_help_of_its_commands_without_looking_at_formats(spawn: Callable[..., Ran]) -> None:
    code = (
        "import sys; from memcli.cli.app import run; run(['session', '--help']); print('registry' in str(sys.modules))"
    )
    assert spawn(code=code).out.splitlines()[-1] == "False"
