"""A large MEMORY.md is shortened by a model, and only without loss."""

from pathlib import Path

import pytest

from memcli.consolidate.compaction import find_loss, shorten_page
from memcli.store.undo import undo
from tests.consolidate.talk import open_with_reply, open_workspace
from tests.helpers import put

FILLER = "It is worth noting, as has been said many times before, that this is so.\n" * 20
LINE = "- Tea at four. <!-- mem_01m7zvz0ar4kq7tz -->\n"
KEEP = "<!-- mem:keep -->\nNever touch  this.\n<!-- /mem:keep -->\n"
HEAD = "# Memory\n\nStaging listens on port 6543. Rita owns `deploy.sh` in src/tools.\n\n"
PAGE = f"{HEAD}{FILLER}\n<!-- mem:promoted -->\n{LINE}<!-- /mem:promoted -->\n{KEEP}"
SHORT = PAGE.replace(FILLER, "So it is.\n")
LIMIT = {"MEM_PAGE_BYTES": "1024"}


def test_a_large_page_is_shortened(tmp_path: Path) -> None:
    workspace = open_with_reply(tmp_path, f"```markdown\n{SHORT}```", **LIMIT)
    file = put(workspace, "MEMORY.md", PAGE)
    assert shorten_page(workspace).startswith("shortened MEMORY.md to ")
    assert file.read_text() == SHORT
    assert shorten_page(workspace) == ""  # it is small now
    undo(workspace, 1)
    assert file.read_text() == PAGE


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("So it is.", FILLER * 2, "not shorter"),
        (LINE, "", "promoted line"),
        ("Tea at four.", "Tea at 4.", "promoted line"),
        ("Never touch  this.", "Never touch this.", "protected block"),
        ("<!-- /mem:promoted -->", "", "comment"),
        ("6543", "6544", "6543"),
        ("Rita owns", "She owns", "Rita"),
        ("`deploy.sh`", "the script", "deploy.sh"),
        ("src/tools", "tools", "src/tools"),
    ],
)
def test_a_page_that_lost_something_is_refused(
    tmp_path: Path, old: str, new: str, reason: str
) -> None:
    workspace = open_with_reply(tmp_path, SHORT.replace(old, new), **LIMIT)
    page = PAGE.replace("Rita owns", "the owner is Rita, she owns")
    workspace = open_with_reply(
        tmp_path,
        SHORT.replace("Rita owns", "the owner is Rita, she owns")
        .replace(old, new)
        .replace("Rita" if old.startswith("Rita") else "\0", "she"),
        **LIMIT,
    )
    file = put(workspace, "MEMORY.md", page)
    assert reason in shorten_page(workspace)
    assert file.read_text() == page
    # The same page is not sent again.
    assert shorten_page(workspace) == ""


@pytest.mark.parametrize("text", [f"<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n{PAGE}", "", "small"])
def test_some_pages_are_left_alone(tmp_path: Path, text: str) -> None:
    workspace = open_with_reply(tmp_path, "tiny", **LIMIT)
    file = put(workspace, "MEMORY.md", text)
    assert "shortened MEMORY" not in shorten_page(workspace)
    assert file.read_text() == text


def test_a_failing_model_leaves_the_page(tmp_path: Path) -> None:
    workspace = open_workspace(tmp_path, MEM_LLM_COMMAND="false", **LIMIT)
    file = put(workspace, "MEMORY.md", PAGE)
    assert "exited with status 1" in shorten_page(workspace)
    assert file.read_text() == PAGE


def test_windows_line_ends_survive(tmp_path: Path) -> None:
    workspace = open_with_reply(tmp_path, SHORT, **LIMIT)
    file = put(workspace, "MEMORY.md", PAGE.replace("\n", "\r\n"))
    shorten_page(workspace)
    assert file.read_bytes() == SHORT.replace("\n", "\r\n").encode()
    assert find_loss(PAGE, SHORT) == ""
