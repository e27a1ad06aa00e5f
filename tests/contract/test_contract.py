"""A later version adds to the promises of 1.0, and neither changes nor removes one.

Each subject is a page in this folder. `--snapshot-update` writes the pages.
"""

import json
from difflib import ndiff
from pathlib import Path

import pytest

from memcli.cli.main import load_command
from memcli.cli.terminal import is_list_of_objects

from .promises import SUBJECTS
from .scenario import FOLDER, play_scenario


@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_promises_of_1_0_are_kept(
    subject: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    page = FOLDER / f"{subject}.txt"
    lines = list(SUBJECTS[subject](tmp_path))
    if request.config.getoption("update_snapshots"):
        page.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        return
    problems = explain_differences(page.read_text("utf-8").splitlines(), lines)
    if problems:
        pytest.fail(f"{page.name}: {problems}", pytrace=False)


def explain_differences(promised: list[str], lines: list[str]) -> str:
    """Return what changed, or an empty string."""
    changes = [line for line in ndiff(promised, lines) if line[0] in "-+"]
    broken = any(line.startswith("-") for line in changes)
    advice = (
        "this is a promise of 1.0; add, do not change (see DECISIONS.md)"
        if broken
        else "new promises; if you will keep them, run: pytest tests/contract --snapshot-update"
    )
    return "\n".join([advice, *changes]) if changes else ""


def test_a_broken_promise_is_told_from_a_new_one() -> None:
    assert explain_differences(["a", "b"], ["a", "b"]) == ""
    assert explain_differences(["a", "b"], ["a", "c"]).startswith("this is a promise of 1.0; add")
    assert explain_differences(["a"], ["a", "b"]).startswith("new promises")


def test_every_value_of_an_answer_can_be_selected(tmp_path: Path) -> None:
    for line, _, output in play_scenario(tmp_path, "--json"):
        if not output:
            continue  # an error
        answer = json.loads(output)
        # A list of objects is what remains if fields of its items are selected.
        names = {name for name, value in answer.items() if not is_list_of_objects(value)}
        assert names <= set(load_command(line.split()[0])[1]), line
