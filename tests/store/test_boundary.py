"""No path leads out of the workspace."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.errors import RefusedError
from memcli.store.privacy import contained
from tests.tables import cases


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("boundary").resolve()
    root = base / "memory"
    for folder in ("memory/entries", "memory/.git", "memory/.mem", "outside", "memory-too"):
        (base / folder).mkdir(parents=True)
    (root / "entries/a.md").touch()
    (base / "outside/secret.md").touch()
    (root / "in").symlink_to("entries")
    (root / "in.md").symlink_to("entries/a.md")
    (root / "out").symlink_to("../outside")
    (root / "out.md").symlink_to(base / "outside/secret.md")
    (root / "new.md").symlink_to("../outside/new.md")
    (root / "git").symlink_to(".git")
    (root / "loop").symlink_to("loop")
    (base / "door").symlink_to("memory")
    return root


@cases("path", "real")
def test_a_path_inside_is_given_with_its_links_followed(path: str, real: str, root: Path) -> None:
    assert contained(root, root / path) == root / real
    assert contained(root, Path(path)) == root / real
    assert contained(root.parent / "door", root.parent / "door" / path) == root / real


@cases("path")
def test_a_path_that_leads_out_is_refused(path: str, root: Path) -> None:
    with pytest.raises(RefusedError, match="leads outside the workspace") as refused:
        contained(root, root / path)
    assert refused.value.exit_code == 5


@pytest.mark.parametrize("path", [".git", ".git/config", ".mem/lock", "git/config", ".GIT/hooks/x", "a/.git/x"])
def test_a_path_in_a_private_folder_is_refused(path: str, root: Path) -> None:
    with pytest.raises(RefusedError, match="which is not for memories"):
        contained(root, root / path)


@pytest.mark.parametrize("path", ["a\0.md", "\ud800.md"])
def test_a_name_no_file_can_have_is_refused(path: str, root: Path) -> None:
    with pytest.raises(RefusedError, match="cannot be the name of a file"):
        contained(root, root / path)


def test_what_lies_behind_a_link_to_itself_is_not_trusted(root: Path) -> None:
    with pytest.raises(RefusedError, match="goes through a link to itself"):
        contained(root, root / "loop/../out/secret.md")


@given(
    st.lists(
        st.sampled_from(
            ["..", ".", "", "entries", "a.md", "in", "out", "loop", "git", ".git", ".mem", "none", "new.md"]
        ),
        max_size=7,
    )
)
def test_however_a_path_is_made_what_is_given_is_real_and_inside(root: Path, parts: list[str]) -> None:
    try:
        real = contained(root, Path(os.path.join(root, *parts)))
    except RefusedError:
        return
    assert os.path.realpath(real) == str(real)
    assert real.is_relative_to(root)
    assert not {".git", ".mem"} & set(real.relative_to(root).parts)
