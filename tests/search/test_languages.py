"""Memories in six languages are found by questions in them: bigrams where no spaces part words, no accents, no case."""

from pathlib import Path

import pytest

from tests.conftest import FIXTURES, Mem

SAID = [line.split("\t") for line in (FIXTURES / "languages.tsv").read_text(encoding="utf-8").splitlines()[1:]]
"""Language, memory, and a question that it answers."""


@pytest.fixture
def memories(mem: Mem, workspace: Path) -> Path:
    (workspace / "entries").mkdir(exist_ok=True)
    for number, (_, memory, _) in enumerate(SAID):
        (workspace / "entries" / f"{number}.md").write_text(f"{memory}\n", encoding="utf-8")
    assert mem("index").code == 0
    return workspace


@pytest.mark.parametrize("mode", ["hybrid", "keyword"])
def test_every_question_finds_its_memory_first(mem: Mem, memories: Path, mode: str) -> None:
    missed = []
    for _, memory, question in SAID:
        hits = mem("search", question, "--mode", mode, "--json").json["hits"]
        if not hits or hits[0]["summary"] != memory:
            missed.append((question, hits[:1]))
    assert missed == []


@pytest.mark.parametrize(
    ("memory", "question"),
    [
        ("Резервная копия бухгалтерии лежит в сейфе у Ольги.", "кто хранит бухгалтерию?"),
        ("Резервная копия бухгалтерии лежит в сейфе у Ольги.", "что лежит в сейфах у Ольгу?"),
        ("Лифт в третьем подъезде чинят осенью.", "что с лифтом"),
        ("Die Heizung im Keller wird im Herbst entlüftet.", "Was ist mit den Heizungen?"),
        ("Το κλειδί της αποθήκης το έχει η Ελένη.", "κλειδιά αποθήκη"),
    ],
)
def test_a_word_is_found_in_another_form(mem: Mem, memories: Path, memory: str, question: str) -> None:
    assert mem("write", memory, "--no-dedup").code == 0
    assert mem("search", question, "--mode", "keyword").rows[0][-1] == memory


def test_what_only_begins_alike_is_behind_the_word_itself(mem: Mem, memories: Path) -> None:
    for text in ("Ольга ведёт склад.", "Складчина на подарок у Ивана."):
        assert mem("write", text, "--no-dedup").code == 0
    assert [row[-1] for row in mem("search", "склад", "--mode", "keyword").rows] == ["Ольга ведёт склад."]


def test_a_substring_of_two_characters_finds_what_holds_it(mem: Mem, memories: Path) -> None:
    for part, memory in (("西湖", 4), ("無勤", None), ("在宅", 10), ("제주", 22), ("เชียงใหม่", 25)):
        hits = mem("search", part, "--mode", "keyword", "--json").json["hits"]
        assert [hit["summary"] for hit in hits][:1] == ([] if memory is None else [SAID[memory][1]])


def test_the_vector_counts_as_far_as_the_model_reads_the_script(mem: Mem, memories: Path) -> None:
    def shares(question: str) -> tuple[float, float]:
        parts = mem("search", question, "--json", "--explain").json["hits"][0]["parts"]
        return parts["vector"], parts["keyword"]

    vector, _ = shares("编辑器用什么主题")
    assert vector == 0
    vector, _ = shares("Welche Farbschemata mag der Nutzer?")
    assert vector > 0.1
