"""The moments around a tool call: rules about a file or command, lessons about a failure."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from memcli.agents.hooks import build_places
from memcli.formats.dates import format_time
from memcli.index.database import FILE
from memcli.index.index import open_index
from memcli.recall.action import (
    build_action_context,
    build_failure_context,
    parse_action,
    rate_rules,
)
from memcli.recall.lookup import Memory, Place, Shown
from memcli.recall.match import parse_command
from memcli.store.workspace import Workspace
from tests.helpers import NOW, get_process_environment, make_workspace, put

RULES = {
    "migrations": "Never edit files under db/migrations by hand.",
    "pnpm": "Use pnpm, not npm.",
    "reset": "Never run `git reset --hard`; stash first.",
    "deploy": "No deploys on Fridays.",
    "tabs": "Go files use tabs.",
    "load": "The load test of 2 June failed because the pool had 3 connections.",
    "push": "Don't force-push to release branches.",
    "atomic": "helm upgrade always with --atomic, or half a release stays.",
    "dump": "`pg_dump -j 8 shop` locks the orders.",
    "vendor": "Fixes go into patches/, not into vendor/.",
    "names": "Branch names start with the ticket.",
    "lint": "Run `just lint` before every commit.",
    "order": "Order confirmations are sent by the outbox only.",
    "frob": "If cargo-frob is not found, run bin/setup-frob first.",
}


def fill(workspace: Workspace, **entries: str) -> Place:
    """Write entries as an editor does, index them, and return the workspace for the hooks."""
    for name, text in entries.items():
        head = (
            text if text.startswith("---") else f"---\ntype: lesson\nsource: user\n---\n\n{text}\n"
        )
        path = put(
            workspace, f"entries/{name}.md", head.replace("---\n", f"---\nid: mem_{name}\n", 1)
        )
        os.utime(path, (NOW.timestamp(),) * 2)
    time.sleep(0.05)  # the index trusts only files that are older than its note of them
    index = open_index(workspace)
    index.database.connection.execute("pragma wal_checkpoint")
    assert workspace.machine.folder is not None
    root = workspace.root
    return Place(str(root), str(workspace.machine.folder / FILE), "shop", str(root / "purged.txt"))


def ask(
    place: Place, tool: dict[str, object], shown: Shown | None = None, tokens: int = 150
) -> str:
    folder = os.path.dirname(place.root)
    return build_action_context(
        [place], folder, tool, shown or Shown("", {}), tokens=tokens, now=format_time(NOW)
    )


@pytest.mark.parametrize(
    ("tool", "rule"),
    [
        ({"file_path": "db/migrations/0012_vat.py"}, "migrations"),
        ({"command": "*** Begin Patch\n*** Update File: db/migrations/1.sql\n"}, "migrations"),
        ({"command": "cd web && sudo npm install dayjs"}, "pnpm"),
        ({"command": ["bash", "-lc", "git fetch && git reset --hard origin/main"]}, "reset"),
        ({"command": "FORCE=1 ./scripts/deploy.sh staging | tee log"}, "deploy"),
        ({"file_path": "cmd/main.go"}, "tabs"),
        ({"command": "git push -f origin release/2"}, "push"),
        ({"command": "git push origin feature"}, ""),
        ({"command": "git reset HEAD~1"}, ""),
        ({"command": "cd web && rm -r db/migrations/0012_vat.py"}, "migrations"),
        ({"command": "helm upgrade shop ./chart"}, "atomic"),
        ({"command": "helm upgrade --atomic shop ./chart"}, ""),
        ({"command": "helm list"}, ""),
        ({"command": "ssh db 'pg_dump -j 8 shop > dump.sql'"}, "dump"),
        ({"command": "pg_dump other"}, ""),
        ({"file_path": "vendor/cache.py"}, "vendor"),
        ({"file_path": "patches/cache.py"}, ""),
        ({"command": "git checkout -b vat"}, "names"),
        ({"command": "git checkout main"}, ""),
        ({"command": "pnpm test"}, ""),
        ({"command": "git commit -m wip"}, "lint"),
        ({"command": "just lint && git log"}, ""),
        ({"file_path": "src/orders/sendConfirmation.py"}, "order"),
        ({"file_path": "src/orders/list.py"}, ""),
        ({"command": "sed -i s/a/b/ db/migrations/1.sql"}, "migrations"),
        ({"command": "sed -n 1,9p db/migrations/1.sql"}, ""),
        ({"command": "bash -c 'npm i' 2>&1"}, "pnpm"),
        ({"command": "npx run-something 'unfinished"}, ""),
        ({"command": "ls db/migrations"}, ""),
        ({"file_path": "src/test/main.ts"}, ""),
        ({"file_path": "\0/\ud800"}, ""),
        ({}, ""),
    ],
)
def test_only_the_rule_about_an_action_is_shown(
    tmp_path: Path, tool: dict[str, object], rule: str
) -> None:
    text = ask(fill(make_workspace(tmp_path), **RULES), tool)
    assert [name for name in RULES if RULES[name] in text] == ([rule] if rule else [])


@pytest.mark.parametrize(
    ("rule", "wanted", "others"),
    [
        (
            "Run `make docs` after you edit docs/api.md or src/api.py.",
            ["edit docs/api.md", "edit src/api.py"],
            ["edit src/cli.py", "make docs"],
        ),
        (
            "Never delete a PersistentVolumeClaim in prod without a snapshot.",
            ["kubectl -n prod delete persistentvolumeclaim data-0"],
            ["kubectl -n prod delete pod data-0"],
        ),
        ("Always drain a node before rebooting it.", ["reboot"], ["boot"]),
        (
            "Never edit a migration that has already been applied.",
            ["edit migrations/001_orders.sql"],
            ["edit src/orders.sql"],
        ),
        (
            "Tests must not use mocks of the database.",
            ["edit tests/test_orders.py"],
            ["edit src/orders.py"],
        ),
        (
            "Never put business logic into API handlers.",
            ["edit app/api/handlers.py"],
            ["edit app/api/schema.py"],
        ),
        (
            "If you touch Dockerfile or docker-compose.yml, rebuild with make image.",
            ["edit Dockerfile", "edit docker-compose.yml"],
            ["make image"],
        ),
        (
            "Always use --check with ansible-playbook.",
            ["ansible-playbook site.yml"],
            ["ansible-playbook --check site.yml", "ansible-lint site.yml"],
        ),
        ("Always run pytest with -n 4.", ["pytest tests"], ["pytest -n 4", "pip install pytest"]),
        (
            "Pass --context prod to every kubectl command.",
            ["kubectl delete pod web"],
            ["kubectl --context prod delete pod web", "docker context use x"],
        ),
        ("Ask before you run dbt run --full-refresh.", ["dbt run --full-refresh"], ["dbt run"]),
        ("Always format CSS files with two spaces.", ["edit a/b.css"], ["edit a.ts", "edit a.py"]),
        ("Format TypeScript files with prettier.", ["edit a.ts", "edit b.tsx"], ["edit a.js"]),
        ("Write Markdown with a sentence per line.", ["edit README.md"], ["edit src/app.py"]),
        ("YAML files use 2 spaces.", ["edit ci.yml"], ["kubectl apply -f app.yaml"]),
        ("Use npm ci instead of npm install.", ["npm install"], ["npm ci", "npm test"]),
        ("Use polars instead of pandas.", ["uv add pandas"], ["uv add polars"]),
        ("Never push to main.", ["git push"], ["docker push img", "git pull"]),
        ("Always use the -n flag with kubectl.", ["kubectl apply"], ["kubectl -n x apply"]),
        ("Use conventional commits.", ["git commit -m x"], ["git push"]),
        ("Never touch the vendor directory.", ["edit vendor/x.js", "rm vendor"], ["edit a.js"]),
        ("Don't use sudo.", ["sudo apt install jq"], ["apt install jq"]),
        ("Before committing run `just lint`.", ["git commit -m x"], ["just lint"]),
        ("Run dvc push before git push.", ["git push"], ["docker push img", "dvc push"]),
        ("Never commit notebooks with output.", ["git commit -am x"], ["git push"]),
        (
            "Data in data/raw stays as it is; write results to data/processed.",
            ["edit data/raw/a.csv"],
            ["edit data/processed/a.csv"],
        ),
    ],
)
def test_a_rule_is_about_the_uses_that_it_names(
    rule: str, wanted: list[str], others: list[str]
) -> None:
    # A procedure mentions much that it is not about, but "if you touch" says when it is needed.
    type_ = "procedure" if rule.startswith("If") else "constraint"
    memory = Memory("a.md", "mem_a", type_, "", [], rule)
    for action in [*wanted, *others]:
        verb, _, path = action.partition(" ")
        steps = parse_action({"path": path} if verb == "edit" else {"command": action}, "/p")
        rated = list(rate_rules(lambda *_: [memory], steps, "/p")) if steps else []
        assert bool(rated) is (action in wanted), action


def test_a_command_line_falls_into_its_programs() -> None:
    line = "cd x && A=1 sudo -E uv run pytest -n auto tests <<'EOF' | tee out\nrm -rf /\nEOF\n"
    commands = parse_command(line, "")
    assert [command.program for command in commands] == ["pytest", "tee"]
    assert commands[0].flags == {"A=1", "sudo", "-n"} and commands[1].paths == ("x/out",)
    assert parse_command("python3 -m pip install x", "")[0].program == "pip"
    assert parse_command("cat log", "") == []
    assert parse_command("'unfinished; rm x", "")[-1].paths == ("x",)


def test_each_memory_is_shown_once_and_within_the_tokens(tmp_path: Path) -> None:
    place = fill(make_workspace(tmp_path), long=f"Never run `make clean`. {'It takes long. ' * 90}")
    shown = Shown("", {})
    text = ask(place, {"command": "make clean"}, shown)
    assert "Never run" in text and len(text.encode()) <= 600
    assert ask(place, {"command": "make clean"}, shown) == ""
    assert ask(place, {"command": "make clean"}, tokens=10) == ""


HIDDEN = {
    "forgotten": "status: forgotten\nforgotten_at: 2026-11-01T00:00:00Z",
    "superseded": "superseded_by: mem_other",
    "expired": "expires_at: 2026-11-01T00:00:00Z",
    "other": "project: warehouse",
    "fact": "type: fact",
}


@pytest.mark.parametrize("name", HIDDEN)
def test_memories_that_are_not_current_are_not_shown(tmp_path: Path, name: str) -> None:
    entry = (
        f"---\ntype: lesson\nsource: user\n{HIDDEN[name]}\n---\n\nmake clean breaks the cache.\n"
    )
    place = fill(
        make_workspace(tmp_path), **{name: entry.replace("type: lesson\n", "", name == "fact")}
    )
    assert ask(place, {"command": "make clean"}) == ""


@pytest.mark.parametrize("is_own", [True, False])
def test_only_the_own_workspace_leaves_out_other_projects(tmp_path: Path, *, is_own: bool) -> None:
    workspace = make_workspace(tmp_path)
    fill(
        workspace,
        other="---\nsource: user\ntype: lesson\nproject: warehouse\n---\n\nmake clean takes long.\n",
    )
    workspace.is_own, workspace.project = is_own, "shop"
    place = build_places([workspace])[0][0]
    assert bool(ask(place, {"command": "make clean"})) is not is_own


def test_what_changed_since_the_index_was_made_is_not_shown(tmp_path: Path) -> None:
    workspace = make_workspace(tmp_path)
    place = fill(workspace, a="make clean breaks the cache.", b="make clean takes an hour.")
    put(
        workspace,
        "entries/a.md",
        "---\nid: mem_a\nstatus: forgotten\n---\n\nmake clean breaks it.\n",
    )
    put(workspace, "purged.txt", "mem_b 2026-11-28T12:00:00Z\n")
    assert ask(place, {"command": "make clean"}) == ""


def test_a_file_that_is_newer_than_its_memory_is_mentioned(tmp_path: Path) -> None:
    entry = (
        "---\ntype: lesson\nsource: user\nfiles: [src/cache.py]\n"
        "created_at: 2026-11-01T00:00:00Z\n---\n\nKeys are lower case.\n"
    )
    place = fill(make_workspace(tmp_path), cache=entry)
    (tmp_path / "src").mkdir()
    (tmp_path / "src/cache.py").write_text("x\n")
    text = ask(place, {"file_path": str(tmp_path / "src/cache.py")})
    assert "Keys are lower case." in text
    assert "src/cache.py changed since this was written" in text


@pytest.mark.parametrize(
    ("command", "error", "is_shown"),
    [
        ("cargo-frob --all", "bash: cargo-frob: command not found", True),
        ("pnpm test", "FAIL load test: the pool had 0 connections left", True),
        ("ls nope", "ls: cannot access 'nope': No such file or directory", False),
    ],
)
def test_a_failure_shows_the_lesson_from_the_same_failure(
    tmp_path: Path, command: str, error: str, *, is_shown: bool
) -> None:
    place = fill(make_workspace(tmp_path), **RULES)
    text = build_failure_context(
        [place],
        str(tmp_path),
        {"command": command},
        error,
        Shown("", {}),
        tokens=150,
        now=format_time(NOW),
    )
    assert bool(text) == is_shown


def test_nothing_slow_is_imported(tmp_path: Path) -> None:
    place = fill(make_workspace(tmp_path), **RULES)
    code = (
        "import sys; from memcli.agents import quick; from memcli.agents.events import Event\n"
        "from memcli.recall.lookup import Place\n"
        f"find = lambda: ([Place(*{tuple(place)!r})], 150)\n"
        "for name, error in (('PreToolUse', ''), ('PostToolUseFailure', 'pool connections lost')):\n"
        f"    event = Event(name, 's', folder={str(tmp_path)!r}, arguments={{'command': 'npm i'}}, error=error)\n"
        f"    print(quick.answer_quickly(event, {str(tmp_path)!r}, find))\n"
        "slow = {'dataclasses', 'pathlib', 'yaml', 'numpy', 'onnxruntime', 'typer', 'subprocess'}\n"
        "print(sorted(slow & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=get_process_environment(tmp_path),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Use pnpm, not npm." in done.stdout
    assert done.stdout.endswith("[]\n")
