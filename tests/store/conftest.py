"""What the tests of the store stand on."""

from pathlib import Path

import pytest


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """Give a folder with nothing in it."""
    folder = tmp_path / "bare"
    folder.mkdir()
    return folder
