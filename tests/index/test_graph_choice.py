"""The graph is asked where it is the quicker, and nothing depends on it being installed."""

import sys

import pytest

from memcli.index.hnsw import graph_available, is_graph_cheaper


def test_a_command_that_asks_once_scans() -> None:
    assert not any(is_graph_cheaper(rows, 1, loaded=False) for rows in (0, 1000, 10_000, 100_000, 1_000_000))


@pytest.mark.parametrize(("rows", "cheaper"), [(1000, False), (5000, False), (50_000, True), (100_000, True)])
def test_a_process_that_stays_asks_the_graph_of_many_rows(rows: int, cheaper: bool) -> None:
    assert is_graph_cheaper(rows, 1, loaded=True) is cheaper
    assert is_graph_cheaper(rows, 1000, loaded=False) is cheaper


def test_without_hnswlib_there_is_no_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hnswlib", None)
    assert not graph_available()
