"""A backlog of conversations is consolidated at little cost, and what they say meets each other all the same."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from memcli.consolidation import consolidate as lifecycle
from memcli.formats.session_event import Event
from memcli.index import embeddings
from memcli.store.sessions.sessions import Session
from memcli.store.workspace import Workspace
from tests.conftest import Mem
from tests.fakes import CountingEmbedder
from tests.tables import cases

NAMES = ("Ada", "Bo", "Cy", "Dee", "Eli", "Fay", "Gus", "Hal", "Ida", "Jo", "Kit", "Lee", "Max", "Ned", "Oz", "Pia")
PLACES = ("boiler room", "archive", "loading bay", "west stairs", "server room")


def said(mem: Mem, session: str, text: str) -> None:
    lines = json.dumps({"role": "user", "content": text}) + "\n"
    assert mem("session", "append", "-", "--session", session, stdin=lines).code == 0


def told(number: int) -> str:
    return f"{NAMES[number % 16]} keeps the key number {number} of the {PLACES[number % 5]}."


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[CountingEmbedder]:
    """Count the models that are opened and what each is asked."""
    made: list[CountingEmbedder] = []

    def opening(*_: object, **__: object) -> CountingEmbedder:
        made.append(CountingEmbedder())
        return made[-1]

    monkeypatch.setattr(embeddings, "open_embedder", opening)
    monkeypatch.setattr(embeddings, "built_in_name", lambda: CountingEmbedder().model)
    return made


@pytest.mark.parametrize("count", [4, 24])
def test_the_model_is_opened_once_and_no_fact_is_embedded_twice(
    mem: Mem, workspace: Path, opened: list[CountingEmbedder], count: int
) -> None:
    for number in range(count):
        said(mem, f"s{number}", f"{told(number)} {told(number + 100)}")
    assert mem("consolidate", "--all").code == 0
    assert len(opened) == 1
    facts = [text for text in opened[0].embedded if "keeps the key" in text and "Goal" not in text]
    assert len(facts) >= count
    assert len(facts) == len(set(facts))
    before = len(facts)
    mem("index")
    again = [text for one in opened[1:] for text in one.embedded if text in facts]
    assert again == [], f"{before} facts have vectors already"


@cases("last", "told_of")
@pytest.mark.parametrize("others", [0, 22])
def test_what_many_conversations_repeat_or_correct_is_noticed_as_in_a_few(
    mem: Mem, workspace: Path, others: int, last: str, told_of: list[str]
) -> None:
    for number in range(others):
        said(mem, f"s{number:02}", told(number))
    for session in ("s90", "s91"):
        said(mem, session, "The label printer in the warehouse listens on port 9100.")
    said(mem, "s92", last)
    rows = {row[0]: row[3:] for row in mem("consolidate", "--all").rows}
    assert (rows["s91"], rows["s92"]) == (["0", "1 merged"], ["1", *told_of])


@pytest.fixture
def between(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, Callable[[], object]], None]:
    """Have something happen while many conversations are read, before one of them is."""
    read = lifecycle.read_waiting

    def happens(after: int, what: Callable[[], object]) -> None:
        done = []

        def reading(workspace: Workspace, session: Session) -> tuple[Session, list[Event]]:
            if len(done) == after:
                done.append(0)  # once, whatever is read again
                what()
            done.append(0)
            return read(workspace, session)

        monkeypatch.setattr(lifecycle, "read_waiting", reading)

    return happens


def standing(workspace: Path) -> list[tuple[str, str]]:
    """Give the texts of the memories that are kept beside the episodes, and how often each was said."""
    texts = [path.read_text() for path in workspace.glob("entries/**/*.md") if "type: episode" not in path.read_text()]
    return sorted((text.partition("\n---\n")[2], text.partition("strength: ")[2][:1]) for text in texts)


@pytest.mark.parametrize("after", [0, 12, 21])
def test_what_another_command_writes_meanwhile_is_known(
    mem: Mem, workspace: Path, between: Callable[[int, Callable[[], object]], None], after: int
) -> None:
    for number in range(24):
        said(mem, f"s{number:02}", told(number))
    command = [sys.executable, "-m", "memcli", "write", told(23), "--no-dedup", "--type", "entity"]
    between(after, lambda: subprocess.run(command, check=True, cwd=workspace.parent))
    rows = {row[0]: row[3:] for row in mem("consolidate", "--all").rows}
    assert rows["s23"] == ["0", "1 merged"]


@pytest.mark.parametrize("after", [1, 15])
def test_an_index_that_is_lost_meanwhile_is_made_anew(
    mem: Mem, workspace: Path, between: Callable[[int, Callable[[], object]], None], after: int
) -> None:
    for number in range(24):
        said(mem, f"s{number:02}", told(number % 12))
    between(after, lambda: [path.unlink() for path in (workspace / ".mem").glob("index*")])
    assert mem("consolidate", "--all").code == 0
    assert len(standing(workspace)) == 12


def test_a_conversation_that_is_deleted_meanwhile_leaves_nothing_and_stops_no_other(
    mem: Mem, workspace: Path, between: Callable[[int, Callable[[], object]], None]
) -> None:
    for number in range(24):
        said(mem, f"s{number:02}", told(number))
    command = [sys.executable, "-m", "memcli", "session", "delete", "s03", "--purge"]
    between(9, lambda: subprocess.run(command, check=True, cwd=workspace.parent))
    ran = mem("consolidate", "--all")
    assert (ran.code, "s03 was deleted meanwhile" in ran.err) == (0, True)
    assert [text.strip() for text, _ in standing(workspace)] == sorted(told(one) for one in range(24) if one != 3)
    assert "s03" not in mem("history", "show").out


def test_a_conversation_that_cannot_be_read_is_named_and_stops_no_other(
    mem: Mem, workspace: Path, between: Callable[[int, Callable[[], object]], None]
) -> None:
    for number in range(24):
        said(mem, f"s{number:02}", told(number))
    between(9, lambda: (workspace / "sessions/s12/metadata.json").write_text("{ torn"))
    ran = mem("consolidate", "--all")
    assert (ran.code, ran.err.count("sessions/s12/metadata.json")) == (3, 1), ran.err
    assert [text.strip() for text, _ in standing(workspace)] == sorted(told(one) for one in range(24) if one != 12)


def test_records_of_many_conversations_in_a_new_file_are_parted_by_a_blank_line(mem: Mem, workspace: Path) -> None:
    for number in range(24):
        said(mem, f"s{number:02}", f"The nightly job number {number} fails since yesterday, why?")
        cause = (
            f"Cause: line {number} of nightly.yml names a disk that is full. I emptied it, and the job passes again."
        )
        assert mem("session", "append", "--session", f"s{number:02}", "--role", "assistant", "--text", cause).code == 0
    assert mem("consolidate", "--all").code == 0
    (history,) = workspace.glob("**/HISTORY-*.md")
    text = history.read_text()
    assert text.count("\n## ") + text.startswith("## ") == text.count("\n\n## ") + 1 == 24
    assert len(mem("history", "show", "--limit", "0").rows) == 24


def test_what_is_pasted_into_many_conversations_confirms_nothing(mem: Mem, workspace: Path) -> None:
    issue = "\n".join(
        ["can you look at this issue?", "", "> Reported by: Jonas", "> The cache of the west server is never emptied."]
    )
    fact = "The boiler room key hangs at the loading bay."
    for number in range(24):
        said(mem, f"s{number:02}", issue if number % 2 else fact)
    assert mem("consolidate", "--all").code == 0
    counted = {text.strip(): strength for text, strength in standing(workspace)}
    assert counted.pop(fact) == "1"  # of strength 12
    assert all(strength in ("", "1") for strength in counted.values()), counted


def test_killed_in_the_middle_the_next_run_goes_on_and_nothing_is_kept_twice(mem: Mem, workspace: Path) -> None:
    for number in range(40):
        said(mem, f"s{number:02}", told(number))
    command = [sys.executable, "-m", "memcli", "consolidate", "--all"]
    kills = 0
    for wanted in (5, 23):
        with subprocess.Popen(command, cwd=workspace.parent, stdout=subprocess.DEVNULL) as running:
            while running.poll() is None and len(list(workspace.glob("entries/**/*.md"))) < wanted:
                time.sleep(0.005)
            if running.poll() is None:
                running.kill()
                kills += 1
    assert kills == 2
    assert mem("consolidate", "--all").code == 0
    assert [text.strip() for text, _ in standing(workspace)] == sorted(map(told, range(40)))
    assert mem("consolidate", "--all").rows == []


def test_a_conversation_that_is_named_twice_becomes_memory_once(mem: Mem, workspace: Path) -> None:
    for number in range(24):
        said(mem, f"s{number:02}", told(number))
    assert mem("consolidate", "s00", *(f"s{number:02}" for number in range(24))).code == 0
    assert standing(workspace) == sorted((text, "") for text, _ in standing(workspace))
    assert len(standing(workspace)) == 24
    assert not list(workspace.glob("archive/**/*not-applied*"))
