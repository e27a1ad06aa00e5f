"""A rule or preference comes with a prompt of its subject, whatever the words, and with no other."""

from pathlib import Path
from typing import Any

import pytest

from memcli.index import updater
from memcli.index.scan import scan
from tests.conftest import Mem

PNPM = "In JavaScript repositories install packages with pnpm."
VEGAN = "I am vegan: leave out meat, fish, eggs and milk."
ADDING = "Add lodash to the web shop"


@pytest.fixture
def rules(mem: Mem, workspace: Path) -> Path:
    for kind, text in (("constraint", PNPM), ("preference", VEGAN), ("fact", "The web shop has forty routes.")):
        assert mem("write", "--no-dedup", "--type", kind, "--source", "user", text).code == 0
    return workspace


def recalled(mem: Mem, prompt: str, *more: str) -> dict[str, Any]:
    ran = mem("recall", prompt, "--gate", "--json", *more)
    assert ran.code == 0, ran.err
    found: dict[str, Any] = ran.json
    return found


def texts(found: dict[str, Any]) -> list[str]:
    return [memory["text"] for memory in found["chosen"]]


def test_a_rule_comes_with_a_prompt_that_shares_no_word_with_it_and_asks_for_no_memory(mem: Mem, rules: Path) -> None:
    found = recalled(mem, ADDING)
    (shown,) = (one for one in found["chosen"] if one["text"] == PNPM)
    assert sum(shown["parts"].values()) == pytest.approx(shown["relevance"], abs=0.001)
    assert shown["id"] not in {one["id"] for one in found["left_out"]}
    assert not any("vegan" in text for text in texts(found))


def test_what_is_no_rule_does_not_come_so(mem: Mem, workspace: Path) -> None:
    assert mem("write", "--no-dedup", "--type", "fact", PNPM).code == 0
    assert texts(recalled(mem, ADDING)) == []


@pytest.mark.parametrize("prompt", ["", "ok, thanks", "yes, go on", "What is the capital of Mongolia?"])
def test_a_prompt_of_no_subject_or_another_one_shows_nothing(mem: Mem, rules: Path, prompt: str) -> None:
    assert texts(recalled(mem, prompt)) == []


def test_a_rule_is_shown_once_in_a_session(mem: Mem, rules: Path) -> None:
    assert PNPM in texts(recalled(mem, ADDING, "--session", "s1"))
    assert PNPM not in texts(recalled(mem, "And add axios to the web shop", "--session", "s1"))


def test_a_rule_that_answers_is_shown_once_too(mem: Mem, rules: Path) -> None:
    assert texts(recalled(mem, "Do we install packages in JavaScript repositories with pnpm?")).count(PNPM) == 1


def test_rules_keep_within_the_budget(mem: Mem, rules: Path) -> None:
    assert texts(recalled(mem, ADDING, "--most", "20")) == []


def test_no_rule_comes_so_where_that_is_switched_off(mem: Mem, rules: Path) -> None:
    with (rules / "mem.yaml").open("a") as settings:
        settings.write("recall:\n  limit:\n    rules: 0\n")
    assert PNPM not in texts(recalled(mem, ADDING))


def test_a_prompt_that_is_searched_for_several_times_looks_at_the_disk_once(
    mem: Mem, rules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mem("session", "append", "s1", "--role", "user", "where do herons sleep")
    looks: list[Path] = []
    monkeypatch.setattr(updater, "scan", lambda root, layout: [looks.append(root), scan(root, layout)][1])
    recalled(mem, "Where do herons sleep? And which package manager do we use?", "--session", "s1")
    assert looks == [rules]
