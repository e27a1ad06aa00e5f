"""Transcripts are what the commands print: those in this folder, and the pages of the manual.

`--snapshot-update` rewrites them. MEM_LONG=1 plays all of them with real processes, too.
"""

import os
import re
from pathlib import Path

import pytest

from tests.cli.transcript import PROJECT, Player

PAGES = sorted(Path(__file__).parent.glob("*.md"))
# The examples in the help run every command as a process, so half of the pages are enough.
PLAYED_BY_PROCESSES = PAGES if os.environ.get("MEM_LONG") else PAGES[::2]
DOCS = [PROJECT / "README.md", *sorted((PROJECT / "docs").glob("*.md"))]


LONGEST_PAGE = 1200  # words
LINK = re.compile(r"\]\((?!https?:)([^)#]+)")


def name_page(path: Path) -> str:
    return path.stem


@pytest.mark.parametrize("path", PLAYED_BY_PROCESSES, ids=name_page)
def test_a_transcript_is_the_same_with_real_processes(path: Path, tmp_path: Path) -> None:
    page = path.read_text("utf-8")
    assert Player(tmp_path, in_process=False).play(page) == page


@pytest.mark.parametrize("path", [*PAGES, *DOCS], ids=name_page)
def test_a_transcript_is_what_the_commands_print(
    path: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    page = path.read_text("utf-8")
    played = Player(tmp_path).play(page)
    if request.config.getoption("update_snapshots"):
        path.write_text(played, encoding="utf-8")
        return
    assert played == page


@pytest.mark.parametrize("path", DOCS, ids=name_page)
def test_a_page_of_the_manual_is_short_and_its_links_lead_somewhere(path: Path) -> None:
    page = path.read_text("utf-8")
    assert len(page.split()) <= LONGEST_PAGE
    assert [link for link in LINK.findall(page) if not (path.parent / link).exists()] == []
