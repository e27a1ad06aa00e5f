"""Going over to another embedding model: the old vectors answer until the new are complete, and never both at once."""

import contextlib
import json
import signal
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from memcli.index import embeddings, generations
from memcli.index.index import Index, ask
from memcli.index.reembedding import embed_all, switch_of
from memcli.store.workspace import Workspace
from tests import processes
from tests.conftest import Mem
from tests.index.conftest import Put
from tests.index.contents import assert_sound
from tests.two_models import BUILT_IN, Models, folder_of_model

ANIMALS = ("quagga", "okapi", "zebra", "hyena", "civet", "dugong", "serval", "bongo")


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> Models:
    found = Models()
    monkeypatch.setattr(embeddings, "open_embedder", found.open)
    monkeypatch.setattr(embeddings, "default_model_name", lambda: BUILT_IN)
    return found


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
    """Name a model in the settings, as `mem model use` does that has tried it."""

    def chosen(folder: Path | None) -> None:
        assert mem("config", "set", "embedding.model", str(folder or "")).code == 0
        if folder:
            assert mem("config", "set", "embedding.folders", str(folder)).code == 0

    return chosen


def nearest(mem: Mem, animal: str) -> list[str]:
    """Return the hits by meaning that are near; those of a vector of one model among the other's would be far."""
    ran = mem("search", f"the {animal} of the zoo sleeps at noon", "--mode", "vector", "--json", "-n", "1")
    assert ran.code == 0, ran.err
    return [hit["path"] for hit in ran.json["hits"] if hit["relevance"] > 0.9]


def assert_right(mem: Mem, animals: tuple[str, ...] = ANIMALS) -> None:
    for animal in animals:
        assert nearest(mem, animal) == [f"entries/{animal}.md"]


def state(mem: Mem) -> tuple[str, str, int, int]:
    (found,) = mem("model", "status", "--json").json["workspaces"]
    return found["answering"].partition("@")[0], found["wanted"].partition("@")[0], found["embedded"], found["texts"]


def test_the_old_vectors_answer_until_the_new_ones_are_complete(
    mem: Mem, zoo: Path, second: Path, choose: Choose, models: Models
) -> None:
    _, _, _, total = state(mem)
    choose(second)
    assert_right(mem)
    assert models.others == {}
    notices = mem("search", "quagga", "--json").json["notices"]
    assert len(notices) == 1
    assert "`mem index` goes over to second@" in notices[0]
    assert state(mem) == ("words-64", "second", 0, total)

    assert mem("index").code == 0
    assert state(mem) == ("second", "second", total, total)
    models.built_in.embedded.clear()
    assert_right(mem)
    assert models.built_in.embedded == []
    (notice,) = mem("search", "quagga", "--json").json["notices"]
    assert notice.startswith("relevance is not calibrated for second@")


def test_a_text_that_comes_in_between_is_found_by_meaning_and_is_not_lost_on_the_way(
    mem: Mem, zoo: Path, put: Put, second: Path, choose: Choose, models: Models
) -> None:
    choose(second)
    put("gnu.md", "the gnu of the zoo sleeps at noon\n")
    assert_right(mem, (*ANIMALS, "gnu"))
    assert any("gnu of" in text for text in models.built_in.embedded)
    assert mem("index").code == 0
    models.built_in.embedded.clear()
    assert_right(mem, (*ANIMALS, "gnu"))
    assert models.built_in.embedded == []


def test_going_back_embeds_only_what_is_new(
    mem: Mem, zoo: Path, put: Put, second: Path, choose: Choose, models: Models
) -> None:
    choose(second)
    assert mem("index").code == 0
    put("gnu.md", "the gnu of the zoo sleeps at noon\n")
    models.built_in.embedded.clear()
    choose(None)
    assert mem("index").code == 0
    assert models.built_in.embedded == ["the gnu of the zoo sleeps at noon"]
    assert_right(mem, (*ANIMALS, "gnu"))
    assert len(list(zoo.glob(".mem/vectors-*"))) == 2


def test_the_model_that_was_left_is_given_up_after_a_month(
    mem: Mem, zoo: Path, second: Path, choose: Choose, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose(second)
    assert mem("index").code == 0
    later = time.time() + generations.KEPT_SECONDS + 86400
    monkeypatch.setattr(generations.time, "time", lambda: later)
    assert mem("index").code == 0  # whose tidying drops what nothing has referred to
    assert mem("index").code == 0  # and this one sweeps the file
    assert len(list(zoo.glob(".mem/vectors-*"))) == 1
    assert_right(mem)


def test_a_third_model_takes_the_place_of_the_one_that_was_left(
    mem: Mem, zoo: Path, second: Path, choose: Choose, tmp_path: Path
) -> None:
    choose(second)
    assert mem("index").code == 0
    third = folder_of_model(tmp_path, "third")
    assert mem("config", "set", "embedding.folders", f"{second},{third}").code == 0
    assert mem("config", "set", "embedding.model", str(third)).code == 0
    assert_right(mem)
    assert mem("index").code == 0
    assert state(mem)[:2] == ("third", "third")
    assert_right(mem)
    assert len(list(zoo.glob(".mem/vectors-*"))) == 2


def test_a_model_taken_up_between_the_query_and_the_look_at_the_vectors_mixes_nothing(
    mem: Mem, zoo: Path, here: Workspace, second: Path, choose: Choose, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The query's vector is of the old model by then: the whole question is asked again."""
    real, switched = embeddings.Embedding.vector, []

    def vector(self, parts):  # type: ignore[no-untyped-def]
        found = real(self, parts)
        if not switched:
            switched.append(True)
            assert mem("index").code == 0
        return found

    choose(second)
    monkeypatch.setattr(embeddings.Embedding, "vector", vector)
    assert nearest(mem, "okapi") == ["entries/okapi.md"]
    assert state(mem)[0] == "second"


def test_vectors_made_with_a_model_that_answers_no_more_are_not_kept(
    mem: Mem, zoo: Path, put: Put, second: Path, choose: Choose, models: Models, monkeypatch: pytest.MonkeyPatch
) -> None:
    put("gnu.md", "the gnu of the zoo sleeps at noon\n")
    real, switched = models.built_in.embed, []

    def embed(texts, **options):  # type: ignore[no-untyped-def]
        if any("gnu" in text for text in texts) and not switched:
            switched.append(True)
            assert mem("index").code == 0
        return real(texts, **options)

    choose(second)
    monkeypatch.setattr(models.built_in, "embed", embed)
    assert_right(mem, (*ANIMALS, "gnu"))
    assert switched
    assert state(mem)[0] == "second"


def test_who_consolidates_many_conversations_goes_over_too(
    mem: Mem, zoo: Path, here: Workspace, second: Path, models: Models
) -> None:
    from dataclasses import replace

    from memcli.beliefs.neighbours import Opened, look_around
    from memcli.store.settings import Settings

    opened = Opened.for_many(100)
    first = look_around(here, [("fact", "the quagga of the zoo sleeps at noon")])
    first.opened = opened
    again = look_around(here, [("fact", "the quagga of the zoo sleeps late at noon")], first)
    assert max(again.near[0].values()) > 0.9
    values = {**here.settings.values, "embedding.model": str(second), "embedding.folders": (str(second),)}
    there = replace(here, settings=Settings(values, here.settings.places))
    ask(there, lambda index: embed_all(index))
    told = [("fact", "the okapi of the zoo sleeps late at noon")]
    found = look_around(there, told, again)
    best = max(found.near[0], key=lambda path: found.near[0][path] or 0)
    assert best == "entries/okapi.md"
    assert found.near[0][best] == pytest.approx(0.94, abs=0.04)


def test_a_folder_that_vanishes_before_the_switch_is_done_leaves_the_old_model(
    mem: Mem, zoo: Path, second: Path, choose: Choose, tmp_path: Path
) -> None:
    choose(second)
    second.rename(tmp_path / "elsewhere")
    assert_right(mem)
    (notice,) = mem("search", "quagga", "--json").json["notices"]
    assert notice.startswith("searching with the model words-64@00000000: there is no model folder")
    ran = mem("index")
    assert (ran.code, len(ran.err.splitlines())) == (6, 1)
    assert "mem model list" in ran.err
    assert_right(mem)
    (tmp_path / "elsewhere").rename(second)
    assert mem("index").code == 0
    assert_right(mem)
    assert state(mem)[0] == "second"


def test_a_folder_that_vanishes_while_in_use_leaves_the_words_and_every_vector(
    mem: Mem, zoo: Path, second: Path, choose: Choose, tmp_path: Path, models: Models
) -> None:
    choose(second)
    assert mem("index").code == 0
    second.rename(tmp_path / "elsewhere")
    ran = mem("search", "quagga", "--json")
    assert [hit["path"] for hit in ran.json["hits"]] == ["entries/quagga.md"]
    (notice,) = ran.json["notices"]
    assert "searching by words alone: there is no model folder" in notice
    assert mem("index").code == 6
    (tmp_path / "elsewhere").rename(second)
    for one in models.others.values():
        one.embedded.clear()
    assert_right(mem)
    assert mem("index", "--json").json["not_embedded"] == 0
    assert len([text for one in models.others.values() for text in one.embedded]) == len(ANIMALS)  # the queries alone


def test_the_old_model_gone_for_good_keeps_nobody_from_the_new_one(
    mem: Mem, zoo: Path, second: Path, choose: Choose, tmp_path: Path
) -> None:
    choose(second)
    assert mem("index").code == 0
    third = folder_of_model(tmp_path, "third")
    second.rename(tmp_path / "elsewhere")
    assert mem("config", "set", "embedding.model", str(third)).code == 0
    assert_right(mem)
    assert state(mem)[0] == "third"


def test_tend_goes_over_to_the_model_that_was_chosen(mem: Mem, zoo: Path, second: Path, choose: Choose) -> None:
    choose(second)
    assert "index" in [one["task"] for one in mem("tend", "--json").json["done"]]
    assert state(mem)[0] == "second"
    assert mem("tend", "--json").json["done"] == []


def test_a_full_disk_leaves_the_old_vectors_and_what_was_made(
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
    assert state(mem)[:3] == ("words-64", "second", 3)
    assert_right(mem)
    assert mem("index").code == 0
    assert_right(mem)
    assert state(mem)[0] == "second"


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
    code, out, err = mem("search", f"the {{animal}} of the zoo sleeps at noon", "--mode", "vector", "--json", "-n", "1")
    assert code == 0, (code, err)
    (hit,) = json.loads(out)["hits"]
    assert hit["path"] == f"entries/{{animal}}.md" and hit["relevance"] > 0.9, (number, hit, err)
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
        choose(None)
        monkeypatch.setenv("MEM_EMBEDDING_FOLDERS", str(second))
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
    seen = []
    for attempt in range(60):
        if state(mem)[0] == "second":
            break
        with processes.running(INDEXING, zoo.parent, 1) as process:
            time.sleep(0.35 + 0.05 * attempt)
            process.send_signal(signal.SIGKILL)
            process.wait()
        assert_right(mem, ANIMALS[:2])
        ask(here, assert_sound)
        seen.append(state(mem)[2])
    assert state(mem)[0] == "second"
    assert seen == sorted(seen), "a process that was killed took away what was made"
    assert_right(mem)


def test_an_index_of_an_older_mem_keeps_its_vectors(mem: Mem, zoo: Path, here: Workspace, models: Models) -> None:
    with contextlib.closing(sqlite3.connect(zoo / ".mem" / "index.db")) as index:
        index.execute("drop table other_vectors")
        index.execute("pragma user_version = 7")
        index.commit()
    models.built_in.embedded.clear()
    assert mem("index", "--json").json["not_embedded"] == 0
    assert models.built_in.embedded == []
    assert_right(mem)


def test_an_index_cannot_name_the_folder_of_a_model(mem: Mem, zoo: Path, here: Workspace, tmp_path: Path) -> None:
    """It may have come with a clone, and would choose what runs here."""
    stranger = folder_of_model(tmp_path, "stranger")

    def claimed(index: Index) -> tuple[str, bool]:
        with index.writing():
            index.set_meta("model", f"{stranger.name}@12345678")
        return index.embedding.model(), switch_of(index).is_done

    assert ask(here, claimed) == (BUILT_IN, False)
    assert_right(mem)
    assert json.loads(mem("model", "status", "--json").out)["workspaces"][0]["answering"] == BUILT_IN
