"""Installation writes into files of the user, and its removal restores every byte of them."""

import json
import os
import random
import subprocess
from pathlib import Path

import pytest

from memcli.agents.install import connect, disconnect, list_connections
from memcli.agents.settings_file import SettingsError, add_values, parse_settings
from memcli.agents.table import AGENTS
from memcli.context import Context
from memcli.errors import MemError, NotFoundError, RejectedError
from tests.helpers import get_process_environment, make_context, run_mem

PROGRAM = ["/opt/my tools/mem"]
MINE = '{"hooks": [{"type": "command", "command": "make lint"}]}'
TEXTS = {
    "two spaces": '{\n  "model": "opus",\n  "permissions": {"allow": ["Bash"]}\n}\n',
    "tabs": '{\n\t"model": "opus"\n}\n',
    "CRLF": '{\r\n  "model": "opus"\r\n}\r\n',
    "no newline at the end": '{\n  "model": "opus"\n}',
    "one line": '{"model":"opus"}',
    "comments": '// mine\n{\n  // the best\n  "model": "opus", /* last */\n}\n',
    "byte order mark": '\ufeff{"model": "opus"}\n',
    "empty file": "",
    "empty object": "{}\n",
    "empty object on two lines": "{\n}\n",
    "empty hooks": '{\n  "hooks": {\n  },\n  "mcp": {}, "mcpServers": {}\n}\n',
    "empty events": '{"hooks": {"SessionStart": [], "Stop": [\n]}}\n',
    "hooks of others": f'{{\n  "hooks": {{\n    "Stop": [{MINE}],\n    "Notification": [{MINE}]}}\n}}\n',
    "trailing comma": f'{{"hooks": {{"Stop": [{MINE},],}},}}\n',
    "a brace in a string": '{"a": "}{\\"hooks\\": {", "hooks": {"x": []}}\n',
}


def write_settings(context: Context, name: str, text: str) -> Path:
    agent = AGENTS[name]
    path = Path(context.environment["HOME"], agent.folder, agent.settings_file)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return path


def list_files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("name", AGENTS)
def test_removal_restores_every_byte(name: str, text: str, tmp_path: Path) -> None:
    if AGENTS[name].first_values and not text:
        return  # the values that every file must have would stay
    context = make_context(tmp_path)
    path = write_settings(context, name, text)
    assert connect(context, name, PROGRAM).changed[0] == str(path)
    changed = path.read_bytes()
    assert b"/opt/my tools/mem" in changed
    assert parse_settings(changed.decode()) is not None
    assert connect(context, name, PROGRAM).changed == []
    # After an upgrade, mem is somewhere else.
    connect(context, name, ["/usr/bin/mem"])
    assert b"/opt/my tools/mem" not in path.read_bytes()
    disconnect(context, name)
    assert path.read_bytes() == text.encode()
    assert disconnect(context, name).changed == []


@pytest.mark.parametrize("name", AGENTS)
def test_removal_deletes_what_was_created(name: str, tmp_path: Path) -> None:
    context = make_context(tmp_path)
    folder = tmp_path / "home" / AGENTS[name].folder
    folder.mkdir(parents=True)
    connect(context, name, PROGRAM)
    assert list_files(tmp_path)
    disconnect(context, name)
    assert folder.is_dir()
    assert not os.listdir(folder)


def test_what_an_agent_changed_meanwhile_stays(tmp_path: Path) -> None:
    context = make_context(tmp_path)
    path = write_settings(context, "claude-code", '{\n  "model": "opus"\n}\n')
    connect(context, "claude-code", PROGRAM)
    # Claude Code writes the whole file anew, with two spaces.
    settings = json.loads(path.read_text())
    settings["permissions"] = {"allow": ["Bash(make:*)"]}
    settings["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "beep"}]})
    settings["hooks"]["SessionStart"][0]["hooks"].append({"type": "command", "command": "date"})
    path.write_text(json.dumps(settings, indent=2))
    disconnect(context, "claude-code")
    left = json.loads(path.read_text())
    assert left == {
        "hooks": {
            "SessionStart": [{"hooks": [{"type": "command", "command": "date"}]}],
            "Stop": [{"hooks": [{"type": "command", "command": "beep"}]}],
        },
        "model": "opus",
        "permissions": {"allow": ["Bash(make:*)"]},
    }


def test_random_settings_survive(tmp_path: Path) -> None:
    noise = random.Random(7)
    context = make_context(tmp_path)

    def build(depth: int) -> object:
        if depth == 0 or noise.random() < 0.3:
            return noise.choice([1, "a", "é", None, True, {}, [], "//", "/*"])
        values = [build(depth - 1) for _ in range(noise.randrange(3))]
        keys = noise.sample(["a", "b", "command", "hooks", "matcher"], len(values))
        return dict(zip(keys, values, strict=True)) if noise.random() < 0.5 else values

    for _ in range(300):
        hooks = {event: [build(3)] for event in noise.sample(["Stop", "PreToolUse", "X"], 2)}
        document = {"z": build(3), "hooks": hooks}
        text = json.dumps(document, indent=noise.choice([None, 1, 2, "\t"]))
        path = write_settings(context, "claude-code", text)
        connect(context, "claude-code", PROGRAM)
        assert "matcher" in path.read_text()
        disconnect(context, "claude-code")
        assert path.read_text() == text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{\n  "a": 1\n  "b": 2\n}', "3: expecting ',' delimiter"),
        ('{\n  "a": \n}', "3: expecting value"),
        ('{"a": 1', "1: expecting ',' delimiter"),
        ('{\n"a": yes}', "2: expecting value"),
        ('{"hooks": {},\n "hooks": {}}', '2: the key "hooks" occurs twice'),
        ("[1]", "1: the settings are not one object"),
        ('{\n "hooks": []}', '2: "hooks" is not an object'),
        ('{"hooks": {"Stop": {}}}', '1: "Stop" is not a list'),
        ("{}\n{}", "1: the settings are not one object"),
        ('{"a": ' * 9999, "1: the settings are nested too deeply"),
    ],
)
def test_broken_settings_are_named_by_line_and_left_alone(
    text: str, reason: str, tmp_path: Path
) -> None:
    context = make_context(tmp_path)
    path = write_settings(context, "claude-code", text)
    with pytest.raises(RejectedError) as caught:
        connect(context, "claude-code", PROGRAM)
    assert caught.value.message == f"{path}:{reason}"
    assert path.read_text() == text


def test_settings_that_are_not_utf8_are_left_alone(tmp_path: Path) -> None:
    context = make_context(tmp_path)
    path = write_settings(context, "codex", "{}")
    path.write_bytes('{\n"a": "é"}'.encode("latin-1"))
    with pytest.raises(RejectedError, match=r"hooks.json:2: not UTF-8"):
        connect(context, "codex", PROGRAM)


def test_another_server_with_the_same_name_is_left_alone(tmp_path: Path) -> None:
    context = make_context(tmp_path)
    text = '{"mcpServers": {"mem": {"command": "memorizer"}}}'
    path = write_settings(context, "cursor", text)
    with pytest.raises(RejectedError, match="another server"):
        connect(context, "cursor", PROGRAM)
    disconnect(context, "cursor")
    assert path.read_text() == text


def test_a_server_that_the_user_added_stays(tmp_path: Path) -> None:
    context = make_context(tmp_path)
    text = '{"mcpServers": {"mem": {"command": "mem", "args": ["mcp"]}}}'
    path = write_settings(context, "gemini", text)
    connect(context, "gemini", PROGRAM)
    assert json.loads(path.read_text())["mcpServers"] == json.loads(text)["mcpServers"]
    disconnect(context, "gemini")
    assert path.read_text() == text


def test_the_home_folder_is_no_project(tmp_path: Path) -> None:
    context = make_context(tmp_path)
    (tmp_path / "home").mkdir()
    connect(context, "codex", PROGRAM)
    (connection,) = list_connections(context, tmp_path / "home")
    assert connection.scope == "user"


def test_a_link_to_dotfiles_stays_a_link(tmp_path: Path) -> None:
    context = make_context(tmp_path)
    target = tmp_path / "home/dotfiles/claude.json"
    target.parent.mkdir(parents=True)
    target.write_text('{"model": "opus"}\n')
    link = tmp_path / "home/.claude/settings.json"
    link.parent.mkdir()
    link.symlink_to("../dotfiles/claude.json")
    connect(context, "claude-code", PROGRAM)
    assert link.is_symlink() and "mem" in target.read_text()
    disconnect(context, "claude-code")
    assert link.is_symlink() and target.read_text() == '{"model": "opus"}\n'


def test_a_link_out_of_the_project_is_not_followed(tmp_path: Path) -> None:
    context = make_context(tmp_path, HOME=str(tmp_path))
    (tmp_path / "other.json").write_text("{}")
    project = tmp_path / "clone"
    (project / ".claude").mkdir(parents=True)
    (project / ".claude/settings.local.json").symlink_to("../../other.json")
    with pytest.raises(RejectedError, match="is a link"):
        connect(context, "claude-code", PROGRAM, project)
    assert (tmp_path / "other.json").read_text() == "{}"


def test_without_a_home_the_reason_is_said(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no HOME"):
        connect(make_context(tmp_path, HOME=""), "gemini", PROGRAM)


def test_a_folder_of_the_users_choice_is_used(tmp_path: Path) -> None:
    context = make_context(tmp_path, CODEX_HOME=str(tmp_path / "elsewhere"))
    assert connect(context, "codex", PROGRAM).changed == [str(tmp_path / "elsewhere/hooks.json")]


def test_a_folder_that_cannot_be_written_is_reported_in_one_line(tmp_path: Path) -> None:
    context = make_context(tmp_path)
    # Root may write to a read-only folder, but nobody can create a file below another file.
    (tmp_path / "home").mkdir()
    (tmp_path / "home/.claude").write_text("")
    with pytest.raises(
        RejectedError, match=r"cannot write .*\.claude.*: (Not a directory|File exists)"
    ):
        connect(context, "claude-code", PROGRAM)


def run_git(folder: Path, *arguments: str) -> str:
    environment = get_process_environment(folder)
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env=environment, check=True, capture_output=True, text=True
    )
    return done.stdout


def test_the_settings_of_a_project_are_hidden_from_git(tmp_path: Path) -> None:
    context = make_context(tmp_path)
    project = tmp_path / "shop"
    project.mkdir()
    run_git(project, "init", "-q")
    exclude = (project / ".git/info/exclude").read_bytes()
    for name in ("gemini", "copilot"):
        connect(context, name, PROGRAM, project, with_page=False)
    assert run_git(project, "status", "--short") == ""
    places = {(item.agent, item.scope) for item in list_connections(context, project)}
    assert places == {("gemini", "project"), ("copilot", "project")}
    for name in ("gemini", "copilot"):
        disconnect(context, name, project)
    assert (project / ".git/info/exclude").read_bytes() == exclude
    assert os.listdir(project) == [".git"]


def test_committed_settings_are_not_changed(tmp_path: Path) -> None:
    context = make_context(tmp_path)
    run_git(tmp_path, "init", "-q")
    (tmp_path / ".gemini").mkdir()
    (tmp_path / ".gemini/settings.json").write_text("{}")
    run_git(tmp_path, "add", ".gemini")
    with pytest.raises(MemError, match="git tracks"):
        connect(context, "gemini", PROGRAM, tmp_path)
    assert (tmp_path / ".gemini/settings.json").read_text() == "{}"


@pytest.mark.parametrize("page", ["# Rules\n", "no newline", "# Rules\r\nCRLF\r\n", ""])
def test_a_page_gets_the_protocol_and_loses_it_again(page: str, tmp_path: Path) -> None:
    context = make_context(tmp_path)
    file = tmp_path / "AGENTS.md"
    if page:
        file.write_bytes(page.encode())
    connect(context, "codex", PROGRAM, tmp_path)
    connect(context, "cursor", PROGRAM, tmp_path)
    text = file.read_bytes().decode()
    assert text.startswith(page) and text.count("mem write") == 1
    assert page.count("\r\n") in (0, page.count("\n")) and ("\r\n" in page) == ("\r" in text)
    disconnect(context, "codex", tmp_path)
    assert "mem write" in file.read_text()  # for Cursor
    disconnect(context, "cursor", tmp_path)
    assert (file.read_bytes() if page else file.exists()) == (page.encode() if page else False)


def test_a_committed_page_is_changed_only_by_a_person(tmp_path: Path) -> None:
    run_git(tmp_path, "init", "-q")
    page = tmp_path / "CLAUDE.md"
    page.write_text("# Rules\n")
    run_git(tmp_path, "add", "CLAUDE.md")
    code, output, _ = run_mem(tmp_path, "hook", "install", "claude-code", "--project")
    assert code == 0 and "git tracks CLAUDE.md, so mem did not add its text." in output
    assert page.read_text() == "# Rules\n"
    assert run_git(tmp_path, "status", "--short").split() == ["A", "CLAUDE.md"]


def test_the_program_is_named_as_it_was_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link = tmp_path / "home/.local/bin/mem"
    link.parent.mkdir(parents=True)
    target = tmp_path / "venv/bin/mem"
    target.parent.mkdir(parents=True)
    target.write_text("#!/bin/sh\n")
    target.chmod(0o755)
    link.symlink_to(target)
    monkeypatch.setattr("sys.argv", [str(link)])
    run_mem(tmp_path, "hook", "install", "codex", PATH="")
    assert f'"{link} hook run codex' in (tmp_path / "home/.codex/hooks.json").read_text()


def test_one_agent_with_broken_settings_does_not_stop_the_others(tmp_path: Path) -> None:
    context = make_context(tmp_path)
    path = write_settings(context, "claude-code", "{")
    (tmp_path / "home/.codex").mkdir()
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin/mem"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    code, output, errors = run_mem(tmp_path, "hook", "install", PATH=str(tmp_path / "bin"))
    assert code == 3 and "Connected Codex" in output
    assert f"{path}:1: expecting property name" in errors
    code, output, _ = run_mem(tmp_path, "hook", "ls", "--json", PATH="")
    places = {item["agent"]: item for item in json.loads(output)["connections"]}
    assert places["claude-code"]["error"] and places["codex"]["commands"]


def test_values_are_added_in_front_of_those_of_others() -> None:
    assert add_values('{"a": {"b": 1}}\n', {"a": {"c": [2]}}) == (
        '{"a": {\n    "c": [\n      2\n    ],"b": 1}}\n'
    )
    with pytest.raises(SettingsError):
        add_values('{"a": 1}', {"a": {}})


def test_a_page_that_leads_outside_changes_nothing(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "CLAUDE.md").symlink_to(tmp_path / "outside.md")
    with pytest.raises(RejectedError):
        connect(make_context(project), "claude-code", ["/usr/bin/mem"], project)
    assert not (project / ".claude").exists()
