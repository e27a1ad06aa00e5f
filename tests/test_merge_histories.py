"""Merges of random histories lose nothing and double nothing, and every key that two branches filled is flagged."""

import os
from pathlib import Path

import pytest

from memcli.api.check import check
from memcli.api.workspace import open_workspace
from tests import merge_judge
from tests.merge_histories import History
from tests.sample import IS_LONG

COUNT = int(os.environ.get("MERGE_HISTORIES", "40" if IS_LONG else "12"))
"""How many are tried; `MERGE_HISTORIES=1000` takes five minutes on two cores."""


@pytest.mark.parametrize("seed", range(COUNT))
def test_two_branches_merge_without_loss(tmp_path: Path, seed: int) -> None:
    """What git left is settled by `mem check --fix`, as it says when it is asked."""
    history = History(seed, tmp_path / "repo")
    is_clean, is_same = history.merge()
    assert history.lost() == set()
    assert not is_clean or history.doubled() == set()
    assert is_same
    root = history.repository.root
    left = check(open_workspace(root), fix=True)
    assert history.lost() == set()
    assert history.doubled() == set()
    assert history.written_twice() == []
    assert history.miscounted() == {}
    assert list(merge_judge.faults(root)) == []
    assert merge_judge.clashes(root)[1] == []
    if is_clean:
        rules = ("read", "conflict", "key", "history", "id")
        assert not [one for one in left.problems if one.rule in rules and "unknown setting" not in one.reason]
