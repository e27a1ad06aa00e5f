"""Going over to another embedding model: words alone answer until `mem index` has embedded every text with it."""

import contextlib
import signal
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from memcli.index import embeddings
from memcli.index.index import Index, ask
from memcli.store.workspace import Workspace
from tests import processes
from tests.conftest import Mem
from tests.index.conftest import Put
from tests.index.contents import assert_sound
from tests.two_models import BUILT_IN, Models, folder_of_model

ANIMALS = ("quagga", "okapi", "zebra", "hyena", "civet", "dugong", "serval", "bongo")


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> Models:
    both = Models()
    monkeypatch.setattr(embeddings, "open_embedder", both.open)
    monkeypatch.setattr(embeddings, "built_in_name", lambda: BUILT_IN)
    return both


@pytest.fixture
def second(tmp_path: Path) -> Path:
    return folder_of_model(tmp_path)


@pytest.fixture
def zoo(mem: Mem, put: Put, models: Models, workspace: Path) -> Path:
    for animal in ANIMALS:
        put(f"{animal}.md", f"the {animal} of the zoo sleeps at noon\n")
    assert mem("index").code == 0
    return workspace


Choose = Callable[[Path | None], None]


@pytest.fixture
def choose(mem: Mem) -> Choose:
    """Name a model in the user's settings."""

    def chosen(folder: Path | None) -> None:
        assert mem("config", "set", "--user", "embedding.model", str(folder or "")).code == 0

    return chosen


def assert_right(mem: Mem, animals: tuple[str, ...] = ANIMALS) -> None:
    """Assert that each animal is the nearest by meaning; a vector of one model among another's would be far."""
    for animal in animals:
        ran = mem(
            "search", f"the {animal} of the zoo sleeps at noon", "--mode", "vector", "--json", "--explain", "-n", "1"
        )
        assert ran.code == 0, ran.err
        assert [hit["path"] for hit in ran.json["hits"] if hit["parts"]["vector"] > 0.9] == [f"entries/{animal}.md"]


def assert_words_alone(mem: Mem, reason: str, animal: str = "quagga") -> None:
    ran = mem("search", animal, "--json")
    assert [hit["path"] for hit in ran.json["hits"]] == [f"entries/{animal}.md"]
    (notice,) = ran.json["notices"]
    assert notice.startswith("searching by words alone: ")
    assert reason in notice
    ran = mem("search", animal, "--mode", "vector")
    assert (ran.code, len(ran.err.splitlines())) == (6, 1)


def model(mem: Mem) -> str:
    return str(mem("index", "--status", "--json").json["model"]).partition("@")[0]


def test_words_alone_answer_until_every_text_is_embedded_with_the_model_chosen(
    mem: Mem, zoo: Path, second: Path, choose: Choose, models: Models
) -> None:
    choose(second)
    assert_words_alone(mem, f"the texts are embedded with {BUILT_IN}, not second@")
    assert model(mem) == BUILT_IN.partition("@")[0]
    assert models.others == {}

    assert mem("index", "--json").json["not_embedded"] == 0
    models.built_in.embedded.clear()
    assert_right(mem)
    assert model(mem) == "second"
    assert models.built_in.embedded == []
    choose(None)
    assert_words_alone(mem, "the texts are embedded with second@")
    assert mem("index").code == 0
    assert_right(mem)
    assert len(list(zoo.glob(".mem/vectors-*"))) == 1


def test_a_memory_is_written_meanwhile_and_embedded_with_the_rest(
    mem: Mem, zoo: Path, second: Path, choose: Choose
) -> None:
    choose(second)
    ran = mem("write", "the gnu of the zoo sleeps at noon", "--json")
    assert ran.code == 0, ran.err
    assert mem("index").code == 0
    hit = mem("search", "the gnu of the zoo sleeps at noon", "--mode", "vector", "--json", "-n", "1").json["hits"][0]
    assert hit["id"] == ran.json["id"]


def test_tend_goes_over_to_the_model_that_was_chosen(mem: Mem, zoo: Path, second: Path, choose: Choose) -> None:
    choose(second)
    assert "index" in [task["task"] for task in mem("tend", "--json").json["done"]]
    assert model(mem) == "second"
    assert mem("tend", "--json").json["done"] == []


def test_a_folder_that_vanishes_leaves_the_words_and_every_vector(
    mem: Mem, zoo: Path, second: Path, choose: Choose, tmp_path: Path, models: Models
) -> None:
    choose(second)
    assert mem("index").code == 0
    second.rename(tmp_path / "elsewhere")
    assert_words_alone(mem, "there is no model folder")
    ran = mem("index")
    assert (ran.code, len(ran.err.splitlines())) == (6, 1)
    (tmp_path / "elsewhere").rename(second)
    for other in models.others.values():
        other.embedded.clear()
    assert_right(mem)
    assert mem("index", "--json").json["not_embedded"] == 0
    assert [len(other.embedded) for other in models.others.values()] == [len(ANIMALS)]  # the queries alone


def test_a_folder_is_named_from_the_root_or_home(mem: Mem, zoo: Path, second: Path, choose: Choose) -> None:
    choose(Path("second"))
    assert_words_alone(mem, "embedding.model is second: name the folder of a model from / or ~")


def test_a_model_that_tells_nothing_apart_takes_no_vector_away(
    mem: Mem, zoo: Path, second: Path, choose: Choose, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memcli.errors import UnavailableError

    def blind(embedder: object) -> None:
        raise UnavailableError("second@ gives all texts the same numbers", "name another model")

    choose(second)
    with monkeypatch.context() as patched:
        patched.setattr(embeddings, "calibration_of", lambda *_: None)
        patched.setattr(embeddings, "measure", blind)
        ran = mem("index")
    assert (ran.code, len(ran.err.splitlines())) == (6, 1)
    choose(None)
    assert_right(mem)


def test_a_full_disk_keeps_what_was_made_and_the_next_goes_on(
    mem: Mem, zoo: Path, second: Path, choose: Choose, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memcli.errors import UnavailableError
    from memcli.index.vector_file import Matrix

    real, calls = Matrix.append, []

    def append(self, first_row, vectors):  # type: ignore[no-untyped-def]
        calls.append(first_row)
        if len(calls) > 1:
            raise UnavailableError(f"cannot write {self.file}: No space left on device", "make room")
        return real(self, first_row, vectors)

    choose(second)
    monkeypatch.setattr(embeddings, "BULK_BATCH", 3)
    with monkeypatch.context() as full:
        full.setattr(Matrix, "append", append)
        ran = mem("index")
    assert (ran.code, len(ran.err.splitlines())) == (6, 1)
    assert "No space left" in ran.err
    status = mem("index", "--status", "--json").json
    assert (status["vectors"], status["model"].partition("@")[0]) == (3, "second")
    assert mem("index").code == 0
    assert_right(mem)


CHANGING = """
import contextlib, io, json, os, sys
from pathlib import Path
from memcli.cli.app import run
from memcli.index import embeddings
from tests.two_models import Models

embeddings.BULK_BATCH = 3
Models(seconds=0.002).install()
work, rounds = sys.argv[-2:]
os.chdir(work)

def mem(*words):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(list(words))
    return code, out.getvalue(), err.getvalue()
"""
INDEXING = f"""{CHANGING}
for _ in range(int(rounds)):
    code, out, err = mem("index")
    assert code in (0, 75), (code, out, err)
"""
SEARCHING = f"""{CHANGING}
animals = {ANIMALS!r}
for number in range(int(rounds)):
    animal = animals[number % len(animals)]
    code, out, err = mem("search", animal, "--json", "-n", "1")
    assert code == 0, (code, err)
    hit = json.loads(out)["hits"][0]
    assert hit["path"] == f"entries/{{animal}}.md", (number, hit, err)
"""


def test_two_processes_that_want_two_models_and_one_that_searches_meet_no_stale_answer(
    zoo: Path, second: Path, choose: Choose, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose(second)
    with contextlib.ExitStack() as stack:
        started = [
            stack.enter_context(processes.running(script, zoo.parent, rounds))
            for script, rounds in ((INDEXING, 12), (SEARCHING, 40))
        ]
        monkeypatch.setenv("MEM_EMBEDDING_MODEL", "")
        started.append(stack.enter_context(processes.running(INDEXING, zoo.parent, 12)))
        started.append(stack.enter_context(processes.running(SEARCHING, zoo.parent, 40)))
        for process in started:
            out, err = process.communicate(timeout=600)
            assert (process.returncode, out, err) == (0, "", "")


def test_a_process_killed_in_the_middle_loses_nothing_and_the_next_goes_on(
    mem: Mem, zoo: Path, here: Workspace, second: Path, choose: Choose, put: Put
) -> None:
    for number in range(60):
        put(f"more-{number}.md", f"paper {number} lies on desk {number * 7}\n")
    assert mem("index").code == 0
    choose(second)
    embedded = []
    for attempt in range(60):
        with processes.running(INDEXING, zoo.parent, 1) as process:
            time.sleep(0.35 + 0.05 * attempt)
            process.send_signal(signal.SIGKILL)
            process.wait()
        ask(here, assert_sound)
        status = mem("index", "--status", "--json").json
        if status["model"].startswith("second@"):
            embedded.append(status["vectors"])
            if not status["not_embedded"]:
                break
    assert embedded, "no process got as far as the other model"
    assert embedded == sorted(embedded), "a process that was killed took away what was made"
    assert_right(mem)


def test_an_index_of_an_older_mem_keeps_its_vectors(mem: Mem, zoo: Path, models: Models) -> None:
    with contextlib.closing(sqlite3.connect(zoo / ".mem" / "index.db")) as index:
        index.execute("create table other_vectors(hash blob primary key, vector integer not null)")
        index.execute("pragma user_version = 7")
        index.commit()
    models.built_in.embedded.clear()
    assert mem("index", "--json").json["not_embedded"] == 0
    assert models.built_in.embedded == []
    assert_right(mem)


def test_an_index_cannot_name_the_folder_of_a_model(mem: Mem, zoo: Path, here: Workspace, tmp_path: Path) -> None:
    """It may have come with a clone, and would choose what runs here."""
    stranger = folder_of_model(tmp_path, "stranger")

    def claim(index: Index) -> None:
        with index.writing():
            index.set_meta("model", f"{stranger.name}@12345678")

    ask(here, claim)
    assert_words_alone(mem, "the texts are embedded with stranger@12345678")
    assert mem("index").code == 0
    assert_right(mem)


def test_a_command_that_is_no_more_says_what_took_its_place(mem: Mem) -> None:
    ran = mem("model", "use", "somewhere")
    assert (ran.code, len(ran.err.splitlines())) == (2, 1)
    assert "mem config set --user embedding.model" in ran.err
