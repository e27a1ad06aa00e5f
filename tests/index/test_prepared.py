"""A prepared copy is there whole or not at all, and nothing depends on it."""

import os
from pathlib import Path

import pytest

from memcli.index.onnx_session import discard, prepare, prepared_file


def write(target: Path) -> None:
    target.write_bytes(b"graph")
    target.with_name("weights.bin").write_bytes(b"weights")


def test_a_copy_is_found_by_model_and_version(tmp_path: Path) -> None:
    assert prepared_file(tmp_path, "a" * 64, "1.0") is None
    file = prepare(tmp_path, "a" * 64, "1.0", write)
    assert file == prepared_file(tmp_path, "a" * 64, "1.0")
    assert prepared_file(tmp_path, "a" * 64, "1.1") is None
    assert prepared_file(tmp_path, "b" * 64, "1.0") is None


def test_a_copy_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def fail(target: Path) -> None:
        write(target)
        raise OSError("disk full")

    assert prepare(tmp_path, "a" * 64, "1.0", fail) is None
    assert os.listdir(tmp_path / "models") == []
    (tmp_path / "file").touch()
    assert prepare(tmp_path / "file", "a" * 64, "1.0", write) is None


def test_an_interrupted_copy_leaves_nothing(tmp_path: Path) -> None:
    def interrupt(target: Path) -> None:
        write(target)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prepare(tmp_path, "a" * 64, "1.0", interrupt)
    assert os.listdir(tmp_path / "models") == []


def test_of_two_that_prepare_at_once_one_is_used_by_both(tmp_path: Path) -> None:
    def slow(target: Path) -> None:
        write(target)
        (target.parent.with_name("other")).mkdir()
        write(target.parent.with_name("other") / "model.onnx")
        target.parent.with_name("other").rename(target.parent.with_suffix(""))

    file = prepare(tmp_path, "a" * 64, "1", slow)
    assert file is not None
    assert file == prepared_file(tmp_path, "a" * 64, "1")
    assert len(os.listdir(tmp_path / "models")) == 1


def test_copies_out_of_use_are_removed_when_another_is_made(tmp_path: Path) -> None:
    old = prepare(tmp_path, "a" * 64, "1.0", write)
    recent = prepare(tmp_path, "b" * 64, "1.0", write)
    assert old
    assert recent
    os.utime(old.parent, (0, 0))
    prepare(tmp_path, "a" * 64, "1.1", write)
    assert not old.parent.exists()
    assert recent.exists()


def test_a_copy_can_be_discarded(tmp_path: Path) -> None:
    file = prepare(tmp_path, "a" * 64, "1.0", write)
    assert file
    discard(file)
    assert prepared_file(tmp_path, "a" * 64, "1.0") is None
