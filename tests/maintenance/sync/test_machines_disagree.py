"""What one machine forgot and the other one built on is lost by no merge, told in words, and asked where they disagree.

Each is tried with `mem sync` and with git alone and `mem check --fix`, as either machine.
"""

from pathlib import Path

import pytest

from tests.machines import Machine, Merge, by_git, by_sync
from tests.sample import in_turn

WAYS = pytest.mark.parametrize("merge", [by_sync, by_git])
AS_EITHER = pytest.mark.parametrize(("merge", "forgets"), in_turn((by_sync, by_git), ("laptop", "desktop")))


def found(machine: Machine, words: str) -> list[str]:
    ran = machine.run("search", words, "--json", "--mode", "keyword", "--workspace", str(machine.root))
    return [hit["summary"] for hit in ran.json["hits"]]


@AS_EITHER
def test_what_was_said_again_stays_in_use_though_the_other_machine_forgot_it(
    laptop: Machine, desktop: Machine, merge: Merge, forgets: str
) -> None:
    path = laptop.write("The shop runs on Fly.")
    laptop.sync()
    desktop.sync()
    one, other = (laptop, desktop) if forgets == "laptop" else (desktop, laptop)
    one.mem("forget", path)
    other.mem("write", "The shop runs on Fly.")
    if merge is by_git:
        other.mem("decay", "--apply")
    told = merge(laptop, desktop)
    assert found(desktop, "shop") == ["The shop runs on Fly."]
    assert "forgotten on one machine and said again on another" in told
    asked = desktop.mem("review").out
    assert "The shop runs on Fly." in asked
    assert "(forgotten on one machine and said again on another)" in asked
    assert desktop.run("check", "--workspace", str(desktop.root)).out == ""
    assert "forgotten_at" not in (desktop.root / path).read_text()
    desktop.mem("forget", path)
    assert desktop.run("check", "--workspace", str(desktop.root)).out == ""


@WAYS
def test_what_comes_back_into_use_is_flagged_with_what_fills_its_key_since(
    laptop: Machine, desktop: Machine, merge: Merge
) -> None:
    path = laptop.write("The port is 7000.", "--key", "staging/port")
    laptop.sync()
    desktop.sync()
    laptop.mem("forget", path)
    laptop.write("Staging listens on 7001.", "--key", "staging/port")
    desktop.mem("write", "The port is 7000.", "--key", "staging/port")
    merge(laptop, desktop)
    assert "both fill staging/port" in desktop.mem("review").out
    assert desktop.mem("check").out == ""


@AS_EITHER
def test_a_memory_whose_successor_the_other_machine_forgot_is_named(
    laptop: Machine, desktop: Machine, merge: Merge, forgets: str
) -> None:
    old, new = laptop.write("The port is 7000."), laptop.write("Staging listens elsewhere now, on 7001.")
    laptop.sync()
    desktop.sync()
    one, other = (laptop, desktop) if forgets == "laptop" else (desktop, laptop)
    one.mem("forget", new)
    other.mem("supersede", old, new)
    told = merge(laptop, desktop)
    assert f"{old}:" in told


@AS_EITHER
def test_a_promoted_line_goes_with_the_memory_that_one_machine_forgot(
    laptop: Machine, desktop: Machine, merge: Merge, forgets: str
) -> None:
    path = laptop.write("Always run the linter before a commit.", "--type", "constraint")
    name = laptop.mem("ls", "--json", "--type", "constraint").json["entries"][0]["id"]
    laptop.mem("promote", name)
    assert "linter" in (laptop.root / "MEMORY.md").read_text()
    laptop.sync()
    desktop.sync()
    one, other = (laptop, desktop) if forgets == "laptop" else (desktop, laptop)
    one.mem("forget", path)
    other.mem("edit", path, "--replace", "a commit", "every commit")
    merge(laptop, desktop)
    assert "linter" not in (desktop.root / "MEMORY.md").read_text()
    assert any("every commit" in item.read_text() for item in (desktop.root / "archive").rglob("*.md"))


HEADED = "Shops\n=======\n\nThe shop runs on Fly."
"""A memory whose heading is underlined with as many signs as stand between two sides."""


@pytest.fixture
def clash(laptop: Machine, desktop: Machine) -> Path:
    """Change one sentence on both machines; give the file on the second one, which waits for a person."""
    path = laptop.write(HEADED)
    laptop.sync()
    desktop.sync()
    laptop.mem("edit", path, "--replace", "Fly", "Hetzner")
    laptop.sync()
    desktop.mem("edit", path, "--replace", "Fly", "a Pi")
    assert f"{path}:" in desktop.sync(code=5).err
    return desktop.root / path


MARKS = ("<<<<<<<", "|||||||", ">>>>>>>")
LEFT = {
    "the begin": ("=======\nThe shop runs on Hetzner.\n>>>>>>> theirs\n", ""),
    "the end": ("<<<<<<< ours\nThe shop runs on a Pi.\n=======\n", ""),
    "middle and end": ("<<<<<<< ours\n", ""),
    "begin and middle": (">>>>>>> theirs\n", ""),
    "the base": ("<<<<<<< ours\n", "||||||| base\n", "=======\nThe shop runs on Hetzner.\n>>>>>>> theirs\n", ""),
}


@pytest.mark.parametrize(("left", "is_added"), in_turn(list(LEFT), (False, True)))
def test_markers_that_a_person_removed_by_half_are_named_and_not_committed(
    desktop: Machine, clash: Path, left: str, is_added: bool
) -> None:
    said = clash.read_text()
    for old, new in zip(LEFT[left][::2], LEFT[left][1::2], strict=True):
        assert old in said.partition("Shops\n=======\n")[2]
        said = new.join(said.rsplit(old, 1))
    clash.write_text(said)
    if is_added:
        desktop.git("add", "-A")
    before = desktop.log
    name = clash.relative_to(desktop.root).as_posix()
    line = next(number for number, text in enumerate(said.split("\n"), 1) if text[:7] in MARKS)
    assert f"{name}:{line}: both sides changed this" in desktop.sync(code=5).err
    assert desktop.log == before


@pytest.mark.parametrize("is_added", [False, True])
def test_a_heading_underlined_like_a_marker_is_committed(desktop: Machine, clash: Path, is_added: bool) -> None:
    said = clash.read_text()
    clash.write_text(f"{said.partition('<<<<<<<')[0]}The shop runs on both.\n")
    if is_added:
        desktop.git("add", "-A")
    desktop.sync()
    assert "Shops\n=======\n\nThe shop runs on both.\n" in clash.read_text()
    assert not desktop.git("status", "--porcelain")


def test_what_was_said_again_is_asked_also_where_the_same_merge_needs_a_person(
    laptop: Machine, desktop: Machine
) -> None:
    path, page = laptop.write("The shop runs on Fly."), laptop.write("Backups run at three.")
    laptop.sync()
    desktop.sync()
    laptop.mem("forget", path)
    desktop.mem("write", "The shop runs on Fly.")
    for machine, hour in ((laptop, "four"), (desktop, "five")):
        machine.mem("edit", page, "--replace", "three", hour)
    laptop.sync()
    assert page in desktop.sync(code=5).err
    text = (desktop.root / page).read_text()
    (desktop.root / page).write_text(text[: text.index("<<<<<<<")] + "Backups run at five.\n")
    desktop.sync()
    assert found(desktop, "shop") == ["The shop runs on Fly."]
    assert "(forgotten on one machine and said again on another)" in desktop.mem("review").out


LEAK = "The token is ghp_A7bX9kQ2mZ4tR8vW1nC5dE3fG6hJ0pLsYu2B"


def settled(clash: Path) -> str:
    """Return the file as a person would settle it."""
    return f"{clash.read_text().partition('<<<<<<<')[0]}The shop runs on both.\n"


@pytest.mark.parametrize(
    ("way", "is_added"),
    in_turn(("a secret", "emptied", "a secret in a new file", "moved", "moved with a secret"), (False, True)),
)
def test_what_is_not_fit_to_be_handed_on_ends_no_merge(
    laptop: Machine, desktop: Machine, clash: Path, way: str, is_added: bool
) -> None:
    name = clash.relative_to(desktop.root).as_posix()
    whole = settled(clash)
    other = clash.with_name("moved.md")
    if way == "a secret":
        clash.write_text(f"{whole}{LEAK}\n")
    elif way == "emptied":
        clash.write_text("")
    elif way == "a secret in a new file":
        clash.write_text(whole)
        other.write_text(f"{LEAK}\n")
        desktop.git("add", other.relative_to(desktop.root).as_posix())
    elif way == "moved":
        clash.rename(other)
    else:
        clash.unlink()
        other.write_text(f"{whole}{LEAK}\n")
    if is_added and not way.startswith("moved"):
        desktop.git("add", "-A")
    before = desktop.log
    ran = desktop.sync(code=5)
    assert f"{clash.with_name('moved.md').name if way == 'a secret in a new file' else name}:" in ran.err
    assert desktop.log == before
    laptop.sync()
    assert "The shop runs on" in (laptop.root / name).read_text()
    assert not desktop.git("log", "--all", "-p", "-S", "ghp_A7bX9kQ2").strip()
    other.unlink(missing_ok=True)
    clash.write_text(whole)
    desktop.sync()
    laptop.sync()
    assert (laptop.root / name).read_text() == whole


@pytest.mark.parametrize("way", ["settled by a person", "a plain pull"])
def test_a_merge_that_sync_did_not_make_leaves_no_memory_hidden(laptop: Machine, desktop: Machine, way: str) -> None:
    page = laptop.write("Backups run at three.")
    bees, hens = (laptop.write(text) for text in ("Bees live in Jena.", "Hens live in Kassel."))
    promoted = laptop.write("Tea is served at four.")
    laptop.sync()
    desktop.sync()
    laptop.mem("supersede", bees, hens)
    laptop.mem("forget", promoted)
    desktop.mem("supersede", hens, bees)
    desktop.mem("promote", promoted)
    if way == "a plain pull":
        laptop.sync()
        desktop.commit("by hand")
        desktop.git("pull", "-q", "--no-rebase", "--no-edit")
    else:
        for machine, hour in ((laptop, "four"), (desktop, "five")):
            machine.mem("edit", page, "--replace", "three", hour)
        laptop.sync()
        desktop.sync(code=5)
        file = desktop.root / page
        file.write_text(f"{file.read_text().partition('<<<<<<<')[0]}Backups run at six.\n")
    desktop.sync()
    laptop.sync()
    for machine in (laptop, desktop):
        listed = {row[3] for row in machine.mem("ls").rows}
        assert all(any(one in path for path in listed) for one in (bees, hens))
        assert "Tea is served" not in (machine.root / "MEMORY.md").read_text()
