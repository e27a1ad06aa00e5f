"""No option is ignored: each that a command shows changes what it prints, or is refused with a reason."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
import typer

from memcli.cli.app import app
from tests.conftest import Mem

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
            "--rerank": ["2"],
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
    "export": ([], {**NARROWING, "--format": ["markdown"], "--output": ["written.jsonl"]}),
    "import": (
        ["all.jsonl", "--dry-run", "--no-dedup"],
        {**NARROWING, "--no-dedup": [], "--judge": [], "--allow-secret": [], "--dry-run": []},
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
            "--within": ["0"],
            "--format": ["block"],
            "--gate": [],
            "--only": ["notes"],
            "--budget": ["9"],
            "--most": ["9"],
            "--characters": ["40"],
            "--as-of": ["2020-01-01"],
            "--fresh": [],
        },
    ),
}
"""For each command that shows memories the words that make it show several, and what each of its options is given."""
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
}
AT_A_TERMINAL = {("decay", "--all")}


def shown_options(command: str) -> set[str]:
    """Return the long names of the options in a command's help."""
    group = typer.main.get_command(app)
    found = None
    for name in command.split():
        found = (found or group).get_command(typer.Context(found or group), name)  # type: ignore[attr-defined, arg-type]
    return {
        next(name for name in option.opts if name.startswith("--"))
        for option in found.params  # type: ignore[union-attr]
        if option.param_type_name == "option"
    }


@pytest.fixture
def memory(mem: Mem, workspace: Path, world: Path) -> str:
    """Give a workspace in which each filter leaves some memories out; return the id of one that it never leaves in."""
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
    assert mem("export", "--archived", "-o", "all.jsonl").code == 0
    with (world / "all.jsonl").open("a") as lines:
        lines.write(
            '{"content": "Staging runs on  host B."}\n'
            '{"content": "The token is ghp_A7bX9kQ2mZ4tR8vW1nC5dE3fG6hJ0pLsYu2B."}\n'
        )
    (workspace / "HISTORY-2026-02.md").write_text("[2026-02-03 10:00] Staging was planned.\n")
    assert mem("init", "other").code == 0
    assert mem("init", str(world.parent / "home" / ".local" / "share" / "mem")).code == 0
    return mem("ls", "--type", "procedure", "--json").json["entries"][0]["id"]


def files(world: Path) -> set[str]:
    return {str(path) for path in world.rglob("*") if ".mem" not in path.parts}


@pytest.mark.parametrize("command", OPTIONS)
def test_every_option_shown_is_tried(command: str) -> None:
    assert shown_options(command) == {*EVERYWHERE, *OPTIONS[command][1]}


@pytest.mark.parametrize("command", OPTIONS)
def test_each_option_changes_the_answer_or_is_refused(
    mem: Mem, spawn: Mem, memory: str, world: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    words, options = OPTIONS[command]
    for option, values in {**EVERYWHERE, **options}.items():
        base = [*command.split(), *(word.format(id=memory) for word in OTHERWISE.get((command, option), words))]
        run = spawn if option == "--within" else mem  # it leaves the process at once
        with monkeypatch.context() as patch:
            if (command, option) in AT_A_TERMINAL:
                patch.setattr("memcli.cli.output.is_watched", lambda: True)
            plain = run(*base), files(world)
            for _ in range(2 if option == "--session" else 1):  # what is shown once is not shown again
                ran = run(*base, option, *values)
        assert plain != (ran, files(world)), option
        if ran.code == 2:
            assert ran.err.startswith(("mem: ", '{"error"')), option
