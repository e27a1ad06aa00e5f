"""`mem recall` on the fixture workspace: what a prompt is given, kept as snapshots, and what odd calls are told."""

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from memcli.language.foreign_text import without_injected
from tests.conftest import Mem
from tests.tables import cases, table


@cases("arguments")
def test_a_prompt_is_given_this(mem: Mem, year: Path, arguments: tuple[str, ...], snapshot: SnapshotAssertion) -> None:
    ran = mem("recall", *arguments)
    assert ran.code == 0
    assert ran.out == snapshot
    assert without_injected(ran.out) == ""


TALK = table(__file__, "TALK")


def test_ten_turns_show_nothing_twice_but_after_a_change_of_topic(
    mem: Mem, year: Path, snapshot: SnapshotAssertion
) -> None:
    told = []
    seen: set[str] = set()
    for turn in TALK:
        pack = mem("recall", turn, "--session", "one", "--gate", "--only", "relevant", "--json").json
        shown = [memory["id"] for memory in pack["chosen"]]
        seen = set() if pack["reset"] else seen
        assert not seen & set(shown)
        seen |= set(shown)
        told.append((turn, pack["reset"], "gate" if pack["is_gated"] else "", shown))
    assert told == snapshot


def test_the_prompt_comes_from_a_pipe_too(mem: Mem, year: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEM_RECALL_RECENCY_WEIGHT", "0")  # what is shown counts as read, which moves it up next time
    assert mem("recall", "-", stdin="When may I deploy?").out == mem("recall", "When may I deploy?").out


@pytest.mark.parametrize(
    "arguments", [("--budget", "-1"), ("--characters", "-1"), ("--format", "xml"), ("--only", "all")]
)
def test_what_makes_no_sense_is_refused(mem: Mem, workspace: Path, arguments: tuple[str, ...]) -> None:
    ran = mem("recall", "x", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("\n") == 1


def test_an_empty_workspace_says_nothing(mem: Mem, workspace: Path) -> None:
    for arguments in (
        (),
        ("what do I like?",),
        ("x", "--session", "a"),
        ("x", "--format", "block"),
    ):
        ran = mem("recall", *arguments)
        assert (ran.code, ran.out, ran.err) == (0, "", "")


@pytest.fixture
def repository(workspace: Path, world: Path, tmp_path: Path) -> Path:
    """Put documents beside the workspace, in its repository and outside."""
    (world / ".git").mkdir()
    (world / "docs").mkdir()
    (world / "docs" / "guide.md").write_text("# Guide\n\n## Install\n\nThe quagga server listens on port 8081.\n")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "guide.md").write_text("The quagga server of others listens on port 9999.\n")
    return workspace


def test_documents_named_by_the_workspace_are_read_within_its_repository_only(mem: Mem, repository: Path) -> None:
    with (repository / "mem.yaml").open("a") as file:
        file.write("index.include: [../docs, ../../outside, ..]\n")
    ran = mem("recall", "which port has the quagga server?", "--only", "documents", "--json")
    assert [memory["id"] for memory in ran.json["chosen"]][:1] == ["../docs/guide.md#install"]
    assert "9999" not in ran.out
    assert "../../outside is outside" in ran.err
    read = mem("read", "../docs/guide.md#install")
    assert read.out == "## Install\n\nThe quagga server listens on port 8081.\n"
    for command in (("forget",), ("write", "x", "--id")):
        assert mem(*command, "../docs/guide.md").code in (4, 5)
    assert sorted(path.name for path in (repository.parent / "docs").iterdir()) == ["guide.md"]


def test_a_secret_in_a_document_does_not_get_into_a_prompt(mem: Mem, repository: Path) -> None:
    secret = "ghp_" + "A7bX9kQ2mZ4tR8vW1nC5dE3fG6hJ0pLsYu2B"
    page = repository.parent / "docs" / "guide.md"
    page.write_text(f"# Guide\n\n## Install\n\nThe quagga server takes the token {secret} on port 8081.\n")
    with (repository / "mem.yaml").open("a") as file:
        file.write("index.include: [../docs]\n")
    for form in (["--format", "markdown"], ["--format", "block"], ["--json"]):
        ran = mem("recall", "which token takes the quagga server?", "--only", "documents", *form)
        assert "[REDACTED:" in ran.out
        assert secret not in ran.out


def test_documents_named_by_the_user_may_lie_anywhere(
    mem: Mem, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEM_INDEX_INCLUDE", str(tmp_path / "outside"))
    ran = mem("recall", "which port has the quagga server?")
    assert "9999" in ran.out
    assert ran.err == ""
