"""What others build and run of this repository is what its files say: a hook of pre-commit, a container, a workflow."""

import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import Mem
from tests.scenes import commit, git

ROOT = Path(__file__).parent.parent
SECRET = "ghp_A7bX9kQ2mZ4tR8vW1nC5dE3fG6hJ0pLsYu2B"
SCRIPTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
PAGE = (ROOT / "docs" / "machines.md").read_text()
BLOCKS = re.findall(r"(?ms)^```(\w+)\n(.*?)^```$", PAGE)

# As pre-commit reads a manifest: what must be there, and what may, with its type.
NEEDED = ("id", "name", "entry", "language")
KNOWN: dict[str, type] = {
    **dict.fromkeys((*NEEDED, "description", "files", "exclude", "language_version", "log_file"), str),
    **dict.fromkeys(("pass_filenames", "always_run", "fail_fast", "require_serial", "verbose"), bool),
    **dict.fromkeys(("args", "types", "types_or", "exclude_types", "stages", "additional_dependencies"), list),
    "minimum_pre_commit_version": str,
}
LANGUAGES = {"python", "system", "script", "unsupported", "unsupported_script"}
STAGES = {"commit-msg", "post-checkout", "post-commit", "post-merge", "post-rewrite", "pre-commit", "pre-merge-commit"}


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put `mem` on the path of a shell."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "mem"
    script.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m memcli "$@"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


@pytest.fixture
def repository(workspace: Path, world: Path) -> Path:
    """Give a repository with a workspace, and a branch of its own that left `origin/main`."""
    git(world, "init", "-q", "-b", "main")
    commit(world)
    git(world, "update-ref", "refs/remotes/origin/main", "main")
    git(world, "switch", "-qc", "side")
    return world


def manifest() -> list[dict[str, Any]]:
    found = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert isinstance(found, list)
    return found


def test_the_manifest_is_one_that_pre_commit_takes() -> None:
    (hook,) = manifest()
    assert hook["id"] == "mem-check"
    assert [name for name in NEEDED if not hook.get(name)] == []
    assert {name: type(value) for name, value in hook.items()} == {name: KNOWN.get(name) for name in hook}
    assert hook["language"] in LANGUAGES
    assert set(hook["stages"]) <= STAGES
    assert not hook["pass_filenames"]  # `mem check` takes none
    if importlib.util.find_spec("pre_commit"):
        done = subprocess.run(
            [sys.executable, "-m", "pre_commit", "validate-manifest", ROOT / ".pre-commit-hooks.yaml"]
        )
        assert done.returncode == 0


@pytest.mark.parametrize("args", [[], ["--workspace", "memory"]])
def test_the_hook_stops_a_commit_with_a_secret_and_no_other(
    repository: Path, workspace: Path, program: None, args: list[str]
) -> None:
    (hook,) = manifest()
    words = [*shlex.split(hook["entry"]), *args]
    (workspace / "entries").mkdir(exist_ok=True)
    for text, code in (("All is well.", 0), (f"The key is {SECRET}.", 1)):
        (workspace / "entries" / "a.md").write_text(f"---\nid: mem_a\n---\n\n{text}\n")
        git(repository, "add", "-A")
        done = subprocess.run(words, cwd=repository, capture_output=True, check=False)
        assert done.returncode == code, done.stderr


def instructions() -> list[tuple[str, str]]:
    text = (ROOT / "Containerfile").read_text().replace("\\\n", " ")
    rows = [line.split(maxsplit=1) for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(word, rest) for word, rest in rows]


def copied() -> list[str]:
    """Return what the image takes from this folder."""
    rows = [rest.split()[:-1] for word, rest in instructions() if word == "COPY" and "--from=" not in rest]
    return [name for names in rows for name in names]


def test_what_the_image_copies_is_there_and_is_not_kept_from_the_builder() -> None:
    assert [name for name in copied() if not (ROOT / name).exists()] == []
    ignored = (ROOT / ".dockerignore").read_text().split()
    assert ignored[0] == "*"
    assert {f"!{name}" for name in copied()} <= set(ignored)


def test_the_image_runs_mem_as_nobody_in_particular() -> None:
    found = instructions()
    last = dict(found)
    assert json.loads(last["ENTRYPOINT"])[0] in SCRIPTS
    assert last["USER"] not in ("root", "0")
    words = [word for word, _ in found]
    assert words.index("USER") > max(place for place, word in enumerate(words) if word == "RUN")
    assert "ADD" not in words
    assert last["WORKDIR"] == last["VOLUME"] == "/work"
    assert f"useradd --uid 1000 --create-home {last['USER']} " in next(
        rest for word, rest in found if "useradd" in rest
    )


def test_the_copied_files_are_all_that_mem_needs(tmp_path: Path, workspace: Path, mem: Mem) -> None:
    """What the image is built from, and nothing else of this folder, answers `--help` and a search by words."""
    image = tmp_path / "image"
    image.mkdir()
    for name in copied():
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, image / name)
        else:
            shutil.copy(ROOT / name, image)
    assert mem("write", "The backup runs at 03:30.", "--no-dedup").code == 0
    environ = {**os.environ, "PYTHONPATH": str(image)}
    for words in (["--help"], ["search", "backup", "--mode", "keyword"]):
        done = subprocess.run(
            [sys.executable, "-m", "memcli", *words], capture_output=True, check=False, text=True, env=environ,
            cwd=workspace.parent,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert "backup" in done.stdout or "Usage: mem" in done.stdout


COMMANDS = [line.partition("#")[0].strip() for line in PAGE.splitlines() if line.startswith("    mem ")]
WORKFLOW = next(yaml.safe_load(text) for kind, text in BLOCKS if kind == "yaml" and "jobs:" in text)
STEPS = [one["run"] for one in WORKFLOW["jobs"]["review"]["steps"] if one.get("run", "").startswith("mem ")]


@pytest.mark.parametrize("line", [*COMMANDS, *STEPS])
def test_a_line_of_the_page_does_what_it_says(
    repository: Path, workspace: Path, program: None, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BASE", "main")
    (workspace / "entries").mkdir(exist_ok=True)
    (workspace / "entries" / "a.md").write_text("---\nid: mem_a\n---\n\nTea is at five.\n")
    git(repository, "tag", "v1")
    commit(repository, "y")
    git(repository, "tag", "v2")
    done = subprocess.run(["sh", "-ec", line], cwd=repository, capture_output=True, check=False, text=True)
    assert done.returncode == 0, done.stderr
    said = (
        done.stdout + (repository / "comment.md").read_text() if (repository / "comment.md").exists() else done.stdout
    )
    is_told = line.startswith("mem diff") and line != "mem diff"
    assert ("Tea is at five" in said) == is_told


def test_the_page_names_the_hook_there_is() -> None:
    (config,) = [yaml.safe_load(text) for kind, text in BLOCKS if kind == "yaml" and text.startswith("repos:")]
    assert [one["id"] for one in config["repos"][0]["hooks"]] == [one["id"] for one in manifest()]


def test_no_group_is_repeated_possessively() -> None:
    """Python 3.11 before 3.11.5, that of Debian 12, matches such patterns wrongly (gh-106052); `(?>…)` it does not."""
    possessive = re.compile(r"[)}][*+?]\+|\)\{\{?[\d,]+\}\}?\+")
    sources = [path for end in ("py", "toml") for path in (ROOT / "memcli").rglob(f"*.{end}")]
    assert len(sources) > 100
    assert not [path.name for path in sources if possessive.search(path.read_text(encoding="utf-8"))]
