"""The measures of the retrieval bench are what their names say, worked out by hand; every subject can be run."""

import math
import subprocess
import sys
from pathlib import Path

import pytest

from bench import measures, speed
from bench.__main__ import NAMES
from bench.first_index import first_index
from bench.timing import PYTHON, Bench
from bench.workspaces import make


@pytest.mark.parametrize("name", NAMES)
def test_every_subject_says_how_it_is_run(name: str) -> None:
    if name == "training.pair_model":
        pytest.importorskip("lightgbm", reason="the extra train is not installed")
    said = subprocess.run([sys.executable, "-m", "bench", name, "--help"], capture_output=True, text=True, check=True)
    assert said.stdout.startswith("usage:")


def test_what_is_timed_in_one_process_runs(tmp_path: Path) -> None:
    bench, root = Bench(tmp_path, 1), tmp_path / "few"
    make(root, 20)
    bench.cost([PYTHON, "-m", "memcli", "index", "--workspace", str(root)])
    for script in (speed.IN_PROCESS, speed.DEDUP):
        assert all(bench.inside(script, str(root), "1").values())
    clock, processor = first_index(bench, root, 1)
    assert clock[3] > 0
    assert processor[3] > 0


def test_a_graded_ranking_is_measured_against_the_best_one() -> None:
    grades = {"a": 3.0, "b": 1.0, "c": 0.0}
    found = measures.scores(["x", "b", "c", "y", "z", "a"], grades)
    assert found.recall5 == 0.5
    assert found.recall10 == 1
    assert found.reciprocal == 0.5
    gain = 1 / math.log2(3) + 3 / math.log2(7)
    assert found.ndcg10 == pytest.approx(gain / (3 / math.log2(2) + 1 / math.log2(3)))


def test_the_right_order_is_all_and_nothing_right_is_nothing() -> None:
    best = measures.scores(["a", "b"], {"a": 1.0, "b": 1.0})
    assert (best.recall5, best.recall10, best.reciprocal, best.ndcg10) == (1, 1, 1, 1)
    none = measures.scores(["x"] * 20 + ["a"], {"a": 1.0})
    assert (none.recall5, none.recall10, none.reciprocal, none.ndcg10) == (0, 0, 0, 0)


def test_the_error_of_a_difference_is_that_of_a_mean() -> None:
    assert measures.paired_error([0.5] * 40, [0.2] * 40) == pytest.approx(0)
    # Half of the queries gain 1: the mean's standard error is ½ / √100.
    assert measures.paired_error([1.0, 0.0] * 50, [0.0] * 100) == pytest.approx(0.05, abs=0.01)
