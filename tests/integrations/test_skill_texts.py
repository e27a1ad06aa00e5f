"""The texts that teach an agent `mem`: short, as their specification wants them, and true to the commands there are."""

import re
from pathlib import Path

import pytest

from memcli.cli.app import commands
from memcli.formats.frontmatter.document import parse
from tests.conftest import Mem

FOLDER = Path(__file__).parents[2] / "memcli" / "integrations" / "install"
SKILL = (FOLDER / "skill.md").read_text(encoding="utf-8")
PROTOCOL = (FOLDER / "protocol.md").read_text(encoding="utf-8")
_CALL = re.compile(r"(?:`|^    )mem ([a-z]+)([^`\n]*(?:\n[^`\n]+)?)", re.MULTILINE)


def test_the_skill_is_as_its_specification_wants() -> None:
    fields = parse(SKILL).fields
    assert fields["name"] == "mem-memory"
    assert 1 <= len(fields["description"]) <= 1024
    assert len(fields["compatibility"]) <= 500
    assert fields["allowed-tools"] == "Bash(mem:*)"


def test_both_are_short() -> None:
    assert SKILL.count("\n") < 50
    assert len(PROTOCOL.encode()) <= 2048  # what Claude Code shows of a server's instructions
    assert max(map(len, (*SKILL.splitlines()[6:], *PROTOCOL.splitlines()))) <= 130


@pytest.mark.parametrize("text", [SKILL, PROTOCOL], ids=["skill", "protocol"])
def test_every_command_and_option_they_name_is_there(mem: Mem, text: str) -> None:
    calls = _CALL.findall(text)
    assert len(calls) >= 4
    for name, rest in calls:
        assert name in commands()
        command = [name, *(["add"] if name == "history" else [])]
        told = mem(*command, "--help").out
        for option in re.findall(r"(?<!\w)--[a-z]+", rest.split("`")[0]):
            assert option in told, (name, option)


def test_the_protocol_teaches_to_search_first_to_write_facts_and_to_cite() -> None:
    assert PROTOCOL.index("mem search") < PROTOCOL.index("mem read") < PROTOCOL.index("mem write")
    for word in ("Cite the ids", "chatter", "secrets", '"for now"', "1,500 characters", "--supersedes", "mem forget"):
        assert word in PROTOCOL


def test_the_skill_points_to_the_protocol_and_repeats_no_line_of_it(mem: Mem) -> None:
    assert "`mem help protocol`" in SKILL
    assert mem("help", "protocol").out == PROTOCOL
    assert not {line for line in SKILL.splitlines() if len(line) > 20} & set(PROTOCOL.splitlines())
