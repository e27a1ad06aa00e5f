"""Several workspaces: what is read with them, where something is written, and moving an entry between two."""

import subprocess
from pathlib import Path

import pytest

from tests.conftest import Mem


@pytest.fixture
def team(mem: Mem, workspace: Path) -> Path:
    """Give a workspace that the user's settings call `team`, beside the project's."""
    folder = workspace.parent / "team"
    assert mem("init", "team").code == 0
    assert mem("config", "set", "--user", "workspaces", f"team={folder}").code == 0
    return folder


def put(mem: Mem, text: str, *options: str) -> tuple[str, Path]:
    ran = mem("write", text, "--no-dedup", *options)
    assert ran.code == 0, ran.err
    return ran.rows[0][1], Path(ran.rows[0][2])


def test_a_named_workspace_is_read_with_the_others_and_written_to_by_its_name(mem: Mem, team: Path) -> None:
    shared, path = put(mem, "Deploys happen on Tuesdays.", "--scope", "team")
    assert (team.parent / path).is_relative_to(team)
    own, path = put(mem, "The staging port is 8081.")
    assert path.is_relative_to("memory")
    assert {row[0] for row in mem("ls").rows} == {shared, own}
    assert [row[0] for row in mem("ls", "--scope", "team").rows] == [shared]
    assert {row[0] for row in mem("ls", "--scope", "all").rows} == {shared, own}
    assert [row[0] for row in mem("ls", "--workspace", "memory").rows] == [own]
    hits = mem("search", "when do we deploy", "--json").json["hits"]
    assert hits[0]["id"] == shared
    assert hits[0]["scope"] == "team"
    assert 'scope="team"' in mem("recall", "when do we deploy").out
    assert f"({shared[-6:]}, team)" in mem("context").out


def test_a_named_folder_that_is_gone_is_told_and_hinders_nothing(mem: Mem, team: Path) -> None:
    put(mem, "The staging port is 8081.")
    team.rename(team.with_name("elsewhere"))
    ran = mem("ls")
    assert ran.code == 0
    assert len(ran.rows) == 1
    assert ran.err == f"mem: team: {team} is not a workspace\n"
    assert mem("write", "No.", "--scope", "team").code == 4
    assert mem("write", "No.", "--scope", "club").err.startswith(
        "mem: no scope 'club': use one of project, user, all, team"
    )


@pytest.mark.parametrize(
    "row", ["team", "project=/tmp", "Team=/tmp", "=/x", "team=", "team=club", "team=~nobody-of-that-name/x"]
)
def test_a_row_that_names_no_folder_is_refused(
    mem: Mem, workspace: Path, row: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEM_WORKSPACES", row)
    ran = mem("ls")
    assert ran.code == 0
    assert ran.err.startswith(f"mem: workspaces: {row!r} names no folder")
    assert mem("config", "set", "--user", "workspaces", row).code == 2


def test_a_workspace_may_not_name_others(mem: Mem, workspace: Path) -> None:
    with (workspace / "mem.yaml").open("a") as file:
        file.write("workspaces:\n  team: /etc\nwrite.scope.fact: user\n")
    assert "workspaces is taken only from" in mem("ls").err


def test_the_settings_say_where_a_type_goes_unless_a_place_is_named(mem: Mem, team: Path, world: Path) -> None:
    assert mem("config", "set", "--user", "write.scope.preference", "user").code == 0
    assert mem("config", "set", "--user", "write.scope.lesson", "team").code == 0
    own = world.parent / "home/.local/share/mem"
    assert put(mem, "I like tabs.", "-t", "preference")[1].is_relative_to(own)
    assert put(mem, "Never skip tests.", "-t", "lesson")[1].is_relative_to("team")
    assert put(mem, "The port is 8081.")[1].is_relative_to("memory")
    assert put(mem, "I like spaces.", "-t", "preference", "--scope", "project")[1].is_relative_to("memory")
    assert put(mem, "I like dots.", "-t", "preference", "--workspace", "memory")[1].is_relative_to("memory")


def test_an_entry_is_moved_byte_for_byte_and_back(mem: Mem, team: Path) -> None:
    identifier, path = put(mem, "The staging port is 8081.", "--tag", "infra", "--key", "staging/port")
    before = path.read_bytes()
    [[action, moved, new_path]] = mem("move", identifier, "--to", "team").rows
    assert (action, moved) == ("moved", identifier)
    assert not path.exists()
    assert Path(new_path).read_bytes() == before
    assert mem("search", "staging port").rows[0][1] == identifier
    assert mem("check").code == 0
    assert mem("check", "--scope", "team").code == 0
    answer = mem("move", identifier, "--to", "project", "--json").json
    assert answer["audience"] == "project, on this machine"
    assert path.read_bytes() == before
    assert not Path(new_path).exists()


def test_who_sees_a_memory_follows_from_git(mem: Mem, team: Path) -> None:
    identifier, _ = put(mem, "The staging port is 8081.")
    subprocess.run(["git", "init", "-q"], cwd=team, check=True)
    assert mem("move", identifier, "--to", "team", "--json").json["audience"] == "team, shared by git"
    assert mem("move", identifier, "--to", "user", "--json").json["audience"] == "user, on this machine"
    subprocess.run(["git", "init", "-q"], cwd=team.parent, check=True)
    (team.parent / ".gitignore").write_text("memory/\n")
    answer = mem("move", identifier, "--to", "project", "--json").json
    assert answer["audience"] == "project, on this machine"


def test_what_must_not_be_shared_stays(mem: Mem, team: Path) -> None:
    identifier, path = put(mem, "Ask bob@kestrel-mail.org for access.")
    refused = mem("move", identifier, "--to", "team")
    assert refused.code == 5
    assert "(email)" in refused.err
    assert "--allow-secret" in refused.err
    assert path.exists()
    assert not mem("ls", "--scope", "team").out
    assert mem("move", identifier, "--to", "team", "--allow-secret").code == 0
    over, _ = put(mem, "The port was 80.")
    new, _ = put(mem, "The port is 81.")
    assert mem("supersede", over, new).code == 0
    assert mem("move", over, "--to", "team").err.startswith(f"mem: {over} is not in use")
    assert mem("move", new, "--to", "project").err.startswith(f"mem: {new} is there already")
    assert mem("move", "MEMORY.md", "--to", "team").code != 0
    gone, _ = put(mem, "Lunch is at noon.", "--scope", "team")
    assert mem("forget", gone).code == 0
    again, path = put(mem, "Lunch is at noon.", "--created-at", "2026-01-01")
    assert mem("move", again, "--to", "team").code == 5
    assert path.exists()


def test_earlier_texts_stay_behind_and_a_move_cut_off_is_finished(mem: Mem, team: Path) -> None:
    identifier, path = put(mem, "The port is 80.")
    assert mem("write", "--id", identifier, "The port is 81.").code == 0
    copy = team / path.relative_to("memory")
    copy.parent.mkdir(parents=True)
    copy.write_bytes(path.read_bytes())  # killed after it was made there
    ran = mem("move", "--scope", "project", identifier, "--to", "team")
    assert ran.code == 0, ran.err
    assert ran.err == f"mem: its earlier texts stay in {team.parent / 'memory'}\n"
    assert [row[0] for row in mem("ls").rows] == [identifier]
    refused = mem("undo")
    assert refused.code == 5
    assert "`mem move` takes it back" in refused.err
    assert not path.exists()


def test_of_several_named_workspaces_the_named_one_is_meant(mem: Mem, team: Path) -> None:
    assert mem("init", "own").code == 0
    assert mem("config", "set", "--user", "workspaces", f"team={team},own={team.parent}/own").code == 0
    assert mem("config", "set", "--user", "write.scope.lesson", "own").code == 0
    identifier, path = put(mem, "Kid is ill on Monday.", "--scope", "own")
    assert path.is_relative_to("own")
    assert put(mem, "Never skip tests.", "-t", "lesson")[1].is_relative_to("own")
    assert len(mem("ls", "--scope", "own").rows) == 2
    assert not mem("ls", "--scope", "team").out
    assert mem("move", identifier, "--to", "team").rows[0][2].startswith("team/")
    assert mem("move", identifier, "--to", "own").rows[0][2].startswith("own/")


def test_a_shared_folder_is_no_place_to_write_for_want_of_another(mem: Mem, team: Path) -> None:
    (team.parent / "memory").rename(team.parent / "elsewhere")
    ran = mem("write", "My salary is 5000.")
    assert ran.code == 4
    assert not mem("ls", "--scope", "team").out


def test_settings_that_others_broke_end_no_command_here(mem: Mem, team: Path) -> None:
    put(mem, "The staging port is 8081.")
    with (team / "mem.yaml").open("a") as file:
        file.write("search.limit: banana\n")
    ran = mem("ls")
    assert len(ran.rows) == 1
    assert ran.err.startswith(f"mem: team: {team}/mem.yaml: search.limit should be a whole number")
    assert mem("ls", "--scope", "team").code == 2


def test_what_was_counted_goes_with_it_and_a_taken_name_is_no_obstacle(mem: Mem, team: Path) -> None:
    identifier, path = put(mem, "The staging port is 8081.")
    assert mem("write", "The staging port is 8081").rows[0][0] == "merged"
    other = team / path.relative_to("memory")
    other.parent.mkdir(parents=True)
    other.write_text("---\nid: mem_other\n---\n\nAnother.\n")
    assert mem("move", identifier, "--to", "team").rows[0][2].endswith("-2.md")
    assert mem("read", identifier, "--json").json["fields"]["strength"] == 2
    (path.parent).mkdir(parents=True, exist_ok=True)
    path.write_text(f"---\nid: {identifier}\n---\n\nSomething else.\n")
    refused = mem("move", path.as_posix(), "--to", "team")
    assert refused.code == 5
    assert "says something else" in refused.err


def test_a_folder_that_means_something_else_in_another_layout_is_left(mem: Mem, team: Path) -> None:
    (team / "notes.md").unlink(missing_ok=True)
    assert mem("init", "vault", "--layout", "markdown").code == 0
    assert mem("config", "set", "--user", "workspaces", f"vault={team.parent}/vault").code == 0
    identifier, _ = put(mem, "The crane is red.", "--path", "archive/crane.md")
    assert mem("move", identifier, "--to", "vault").code == 0
    assert [row[0] for row in mem("ls", "--scope", "vault").rows] == [identifier]
    own = team.parent / "vault/Alpha.md"
    own.write_text("A note of a person's.\n")
    assert mem("move", "vault/Alpha.md", "--to", "project").code != 0
    assert own.exists()


def test_how_often_an_entry_was_read_goes_with_it(mem: Mem, workspace: Path, team: Path) -> None:
    identifier, path = put(mem, "The kiln is fired on Fridays.")
    for _ in range(3):
        assert mem("read", identifier).code == 0
    assert mem("move", identifier, "--to", "team").code == 0
    assert "access_count: 3" in (team / path.relative_to("memory")).read_text()
