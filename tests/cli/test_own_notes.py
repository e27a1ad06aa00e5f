"""In a vault mem keeps what it wrote and what a person marked; it reads the other notes and leaves them alone."""

import json
import os
import re
from pathlib import Path

import pytest

from tests.conftest import Mem
from tests.sample import IS_LONG
from tests.vaults import make_vault, vault_bytes

COUNT = 200 if IS_LONG else 100
OLD = "2025-01-01T08:00:00Z"


@pytest.fixture
def vault(mem: Mem, world: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a vault that mem was let into, and stand in it."""
    make_vault(world / "vault", COUNT)
    monkeypatch.chdir(world / "vault")
    assert mem("init").code == 0
    return world / "vault"


def put(path: Path, text: str, **fields: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    head = "".join(f"{name}: {value}\n" for name, value in fields.items())
    path.write_text(f"---\n{head}---\n\n{text}\n")


def test_init_changes_nothing_of_a_persons(mem: Mem, world: Path) -> None:
    before = make_vault(world / "vault", COUNT)
    assert mem("init", "vault").code == 0
    assert vault_bytes(world / "vault") == before


@pytest.mark.parametrize(
    "words",
    [
        ("decay",),
        ("decay", "--apply", "--max-fraction", "1"),
        ("promote", "--auto", "--apply"),
        ("dedup",),
        ("dedup", "--apply"),
        ("session", "rollup", "--all"),
        ("consolidate",),
        ("review",),
        ("tend",),
        ("check", "--fix"),
    ],
    ids=" ".join,
)
def test_upkeep_proposes_nothing_of_a_persons_and_touches_no_byte(
    mem: Mem, vault: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setenv("MEM_DECAY_AUTO", "yes")
    before = vault_bytes(vault)
    ran = mem(*words)
    assert ran.code in (0, 1 if words[0] == "check" else 0), ran.err
    assert ".md" not in ran.out.replace("Broken/Yaml.md:2: ", "")
    assert vault_bytes(vault) == before


def test_check_names_of_a_persons_notes_only_what_cannot_be_read_as_it_is_meant(mem: Mem, vault: Path) -> None:
    (vault / "Secret.md").write_text("The token is ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8\n")
    assert [line.partition(":")[0] for line in mem("check").out.splitlines()] == ["Broken/Yaml.md"]
    assert "Secret.md:1: " in mem("check", "--secrets").out


def test_stats_and_export_are_of_what_mem_keeps(mem: Mem, vault: Path) -> None:
    _, _, path = mem("write", "The lantern hangs on the boat.").rows[0]
    assert mem("stats", "--json").json["entries"] == 1
    paths = [line.partition('"path": "')[2].partition('"')[0] for line in mem("export").out.splitlines()]
    assert paths == ["mem.yaml", path]
    assert "harbour" not in mem("export", "--format", "markdown").out


@pytest.mark.parametrize(
    "words", [("forget", "Home.md"), ("supersede", "Home.md", "Garden plan.md"), ("promote", "Home.md")]
)
def test_a_note_of_a_persons_that_is_named_is_left_as_it_is_and_the_way_to_mark_it_is_told(
    mem: Mem, vault: Path, words: tuple[str, ...]
) -> None:
    before = vault_bytes(vault)
    ran = mem(*words)
    assert ran.code == 5
    assert "mem write --id 'Home.md' --type fact" in ran.err
    assert vault_bytes(vault) == before


def test_what_is_written_like_a_note_of_a_persons_is_a_memory_of_its_own(mem: Mem, vault: Path) -> None:
    put(vault / "Kitchen.md", "The tide table hangs in the kitchen.")
    before = vault_bytes(vault)
    assert mem("write", "The tide table hangs in the kitchen.").rows[0][0] == "created"
    assert mem("write", "The tide table no longer hangs in the kitchen.").code == 0
    assert mem("write", "The tide table hangs in the kitchen.", "--key", "C minor").code == 0
    assert vault_bytes(vault) == before


@pytest.mark.parametrize("place", ["mem/old.md", "Code/Filter.md"])
def test_what_mem_wrote_fades_as_anywhere(mem: Mem, vault: Path, place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEM_NOW", OLD)
    assert mem("write", "The filter is changed each March.", "--path", place).code == 0
    monkeypatch.setenv("MEM_NOW", "2026-11-21T20:15:03Z")
    assert mem("write", "The filter lies in the third drawer.").code == 0
    before = vault_bytes(vault)
    assert [row[5] for row in mem("decay").rows] == ["archive", "keep"]
    ran = mem("decay", "--apply", "--max-fraction", "1")
    assert ran.code == 0, ran.err
    assert not (vault / place).exists()
    assert (vault / "mem/archive" / place).is_file()
    assert vault_bytes(vault) == {path: data for path, data in before.items() if path != place}


def test_a_note_that_a_person_marks_is_kept(mem: Mem, vault: Path) -> None:
    kettle = {"type": "fact", "created_at": OLD, "source": "user", "strength": 4, "confidence": 0.9}
    put(vault / "Kitchen/Kettle.md", "The kettle is descaled in May.", id="mem_kettle", **kettle)
    put(vault / "Kitchen/Twin.md", "The kettle is descaled in May.", id="mem_twin", **kettle)
    put(vault / "Kitchen/Own.md", "The kettle is descaled in May.", **kettle)
    put(vault / "Kitchen/Dead.md", "See [[Nobody]].", id="mem_dead")
    before = vault_bytes(vault)
    assert {row[0] for row in mem("decay").rows} == {"mem_kettle", "mem_twin", "mem_dead"}
    assert "Kitchen/Dead.md:5: links to Nobody" in mem("check").out
    assert mem("stats", "--json").json["entries"] == 3
    assert "mem_kettle" in mem("promote", "--auto").out
    assert mem("dedup", "--apply").code == 0
    assert "superseded_by: mem_kettle" in (vault / "Kitchen/Twin.md").read_text()
    assert mem("forget", "mem_dead").code == 0
    changed = {path for path, data in vault_bytes(vault).items() if before.get(path) != data}
    assert changed <= {"Kitchen/Kettle.md", "Kitchen/Twin.md"}


def test_a_field_given_to_a_note_marks_it(mem: Mem, vault: Path) -> None:
    body = (vault / "Garden plan.md").read_text().partition("---\n\n")[2]
    _, identifier, _ = mem("write", "--id", "Garden plan.md", "--type", "procedure").rows[0]
    text = (vault / "Garden plan.md").read_text()
    assert identifier.startswith("mem_")
    assert f"id: {identifier}\n" in text
    assert "  - Spring plan\n" in text
    assert text.endswith(body)
    assert [row[0] for row in mem("decay").rows] == [identifier]
    assert mem("forget", identifier).code == 0


def test_words_of_a_persons_frontmatter_are_not_those_of_mem(mem: Mem, vault: Path) -> None:
    rows = {row["path"]: row for row in mem("ls", "--limit", "400", "--json").json["entries"]}
    piano = rows["Lessons/Piano.md"]
    assert (piano["status"], piano["key"], piano["pinned"], piano["source"]) == ("active", "", False, "observed")
    assert "expired" not in mem("read", "Lessons/Piano.md").err
    ran = mem("search", "scales", "--mode", "keyword", "--json")
    assert [hit["path"] for hit in ran.json["hits"]] == ["Lessons/Piano.md"]
    assert [problem["path"] for problem in ran.json["problems"]] == ["Broken/Yaml.md"]


def test_what_is_no_note_is_not_searched(mem: Mem, vault: Path) -> None:
    assert mem("search", "zymurgy", "--mode", "keyword").code == 1
    assert mem("grep", "zymurgy").code == 1


@pytest.mark.parametrize("tag", ["fenced", "code", "0a0b0c", "url", "b", "Start", "Beds"])
def test_what_only_looks_like_a_tag_is_none(mem: Mem, vault: Path, tag: str) -> None:
    assert mem("ls", "--tag", tag).out == ""


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("The plot", "Beans."),
        ("[[Spring plan#Beds|beds]]", "Beans."),
        ("\U0001f35e Bread & butter", "Knead it"),
        ("The old laptop", "is cracked"),
        ("Projects/Notes", "varnished twice"),
    ],
)
def test_a_note_is_read_by_any_of_its_names(mem: Mem, vault: Path, name: str, words: str) -> None:
    assert words in mem("read", name).out


@pytest.mark.parametrize(
    ("query", "path"), [("spring plan", "Garden plan.md"), ("#cooking/bread", "Recipes/\U0001f35e Bread & butter.md")]
)
def test_a_note_is_found_by_its_alias_and_its_inline_tags(mem: Mem, vault: Path, query: str, path: str) -> None:
    assert mem("search", query, "--mode", "keyword", "--json").json["hits"][0]["path"] == path


def test_what_a_conversation_says_like_a_note_of_a_persons_is_kept_beside_it(mem: Mem, vault: Path) -> None:
    put(vault / "Kitchen.md", "The tide table hangs in the kitchen.")
    before = vault_bytes(vault)
    event = {"type": "message", "role": "user", "content": "Remember this: the tide table hangs in the kitchen."}
    assert mem("session", "append", "-", "--session", "talk", stdin=json.dumps(event)).code == 0
    ran = mem("consolidate", "--all")
    assert ran.code == 0, ran.err
    assert {row[0][:4] for row in mem("decay").rows} == {"mem_"}
    assert vault_bytes(vault) == before


def test_a_name_in_two_folders_asks_for_the_path(mem: Mem, vault: Path) -> None:
    ran = mem("read", "Notes")
    assert ran.code != 0
    assert "Archive/Notes.md, Projects/Notes.md" in ran.err


def test_reading_a_note_tells_what_links_to_it(mem: Mem, vault: Path) -> None:
    ran = mem("read", "Garden plan.md")
    linking = ["Archive/Notes.md", "Home.md", "Projects/Notes.md", "Recipes/\U0001f35e Bread & butter.md"]
    assert ran.out == "Beans.\n"
    assert f"Linked from: {', '.join(linking)}\n" in ran.err
    answer = mem("read", "Garden plan.md", "--json").json
    assert ([link["path"] for link in answer["linked_from"]], answer["linked_from_count"]) == (linking, 4)
    assert "Linked from" not in mem("read", "Garden plan.md", "--raw").err
    (vault / "Home.md").write_text("# Home\n")
    assert "Home.md" not in mem("read", "Garden plan.md").err
    assert "Linked from: Archive/Notes.md\n" in mem("read", "Projects/Notes.md").err


def test_many_links_are_counted_and_ten_are_named(mem: Mem, vault: Path) -> None:
    answer = mem("read", "Ana", "--json").json
    assert len(answer["linked_from"]) == 10 < answer["linked_from_count"]
    assert f" and {answer['linked_from_count'] - 10} more\n" in mem("read", "Ana").err


def test_a_note_whose_name_looks_like_an_id_is_not_marked_by_it(mem: Mem, vault: Path) -> None:
    (vault / "mem_ideas.md").write_text("Ideas of long ago.\n")
    os.utime(vault / "mem_ideas.md", (1_500_000_000, 1_500_000_000))
    assert mem("decay", "--apply", "--max-fraction", "1").code == 0
    assert (vault / "mem_ideas.md").exists()


@pytest.mark.parametrize("name", ["Oven Rebuild#Materials", "Oven Rebuild.md#Materials", "Oven Rebuild#materials"])
def test_a_section_is_named_as_a_link_names_it(mem: Mem, vault: Path, name: str) -> None:
    (vault / "Oven Rebuild.md").write_text("# Oven\n\nIt is old.\n\n## Materials\n\nFire bricks.\n")
    assert mem("read", name).out == "## Materials\n\nFire bricks.\n"
    assert "`mem read 'Oven Rebuild.md'` shows" in mem("read", "Oven Rebuild.md#Costs").err


def test_an_id_of_a_persons_own_stays_as_another_name(mem: Mem, vault: Path) -> None:
    put(vault / "Zettel.md", "The kiln needs a new door.", id=202411201010, aliases="[Kiln]")
    assert mem("write", "--id", "Zettel.md", "--type", "fact").code == 0
    assert mem("read", "Zettel.md", "--json").json["fields"]["aliases"] == ["Kiln", "202411201010"]


def test_a_secret_in_a_note_of_a_persons_is_told_to_no_agent(mem: Mem, vault: Path) -> None:
    (vault / "Wifi.md").write_text("The guest wifi is called Figueira. Password: kx82-Plum-Tractor-11\n")
    pack = mem("recall", "what is the guest wifi called").out
    assert "Figueira" in pack
    assert "Tractor" not in pack + mem("context").out
    assert "Figueira" not in mem("context").out


def test_an_export_says_that_it_leaves_own_notes_out_and_how_they_come_in(mem: Mem, vault: Path) -> None:
    assert mem("write", "The kiln is fired on Fridays.", "--no-dedup").code == 0
    ran = mem("export", "--kind", "entry")
    (count,) = re.findall(r"^mem: (\d+) notes of your own are left out: --own-notes takes them in$", ran.err, re.M)
    assert len(ran.out.splitlines()) == 1
    every = mem("export", "--kind", "entry", "--own-notes")
    assert (len(every.out.splitlines()), every.err) == (1 + int(count), "")
    assert "The boat is varnished twice" in every.out
    assert mem("export", "--format", "markdown", "--own-notes").out.count("varnished") == 1
