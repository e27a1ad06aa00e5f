"""What is not, or no longer, true: a status that means nothing to mem, and a memory past its `expires_at`."""

from pathlib import Path

import pytest

from tests.conftest import Mem


def put(workspace: Path, name: str, body: str, **fields: str) -> None:
    head = "".join(f"{key}: {value}\n" for key, value in {"id": f"mem_{name}", "source": "user", **fields}.items())
    (workspace / "entries" / f"{name}.md").write_text(f"---\n{head}---\n\n{body}\n")


@pytest.fixture
def zebras(workspace: Path) -> Path:
    (workspace / "entries").mkdir(exist_ok=True)
    put(workspace, "active", "Zebras eat grass.")
    put(workspace, "proposed", "Zebras eat hay.", status="Proposed")
    return workspace


def ids(document: object, rows: str) -> list[str]:
    return [row["id"] for row in document[rows]]  # type: ignore[index]


def test_an_entry_of_an_unknown_status_is_found_only_when_asked_for(mem: Mem, zebras: Path) -> None:
    assert ids(mem("search", "zebras", "--json").json, "hits") == ["mem_active"]
    assert ids(mem("ls", "--json").json, "entries") == ["mem_active"]
    assert "hay" not in mem("recall", "What do zebras eat?").out
    assert ids(mem("search", "zebras", "--status", "proposed", "--json").json, "hits") == ["mem_proposed"]
    assert ids(mem("ls", "--status", "proposed", "--json").json, "entries") == ["mem_proposed"]
    assert "hay" in mem("read", "mem_proposed").out
    ran = mem("ls", "--status", "propsed")
    assert (ran.code, ran.err) == (2, "mem: no status 'propsed': use one of active, superseded, archived\n")


@pytest.mark.parametrize("status", ["[proposed]", "[active]", "{is: draft}", "2026-11-21"])
def test_a_status_that_is_no_text_is_unknown_too(mem: Mem, zebras: Path, status: str) -> None:
    put(zebras, "odd", "Zebras eat leaves.", status=status)
    assert "leaves" not in mem("search", "zebras").out
    assert "leaves" not in mem("recall", "What do zebras eat?").out
    assert "odd.md:4: status: " in mem("check").out


def test_check_names_an_unknown_status_until_it_is_put_right(mem: Mem, zebras: Path) -> None:
    ran = mem("check")
    assert (ran.code, ran.out) == (
        1,
        "memory/entries/proposed.md:4: status: 'proposed' is none of active, superseded, archived: the memory is not"
        " recalled, and found only with --status proposed\n",
    )
    assert mem("write", "--id", "mem_proposed", "--status", "active").code == 0
    assert mem("check").code == 0
    assert "hay" in mem("search", "What do zebras eat?").out


def test_what_is_written_again_beside_a_proposal_is_an_entry_of_its_own(mem: Mem, zebras: Path) -> None:
    assert mem("write", "Zebras eat hay.").rows[0][0] == "created"


def test_a_status_in_a_persons_own_notes_is_a_word_of_theirs(mem: Mem, world: Path) -> None:
    vault = world / "vault"
    vault.mkdir()
    (vault / "zebras.md").write_text("---\nstatus: draft\n---\n\nZebras eat grass.\n")
    assert mem("init", str(vault), "--layout", "markdown").code == 0
    assert "grass" in mem("search", "zebras", "--workspace", str(vault)).out
    assert "draft" not in mem("check", "--workspace", str(vault)).out


@pytest.fixture
def passes(workspace: Path) -> Path:
    (workspace / "entries").mkdir(exist_ok=True)
    put(workspace, "visitor", "The visitor pass is in drawer four.", expires_at="2026-11-20")
    put(workspace, "valid", "The parking pass is in drawer five.", expires_at="2026-12-20")
    return workspace


def test_what_has_expired_is_marked_and_not_recalled(mem: Mem, passes: Path) -> None:
    when = {"mem_visitor": "2026-11-20T00:00:00Z", "mem_valid": ""}
    hits = mem("search", "Where is the pass?", "--json").json["hits"]
    assert {hit["id"]: hit["expired"] for hit in hits} == when
    assert [row[6:] for row in mem("search", "visitor pass", "--mode", "keyword").rows if row[1] == "mem_visitor"] == [
        ["expired 2026-11-20"]
    ]
    assert {entry["id"]: entry["expired"] for entry in mem("ls", "--json").json["entries"]} == when
    assert {row[0]: row[5:] for row in mem("ls").rows} == {"mem_visitor": ["expired 2026-11-20"], "mem_valid": []}
    page = mem("read", "mem_visitor", "--json")
    assert page.json["expired"] == "2026-11-20T00:00:00Z"
    assert "expired at 2026-11-20T00:00:00Z" in mem("read", "mem_visitor").err
    assert mem("read", "mem_valid", "--json").json["expired"] == ""
    recalled = mem("recall", "Where is the pass?").out
    assert "drawer five" in recalled
    assert "drawer four" not in recalled


def test_tend_archives_what_has_expired_and_only_that(mem: Mem, passes: Path) -> None:
    put(passes, "faded", "Staging ran on port 5432.", created_at="2020-01-01", updated_at="2020-01-01")
    ran = mem("tend")
    assert (ran.code, ran.rows[0]) == (0, ["decay", "archived 1 that have expired"])
    assert sorted(ids(mem("ls", "--json").json, "entries")) == ["mem_faded", "mem_valid"]
    assert mem("restore", "mem_visitor").code == 0
    assert "expired" not in mem("tend").out
    assert "mem_visitor" in ids(mem("ls", "--json").json, "entries")


def test_expiry_does_not_count_for_the_guard(mem: Mem, passes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(6):
        put(passes, f"gone{number}", f"Ticket {number} is bought.", expires_at="2026-11-01")
    put(passes, "faded", "Staging ran on port 5432.", created_at="2020-01-01", updated_at="2020-01-01")
    put(passes, "faded2", "Staging ran on port 5433.", created_at="2020-01-01", updated_at="2020-01-01")
    put(passes, "faded3", "Staging ran on port 5434.", created_at="2020-01-01", updated_at="2020-01-01")
    monkeypatch.setenv("MEM_DECAY_AUTO", "true")
    (row,) = (row for row in mem("tend").rows if row[0] == "decay")
    told = "3 of 11 have faded, too many to archive unasked: look at them with `mem decay`"
    assert row[1] == f"archived 7 that have expired; {told}"
    refused = mem("decay", "--apply")
    assert (refused.code, refused.err.splitlines()[0][:64]) == (
        5,
        "mem: 3 of 4 active entries have faded, more than 25%: look at th",
    )
