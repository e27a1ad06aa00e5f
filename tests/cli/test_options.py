"""No option is ignored: each that a command shows changes what it prints, or is refused with a reason."""

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Mem
from tests.contract.test_frozen import commands
from tests.stage import Stage, put_back

COMMANDS = dict(commands())

EVERYWHERE = {"--workspace": ["other"], "--scope": ["user"], "--json": []}
NARROWING = {
    "--kind": ["note"],
    "--type": ["preference"],
    "--tag": ["infra"],
    "--layer": ["procedural"],
    "--source": ["inferred"],
    "--project": ["shop"],
    "--path": ["notes/"],
    "--key": ["staging/*"],
    "--as-of": ["2026-01-01"],
    "--since": ["2026-11-21"],
    "--until": ["2026-01-01"],
    "--archived": [],
    "--status": ["superseded"],
}
OPTIONS: Mapping[str, tuple[Sequence[str], Mapping[str, Sequence[str]]]] = {
    "search": (
        ["staging", "--mode", "keyword", "--limit", "9"],
        {
            **NARROWING,
            "--limit": ["1"],
            "--mode": ["vector"],
            "--min-score": ["0.9"],
            "--explain": [],
        },
    ),
    "ls": ([], {**NARROWING, "--sort": ["title"], "--limit": ["1"], "--conflicts": [], "--forgotten": []}),
    "grep": (
        ["staging.run"],
        {
            **NARROWING,
            "--fixed-strings": [],
            "--ignore-case": [],
            "--word-regexp": [],
            "--files-with-matches": [],
            "--count": [],
            "--context": ["1"],
            "--limit": ["1"],
        },
    ),
    "export": ([], {**NARROWING, "--format": ["markdown"], "--output": ["written.jsonl"], "--own-notes": []}),
    "import": (
        ["all.jsonl", "--dry-run", "--no-dedup"],
        {**NARROWING, "--no-dedup": [], "--judge": [], "--allow-secret": [], "--dry-run": [], "--map": ["text=who"]},
    ),
    "stats": ([], {}),
    "read": (
        ["{id}"],
        {
            "--key": ["staging/host"],
            "--project": ["shop"],
            "--as-of": ["2020-01-01"],
            "--offset": ["3"],
            "--limit": ["5"],
            "--lines": ["1:2"],
            "--source": [],
            "--history": [],
            "--raw": [],
        },
    ),
    "history show": ([], {"--since": ["2026-11-21"], "--until": ["2020-01-01"], "--limit": ["1"]}),
    "session ls": ([], {"--state": ["TERMINATED"], "--archived": []}),
    "session show": (["talk"], {"--range": ["1:1"]}),
    "session stats": (["talk"], {}),
    "decay": ([], {"--apply": [], "--as-of": ["2029-01-01"], "--all": [], "--max-fraction": ["7"]}),
    "review": ([], {"--source": ["user"], "--judge": [], "--limit": ["1"]}),
    "recall": (
        ["Where does staging run?"],
        {
            "--session": ["talk"],
            "--format": ["block"],
            "--gate": [],
            "--only": ["notes"],
            "--budget": ["9"],
            "--characters": ["40"],
            "--as-of": ["2020-01-01"],
            "--fresh": [],
        },
    ),
    "context": ([], {"--explain": [], "--session": ["talk"], "--characters": ["600"]}),
    "session handoff": (["talk"], {"--to": ["codex"]}),
    "init": (["fresh"], {"--layout": ["jarvis"]}),
    "write": (
        ["Tea is served at four."],
        {
            "--file": ["tea.txt"],
            "--id": ["{id}"],
            "--path": ["drinks/tea.md"],
            "--key": ["tea/time"],
            "--type": ["preference"],
            "--title": ["Tea"],
            "--tag": ["drinks"],
            "--alias": ["Chai"],
            "--project": ["shop"],
            "--source": ["inferred"],
            "--trust": ["0.4"],
            "--confidence": ["0.4"],
            "--salience": ["0.4"],
            "--strength": ["3"],
            "--origin": ["session:talk#1"],
            "--references": ["{id}"],
            "--about": ["tea.txt:1"],
            "--status": ["superseded"],
            "--superseded-by": ["{id}"],
            "--conflicts-with": ["{id}"],
            "--pinned": [],
            "--expires-at": ["2027-01-01"],
            "--created-at": ["2026-01-01"],
            "--metadata": ["room=hall"],
            "--supersedes": ["{id}"],
            "--no-dedup": [],
            "--judge": [],
            "--redact": [],
            "--allow-secret": [],
        },
    ),
    "edit": (
        ["{id}", "--replace", "Stop", "Halt"],
        {
            "--replace": ["Deploy", "Run"],
            "--patch": ["-"],
            "--source": ["inferred"],
            "--redact": [],
            "--allow-secret": [],
        },
    ),
    "forget": (["{id}"], {"--purge": [], "--reason": ["over"], "--source": ["inferred"]}),
    "move": (["{id}", "--to", "user"], {"--to": ["user"], "--allow-secret": []}),
    "restore": (["{gone}"], {}),
    "note": (["Tea was late."], {"--user": ["Is there tea?"], "--assistant": ["Soon."]}),
    "history add": (["Tea was served."], {}),
    "undo": ([], {"--list": [], "--dry-run": []}),
    "supersede": (["{id}", "{other}"], {"--source": ["inferred"], "--dry-run": []}),
    "dedup": ([], {"--apply": [], "--judge": [], "--distinct": [], "--source": ["user"], "--limit": ["1"]}),
    "consolidate": (
        ["talk"],
        {
            "--all": [],
            "--since": ["2027-01-01"],
            "--dry-run": [],
            "--since-git": ["HEAD..HEAD"],
            "--keep": ["1"],
            "--ask": [],
            "--answer": ["reply.json"],
            "--upto": ["m1"],
            "--judge": [],
            "--no-wait": [],
            "--quiet": [],
        },
    ),
    "session rollup": (["shop"], {"--tag": ["infra"], "--all": [], "--dry-run": [], "--quiet": []}),
    "promote": (["{id}"], {"--demote": [], "--auto": [], "--apply": [], "--source": ["user"]}),
    "diff": ([], {"--format": ["markdown"]}),
    "check": (
        [],
        {
            "--fix": [],
            "--dry-run": [],
            "--staged": [],
            "--secrets": [],
            "--since": ["HEAD"],
            "--cited": [],
            "--refresh": ["all"],
        },
    ),
    "tend": ([], {"--quiet": []}),
    "index": ([], {"--rebuild": [], "--share": [], "--migrate": [], "--sql": ["owner:ann"], "--status": []}),
    "session append": (
        ["--session", "talk", "--text", "More tea."],
        {
            "--session": ["other"],
            "--role": ["assistant"],
            "--text": ["Less tea."],
            "--tool": ["kettle"],
            "--error": [],
            "--timestamp": ["2026-01-01"],
            "--channel": ["telegram:1"],
            "--user": ["ann"],
            "--project": ["shop"],
            "--state": ["PAUSED"],
        },
    ),
    "session import": (
        ["talk.jsonl"],
        {
            "--all": [],
            "--since": ["2026-11-21"],
            "--project": ["elsewhere"],
            "--dry-run": [],
            "--session": ["other"],
            "--allow-secret": [],
        },
    ),
    "session recap": (["talk"], {}),
    "session compact": (["talk"], {"--keep": ["1"], "--force": []}),
    "session clear": (["talk"], {}),
    "session delete": (["talk"], {"--purge": []}),
    "sync": ([], {"--remote": ["elsewhere"], "--dry-run": [], "--quiet": []}),
    "hook install": (
        ["claude-code"],
        {
            "--project": [],
            "--user": [],
            "--tool-errors": [],
            "--shared": [],
            "--notes": ["user"],
            "--dry-run": [],
        },
    ),
    "hook uninstall": (["claude-code"], {"--project": [], "--user": [], "--dry-run": []}),
    "hook status": ([], {"--project": [], "--user": []}),
    "hook doctor": ([], {}),
    "hook skill": ([], {"--project": [], "--user": [], "--remove": [], "--dry-run": []}),
    "hook run": (["claude-code"], {}),
    "merge-driver": ([], {}),
    "serve": (["--status"], {"--detach": [], "--stop": [], "--idle": ["1s"], "--status": []}),
    "ui": (["--no-open", "--idle", "1s"], {"--demo": [], "--port": ["0"], "--no-open": [], "--idle": ["2s"]}),
    "mcp": ([], {"--workspace": ["nowhere"], "--scope": ["none"]}),
    "memory-tool": ([], {}),
    "completion": (["bash"], {}),
    "help": (["write"], {}),
    "trust": ([], {"--remove": []}),
    "config get": (["grep.timeout"], {}),
    "config set": (["grep.timeout", "3"], {"--user": []}),
    "config list": ([], {}),
}
"""For each command the words that make it say or do something, and what each of its options is given."""
SECRET = "ghp_" + "A7bX9kQ2mZ4tR8vW1nC5dE3fG6hJ0pLsYu2B"
OTHERWISE = {
    ("import", "--no-dedup"): ["all.jsonl", "--dry-run"],
    ("import", "--dry-run"): ["all.jsonl", "--no-dedup"],
    ("recall", "--gate"): [
        "We have decided to move all of the staging hosts to the new hay building.",
        "--only",
        "relevant",
    ],
    ("read", "--key"): [],
    ("read", "--as-of"): ["--key", "staging/host"],
    ("write", "--no-dedup"): ["Staging runs on host b."],
    ("write", "--redact"): [f"The token is {SECRET}"],
    ("write", "--allow-secret"): [f"The token is {SECRET}"],
    ("edit", "--redact"): ["{id}", "--replace", "Stop", SECRET],
    ("edit", "--allow-secret"): ["{id}", "--replace", "Stop", SECRET],
    ("hook uninstall", "--project"): ["claude-code", "--user"],
    ("hook skill", "--project"): ["--user"],
    ("note", "--assistant"): ["--user", "Is there tea?"],
}
"""Words in whose stead an option would change nothing."""
SHOWN_BY = {
    **{
        ("serve", option): "cli/test_serve.py::test_there_is_one_which_is_shown_and_stopped"
        for option in ("--status", "--stop")
    },
    **{
        ("serve", option): "cli/test_serve.py::test_it_goes_into_the_background_and_ends_when_nobody_asks"
        for option in ("--detach", "--idle")
    },
    ("export", "--own-notes"): (
        "cli/test_own_notes.py::test_an_export_says_that_it_leaves_own_notes_out_and_how_they_come_in"
    ),
    ("ui", "--demo"): "ui/test_server.py::test_the_sample_touches_nothing_of_the_persons_and_is_gone_afterwards",
    ("ui", "--port"): "ui/test_server.py::test_a_port_that_is_taken_is_told_in_one_line",
    ("ui", "--no-open"): "ui/test_server.py::test_without_a_browser_the_address_is_printed",
    ("ui", "--idle"): "ui/test_server.py::test_it_ends_when_nobody_asks",
    ("dedup", "--limit"): "cli/test_dedup.py::test_likely_repeats_are_listed_the_surest_first_and_nothing_is_changed",
}
"""The test that shows what an option does where that is neither in its command's answer nor in a file."""
BEFORE = {"hook uninstall": ["hook", "install", "claude-code"]}
"""What is done first, for without it there is nothing to do."""
AT_A_TERMINAL = {("decay", "--all")}
IN_GIT = {"diff", "sync", "check", "consolidate"}


def shown_options(command: str) -> set[str]:
    """Return the long names of the options in a command's help."""
    options = [one for one in COMMANDS[command].params if one.param_type_name == "option" and not one.hidden]
    return {next(name for name in option.opts if name.startswith("--")) for option in options}


@pytest.fixture(autouse=True)
def world(world: Path, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Stand where all tests of this module do."""
    return stage.enter(monkeypatch)


@pytest.fixture
def memory(mem: Mem, world: Path, stage: Stage) -> str:
    """Give a workspace in which each filter leaves some memories out; return the id of one that it never leaves in."""
    return str(stage.furnished(lambda: furnished(mem, world)))


def furnished(mem: Mem, world: Path) -> str:
    assert mem("init").code == 0
    told = [
        ["write", "Staging runs on host a.", "--key", "staging/host", "--created-at", "2025-03-01"],
        ["write", "Staging runs on host b.", "--key", "staging/host", "--tag", "infra", "--project", "shop"],
        ["write", "User prefers staging run at night.", "--type", "preference", "--source", "inferred"],
        ["write", "1. Stop. 2. Deploy staging. staging.run it.", "--type", "procedure", "--created-at", "2026-02-01"],
        ["write", "STAGING RUNS on pre-staging.runtime.", "--no-dedup", "--created-at", "2026-02-02"],
        *(
            ["write", f"Staging listens on {port}.", "--key", f"staging/{name}", "--source", source]
            for name in ("port", "door")
            for port, source in ((8443, "user"), (9443, "observed"))
        ),
        ["note", "Staging ran all day."],
        ["history", "add", "Staging was set up."],
    ]
    for words in told:
        assert mem(*words).code == 0, words
    assert mem("session", "append", "--session", "talk", "--text", "Where does staging run?").code == 0
    assert mem("session", "append", "--session", "talk", "--role", "assistant", "--text", "On host b.").code == 0
    gone = mem("write", "Host z: staging runs there.", "--no-dedup", "--json").json["id"]
    assert mem("forget", gone).code == 0
    assert mem("export", "-o", "all.jsonl").code == 0
    with (world / "all.jsonl").open("a") as lines:
        lines.write(
            '{"content": "Staging runs on  host B."}\n'
            '{"content": "The token is ghp_A7bX9kQ2mZ4tR8vW1nC5dE3fG6hJ0pLsYu2B."}\n'
        )
    (world / "memory" / "HISTORY-2026-02.md").write_text("[2026-02-03 10:00] Staging was planned.\n")
    assert mem("init", "other").code == 0
    assert mem("init", str(world.parent / "home" / ".local" / "share" / "mem")).code == 0
    return str(mem("ls", "--type", "procedure", "--json").json["entries"][0]["id"])


def contents(world: Path) -> dict[str, bytes]:
    """Return what all files say but those of `.mem`, which no answer depends on alone."""
    paths = (path for path in world.parent.rglob("*") if not {".mem", ".git"} & set(path.parts) and path.is_file())
    return {str(path): path.read_bytes() for path in paths}


def test_every_command_and_every_option_shown_is_tried() -> None:
    assert sorted(COMMANDS) == sorted(OPTIONS)
    for command, (_, options) in OPTIONS.items():
        shown = shown_options(command)
        assert shown == {*(EVERYWHERE.keys() & shown), *options}, command
    for test in SHOWN_BY.values():
        file, _, name = test.partition("::")
        assert f"def {name}" in (Path(__file__).parent.parent / file).read_text(), test


@pytest.mark.parametrize("command", OPTIONS)
def test_each_option_changes_the_answer_or_is_refused(
    mem: Mem, spawn: Mem, memory: str, world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    names = {"id": memory, "other": mem("ls", "--type", "preference", "--json").json["entries"][0]["id"]}
    names["gone"] = mem("ls", "--forgotten", "--json").json["entries"][0]["id"]
    monkeypatch.setattr("memcli.cli.hook_run.detach", lambda *_, **__: None)
    if command in BEFORE:
        assert mem(*BEFORE[command]).code == 0
    if command in IN_GIT:
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "Begin"]):
            subprocess.run(["git", "-c", "user.name=A", "-c", "user.email=a@example.com", *words], check=True)
    stood = tmp_path / "stood"
    shutil.copytree(world.parent, stood, symlinks=True)
    words, options = OPTIONS[command]
    plain_of: dict[tuple[Any, ...], Any] = {}
    dull = []
    for option, values in {**EVERYWHERE, **options}.items():
        if option not in shown_options(command) or (command, option) in SHOWN_BY:
            continue
        said = OTHERWISE.get((command, option), words)
        run = spawn if command == "mcp" else mem  # it takes the input of the process

        def outcome(*more: str, said: Sequence[str] = said, run: Mem = run, times: int = 1) -> Any:
            put_back(stood, world.parent)
            for _ in range(times):
                ran = run(*command.split(), *(word.format(**names) for word in said), *more)
            return ran, contents(world)

        with monkeypatch.context() as patch:
            is_watched = (command, option) in AT_A_TERMINAL
            if is_watched:
                patch.setattr("memcli.cli.output.is_watched", lambda: True)
            plain = plain_of.get((is_watched, *said)) or outcome()
            plain_of[is_watched, *said] = plain
            # What is shown once is not shown again.
            changed = outcome(
                option, *(value.format(**names) for value in values), times=2 if option == "--session" else 1
            )
        ran = changed[0]
        if plain == changed:
            dull.append(option)
        elif ran.code == 2:
            assert ran.err.startswith(("mem: ", '{"error"')), option
    assert not dull, f"changes nothing: {dull}"
