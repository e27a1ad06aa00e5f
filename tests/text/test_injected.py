"""What nobody said is taken out of what was said; what somebody said stays, even about these very tags."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.text.injected import injections, recalls_memory, without_injected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<system-reminder>\nbe brief\n</system-reminder>\nhello", "hello"),
        ("hello\n\n<system-reminder>x</system-reminder>", "hello"),
        ("<command-name>/clear</command-name> <command-args>now</command-args>", ""),
        ("<local-command-stdout>ok</local-command-stdout>", ""),
        ('before <memory id="mem_1" source="user">likes tea</memory> after', "before\nafter"),
        ("<memory id='a'>x</memory>\n<memory id='b'>y</memory>\nand now?", "and now?"),
        ("<memory>\nlikes tea\n</memory>\nand now?", "and now?"),
        ("<relevant-memories>\n1. tea\n</relevant-memories>\nand now?", "and now?"),
        ("[MEMORY CONTEXT]\n- tea\n\n- more\n[/MEMORY CONTEXT]\nand now?", "and now?"),
        ("[Memory context]\n- tea\n- milk\n\nand now?", "and now?"),
        ("[MEMORY CONTEXT]\n- tea", ""),
        ("<environment_context>\n<cwd>/x</cwd>\n</environment_context>", ""),
        ("<memory id='a'>\ncut off by a limit", ""),
        ("<system-reminder>\ncut off by a limit", ""),
    ],
)
def test_injected_blocks_are_taken_out(text: str, said: str) -> None:
    assert without_injected(text) == said


@pytest.mark.parametrize(
    "text",
    [
        "what does <system-reminder> mean in my log?",
        "it printed <command-name>/clear</command-name> twice",
        "<command-name> is a tag I never closed",
        "<memory unit='KiB'>4194304</memory> in the domain file",
        "  <memory>4096</memory>\n  <vcpu>2</vcpu>",
        "a [MEMORY CONTEXT] in the middle of a line",
        "if a < b and c > d: print('<b>')",
        "",
    ],
)
def test_words_about_tags_stay(text: str) -> None:
    assert without_injected(text) is text


def test_each_block_is_told_with_its_reason() -> None:
    text = "<system-reminder>a</system-reminder>\nhi\n<memory id='x'>b</memory>"
    assert [(text[found.start : found.stop], found.reason) for found in injections(text)] == [
        ("<system-reminder>a</system-reminder>", "reminder"),
        ("<memory id='x'>b</memory>", "recalled memory"),
    ]


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


@pytest.mark.parametrize(
    ("tool", "command"),
    [
        ("Bash", "mem search tea"),
        ("Bash", "cd /x && mem --json recall tea | head"),
        ("Bash", "/usr/bin/mem session show s1"),
        ("mcp__mem__memory_search", ""),
        ("mcp__memory__search_nodes", ""),
        ("memory_recall", ""),
        ("memory", ""),
    ],
)
def test_a_tool_that_asks_a_memory_is_known(tool: str, command: str) -> None:
    assert recalls_memory(tool, command)


@pytest.mark.parametrize(
    ("tool", "command"),
    [("Bash", "grep mem search.py"), ("Bash", "mem write tea"), ("Bash", "free -m"), ("memory_write", ""), ("", "")],
)
def test_other_tools_are_not(tool: str, command: str) -> None:
    assert not recalls_memory(tool, command)
