"""The filters that search, ls and grep share."""

from pathlib import Path

import pytest

from tests.conftest import Mem
from tests.tables import cases

ENTRIES = {
    "a.md": "type: preference\ntags: [Über, home_automation]\nproject: shop\nsource: user\nupdated_at: 2026-11-01",
    "sub/b.md": "type: lesson\ntags: [über, test]\nsource: inferred\nupdated_at: 2026-11-10T23:30:00Z",
    "[draft]/c.md": "type: episode\ntags: [testing]\nstatus: superseded\nupdated_at: 2026-11-20",
    "a_b%c.md": "type: fact\ntags: ['100%', test_ing]\nupdated_at: 2026-11-21",
}


@pytest.fixture
def zoo(workspace: Path) -> Path:
    """Keep entries that differ in every field."""
    for name, head in ENTRIES.items():
        path = workspace / "entries" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"---\n{head}\ncreated_at: 2026-01-01\n---\nquagga\n")
    (workspace / "archive" / "entries").mkdir(parents=True)
    (workspace / "archive" / "entries" / "old.md").write_text("---\ncreated_at: 2026-01-01\n---\nquagga\n")
    (workspace / "MEMORY.md").write_text("a page of the quagga\n")
    (workspace / "notes").mkdir()
    (workspace / "notes" / "2026-11-05.md").write_text("[10:00] quagga\n")
    return workspace


@cases("words", "names")
def test_a_filter_lets_through_what_it_names(mem: Mem, zoo: Path, words: tuple[str, ...], names: str) -> None:
    ran = mem("search", "quagga", "-n", "20", "--mode", "keyword", "--json", *words)
    found = {Path(hit["path"]).stem for hit in ran.json["hits"]} if ran.out else set()
    assert found == set(names.split())
    assert ran.code == (0 if names else 1)


@pytest.mark.parametrize(
    "words", [("--kind", "nosuch"), ("--status", "gone"), ("--layer", "x"), ("--since", "2026-02-30")]
)
def test_a_filter_that_can_let_nothing_through_is_told(mem: Mem, zoo: Path, words: tuple[str, ...]) -> None:
    for command in (("search", "quagga"), ("ls",), ("grep", "quagga")):
        assert mem(*command, *words).code == 2


def test_every_command_takes_the_same_filters(mem: Mem, zoo: Path) -> None:
    for words in (("--tag", "über"), ("--type", "lesson"), ("--since", "2026-11-10"), ("--path", "entries/sub")):
        hits = mem("search", "quagga", "-n", "20", "--mode", "keyword", "--kind", "entry", "--json", *words).json[
            "hits"
        ]
        listed = mem("ls", "--json", *words).json["entries"]
        lines = mem("grep", "quagga", "--status", "active", "--kind", "entry", "--json", *words).json["matches"]
        assert (
            {hit["path"] for hit in hits}
            == {row["path"] for row in listed}
            == {line["path"] for line in lines}
            != set()
        )
