"""What the learned comparison finds out, on sentences that stand in no file it was trained on."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memcli.beliefs.pair_model import FORMAT, PairModel, default_file, load_pair_model
from memcli.beliefs.settlement import REPEAT
from memcli.errors import UnavailableError
from memcli.index.embedder import OnnxEmbedder, open_embedder
from memcli.index.embedding_model import built_in_name
from tests.conftest import Mem
from tests.fakes import CountingEmbedder
from tests.tables import cases

Compare = Callable[..., list[float]]


@pytest.fixture(scope="module")
def embedder(tmp_path_factory: pytest.TempPathFactory) -> OnnxEmbedder:
    return open_embedder(None, bulk=True, cache=tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="module")
def compare(embedder: OnnxEmbedder) -> Compare:
    """Judge a new text against old ones with the model that mem is shipped with."""
    model = load_pair_model(built_in_name())

    def compared(new: str, *olds: str) -> list[float]:
        _, tokens = embedder.embed_tokens([new, *olds])
        return model.repeats([(old, tokens[0]) for old in tokens[1:]])

    return compared


SAME = [
    ("The greenhouse is watered at 6 am", "Watering of the greenhouse starts at 06:00"),
    ("User is allergic to bee stings", "Bee stings cause an allergic reaction in User"),
    ("Mails are kept in the archive for 14 days", "The archive keeps mails for 14 days"),
    ("The ferry to Narvik leaves at 08:15", "The ferry for Narvik departs at 08:15"),
    ("User keeps bees behind the barn", "The user keeps the bees behind a barn"),
]
UPDATES = [
    ("The barometer service listens on port 7011", "The barometer service was moved to port 7099"),
    ("User lives in Tampere", "User moved from Tampere to Oulu last month"),
    ("Walter leads the harvest team", "Walter stepped down and Sunniva leads the harvest team now"),
    ("User doesn't eat cheese", "User has started to eat cheese again"),
]
STRANGERS = [
    ("Ottilie is the treasurer of the rowing club", "Ottilie's sister plays the oboe"),
    ("The barometer service listens on port 7011", "The thermometer service was moved to port 7099"),
    ("User lives in Tampere", "User's nephew studies forestry in Joensuu"),
    ("The archive keeps mails for two weeks", "The greenhouse is watered at 6 am"),
]


def test_only_a_repeat_is_near_certain(compare: Compare) -> None:
    assert sum(compare(new, old)[0] >= REPEAT for old, new in SAME) >= 2
    assert not any(compare(new, old)[0] >= REPEAT for old, new in (*UPDATES, *STRANGERS, *NUMBERED, *RENUMBERED))


def test_neighbours_are_judged_one_by_one(compare: Compare) -> None:
    old = [old for old, _ in STRANGERS]
    together = compare("User now lives in Oulu", *old)
    alone = [compare("User now lives in Oulu", one)[0] for one in old]
    # The quantised model rounds a batch as a whole: equal but for that.
    assert together == pytest.approx(alone, abs=0.15)


NUMBERED = [
    ("Box 15 holds the winter coats", "Box 17 holds the Christmas lights"),
    ("Locker 4 belongs to Ottilie", "Locker 9 belongs to Walter"),
    ("Room 212 is being painted", "Room 214 has a broken window"),
    ("Ticket #381 is about the login page", "Ticket #402 is about the invoice export"),
    ("Beehive 3 stands behind the barn", "Beehive 6 stands in the orchard"),
    ("Rowing boat 2 was lent to Sunniva", "Rowing boat 5 was lent to Torvald"),
]
RENUMBERED = [
    ("Box 15 holds the winter coats", "Box 15 holds the Christmas lights now"),
    ("Locker 4 belongs to Ottilie", "Locker 4 was handed over to Walter"),
    ("The barometer service listens on port 5432", "The barometer service listens on port 5433 now"),
    ("The barometer database uses port 5432", "The barometer database uses port 5433"),
    ("The rowing club has 40 members", "The rowing club has 55 members"),
]


@cases("old", "new")
def test_another_number_name_or_denial_is_never_the_same(compare: Compare, old: str, new: str) -> None:
    assert compare(new, old)[0] < REPEAT
    assert compare(old, new)[0] < REPEAT


FAR_STRANGERS = [
    ("阿姨在镇上卖豆腐", "伯伯在码头修船"),
    ("东仓库归马涛管", "西仓库归葛蕾管"),
    ("周二喂羊", "周六剪羊毛"),
    ("叔父は羊を飼っている", "伯母は蜂を飼っている"),
    ("鍵は箱の中にある", "はしごは納屋の裏にある"),
    ("삼촌은 양을 키운다", "고모는 시장에서 두부를 판다"),
    ("Тётя держит овец", "Дядя чинит лодки на пристани"),
    ("Конюшня у реки", "Мельница за лесом"),
]
FAR_UPDATES = [
    ("阿姨在镇上卖豆腐", "阿姨不卖豆腐了，现在开面馆"),
    ("仓库的密码是 4711", "仓库的密码改成了 9902"),
    ("羊圈归马涛管", "马涛退休了，羊圈现在归葛蕾管"),
    ("叔父は羊を飼っている", "叔父は羊を売って、今は蜂を飼っている"),
]


def test_in_scripts_the_embedding_model_cannot_read_nothing_is_a_repeat(compare: Compare) -> None:
    assert {compare(new, old)[0] for old, new in (*FAR_STRANGERS, *FAR_UPDATES)} == {0.0}


def test_texts_of_nothing_or_of_signs_are_judged_too(compare: Compare) -> None:
    for old, new in [("", "x"), ("…", "!!!"), ("a" * 3000, "b"), ("\ud800", "ok"), ("🙂", "🙃")]:
        assert 0 <= compare(new, old)[0] <= 1


# The data file.


def arrays() -> dict[str, Any]:
    with np.load(default_file()) as data:
        return {name: data[name] for name in data.files}


def test_a_damaged_file_is_refused_with_a_line(tmp_path: Path) -> None:
    whole = default_file().read_bytes()
    for number, bad in enumerate(
        (b"", whole[: len(whole) // 2], b"no model\n", whole[:2000] + b"\0" * 500 + whole[2500:])
    ):
        file = tmp_path / f"{number}.npz"
        file.write_bytes(bad)
        with pytest.raises(UnavailableError, match="damaged"):
            load_pair_model(built_in_name(), file)


@pytest.mark.parametrize("name", ["right", "roots", "feature", "value"])
def test_a_file_whose_trees_do_not_fit_is_refused(tmp_path: Path, name: str) -> None:
    data = arrays()
    data[name] = data[name][:-1] if name == "value" else np.full_like(data[name], np.iinfo(data[name].dtype).max)
    with (tmp_path / "model.npz").open("wb") as file:
        np.savez(file, **data)
    with pytest.raises(UnavailableError, match="damaged"):
        load_pair_model(built_in_name(), tmp_path / "model.npz")


def test_a_file_of_another_version_is_refused(tmp_path: Path) -> None:
    data = arrays()
    meta = {**json.loads(bytes(data["meta"])), "format": FORMAT + 1}
    data["meta"] = np.frombuffer(json.dumps(meta).encode(), np.uint8)
    with (tmp_path / "model.npz").open("wb") as file:
        np.savez(file, **data)
    with pytest.raises(UnavailableError, match=f"format {FORMAT + 1}"):
        load_pair_model(built_in_name(), tmp_path / "model.npz")


def test_another_embedding_model_is_not_calibrated() -> None:
    with pytest.raises(UnavailableError, match=r"not calibrated for the embedding model bge-small@12345678"):
        load_pair_model("bge-small@12345678")


def test_the_file_is_small_and_has_a_card() -> None:
    assert default_file().stat().st_size <= 100_000
    card = default_file().with_suffix(".md").read_text(encoding="utf-8")
    assert built_in_name() in card


# Through the command line.


@pytest.mark.parametrize(("old", "new"), UPDATES)
def test_an_update_told_in_other_words_marks_nothing_and_names_what_it_is_near_to(mem: Mem, old: str, new: str) -> None:
    mem("init")
    first = mem("write", old, "--json").json
    second = mem("write", new, "--json").json
    assert second["action"] == "created"
    assert [one["id"] for one in second["near"]] == [first["id"]]
    assert mem("review", "--json").json["questions"] == []


def test_a_damaged_model_costs_only_the_comparison(mem: Mem, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "bad.npz").write_bytes(b"no model\n")
    monkeypatch.setattr("memcli.beliefs.pair_model.default_file", lambda: tmp_path / "bad.npz")
    load_pair_model.cache_clear()
    mem("init")
    first = mem("write", "The ferry leaves at 8 am", "--json").json
    other = mem("write", "The ferry to Elba leaves at 8 am", "--json")
    again = mem("write", "the ferry leaves at 8 am.", "--json").json
    load_pair_model.cache_clear()
    assert other.code == 0
    assert other.json["action"] == "created"
    assert other.err.count("is damaged") == 1
    assert again["id"] == first["id"]


def test_trees_are_summed_as_they_were_trained() -> None:
    model = load_pair_model(built_in_name())
    assert isinstance(model, PairModel)
    columns = json.loads(bytes(arrays()["meta"]))["columns"]
    rows = np.random.RandomState(0).normal(size=(3, columns)).astype(np.float32)
    wanted = np.zeros(3)
    for row in range(3):
        for root in model.roots:
            node = int(root)
            while model.right[node] != node:
                is_left = rows[row, model.feature[node]] <= model.threshold[node]
                node = node + 1 if is_left else int(model.right[node])
            wanted[row] += model.value[node]
    assert model.scores(rows) == pytest.approx(wanted, abs=1e-3)


def test_with_another_embedding_model_twins_are_known_and_a_line_says_so(
    mem: Mem, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = CountingEmbedder()
    monkeypatch.setattr("memcli.index.embeddings.open_embedder", lambda *_, **__: fake)
    monkeypatch.setattr("memcli.index.embeddings.built_in_name", lambda: fake.model)
    mem("init")
    first = mem("write", "The ferry leaves at 8 am", "--json").json
    other = mem("write", "The ferry to Elba leaves at 8 am", "--json")
    again = mem("write", "the ferry leaves at 8 am.", "--json").json
    assert other.json["action"] == "created"
    assert other.err.count(f"not calibrated for the embedding model {fake.model}") == 1
    assert again["id"] == first["id"]


@cases("least", "again", "action")
def test_who_wants_the_plain_rule_sets_a_cosine(
    mem: Mem, monkeypatch: pytest.MonkeyPatch, least: str, again: str, action: str
) -> None:
    monkeypatch.setattr("memcli.beliefs.settlement.REPEAT", 2.0)
    mem("init")
    mem("config", "set", "write.merge_similarity", least)
    said = "The kiln in the barn is heated to 900 degrees"
    first = mem("write", said, "--source", "user", "--json").json
    second = mem("write", again, "--source", "user", "--json").json
    assert second["action"] == action
    shown = mem("read", second["id"], "--json").out + mem("read", first["id"], "--json").out
    assert said in shown
    assert again in shown
    assert mem("write", f"{again} now", "--source", "inferred", "--json").json["action"] == "created", "trusted less"
