"""Threads are as many as asked for, or as many as there are cores to run them."""

import os

import pytest

from memcli.index.onnx_session import usable
from tests.processes import run


def test_a_number_that_is_named_counts() -> None:
    assert usable(3) == 3


def test_without_a_number_every_core_this_process_may_use_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0, 5, 6})
    assert usable() == 3
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    assert usable() == 8


def test_whoever_scans_or_embeds_has_told_numpys_blas_to_use_one_thread() -> None:
    for module in ("vector_file", "embedder", "hnsw"):
        ended = run(
            f"import os, sys, memcli.index.{module}\nprint('numpy' in sys.modules, os.environ['OPENBLAS_NUM_THREADS'])"
        )
        assert ended.out.split() == ["False", "1"]
