"""Two members and an intruder use the command line against a real server, and the server fails."""

import json
import signal
import time
from pathlib import Path

import pytest

from memcli import data
from memcli.agents.events import Event
from memcli.agents.hooks import respond, update_index
from memcli.agents.mcp_tools import Toolbox
from memcli.context import CommonOptions
from memcli.store.settings import SETTINGS
from tests.helpers import make_context, run_mem
from tests.team.server import Database, Server, add_role, copy_database, run_server

TOKEN = "ghp_9fJ2kLmQ8rT5vXyZ1aB3cD4eF6gH7iJ8kL0m"


class Member:
    """A person with a home and a workspace, linked with a space."""

    def __init__(self, folder: Path, dsn: str, space: str = "shop") -> None:
        self.folder = folder
        self.folder.mkdir()
        self.mem("init", "--private")
        self.dsn = dsn
        if space:
            self.mem("config", "set", "team.space", space)

    def mem(self, *words: str, **environment: str) -> str:
        """Run a command that succeeds, and return what it prints."""
        code, output, errors = self.try_mem(*words, **environment)
        assert code == 0, errors
        return output

    def try_mem(self, *words: str, **environment: str) -> tuple[int, str, str]:
        settings = {"HOME": str(self.folder / "home"), "MEM_TEAM_DSN": getattr(self, "dsn", "")}
        return run_mem(self.folder, *words, **{**settings, **environment})

    def write(self, text: str, *options: str) -> str:
        saved = json.loads(self.mem("write", text, "--no-dedup", "--json", *options))
        return str(saved["id"])

    def push(self) -> dict[str, int]:
        result: dict[str, int] = json.loads(self.mem("index", "--json"))["indexes"][0]
        return {name: result[name] for name in ("shared", "pushed", "removed")}

    def search(self, query: str, *options: str) -> set[tuple[str, str]]:
        """Return owner and text of each hit. A local hit has no owner."""
        code, output, errors = self.try_mem("search", "--json", "--min-score", "0", query, *options)
        assert code in (0, 1) and not errors.replace("mem: no match\n", ""), errors
        return {(hit["owner"], hit["text"]) for hit in json.loads(output)["hits"]}


@pytest.fixture
def team(database: Database, tmp_path: Path) -> tuple[Database, Member, Member]:
    database.add_members("shop", "ana", "bea")
    ana = Member(tmp_path / "ana", database.build_dsn("ana"))
    return database, ana, Member(tmp_path / "bea", database.build_dsn("bea"))


def test_the_schema_is_printed_without_a_workspace(tmp_path: Path) -> None:
    code, output, _ = run_mem(tmp_path, "index", "--sql")
    assert code == 0 and output == data.path("team.sql").read_text("utf-8")


def count_rows(database: Database) -> list[int]:
    return [
        database.run(f"select count(*) from mem.{table}", "postgres")[0][0]
        for table in ("files", "chunks")
    ]


def test_members_find_what_colleagues_pushed_and_an_intruder_does_not(
    team: tuple[Database, Member, Member], tmp_path: Path
) -> None:
    database, ana, bea = team
    stork = ana.write(
        "The staging database is called stork.", "--tag", "ops/staging", "--type", "fact"
    )
    ana.write("Never deploy the stork on Fridays.", "--type", "constraint")
    bea.write("Kai feeds the stork.")
    assert ana.push() == {"shared": 2, "pushed": 2, "removed": 0}
    assert ana.push() == {"shared": 2, "pushed": 0, "removed": 0}
    staging, friday, kai = (
        ("ana", "The staging database is called stork."),
        ("ana", "Never deploy the stork on Fridays."),
        ("", "Kai feeds the stork."),
    )
    for options in ((), ("--mode", "keyword"), ("--mode", "vector")):
        assert bea.search("stork", *options) == {staging, friday, kai}
    assert (
        bea.search("stork", "--tag", "ops")
        == bea.search("stork", "--type", "fact", "--tag", "OPS/staging")
        == {staging}
    )
    assert bea.search("stork", "--type", "constraint") == {friday}
    assert bea.search("stork", "--where", "type=constraint") == {friday}
    assert (
        bea.search("stork", "--until", "2025-01-01")
        == bea.search("stork", "--status", "superseded")
        == set()
    )
    assert bea.search("stork", "--since", "2026-11-01") == {staging, friday, kai}
    assert bea.search("stork", "--kind", "note") == set()
    assert "staging database" in bea.mem("read", stork[-6:])
    assert "only they can change or forget it" in bea.try_mem("forget", stork[-6:])[2]
    code, output, _ = bea.try_mem("search", "where is staging")
    assert output.splitlines()[0].endswith("from ana")
    assert ana.search("stork") == {("", staging[1]), ("", friday[1])}
    assert "ana in shop" in ana.try_mem("doctor")[1]
    context = make_context(bea.folder, HOME=str(bea.folder / "home"), MEM_TEAM_DSN=bea.dsn)
    answer, _ = Toolbox(context).call("memory_search", {"query": "where is staging"})
    assert f"from ana, today · {stork}" in answer
    assert "staging database" in Toolbox(context).call("memory_read", {"path": stork})[0]
    # Eve is a member of another space, and her mem.yaml names this one.
    database.add_members("lair", "eve")
    eve = Member(tmp_path / "eve", database.build_dsn("eve"))
    code, output, errors = eve.try_mem("search", "stork")
    assert (code, output) == (1, "")
    assert "the team's server was not searched: eve is not a member of 'shop'" in errors
    code, _, errors = eve.try_mem("index")
    assert code == 3 and "eve is not a member of 'shop'" in errors
    eve.mem("config", "set", "team.space", "lair")
    eve.write("The stork of Eve is secret.")
    eve.push()
    assert eve.search("stork") == {("", "The stork of Eve is secret.")}
    assert bea.search("stork") == {staging, friday, kai}


def test_a_removed_member_can_be_dropped(team: tuple[Database, Member, Member]) -> None:
    database, _, _ = team
    add_role(database.server, "carl")
    database.add_members("infra", "carl")
    for _ in range(2):  # the second time, there is no such role
        database.run("select mem.remove_member('infra', 'carl')")
        database.run("drop role if exists carl", "postgres")


def test_private_and_forgotten_memories_and_secrets_stay_here(
    team: tuple[Database, Member, Member],
) -> None:
    database, ana, bea = team
    entries = ana.folder / "memory/entries"
    ana.write("The heron is private by tag.", "--tag", "Private")
    (entries / "property.md").write_text(
        "---\nprivate: true\n---\nThe heron is private by property.\n"
    )
    (entries / "owner.md").write_text("---\nowner: cid\n---\nThe heron is Cid's.\n")
    (entries / f"{TOKEN}.md").write_text("The heron has a secret name.\n")
    (entries / "odd.md").write_text(
        '---\ntags: ["a\\0b", "\\ud800"]\n---\nThe heron has odd tags.\n'
    )
    text = f"---\nowner: ana\n---\nThe heron signs in with {TOKEN} every day.\n"
    (entries / "token.md").write_text(text)
    forgotten = ana.write("The heron was forgotten.")
    ana.mem("forget", forgotten)
    ana.mem("note", "The heron is in a note.")
    assert ana.push()["shared"] == 2
    found = {text for _, text in bea.search("heron")}
    assert len(found) == 2 and any("odd tags" in text for text in found)
    stored = str(
        database.run("select body from mem.files", "ana")
        + database.run("select words from mem.chunks", "ana")
    )
    assert TOKEN not in stored and TOKEN[4:].lower() not in stored
    (entries / "odd.md").write_text("The heron is gray.\n")
    assert ana.push() == {"shared": 2, "pushed": 1, "removed": 0}
    (entries / "odd.md").unlink()
    assert ana.push() == {"shared": 1, "pushed": 0, "removed": 1}


def test_forgetting_and_purging_remove_the_rows_immediately(
    team: tuple[Database, Member, Member], tmp_path: Path
) -> None:
    database, ana, bea = team
    first, second = ana.write("The quagga drinks tea."), ana.write("The quagga eats plums.")
    ana.push()
    # Ana's second machine has the same files.
    desk = Member(tmp_path / "desk", ana.dsn)
    for path in (ana.folder / "memory/entries").rglob("*.md"):
        (desk.folder / "memory/entries" / path.name).write_bytes(path.read_bytes())
    assert desk.push()["pushed"] == 2
    assert count_rows(database) == [4, 4]
    assert bea.search("quagga") == {
        ("ana", "The quagga drinks tea."),
        ("ana", "The quagga eats plums."),
    }
    ana.mem("forget", first)
    assert count_rows(database) == [2, 2]
    ana.mem("forget", second, "--purge", "--yes")
    assert count_rows(database) == [0, 0]
    # The other machine has not heard of it, and cannot bring the purged memory back.
    assert desk.push()["pushed"] == 1
    assert bea.search("quagga") == {("ana", "The quagga drinks tea.")}


def test_what_an_agent_forgets_leaves_the_server_too(
    team: tuple[Database, Member, Member],
) -> None:
    database, ana, _ = team
    name = ana.write("The quagga drinks tea.")
    ana.push()
    assert count_rows(database) == [1, 1]
    context = make_context(ana.folder, HOME=str(ana.folder / "home"), MEM_TEAM_DSN=ana.dsn)
    Toolbox(context).call("memory_delete", {"path": name})
    assert count_rows(database) == [0, 0]


@pytest.mark.parametrize("scope", ["project", "user"])
def test_a_prompt_does_not_wait_for_the_server_and_the_end_of_the_turn_does(
    team: tuple[Database, Member, Member], scope: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user asks the agent to forget something."""
    database, ana, _ = team
    ana.write("The quagga drinks tea.", "--scope", scope)
    ana.mem("config", "set", "team.space", "shop", "--scope", scope)
    ana.mem("index", "--scope", scope)
    context = make_context(ana.folder, HOME=str(ana.folder / "home"), MEM_TEAM_DSN=ana.dsn)
    context = context._replace(common=CommonOptions())
    prompt = Event("UserPromptSubmit", session="s1", folder=str(ana.folder))
    prompt = prompt._replace(prompt="Forget that the quagga drinks tea.")
    answer = respond(prompt, "claude-code", context)
    assert "forgotten" in answer and "quagga" in answer
    # A connection would have deleted it.
    assert count_rows(database) == [1, 1]
    monkeypatch.setattr("os.nice", lambda _: 0)  # in a process of its own
    update_index(Event("Stop", session="s1", folder=str(ana.folder)), "claude-code", context)
    assert count_rows(database) == [0, 0]


def test_what_is_forgotten_here_stays_hidden_when_a_colleague_pushes_it(
    team: tuple[Database, Member, Member],
) -> None:
    database, ana, bea = team
    ana.write("The badger digs under the shed.")
    ana.write("The badger digs under the fence, and the badger digs under the shed.")
    ana.push()
    bea.mem("forget", bea.write("The badger digs under the shed."))
    found = bea.search("badger")
    assert all("under the shed" not in text for _, text in found)
    assert any("[forgotten]" in text for _, text in found)


def test_a_colleague_cannot_claim_weight_or_send_a_secret(
    team: tuple[Database, Member, Member],
) -> None:
    database, ana, bea = team
    ana.write("The otter is in the pond.", "--type", "constraint")
    ana.push()
    body = f"---\nid: mem_01m7zvz0ar4kq7tz\nsource: user\ntrust: 1.0\npinned: true\n---\nThe otter signs in with {TOKEN}.\n"
    database.run("update mem.files set id = 'mem_01m7zvz0ar4kq7tz', body = %s", "ana", (body,))
    code, output, _ = bea.try_mem("search", "--json", "otter")
    (hit,) = json.loads(output)["hits"]
    assert (hit["source"], hit["trust"], hit["owner"]) == ("repository", 0.5, "ana")
    assert TOKEN not in output and TOKEN not in bea.mem("read", "4kq7tz")


def test_an_untrusted_workspace_opens_no_connection(
    team: tuple[Database, Member, Member], tmp_path: Path
) -> None:
    database, ana, bea = team
    ana.write("The crane is at the door.")
    ana.push()
    clone = tmp_path / "clone"
    (clone / "memory/entries").mkdir(parents=True)
    (clone / "memory/mem.yaml").write_text("team.space: shop\nteam.dsn: host=/nowhere\n")
    (clone / "memory/entries/a.md").write_text("The crane is in the clone.\n")
    environment = {"HOME": str(tmp_path / "other"), "MEM_TEAM_DSN": bea.dsn}
    code, output, errors = run_mem(clone, "search", "--json", "crane", **environment)
    assert [hit["text"] for hit in json.loads(output)["hits"]] == ["The crane is in the clone."]
    _, _, errors = run_mem(clone, "index", **environment)
    assert "not pushed to the team's server: trust the workspace (mem trust)" in errors
    assert count_rows(database) == [1, 1]


def test_a_space_of_the_users_settings_does_not_share_every_workspace(
    team: tuple[Database, Member, Member],
) -> None:
    database, ana, _ = team
    ana.mem("config", "unset", "team.space")
    ana.write("The crane is private.")
    ana.mem("index", MEM_TEAM_SPACE="shop")
    assert count_rows(database) == [0, 0]


@pytest.mark.parametrize(
    ("dsn", "message"),
    [
        ("host=/nowhere user=ana", "No such file or directory"),
        ("postgresql://ana:hun%ter2@127.0.0.1:1/x", "team.dsn cannot be read"),
        ("postgresql://ana:pass@hunter2@127.0.0.1:1/x", "team.dsn cannot be read"),
        ("host=127.0.0.1 port=1 user=ana password=hunter2", "Connection refused"),
        ("not a dsn", "team.dsn cannot be read"),
    ],
)
def test_a_wrong_dsn_is_one_clear_line_without_the_password(
    team: tuple[Database, Member, Member], dsn: str, message: str
) -> None:
    _, ana, _ = team
    ana.write("The heron is here.")
    ana.dsn = dsn
    code, output, errors = ana.try_mem("search", "heron")
    assert code == 0 and "The heron is here." in output
    assert message in errors and len(errors.splitlines()) == 1
    code, _, more = ana.try_mem("index")
    assert code == 3 and message in more
    for text in (
        errors,
        more,
        ana.try_mem("config", "list")[1],
        ana.try_mem("config", "get", "team.dsn")[1],
    ):
        assert "hunter2" not in text and "hun%ter2" not in text


def test_a_password_is_not_taken_from_the_command_line(
    team: tuple[Database, Member, Member],
) -> None:
    _, ana, _ = team
    for dsn in (
        "postgresql://ana:hunter2@host/db",
        "host=x password=hunter2",
        "host=x password = 'hunter2'",
    ):
        code, output, errors = ana.try_mem("config", "set", "--user", "team.dsn", dsn)
        assert code == 2 and "hunter2" not in output + errors and "shell" in errors
    ana.mem("config", "set", "--user", "team.dsn", "service=team")
    assert SETTINGS["team.dsn"].is_user_only


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("drop schema mem cascade", "it has no tables of mem"),
        (
            "create or replace function mem.version() returns integer language sql immutable begin atomic select 9; end",
            "its tables have version 9, and this mem uses 1",
        ),
        ("alter role ana bypassrls", "row-level security does not bind the role ana"),
        ("revoke usage on schema mem from ana", "your role is not a member of any space"),
        ("drop table mem.purged; drop table mem.chunks", "it has no tables of mem"),
    ],
)
def test_a_server_that_does_not_fit_is_named(
    team: tuple[Database, Member, Member], change: str, message: str
) -> None:
    database, ana, _ = team
    ana.write("The heron is here.")
    database.run(change, "postgres")
    try:
        code, output, errors = ana.try_mem("search", "heron")
        assert code == 0 and "The heron is here." in output and message in errors
        code, _, errors = ana.try_mem("index")
        assert code == 3 and message in errors
    finally:
        database.server.run("alter role ana nobypassrls")


def test_a_server_that_freezes_dies_or_fills_up(tmp_path: Path, team_server: Server) -> None:
    with run_server() as server:
        database = copy_database(server, "failing")
        database.add_members("shop", "ana", "bea")
        ana, bea = (Member(tmp_path / name, database.build_dsn(name)) for name in ("ana", "bea"))
        for number in range(3):
            ana.write(f"The heron number {number} is gray.")
        ana.push()
        bea.write("The heron of Bea is white.")
        server.signal_all(signal.SIGSTOP)
        began = time.monotonic()
        code, output, errors = bea.try_mem("search", "heron")
        assert code == 0 and "of Bea" in output and "did not answer within 3 seconds" in errors
        assert time.monotonic() - began < 6
        # The next search does not wait again.
        began = time.monotonic()
        assert "did not answer a moment ago" in bea.try_mem("search", "heron")[2]
        assert time.monotonic() - began < 2
        server.signal_all(signal.SIGCONT)
        bea.push()
        assert len(bea.search("heron")) == 4
        server.kill()
        code, output, errors = bea.try_mem("search", "heron")
        assert code == 0 and "of Bea" in output and "was not searched" in errors
        server.start()
        assert len(bea.search("heron")) == 4


def test_a_push_that_is_cut_off_continues(
    team: tuple[Database, Member, Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    from memcli.team import push

    database, ana, bea = team
    entries = ana.folder / "memory/entries"
    for number in range(30):
        (entries / f"{number}.md").write_text(f"The heron number {number} is gray.\n")
    monkeypatch.setattr(push, "FILES_AT_ONCE", 10)
    # The second batch meets a server that ends its connections, then one with a full disk.
    database.run(
        "create function mem.fail() returns trigger language plpgsql as $$ begin"
        " if (select count(*) from mem.files where owner = current_user) > 10 then"
        "  perform pg_terminate_backend(pg_backend_pid()); end if; return null; end $$;"
        " create trigger fail after insert on mem.files for each statement execute function mem.fail()",
        "postgres",
    )
    database.run("grant execute on function mem.fail to public", "postgres")
    code, _, errors = ana.try_mem("index")
    assert code == 3 and "the team's server:" in errors
    assert count_rows(database) == [10, 10]
    database.run(
        "create or replace function mem.fail() returns trigger language plpgsql as $$ begin"
        " raise disk_full using message = 'no space left on device'; end $$",
        "postgres",
    )
    code, _, errors = ana.try_mem("index")
    assert code == 3 and "its disk is full" in errors
    assert count_rows(database) == [10, 10]
    database.run("drop trigger fail on mem.files", "postgres")
    assert ana.push() == {"shared": 30, "pushed": 20, "removed": 0}
    assert count_rows(database) == [30, 30]
    assert len(bea.search("heron", "-n", "50")) == 30


def test_a_password_of_a_role_is_checked_and_never_printed(
    team_server: Server, tmp_path: Path
) -> None:
    with run_server("password_encryption=scram-sha-256") as server:
        database = copy_database(server, "passwords")
        database.add_members("shop", "ana")
        server.run("alter role ana password 'hunter2'")
        rules = server.folder / "data/pg_hba.conf"
        rules.write_text("local all ana scram-sha-256\n" + rules.read_text())
        server.run("select pg_reload_conf()")
        ana = Member(tmp_path / "ana", database.build_dsn("ana") + " password=hunter2")
        ana.write("The heron is here.")
        assert ana.push()["pushed"] == 1
        ana.dsn = database.build_dsn("ana") + " password=hunter3"
        code, output, errors = ana.try_mem("search", "heron")
        assert code == 0 and "password authentication failed" in errors and "hunter" not in errors


def test_without_psycopg_the_message_says_what_to_install(
    team: tuple[Database, Member, Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, ana, _ = team
    ana.write("The heron is here.")
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    code, output, errors = ana.try_mem("search", "heron")
    assert code == 0 and "psycopg is not installed" in errors
    code, output, errors = ana.try_mem("index")
    assert code == 3 and "pipx install --force '.[postgres]'" in errors


def test_a_role_of_any_name_is_shown(database: Database, tmp_path: Path) -> None:
    database.add_members("shop", 'a/b "c"', "bea")
    other = Member(tmp_path / "other", database.build_dsn('a/b "c"'))
    other.write("The heron is here.")
    other.push()
    bea = Member(tmp_path / "bea", database.build_dsn("bea"))
    assert bea.search("heron") == {('a/b "c"', "The heron is here.")}
    assert add_role is not None
