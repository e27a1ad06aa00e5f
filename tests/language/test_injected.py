"""What nobody said is taken out of what was said; what somebody said stays, even about these very tags."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.language.foreign_text import injections, recalls_memory, without_injected
from tests.tables import cases, table


@cases("text", "said")
def test_injected_blocks_are_taken_out(text: str, said: str) -> None:
    assert without_injected(text) == said


HARNESS = table(__file__, "HARNESS")


@pytest.mark.parametrize("text", HARNESS)
def test_a_message_that_a_harness_wrote_in_the_users_role_says_nothing(text: str) -> None:
    assert without_injected(text) == ""


@cases("text")
def test_words_about_tags_stay(text: str) -> None:
    assert without_injected(text) is text


def test_each_block_is_told_with_its_reason() -> None:
    text = "<system-reminder>a</system-reminder>\nhi\n<memory id='x'>b</memory>"
    assert [(text[found.start : found.stop], found.reason) for found in injections(text)] == [
        ("<system-reminder>a</system-reminder>", "reminder"),
        ("<memory id='x'>b</memory>", "recalled memory"),
    ]


@pytest.mark.parametrize("tag", ["hook_context", "session_context", "current_datetime"])
def test_what_gemini_repeats_of_the_start_is_nobodys_word(tag: str) -> None:
    assert without_injected(f"<{tag}>\nUser prefers tabs.\n</{tag}>\nfix the test") == "fix the test"


@given(st.text(alphabet="<>/[] \nmemory-id=systmrnd'", max_size=200))
def test_blocks_are_in_order_and_apart_whatever_the_text(text: str) -> None:
    end = 0
    for found in injections(text):
        assert end <= found.start < found.stop <= len(text)
        end = found.stop


def test_what_was_recalled_once_is_never_remembered_again() -> None:
    block = '<memory id="mem_1" source="user" date="2026-11-21">\nlikes tea\n</memory>'
    said = "what do I drink?"
    for _ in range(3):
        said = without_injected(f"{block}\n{said}")
    assert said == "what do I drink?"


@cases("tool", "command")
def test_a_tool_that_asks_a_memory_is_known(tool: str, command: str) -> None:
    assert recalls_memory(tool, command)


@pytest.mark.parametrize(
    ("tool", "command"),
    [("Bash", "grep mem search.py"), ("Bash", "mem write tea"), ("Bash", "free -m"), ("memory_write", ""), ("", "")],
)
def test_other_tools_are_not(tool: str, command: str) -> None:
    assert not recalls_memory(tool, command)
