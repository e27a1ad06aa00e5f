"""Documents beside a workspace are searched when asked for, read by what a search prints, and never changed."""

from pathlib import Path

import pytest

from tests.conftest import Mem

SECRET = "ghp_" + "A7bX9kQ2mZ4tR8vW1nC5dE3fG6hJ0pLsYu2B"


@pytest.fixture
def documented(mem: Mem, workspace: Path) -> Path:
    """Keep a memory, and a folder of documents beside the workspace, in one repository."""
    (workspace.parent / ".git").mkdir()
    docs = workspace.parent / "docs"
    docs.mkdir()
    (docs / "guide.md").write_text("# Guide\n\n## Install\n\nThe quagga server listens on port 8081.\n")
    (docs / "other.md").write_text(f"# Other\n\nThe gateway of the quagga has the token {SECRET} now.\n")
    with (workspace / "mem.yaml").open("a") as file:
        file.write("index.include: [../docs]\n")
    assert mem("write", "The quagga keeper is Kai.", "--no-dedup").code == 0
    return docs


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
def test_documents_are_found_when_asked_for_and_only_then(mem: Mem, documented: Path, mode: str) -> None:
    def found(*options: str) -> set[str]:
        hits = mem("search", "quagga server port", "--mode", mode, "--json", *options).json["hits"]
        return {f"{hit['kind']} {hit['path'].rpartition('/')[2][:5]}" for hit in hits}

    assert {one.split()[0] for one in found()} == {"entry"}
    assert "document guide" in found("--kind", "document")
    assert {one.split()[0] for one in found("--kind", "document")} == {"document"}
    assert {one.split()[0] for one in found("--kind", "document", "--kind", "entry")} == {"document", "entry"}
    assert {one.split()[0] for one in found("--kind", "all")} == {"document", "entry"}
    assert found("--kind", "document", "--type", "fact") == set()


def test_the_setting_may_name_documents_too(mem: Mem, documented: Path) -> None:
    assert mem("config", "set", "search.kinds", "entry,document").code == 0
    assert (
        mem("search", "port of the quagga server", "--mode", "keyword", "--json").json["hits"][0]["kind"] == "document"
    )


@pytest.mark.parametrize("place", [".", "memory", "docs", "memory/entries"])
def test_what_a_search_prints_of_a_document_is_read(
    mem: Mem, documented: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.chdir(documented.parent / place)
    (row,) = mem("search", "quagga server port 8081", "--kind", "document", "--mode", "keyword", "-n", "1").rows
    path, _, line = row[4].rpartition(":")
    assert "8081" in "".join(Path(path).read_text().splitlines()[int(line) - 1 :])
    assert "8081" in mem("read", row[1]).out
    assert "8081" in mem("read", path).out
    for command in (("forget", path), ("write", "x", "--id", path), ("edit", path, "--replace", "8081", "1")):
        assert mem(*command).code in (4, 5)
    assert "8081" in (documented / "guide.md").read_text()


def test_a_secret_in_a_document_is_not_shown(mem: Mem, documented: Path) -> None:
    for options in ((), ("--json",)):
        ran = mem("search", "gateway token", "--kind", "document", "--mode", "keyword", *options)
        assert SECRET not in ran.out
        assert "REDACTED" in ran.out


@pytest.mark.parametrize(
    ("prefix", "is_found"), [("../docs/", True), ("docs/", True), ("./docs", True), ("src/", False)]
)
def test_documents_are_narrowed_by_their_path(mem: Mem, documented: Path, prefix: str, is_found: bool) -> None:
    ran = mem("search", "quagga", "--kind", "document", "--mode", "keyword", "--path", prefix)
    assert (ran.code == 0) == is_found


def test_without_folders_of_documents_nothing_is_found(mem: Mem, workspace: Path) -> None:
    assert mem("write", "A quagga.", "--no-dedup").code == 0
    ran = mem("search", "quagga", "--kind", "document", "--mode", "keyword")
    assert (ran.code, ran.out) == (1, "")
