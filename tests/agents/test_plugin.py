"""The plugin folder has what Claude Code, Agent Plugins, desktop apps and registries read."""

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from memcli import __version__
from memcli.agents.install import build_values
from memcli.agents.mcp import TOOLS
from memcli.formats.frontmatter import parse
from tests.helpers import get_process_environment, make_workspace, put

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plugin")
    for _ in range(2):  # built again over itself
        subprocess.run([sys.executable, "man/plugin.py", folder], cwd=ROOT, check=True)
    return folder


def read_json(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return document


def test_the_manifests_name_the_program_and_its_version(plugin: Path) -> None:
    manifest = read_json(plugin / ".claude-plugin/plugin.json")
    (entry,) = read_json(plugin / ".claude-plugin/marketplace.json")["plugins"]
    portable = read_json(plugin / "plugin.json")
    registry = read_json(plugin / "server.json")
    for document in (manifest, entry, portable, registry, *registry["packages"]):
        assert document["version"] == __version__
    assert manifest["name"] == entry["name"] == portable["name"] == "mem"
    assert (plugin / manifest["mcpServers"]).is_file() and entry["source"] == "./"
    # The standard allows no other keys, and the registry no longer description.
    allowed = "$schema name version description author homepage repository license keywords".split()
    assert set(portable) <= {*allowed, "extensions"}
    assert len(registry["description"]) <= 100
    assert f"<!-- mcp-name: {registry['name']} -->" in (ROOT / "README.md").read_text()


def test_hooks_and_server_are_those_that_mem_installs(plugin: Path) -> None:
    hooks = read_json(plugin / "hooks/hooks.json")["hooks"]
    installed = build_values("claude-code", ["mem"])["hooks"]
    assert hooks.pop("SessionStart") != installed.pop("SessionStart")
    assert hooks == installed
    server = read_json(plugin / "mcp.json")["mcpServers"]["mem"]
    assert server == {"type": "stdio", "command": "mem", "args": ["mcp"]}


def test_the_start_says_that_mem_is_missing(plugin: Path) -> None:
    (group,) = read_json(plugin / "hooks/hooks.json")["hooks"]["SessionStart"]
    command = group["hooks"][0]["command"]
    done = subprocess.run(
        ["/bin/sh", "-c", command], env={"PATH": "/none"}, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["systemMessage"].startswith("mem is not installed")


@pytest.mark.parametrize("option, code", [("--help", 0), ("folder", 2)])
def test_help_and_a_folder_of_other_files_write_nothing(
    tmp_path: Path, option: str, code: int
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/thesis.txt").touch()
    command = [sys.executable, ROOT / "man/plugin.py", option]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == code and "usage:" in done.stdout + done.stderr
    assert os.listdir(tmp_path) == ["folder"]
    assert os.listdir(tmp_path / "folder") == ["thesis.txt"]


def test_the_skill_is_named_after_its_folder(plugin: Path) -> None:
    (path,) = plugin.glob("skills/*/SKILL.md")
    fields = parse(path.read_text("utf-8")).fields
    assert fields["name"] == path.parent.name
    assert len(fields["description"]) <= 1024
    assert "`mem search " in path.read_text("utf-8")


def test_the_bundle_starts_the_server(plugin: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(plugin / "mem.mcpb") as bundle:
        bundle.extractall(tmp_path / "bundle")
        assert not [name for name in bundle.namelist() if "__pycache__" in name]
    manifest = read_json(tmp_path / "bundle/manifest.json")
    assert [tool["name"] for tool in manifest["tools"]] == list(TOOLS)
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    environment = get_process_environment(tmp_path)
    del environment["PYTHONPATH"]
    done = subprocess.run(
        [sys.executable, manifest["server"]["entry_point"]],
        cwd=tmp_path / "bundle",
        env=environment,
        input=json.dumps(request) + "\n",
        capture_output=True,
        text=True,
    )
    assert len(json.loads(done.stdout)["result"]["tools"]) == len(TOOLS), done.stderr


def test_the_action_reports_conflict_markers(tmp_path: Path) -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    step = action["runs"]["steps"][-1]
    workspace = make_workspace(tmp_path)
    put(workspace, "entries/sun.md", "---\nid: mem_01m8h0h7p0hs5xrq\n---\n\nThe sun is up.\n")
    program = tmp_path / "bin" / "mem"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -P -m memcli "$@"\n')
    program.chmod(0o755)
    environment = {
        **get_process_environment(tmp_path / "home"),
        "PATH": f"{program.parent}:{os.environ['PATH']}",
        "FOLDER": action["inputs"]["folder"]["default"],
    }

    def check() -> tuple[int, str]:
        done = subprocess.run(
            ["bash", "-e", "-c", step["run"]], cwd=tmp_path, env=environment, capture_output=True
        )
        return done.returncode, done.stdout.decode()

    assert check() == (0, "")
    markers = "<<<<<<< HEAD\nThe sun is up.\n=======\nIt rains.\n>>>>>>> other\n"
    put(workspace, "entries/sun.md", f"---\nid: mem_01m8h0h7p0hs5xrq\n---\n\n{markers}")
    code, output = check()
    assert code == 1
    assert re.match(r"::error file=memory/entries/sun.md,line=5::a git conflict marker", output)
    # GitHub's workflow commands end a value at these characters.
    put(workspace, "entries/sun.md", "The sun is up.\n")
    put(workspace, "entries/50%, 1:2.md", markers)
    put(workspace, "entries/y.md", "---\nsuperseded_by: 50%0A\n---\n\nIt rains.\n")
    first, second = check()[1].splitlines()
    assert first.startswith("::error file=memory/entries/50%25%2C 1%3A2.md,line=1::a git conflict")
    assert second.startswith(
        "::error file=memory/entries/y.md,line=1::superseded_by names 50%250A,"
    )
