"""The transcripts in this folder are what the commands print. `--snapshot-update` rewrites them."""

from pathlib import Path

import pytest

from tests.cli.transcript import Player

FOLDER = Path(__file__).parent
PAGES = sorted(path.stem for path in FOLDER.glob("*.md"))


@pytest.mark.parametrize("name", PAGES)
def test_a_transcript_is_the_same_with_real_processes(name: str, tmp_path: Path) -> None:
    page = (FOLDER / f"{name}.md").read_text("utf-8")
    assert Player(tmp_path, in_process=False).play(page) == page


@pytest.mark.parametrize("name", PAGES)
def test_a_transcript_is_what_the_commands_print(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    path = FOLDER / f"{name}.md"
    page = path.read_text("utf-8")
    played = Player(tmp_path).play(page)
    if request.config.getoption("update_snapshots"):
        path.write_text(played, encoding="utf-8")
        return
    assert played == page
