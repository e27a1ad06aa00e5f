"""The rules of the house hold, and each is seen to fail on a tree with one violation of it."""

import re
from collections.abc import Callable, Iterator
from functools import cache

import pytest

from tests import house

TREE = house.tree()
RULES: dict[Callable[[house.Tree], Iterator[str]], dict[str, str]] = {
    house.reaches_up: {"git/run.py": "from ..search import search\n"},
    house.strangers: {"git/run.py": "def late():\n    import litellm\n"},
    house.circles: {"formats/ids.py": "from . import links\n", "formats/links.py": "from . import ids\n"},
    house.two_meanings: {"store/one.py": "class Twice: ...\n", "store/two.py": "class Twice: ...\n"},
    house.crowd: {f"store/more_{number}.py": "" for number in range(9)},
    house.sizes: {"store/long.py": "x = 1\n" * 501},
    house.entangled: {
        "cli/app.py": "".join(f"from ..{path.replace(chr(47), chr(46))[:-3]} import x\n" for path in TREE)
    },
    house.long_functions: {"git/run.py": "def long():\n" + "    pass\n" * 61},
    house.dialect: {"git/run.py": "one = found = told = 1\n" * 1000},
    house.word_tables: {"git/run.py": f"WORDS = {' '.join(['word'] * 41)!r}\n"},
    house.sql: {"git/run.py": "def ask(db):\n    db.execute('select x from y')\n"},
    house.documents: {"git/run.py": "class One:\n    def as_dict(self): ...\n"},
    house.git_calls: {"cli/edit.py": "run(['git', 'log'])\n"},
}


@cache
def faults_of(rule: Callable[[house.Tree], Iterator[str]]) -> list[str]:
    return list(rule(TREE))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_the_tree_keeps_the_rule(rule: Callable[[house.Tree], Iterator[str]]) -> None:
    assert faults_of(rule) == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_one_violation_is_noticed(rule: Callable[[house.Tree], Iterator[str]]) -> None:
    assert set(rule(TREE | RULES[rule])) - set(faults_of(rule))


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "DECISIONS.md", "docs/agents.md", "docs/reliability.md"])
def test_every_file_that_the_docs_name_is_there(page: str) -> None:
    text = (house.ROOT.parent / page).read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:\w+/)+\w+\.(?:py|toml|md))`", text))
    missing = [path for path in named if not (house.ROOT / path).exists() and not (house.ROOT.parent / path).exists()]
    assert not missing
