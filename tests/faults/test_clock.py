"""A clock that is set back, or a second machine whose clock is a day behind, costs no memory and no order."""

from pathlib import Path

import pytest

from tests.conftest import Mem


@pytest.mark.parametrize("back", ["2026-11-20T20:15:03Z", "2026-11-21T20:15:02Z", "2020-01-01T00:00:00Z"])
def test_what_is_done_after_the_clock_went_back_is_kept_and_checks_clean(
    mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch, back: str
) -> None:
    def work(number: int) -> None:
        for words in (
            ("write", f"The lamp {number} is green", "--key", "lamp", "--source", "user"),
            ("write", f"The pump {number} is blue", "--no-dedup"),
            ("history", "add", f"The gate {number} was shut"),
            ("note", f"Seen {number}"),
            ("session", "append", "--session", "s", "--text", f"Please remember: the roof {number} leaks"),
            ("consolidate", "s"),
            ("decay", "--apply"),
        ):
            ran = mem(*words)
            assert (ran.code, "Traceback" in ran.err) == (0, False), (words, ran)

    work(1)
    monkeypatch.setenv("MEM_NOW", back)
    work(2)
    assert mem("check").code == 0
    assert not list((workspace / "archive").rglob("*.md"))
    (row,) = mem("ls", "--key", "lamp", "--json").json["entries"]
    assert "lamp 2" in (workspace / row["path"]).read_text(), "what was said last holds, whatever the clock says"
    text = "".join(path.read_text() for path in workspace.rglob("*.*") if path.suffix in (".md", ".jsonl"))
    for number in (1, 2):
        for said in ("lamp {} is", "pump {} is", "gate {} was", "Seen {}", "roof {} leaks"):
            assert said.format(number) in text
