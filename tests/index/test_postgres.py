"""Machines that share a workspace on a real server: what each finds, pushes, and does when the server is gone."""

import hashlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from memcli.index.filters import Filter
from memcli.index.index import ask
from memcli.index.postgres import connection, postgres_index, push
from memcli.index.postgres.postgres_index import PostgresIndex
from memcli.store.layouts import Layout
from tests.conftest import Mem, Ran
from tests.fakes import CountingEmbedder
from tests.index.machines import Machine
from tests.team_server import TeamDatabase, TeamServer, copied

pytestmark = pytest.mark.usefixtures("embedder")
WORDS = ["quagga", "zebra", "heron", "bittern", "otter", "badger", "marten", "stoat", "lynx", "wolf", "tea", "milk"]


@pytest.fixture
def machine(team: TeamDatabase, mem: Mem, world: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Machine]:
    """Give a function that makes a machine of somebody, with a home and a folder of its own."""

    def made(name: str, role: str = "alice", clone_of: Machine | None = None) -> Machine:
        team.add_owners(role)
        # What a killed server said it has, it has.
        team.run(f'alter database "{team.name}" set synchronous_commit = on')
        one = Machine(name, team.dsn(role), mem, world, monkeypatch, clone_of)
        team.run(
            "insert into mem.members(owner, workspace) select owners.owner, workspace from mem.owners, mem.workspaces"
            " where role = %s on conflict do nothing",
            values=(role,),
        )
        return one

    return made


@pytest.fixture
def first(machine: Callable[..., Machine]) -> Machine:
    """Give a machine whose workspace is on the server, with some entries."""
    one = machine("first")
    one.run("index", "--share")
    for number in range(30):
        words = [WORDS[(number * step) % len(WORDS)] for step in range(1, 8)]
        one.put(f"{number}.md", f"About {words[0]}: the {' '.join(words)} number {number}.", animal=number % 2)
    parts = "\n\n".join(f"## Part {part}\n\n" + f"The {part} of the giraffe. " * 60 for part in "abc")
    one.put("long.md", f"# Long\n\n{parts}")
    one.run("index")
    return one


@pytest.fixture
def second(first: Machine, machine: Callable[..., Machine]) -> Machine:
    """Give a machine whose clone of the workspace has none of its files yet."""
    return machine("second", "bob", clone_of=first)


def hits(ran: Ran) -> dict[str, float]:
    """Return ids and relevances of a search, the best first."""
    return {hit["id"]: hit["relevance"] for hit in ran.json["hits"]}


def alike(own: dict[str, float]) -> object:
    """Return what compares as the same hits: vectors are kept in numbers of two bytes."""
    return pytest.approx(own, abs=2e-3)


@pytest.mark.parametrize("mode", ["hybrid", "keyword", "vector"])
def test_what_only_others_have_ranks_as_it_does_where_it_is(first: Machine, second: Machine, mode: str) -> None:
    for query in (*WORDS[:3], "the giraffe of part b", "tea and milk for the otter", "where is the lynx?"):
        here = hits(first.run("search", "--json", "--mode", mode, "-n", "50", query))
        there = second.run("search", "--json", "--mode", mode, "-n", "50", query)
        assert hits(there) == alike(here), query
        assert all(hit["elsewhere"] for hit in there.json["hits"])
        assert there.err == ""


def test_a_hit_says_that_it_is_not_on_this_machine_yet(second: Machine) -> None:
    assert "not on this machine yet" in second.run("search", "quagga").out


YET = "not on this machine yet"


def test_recall_session_start_and_reading_use_what_only_others_have(first: Machine, second: Machine) -> None:
    name = first.run("write", "The numbat prefers termites to honey.", "--type", "preference", "--json").json["id"]
    first.run("index")
    pack = second.run("recall", "What does the numbat prefer?")
    assert "termites" in pack.out
    assert f'elsewhere="{YET}"' in pack.out
    (memory,) = (
        each for each in second.run("recall", "--json", "numbat termites").json["chosen"] if each["id"] == name
    )
    assert memory["elsewhere"] is True
    start = second.run("context").out
    assert any("numbat" in line and YET in line for line in start.splitlines())
    for asked in (name, name[-6:], "entries/long.md"):
        ran = second.run("read", asked)
        assert (ran.code, YET in ran.err) == (0, True), asked
    assert "termites" in second.run("read", name).out
    assert second.run("read", "entries/long.md").out.count("giraffe") == 180
    assert second.run("read", "--json", name).json["id"] == name
    assert second.run("read", "mem_0123456789abcdef").code == first.run("read", "mem_0123456789abcdef").code == 4
    assert YET not in first.run("recall", "What does the numbat prefer?").out


def test_of_frequent_words_few_chunks_are_looked_at(
    first: Machine, second: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(60):
        first.put(f"common{number}.md", f"The common word {'common ' * (number % 3)}stands in number {number}.")
    first.put("rare.md", "The rarest word stands here, and the common one too.")
    first.run("index")
    query = ("search", "--json", "--mode", "keyword", "-n", "5", "the rarest and common word stands")
    whole = hits(second.run(*query))
    documents, sizes = PostgresIndex.documents, list[int]()

    def counted(self: PostgresIndex, wanted: Filter, among: Collection[int] | None = None) -> dict[int, int]:
        sizes.append(len(among or ()))
        return documents(self, wanted, among)

    monkeypatch.setattr(PostgresIndex, "documents", counted)
    monkeypatch.setattr(postgres_index, "MOST_CANDIDATES", 20)
    capped = hits(second.run(*query))
    assert 0 < max(sizes) <= 20
    assert next(iter(capped.items())) == next(iter(whole.items()))  # a word weighs as it did
    assert len(capped) == 5


@pytest.mark.parametrize(
    "choice",
    [["--tag", "animal"], ["--type", "fact"], ["--since", "2026-01-01"], ["--path", "entries/*"], ["--kind", "note"]],
)
def test_filters_hold_on_the_server(first: Machine, second: Machine, choice: list[str]) -> None:
    asked = ["search", "--json", "-n", "30", "quagga zebra heron", *choice]
    assert hits(second.run(*asked)) == alike(hits(first.run(*asked)))


def test_a_text_is_embedded_once_for_all(first: Machine, second: Machine, embedder: CountingEmbedder) -> None:
    shutil.copytree(first.root / "entries", second.root / "entries", dirs_exist_ok=True)
    embedder.embedded.clear()
    ran = second.run("index", "--json")
    assert (embedder.embedded, ran.json["embedded"], ran.json["not_embedded"], ran.json["pushed"]) == ([], 0, 0, 0)
    assert all(hit["id"] and "elsewhere" not in hit for hit in second.run("search", "--json", "quagga").json["hits"])


def test_without_the_server_this_machine_answers_and_catches_up_later(first: Machine, team: TeamDatabase) -> None:
    team.server.kill()
    try:
        ran = first.run("search", "quagga")
        assert (ran.code, len(ran.err.splitlines())) == (0, 1)
        assert "searching this machine alone" in ran.err
        assert ran.out
        first.run("write", "The okapi came while the server was gone.")
        assert first.run("index").code == 6
    finally:
        team.server.start()
    assert first.run("index", "--json").json["pushed"] == 1


def test_a_server_that_comes_back_in_a_push_gets_all_of_it(
    first: Machine, second: Machine, team: TeamDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(push, "BATCH", 5)
    write, count = push.PushedFiles.write, 0

    def interrupted(*args: object) -> object:
        nonlocal count
        count += 1
        if count == 3:
            team.server.kill()
            threading.Timer(0.3, team.server.start).start()
        return write(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(push.PushedFiles, "write", interrupted)
    for number in range(30):
        first.put(f"storm{number}.md", f"The okapi number {number} came in the storm.")
    ran = first.run("index", "--json")
    assert count > 3
    assert ran.json["unreached"] == ""
    assert len(hits(second.run("search", "--json", "-n", "50", "--mode", "keyword", "okapi"))) == 30


@pytest.mark.parametrize("times", [1, 99])
def test_a_transaction_that_is_killed_in_a_push_is_done_again_or_not_at_all(
    first: Machine, second: Machine, team: TeamDatabase, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    write, left = push.PushedFiles.write, times

    def killed(self: push.PushedFiles, connection: Any, *about: Any) -> Any:
        nonlocal left
        written = write(self, connection, *about)
        if left:
            left -= 1
            team.server.run("select pg_terminate_backend(%s)", values=(connection.info.backend_pid,))
        return written

    monkeypatch.setattr(push.PushedFiles, "write", killed)
    monkeypatch.setattr(push, "PATIENTLY", (0.1, 0.1))
    first.put("okapi.md", "The okapi came in the storm.")
    ran = first.run("index", "--json")
    assert (ran.code, ran.json["pushed"]) == ((0, 1) if times == 1 else (6, 0))
    assert ("terminating connection" in ran.json["unreached"]) == (times > 1)
    assert "Traceback" not in ran.err
    assert on_server(team, "okapi") == 3 * (times == 1)
    monkeypatch.setattr(push.PushedFiles, "write", write)
    assert first.run("index", "--json").json["pushed"] == (times > 1)
    assert team.run("select count(*) from mem.words where term = 'okapi'", "alice") == [(1,)]
    assert hits(second.run("search", "--json", "-n", "1", "--mode", "keyword", "okapi")).keys() == {"mem_okapi"}


@pytest.mark.parametrize("way", ["disk", "error"])
def test_a_full_disk_of_the_server_leaves_this_machine_to_answer(
    team_server: TeamServer,
    mem: Mem,
    world: Path,
    monkeypatch: pytest.MonkeyPatch,
    way: str,
) -> None:
    monkeypatch.setattr(push, "PATIENTLY", (0.1,))
    monkeypatch.setattr(push, "BATCH", 50)
    with ExitStack() as stack:
        resize = stack.enter_context(team_server.disk("small", 12)) if way == "disk" else None
        team = copied(team_server, f"full {way}", "small" if resize else "pg_default")
        stack.callback(team_server.run, f'drop database "full {way}" with (force)')
        team.add_owners("alice")
        one = Machine("one", team.dsn("alice"), mem, world, monkeypatch)
        one.run("index", "--share")
        one.put("before.md", "The quagga came before.")
        one.run("index")
        if resize is None:
            team.run(
                "create function mem.no_room() returns trigger language plpgsql as"
                " $$ begin raise 'could not extend file: No space left on device' using errcode = '53100'; end $$;"
                "create trigger no_room before insert on mem.chunks execute function mem.no_room()"
            )
        for number in range(800 if resize else 60):
            words = " ".join(hashlib.sha256(f"{number} {word}".encode()).hexdigest()[:20] for word in range(40))
            one.put(f"{number}.md", f"The okapi number {number} {words}.")
        ran = one.run("index", "--json")
        assert ran.code == 6
        assert "No space left on device" in ran.json["unreached"]
        assert "Traceback" not in ran.err
        whole = (
            "(select count(*) from mem.chunks where chunks.workspace = files.workspace and chunks.file = files.file)"
        )
        assert team.run(f"select 1 from mem.files where pieces <> {whole}", "alice") == []
        assert len(hits(one.run("search", "--json", "--mode", "keyword", "-n", "50", "okapi"))) == 50
        if resize is None:  # a full disk may still have room to delete in
            team.run("create trigger no_room_either before update on mem.files execute function mem.no_room()")
        ran = one.run("forget", "mem_before")
        assert (ran.code, bool(resize) or "No space left on device" in ran.err) == (0, True)
        if resize:
            resize(200)
        else:
            team.run("drop trigger no_room on mem.chunks; drop trigger no_room_either on mem.files")
        assert one.run("index", "--json").json["unreached"] == ""
        count = "select count(*) from mem.files where digest <> '' and path like 'entries/%'"
        assert team.run(count, "alice") == [(800 if resize else 60,)]
        connection.close_connection()


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_machine_whose_clock_is_an_hour_off_loses_nothing(
    first: Machine, second: Machine, team: TeamDatabase, hours: int
) -> None:
    first.now = f"2026-11-21T{20 + hours}:15:03Z"
    name = first.run("write", "The kea is small.", "--json").json["id"]
    first.run("index")
    shutil.copytree(first.root / "entries", second.root / "entries", dirs_exist_ok=True)
    second.run("index")
    colours = ("small", "green", "olive", "brown", "grey")
    for number, (one, other) in enumerate([(second, first), (first, second)] * 2):
        assert one.run("edit", name, "--replace", *colours[number : number + 2]).code == 0
        assert one.run("index", "--json").json["pushed"] == 1
        assert colours[number + 1] in other.run("search", "kea").out
        shutil.copytree(one.root / "entries", other.root / "entries", dirs_exist_ok=True)
    second.run("forget", name)
    assert not on_server(team, "kea")
    assert "kea" not in first.run("search", "--json", "kea").json["hits"]


def test_a_server_that_dies_in_a_search_leaves_this_machine_to_answer(
    first: Machine, team: TeamDatabase, monkeypatch: pytest.MonkeyPatch, machine: Callable[..., Machine]
) -> None:
    other = machine("other", "bob", clone_of=first)
    other.run("write", "The quagga that only this machine knows.")
    ask_server, count = PostgresIndex.ask_server, 0

    def interrupted(*args: object) -> object:
        nonlocal count
        count += 1
        if count == 2:
            team.server.kill()
        return ask_server(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(PostgresIndex, "ask_server", interrupted)
    ran = other.run("search", "quagga")
    team.server.start()
    assert count >= 2
    assert ran.code == 0
    assert "only this machine" in ran.out
    assert len(ran.err.splitlines()) == 1


@pytest.mark.parametrize("command", [["search", "quagga"], ["index"]])
def test_a_server_that_hangs_is_waited_for_no_longer_than_is_said(
    first: Machine, team: TeamDatabase, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.setattr(connection, "STATEMENT_SECONDS", 0.2)
    monkeypatch.setattr(connection, "PUSH_SECONDS", 0.3)
    first.put("okapi.md", "The okapi and the quagga came while the server hung.")
    stopped = list[int]()
    place = PostgresIndex if command[0] == "search" else push.Exchange
    name = "ask_server" if command[0] == "search" else "_in_turn"
    ask = getattr(place, name)

    def hung(*arguments: object) -> object:
        if not stopped:
            stopped.append(connection._held.connection[1].info.backend_pid)
            os.kill(stopped[0], signal.SIGSTOP)
        return ask(*arguments)

    monkeypatch.setattr(place, name, hung)
    began = time.monotonic()
    try:
        ran = first.run(*command)
    finally:
        os.kill(stopped[0], signal.SIGCONT)
    assert time.monotonic() - began < 10
    assert ran.code == (0 if command[0] == "search" else 6)
    assert "the server took longer than 0." in ran.err
    assert len(ran.err.splitlines()) == 1
    assert first.run("index", "--json").json["unreached"] == ""


@pytest.mark.parametrize(
    ("setting", "other"),
    [("datestyle = 'SQL, DMY'", "datestyle = 'ISO, MDY'"), ("client_encoding = 'LATIN1'", "client_encoding = 'UTF8'")],
)
def test_what_is_set_for_a_role_changes_nothing(
    first: Machine, second: Machine, team: TeamDatabase, setting: str, other: str
) -> None:
    for each in (setting, other):
        for role in ("alice", "bob"):
            team.server.run(f'alter role {role} in database "{team.name}" set {each}')
        connection.close_connection()
        first.put("鳥.md", f"The 鳥 came under {each}.")
        ran = first.run("index", "--json")
        assert (ran.code, ran.json["unreached"], ran.json["pushed"]) == (0, "", 1)
        assert each in second.run("search", "--mode", "keyword", "came under").out


def test_who_asks_does_not_tell_the_others_which_workspace_is_pushed(first: Machine, team: TeamDatabase) -> None:
    team.add_owners("eve")
    seen = list[Any]()
    write = push.PushedFiles.write

    def watched(*arguments: Any) -> Any:
        query = (
            "select classid, objid from pg_locks join pg_database on pg_database.oid = database"
            " where locktype = 'advisory' and datname = current_database()"
        )
        seen.append(team.run(query, "eve"))
        return write(*arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(push.PushedFiles, "write", watched)
        first.put("okapi.md", "The okapi came.")
        first.run("index")
    assert seen == [[]]


def test_a_clone_that_lies_behind_overwrites_nothing(first: Machine, machine: Callable[..., Machine]) -> None:
    behind = machine("behind", "bob", clone_of=first)
    shutil.copytree(first.root / "entries", behind.root / "entries", dirs_exist_ok=True)
    first.put("8.md", "The narwhal took its place.")
    first.run("index")
    assert behind.run("index", "--json").json["pushed"] == 0
    assert "narwhal" in behind.run("search", "narwhal").out
    third = machine("third", "bob", clone_of=first)
    assert "narwhal" in third.run("search", "narwhal").out


def test_what_is_forgotten_is_taken_from_the_server(first: Machine, second: Machine) -> None:
    name = first.run("write", "The dodo hid a treasure.", "--json").json["id"]
    first.run("index")
    assert "treasure" in second.run("search", "dodo treasure").out
    first.run("forget", name)
    first.run("index")
    assert "treasure" not in second.run("search", "dodo treasure").out


def test_what_holds_a_secret_stays_on_this_machine(first: Machine, team: TeamDatabase) -> None:
    path = first.root / "entries" / "leak.md"
    path.write_text(
        "---\nid: mem_leak\n---\nThe key of the dodo is ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8" + "\n"
    )
    ran = first.run("index")
    assert ran.code == 3
    assert "stays on this machine" in ran.err
    assert team.run("select count(*) from mem.files where path like '%leak%'", "alice") == [(0,)]


SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def on_server(team: TeamDatabase, word: str) -> int:
    """Return how many chunks and entries of the server say a word."""
    like = f"%{word}%"
    tables = (("chunks", "text"), ("words", "term"), ("files", "entry::text"))
    counts = (f"(select count(*) from mem.{table} where {column} like %s)" for table, column in tables)
    asked = f"select {' + '.join(counts)}"
    return int(team.run(asked, "alice", (like, like, like))[0][0])


@pytest.mark.parametrize("by", ["pusher", "clone"])
@pytest.mark.parametrize("way", ["secret", "tag", "archive", "forget", "purge", "unmanaged"])
def test_what_is_withheld_now_vanishes_from_the_server(
    first: Machine, second: Machine, team: TeamDatabase, monkeypatch: pytest.MonkeyPatch, way: str, by: str
) -> None:
    name = first.run("write", "The thylacine hid a treasure.", "--json").json["id"]
    first.run("index")
    assert on_server(team, "thylacine")
    shutil.copytree(first.root / "entries", second.root / "entries", dirs_exist_ok=True)
    actor = first if by == "pusher" else second
    actor.run("index")
    (path,) = (file for file in (actor.root / "entries").rglob("*.md") if name in file.read_text())
    if way == "secret":
        path.write_text(path.read_text() + f"\nIts key is {SECRET}.\n")
    elif way == "tag":
        path.write_text(path.read_text().replace("---\n", f"---\ntags: [{SECRET}]\n", 1))
    elif way == "archive":
        (actor.root / "archive" / path.relative_to(actor.root).parent).mkdir(parents=True)
        path.rename(actor.root / "archive" / path.relative_to(actor.root))
    elif way == "unmanaged":
        monkeypatch.setattr(Layout, "manages", lambda *about: path.name not in about[1])
        path.write_text(path.read_text() + "\n")
    else:
        assert actor.run("forget", name, *["--purge"] * (way == "purge")).code == 0
    actor.run("index")
    assert on_server(team, "thylacine") == 0


def test_what_other_rules_call_a_secret_vanishes_from_the_server(first: Machine, team: TeamDatabase) -> None:
    first.put("plain.md", "The thylacine sings opalescent-quibble-7319 at night.")
    first.run("index")
    assert on_server(team, "thylacine")
    (first.folder / ".env").write_text("PASSWORD=opalescent-quibble-7319\n")
    first.run("index")
    assert on_server(team, "thylacine") == 0


@pytest.mark.parametrize("text", ["The auk is back.", "The great auk came another time."])
def test_a_path_that_another_machine_deleted_is_pushed_when_it_is_made_again(
    first: Machine, second: Machine, machine: Callable[..., Machine], team: TeamDatabase, text: str
) -> None:
    third = machine("third", "carol", clone_of=first)  # which had it never
    first.put("auk.md", "The auk is back.")
    first.run("index")
    second.put("auk.md", "The auk is back.")
    second.run("index")
    (first.root / "entries" / "auk.md").unlink()
    first.run("index")
    assert second.run("index", "--json").json["pushed"] == 0  # a clone that lies behind
    (second.root / "entries" / "auk.md").unlink()
    for each in (second, third):
        each.run("index")
        each.put("auk.md", f"{text} Says {each.folder.name}.")
        assert each.run("index", "--json").json["unreached"] == ""
        assert on_server(team, "auk"), each.folder
        (each.root / "entries" / "auk.md").unlink()
        each.run("index")
        assert not on_server(team, "auk")


def versions(machine: Machine, *texts: str) -> list[str]:
    """Commit texts of one entry one after the other and push each; return the commits."""
    commits = []
    if not (machine.folder / ".git").exists():
        git(machine, "init", "-q")
    for text in texts:
        machine.put("kea.md", text)
        git(machine, "add", "-A")
        git(machine, "commit", "-qm", text)
        commits.append(git(machine, "rev-parse", "HEAD").strip())
        machine.run("index")
    return commits


def git(machine: Machine, *words: str) -> str:
    """Run git at a machine."""
    names = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
    return subprocess.run(
        ["git", *names, *words], cwd=machine.folder, check=True, capture_output=True, text=True
    ).stdout


def kea(team: TeamDatabase) -> str:
    """Return what the server has of the entry."""
    asked = "select text from mem.chunks join mem.files using(workspace, file) where path = 'entries/kea.md'"
    rows = team.run(asked, "alice")
    return str(rows[0][0]) if rows else ""


THREE = ("The kea is small.", "The kea is green.", "The kea is olive.")


def test_an_older_branch_pushes_nothing_over_what_is_newer(first: Machine, team: TeamDatabase) -> None:
    small, _, olive = versions(first, *THREE)
    git(first, "checkout", "-q", small)
    for _ in range(2):  # also when it is looked at again
        ran = first.run("index", "--json").json
        assert (ran["pushed"], ran["behind"], kea(team)) == (0, 1, THREE[2])
    assert "1 older than on the server" in first.run("index").out
    assert THREE[2] in first.run("search", "kea").out
    git(first, "checkout", "-q", olive)
    assert first.run("index", "--json").json["behind"] == 0
    first.put("kea.md", "The kea is a parrot.")
    first.run("index")
    assert kea(team) == "The kea is a parrot."


def test_half_a_pull_pushes_nothing_over_what_is_newer(first: Machine, second: Machine, team: TeamDatabase) -> None:
    for each in (first, second):
        each.put("kea.md", THREE[0])
        each.run("index")
    for text in THREE[1:]:
        first.put("kea.md", text)
        first.run("index")
    second.put("kea.md", THREE[1])
    ran = second.run("index", "--json").json
    assert (ran["pushed"], ran["behind"], kea(team)) == (0, 1, THREE[2])
    second.put("kea.md", THREE[2])
    assert second.run("index", "--json").json["behind"] == 0
    (first.root / "entries" / "kea.md").unlink()
    first.run("index")
    second.put("kea.md", THREE[1])  # nor does it bring back what was deleted meanwhile
    assert (second.run("index", "--json").json["pushed"], kea(team)) == (0, "")


@pytest.mark.parametrize("way", ["by hand", "revert", "undo", "one file", "without git", "branch"])
def test_who_goes_back_to_an_old_text_pushes_it(first: Machine, team: TeamDatabase, way: str) -> None:
    if way == "without git":
        for text in THREE:
            first.put("kea.md", text)
            first.run("index")
    else:
        _, green, _ = versions(first, *THREE)
    if way == "revert":
        git(first, "revert", "--no-edit", "HEAD", "HEAD~1")
    elif way == "undo":
        first.run("edit", "mem_kea", "--replace", "olive", "brown")
        first.run("index")
        assert kea(team) == "The kea is brown."
        assert first.run("undo").code == 0
    elif way == "one file":
        git(first, "checkout", green, "--", "memory/entries/kea.md")
    elif way == "branch":  # where it is changed by hand
        git(first, "checkout", "-qb", "other", green)
        first.run("index")
        git(first, "checkout", "-q", "-")
        first.run("index")
        git(first, "checkout", "-q", "--detach")
        first.put("kea.md", THREE[0])
    else:
        first.put("kea.md", THREE[0])
    assert first.run("index", "--json").json["pushed"] == 1
    assert kea(team) == {"undo": THREE[2], "one file": THREE[1]}.get(way, THREE[0])


def test_a_branch_without_a_memory_leaves_it_on_the_server(first: Machine, team: TeamDatabase) -> None:
    (olive,) = versions(first, THREE[2])
    git(first, "checkout", "-q", "--orphan", "empty")
    git(first, "rm", "-rq", "--cached", "memory/entries")
    shutil.rmtree(first.root / "entries")
    git(first, "add", "-A")
    git(first, "commit", "-qm", "empty")
    first.run("index")
    assert kea(team)
    git(first, "checkout", "-q", olive)
    first.run("index")
    (first.root / "entries" / "kea.md").unlink()
    first.run("index")
    assert not kea(team)


def test_a_memory_that_was_restored_elsewhere_is_pushed(first: Machine, second: Machine, team: TeamDatabase) -> None:
    first.put("kea.md", THREE[0])
    first.run("index")
    first.run("forget", "mem_kea")
    first.run("index")
    shutil.copytree(first.root / "archive", second.root / "archive")
    second.run("index")
    assert second.run("restore", "mem_kea").code == 0
    second.run("index")
    assert kea(team) == THREE[0]


def test_what_a_document_said_is_remembered_of_its_last_texts(first: Machine, team: TeamDatabase) -> None:
    first.put("kea.md", "The kea is small.")
    first.run("index")
    for number in range(40):
        team.run(f"update mem.files set digest = '{number % 35}' where path = 'entries/kea.md'", "alice")
    asked = "select cardinality(former), cardinality(array(select distinct unnest(former))) from mem.files"
    assert team.run(f"{asked} where path = 'entries/kea.md'", "alice") == [(32, 32)]


@pytest.mark.parametrize("way", ["forget", "purge"])
def test_the_server_keeps_no_word_of_what_is_gone(first: Machine, team: TeamDatabase, way: str) -> None:
    name = first.run("write", "The thylacine hid a treasure.", "--json").json["id"]
    first.run("index")
    ran = first.run("forget", name, *["--purge"] * (way == "purge"))
    assert (ran.code, ran.err) == (0, "")
    for table in ("files", "chunks", "words", "usage", "embeddings"):
        rows = str(team.run(f"select * from mem.{table}", "alice"))
        assert "thylacine" not in rows
        assert name not in rows
        assert name.removeprefix("mem_")[-6:] not in rows


@pytest.mark.parametrize("way", ["forget", "purge"])
def test_what_git_brought_a_moment_ago_is_forgotten_on_the_server_too(
    first: Machine, second: Machine, team: TeamDatabase, way: str
) -> None:
    name = first.run("write", "The thylacine hid a treasure.", "--json").json["id"]
    first.run("index")
    shutil.copytree(first.root / "entries", second.root / "entries", dirs_exist_ok=True)
    second.run("forget", name, *["--purge"] * (way == "purge"))
    assert not on_server(team, "thylacine")


@pytest.mark.parametrize("server", ["gone", "silent"])
@pytest.mark.parametrize("way", ["forget", "purge"])
def test_without_the_server_what_is_forgotten_goes_from_it_later(
    first: Machine, team: TeamDatabase, monkeypatch: pytest.MonkeyPatch, way: str, server: str
) -> None:
    name = first.run("write", "The thylacine hid a treasure.", "--json").json["id"]
    first.run("index")
    with socket.create_server(("127.0.0.1", 0)) as listener:  # which accepts and says nothing
        port = listener.getsockname()[1] if server == "silent" else 1
        first.set_dsn(f"host=127.0.0.1 port={port} user=alice dbname={team.name}")
        began = time.monotonic()
        ran = first.run("forget", name, *["--purge"] * (way == "purge"))
        assert time.monotonic() - began < connection.CONNECT_SECONDS + 3
    assert (ran.code, len(ran.err.splitlines())) == (0, 1)
    assert "the server has it until the next `mem index`: " in ran.err
    assert not list((first.root / "entries").rglob("*thylacine*"))
    assert on_server(team, "thylacine")
    first.set_dsn(team.dsn("alice"))
    monkeypatch.setattr(push, "_SILENT_SECONDS", 0)
    first.run("index")
    assert not on_server(team, "thylacine")


def test_characters_that_the_server_cannot_keep_break_no_push(first: Machine, second: Machine) -> None:
    head = r"""---
id: "mem_odd\0\ud800"
title: "The \0 auk \ud800 of \udfff"
tags: ["\0 bird", "\ud83d"]
key: "auk.\0.\ud800"
---
"""
    odd = head.encode() + b"The great\x00auk \xed\xa0\x80 is \xff odd, \x00auk\x00auk.\n"
    (first.root / "entries" / "odd.md").write_bytes(odd)
    first.put("sound.md", "The great auk is sound.")
    ran = first.run("index", "--json")
    assert (ran.json["unreached"], ran.json["pushed"]) == ("", 2)
    assert len(hits(second.run("search", "--json", "great auk"))) >= 2
    assert second.run("search", "--tag", "\0 bird", "great\0auk \ud800").err == "mem: nothing found\n"
    assert second.run("search", "great\0auk \ud800").code == 0


def test_two_machines_push_one_text_at_once(first: Machine, second: Machine, team: TeamDatabase) -> None:
    for each in (first, second):
        (each.root / "entries" / "both.md").write_text("---\nid: mem_both\n---\nThe okapi is striped.\n")
    failures: list[BaseException] = []

    def index(workspace: object) -> None:
        try:
            ask(workspace, lambda index: (index.refresh(), index.embedding.embed_all()))  # type: ignore[arg-type]
        except BaseException as error:
            failures.append(error)
        connection.close_connection()

    threads = [threading.Thread(target=index, args=(each.opened(),)) for each in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert team.run("select count(*) from mem.files where path = 'entries/both.md'", "alice") == [(1,)]


def test_a_status_that_no_index_of_the_server_takes_holds_nothing_back(first: Machine, team: TeamDatabase) -> None:
    status = "".join(hashlib.sha256(str(number).encode()).hexdigest() for number in range(200))
    (first.root / "entries" / "odd.md").write_text(f"---\nstatus: {status}\n---\nAbout the odd quetzal.\n")
    assert (ran := first.run("index")).code == 0, ran.err
    assert team.run("select count(*) from mem.chunks where text = 'About the odd quetzal.'", "alice") == [(1,)]


def test_a_statement_that_takes_too_long_ends(
    first: Machine, team: TeamDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection.close_connection()
    monkeypatch.setattr(connection, "_OPENING", connection._OPENING.replace("'5s'", "'200ms'"))
    import psycopg

    with psycopg.connect(team.dsn("administrator")) as other:
        other.execute("lock table mem.files in access exclusive mode")
        ran = first.run("search", "quagga")
    assert ran.code == 0
    assert len(ran.err.splitlines()) == 1
    connection.close_connection()


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://alice:hunter2secret@127.0.0.1:1/mem",
        "host=/nowhere user=alice password=hunter2secret",
        "hunter2secret nonsense",
        "password=hunter2secret no_such_option=1",
        "postgresql://alice:an@hunter2secret@nowhere.invalid/mem",
    ],
)
def test_no_message_has_the_password(first: Machine, dsn: str) -> None:
    first.set_dsn(dsn)
    for command in (["search", "quagga"], ["index"], ["config", "list"]):
        ran = first.run(*command)
        assert "hunter2secret" not in ran.out + ran.err
    assert first.run("search", "quagga").code == 0


def test_a_role_that_no_row_security_binds_is_refused(first: Machine, team: TeamDatabase) -> None:
    first.set_dsn(team.dsn("postgres"))
    ran = first.run("index")
    assert ran.code == 6
    assert "no row-level security binds postgres" in ran.err


def test_a_folder_names_no_server(first: Machine) -> None:
    marker = first.root / "mem.yaml"
    marker.write_text(marker.read_text() + "index.dsn: host=/elsewhere\nindex.backend: postgres\n")
    ran = first.run("config", "list")
    assert "index.dsn is taken only from" in ran.err
    assert "/elsewhere" not in ran.out


def test_confirmations_of_several_machines_add_up(first: Machine, second: Machine) -> None:
    shutil.copytree(first.root / "entries", second.root / "entries", dirs_exist_ok=True)
    text = "About tea: the okapi drinks it."
    name = first.run("write", text, "--json").json["id"]
    first.run("index")
    shutil.copytree(first.root / "entries", second.root / "entries", dirs_exist_ok=True)
    for each in (first, second):
        for _ in range(2):
            each.run("write", text)
        each.run("index")

    def strength(index: PostgresIndex) -> int:
        index.refresh()
        index.reach_others()
        return next(row["strength"] for row in index.list_entries(Filter(), "path") if row["id"] == name)

    assert ask(first.opened(), strength) == 5  # type: ignore[arg-type]


def test_without_the_setting_nothing_connects(mem: Mem, workspace: Path, spawn: Callable[..., Ran]) -> None:
    code = "import sys; from memcli.cli.app import run; run(['search', 'tea']); sys.exit('psycopg' in sys.modules)"
    assert mem("write", "Tea is drunk.").code == 0
    assert spawn(code=code).code == 0
    assert sys.executable


SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def has_entry(team: TeamDatabase, name: str) -> bool:
    """Return whether the server has the text of an entry."""
    return bool(
        team.run(
            "select 1 from mem.chunks join mem.files using(workspace, file) where path = %s",
            "alice",
            (f"entries/{name}.md",),
        )
    )


@pytest.mark.parametrize("line", [f"tags: [{SECRET}]", f"title: {SECRET}", f"project: {SECRET}"])
def test_a_secret_in_what_an_entry_says_of_itself_stays_too(first: Machine, team: TeamDatabase, line: str) -> None:
    (first.root / "entries" / "leak.md").write_text(f"---\nid: mem_leak\n{line}\n---\nThe dodo hid it.\n")
    assert first.run("index").code == 3
    assert SECRET not in str(team.run("select entry, path from mem.files", "alice"))


def test_vectors_of_another_model_are_pushed_too(
    first: Machine, team: TeamDatabase, embedder: CountingEmbedder
) -> None:
    count = "select count(*) from mem.embeddings where model = %s"
    ((before,),) = team.run(count, "alice", (embedder.model,))
    embedder.model = "others-64@00000000"
    assert first.run("index").code == 0
    assert team.run(count, "alice", (embedder.model,)) == [(before,)]


def test_vectors_come_from_the_same_workspace_alone(
    first: Machine, team: TeamDatabase, embedder: CountingEmbedder, machine: Callable[..., Machine]
) -> None:
    own = machine("own", "eve")
    own.run("index", "--share")
    own.put("8.md", (first.root / "entries" / "8.md").read_text().split("---\n")[2].strip())
    embedder.embedded.clear()
    own.run("index")
    assert embedder.embedded  # what eve can see of another workspace may be a trap


def test_vectors_of_a_wrong_length_are_not_taken(first: Machine, second: Machine, team: TeamDatabase) -> None:
    team.run(
        "create temp table was as select workspace, model, hash from mem.embeddings; delete from mem.embeddings;"
        " insert into mem.embeddings select workspace, model, hash, '[1, 2, 3]' from was",
        "bob",
    )
    assert "not on this machine" in second.run("search", "quagga").out
    shutil.copytree(first.root / "entries", second.root / "entries", dirs_exist_ok=True)
    assert second.run("index").code == 0
    assert second.run("search", "quagga").err == ""


@pytest.mark.parametrize("entry", ["[1]", "7", "{}", '{"id": 5}', '{"id": "mem_1", "tags": 3, "trust": "high"}'])
def test_an_entry_that_no_mem_pushed_ends_no_search(second: Machine, team: TeamDatabase, entry: str) -> None:
    team.run("update mem.files set entry = %s::jsonb", "bob", (entry,))
    ran = second.run("search", "quagga", "--json")
    assert ran.code == (0 if "mem_1" in entry else 1)


def test_tables_that_were_made_anew_get_everything_again(first: Machine, second: Machine, team: TeamDatabase) -> None:
    rows = team.run("select id, name, owner from mem.workspaces")
    second.put("b.md", "The heron of Bob.")
    second.run("index")
    team.run("delete from mem.workspaces where true", "alice")
    team.run("insert into mem.workspaces(id, name, owner) values(%s, %s, %s)", "alice", rows[0])
    team.run(
        "insert into mem.members select owners.owner, workspace from mem.owners, mem.workspaces on conflict do nothing"
    )
    second.run("index")
    first.run("index")
    assert (has_entry(team, "b"), has_entry(team, "5")) == (True, True)


def test_a_backup_that_was_read_back_gets_what_came_after_it(
    first: Machine, second: Machine, team: TeamDatabase
) -> None:
    programs = team.server._programs
    dump = subprocess.run(
        [programs / "pg_dump", "-d", team.dsn("postgres")], check=True, capture_output=True, env={"PGTZ": "UTC"}
    ).stdout
    first.put("after.md", "The okapi came after the backup.", animal=1)
    first.run("index")
    connection.close_connection()
    team.server.run(f'drop database "{team.name}" with (force)')
    team.server.run(f'create database "{team.name}" owner administrator')
    psql = [programs / "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", team.dsn("postgres")]
    subprocess.run(psql, input=dump, check=True, capture_output=True)
    second.put("other.md", "The numbat came when it was read back.")
    second.run("index")
    assert first.run("index", "--json").json["pushed"] == 1
    assert "okapi" in second.run("search", "--tag", "animal", "okapi").out


@pytest.mark.parametrize(
    "entry",
    [
        "'3'",
        "'[1]'",
        "'{\"id\": 3}'",
        "(select entry || jsonb_object_agg(key, 'x') from jsonb_each(entry) where key <> 'id')",
        "(select entry || jsonb_object_agg(key, 1e30::numeric) from jsonb_each(entry) where key <> 'id')",
    ],
)
def test_what_is_no_entry_on_the_server_stops_no_command(
    first: Machine, second: Machine, team: TeamDatabase, entry: str
) -> None:
    team.run(f"update mem.files set entry = {entry}", "alice")
    for command in (["context"], ["recall", "what about the quagga?"], ["search", "quagga"], ["read", "mem_1"]):
        ran = second.run(*command)
        assert ran.code in (0, 1, 4), command
        assert "Traceback" not in ran.err, command


def test_a_clock_that_was_set_back_hides_no_push(first: Machine, second: Machine, team: TeamDatabase) -> None:
    team.run("update mem.files set pushed_at = now() + interval '1 hour' where path = 'entries/5.md'", "postgres")
    second.run("search", "quagga")
    first.put("late.md", "The narwhal came late.")
    first.run("index")
    assert "narwhal" in second.run("search", "narwhal").out


def test_a_role_that_is_no_owner_is_told_so(first: Machine, team: TeamDatabase) -> None:
    team.server.run("do $$ begin create role stranger login; exception when duplicate_object then end $$")
    first.set_dsn(team.dsn("stranger"))
    for command in (["index"], ["index", "--share"]):
        assert "stranger is no owner on the server" in first.run(*command).err


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Leave no connection open."""
    yield
    connection.close_connection()
