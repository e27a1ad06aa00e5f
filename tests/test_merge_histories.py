"""Merges of random histories lose nothing and double nothing, and every key that two branches filled is flagged."""

import os
from itertools import combinations
from pathlib import Path

import pytest

from memcli.api.check import check
from memcli.api.workspace import open_workspace
from memcli.formats.entry import same_key
from memcli.formats.frontmatter.document import parse
from tests.merge_histories import History

COUNT = int(os.environ.get("MERGE_HISTORIES", "40"))
"""How many are tried; `MERGE_HISTORIES=1000` takes a quarter of an hour."""


def named(fields: dict[str, object]) -> list[str]:
    """Return the ids that an entry is flagged with or found distinct from."""
    return [str(name) for key in ("conflicts_with", "distinct") for name in fields.get(key) or ()]  # type: ignore[attr-defined]


def unflagged(root: Path) -> list[tuple[object, object]]:
    """Return the pairs of active entries with one key that are not flagged with each other."""
    found = [parse(path.read_text()).fields for path in (root / "entries").rglob("*.md")]
    active = [one for one in found if one.get("key") and one.get("status", "active") == "active"]
    return [
        (one["id"], other["id"])
        for one, other in combinations(active, 2)
        if same_key(str(one["key"])) == same_key(str(other["key"]))
        and not ({str(one["id"]), str(other["id"])} & {*named(one), *named(other)})
    ]


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
    if is_clean:
        rules = ("read", "conflict", "key", "history", "id")
        assert not [one for one in left.problems if one.rule in rules and "unknown setting" not in one.reason]
        assert unflagged(root) == []
