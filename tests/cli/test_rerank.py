"""`mem search --rerank`: a model of the user's reads the first hits; one that cannot be used is told with a fix."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memcli.cli.help import schema
from memcli.index import cross_encoder as readers
from tests.cli.test_json_schema import faults
from tests.conftest import Mem
from tests.cross_encoders import cross_encoder

QUERY = "which pet lives in the house"
TEXTS = (
    "The pet shop lives next to the house",
    "A pet lives in no house of the street",
    "User's cat is called Miso",
    "The house has a red door",
    "Deploys run on Hetzner",
)


@pytest.fixture
def memories(mem: Mem, workspace: Path) -> Path:
    for text in TEXTS:
        assert mem("write", "--no-dedup", text).code == 0
    return workspace


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Path]:
    """Make a reranker that knows what pets are."""
    yield cross_encoder(tmp_path / "reader", {"pet": "cat"})
    readers.open_cross_encoder.cache_clear()


def found(mem: Mem, *options: str) -> list[str]:
    ran = mem("search", QUERY, "--min-score", "0", "--json", *options)
    assert (ran.code, ran.err) == (0, "")
    return [hit["summary"] for hit in ran.json["hits"]]


def choose(mem: Mem, folder: Path | str, count: int = 0) -> None:
    assert mem("config", "set", "--user", "search.reranker", str(folder)).code == 0
    assert mem("config", "set", "--user", "search.rerank", str(count)).code == 0


def test_the_first_hits_are_read_and_put_in_a_new_order(mem: Mem, memories: Path, reader: Path) -> None:
    plain = found(mem)
    place = plain.index(TEXTS[2])
    assert place > 1
    choose(mem, reader)
    assert found(mem) == found(mem, "--rerank", "0") == plain
    assert found(mem, "--rerank", str(place)) == plain, "it reads no more than that"
    others = [text for text in plain if text != TEXTS[2]]
    assert found(mem, "--rerank", "100") == [TEXTS[2], *others]
    assert found(mem, "--rerank", "100", "-n", "1") == [TEXTS[2]], "it reads more than are shown"


def test_relevance_stays_and_explain_says_what_the_reranker_did(mem: Mem, memories: Path, reader: Path) -> None:
    choose(mem, reader)
    words = ("search", QUERY, "--min-score", "0", "--explain")
    before = {hit["id"]: hit for hit in mem(*words, "--json").json["hits"]}
    place = [hit["summary"] for hit in before.values()].index(TEXTS[2])
    document = mem(*words, "--json", "--rerank", "5").json
    assert faults(document, schema()["documents"]["search"], schema()["$defs"], "search") == []
    hits = document["hits"]
    assert [hit.pop("reranker") for hit in hits] == [
        {"score": 1.0, "moved": place},
        *[{"score": 0.0, "moved": -1}] * place,
        *[{"score": 0.0, "moved": 0}] * (len(hits) - place - 1),
    ]
    assert {hit["id"]: hit for hit in hits} == before
    assert mem(*words, "--rerank", "5").rows[0][-1].endswith(f"; reranker 1.000, moved +{place}")
    assert "reranker" not in mem(*words).out


def test_the_setting_does_it_for_every_search_and_the_option_goes_before_it(
    mem: Mem, memories: Path, reader: Path
) -> None:
    choose(mem, reader, 50)
    assert found(mem)[0] == TEXTS[2]
    assert found(mem, "--rerank", "0")[0] != TEXTS[2]


def test_without_a_folder_the_option_is_refused_with_what_to_do(mem: Mem, memories: Path) -> None:
    ran = mem("search", QUERY, "--rerank", "20")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "mem: no reranker is chosen: `mem config set --user search.reranker FOLDER` names one\n"
    assert mem("search", QUERY, "--rerank", "101").code == mem("search", QUERY, "--rerank", "-1").code == 2


def test_a_model_that_cannot_be_used_ends_what_asks_for_it_and_no_other_search(
    mem: Mem, memories: Path, tmp_path: Path
) -> None:
    plain = found(mem)
    embeds = cross_encoder(tmp_path / "embeds", {"pet": "cat"}, "a vector")
    reasons = {tmp_path / "gone": "there is no model folder", embeds: "gives 3 dimensions, not a score"}
    for folder, reason in reasons.items():
        choose(mem, folder, 20)
        ran = mem("search", QUERY, "--rerank", "20")
        assert (ran.code, ran.out, ran.err.count("\n")) == (6, "", 1)
        assert reason in ran.err
        ran = mem("search", QUERY, "--min-score", "0", "--json")
        assert [hit["summary"] for hit in ran.json["hits"]] == plain
        (notice,) = ran.json["notices"]
        assert (ran.code, notice.startswith("not reranked: "), reason in notice) == (0, True, True)


def test_recall_and_hooks_read_no_model(mem: Mem, memories: Path, tmp_path: Path) -> None:
    before = mem("recall", QUERY).out
    choose(mem, tmp_path / "gone", 20)
    ran = mem("recall", QUERY)
    assert (ran.code, ran.out, ran.err) == (0, before, "")


def test_a_workspace_cannot_make_mem_open_a_model(mem: Mem, memories: Path, reader: Path) -> None:
    (memories / "mem.yaml").write_text(f"search:\n  rerank: 20\n  reranker: {reader}\n")
    assert mem("trust", str(memories)).code == 0
    ran = mem("search", QUERY)
    assert (ran.code, ran.rows[0][5]) == (0, TEXTS[0])
    assert "search.rerank is taken only from" in ran.err
    assert mem("search", QUERY, "--rerank", "20").code == 2
