"""What tests of many areas begin with: a workspace at a moment, its files, and a repository of somebody."""

import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from memcli.store.workspace import Surroundings, Workspace, opened

NOW = datetime(2026, 11, 21, 20, 15, 3, tzinfo=UTC)


def at(root: Path, now: datetime = NOW, **environ: str) -> Workspace:
    """Open a folder as a workspace, at a moment."""
    root.mkdir(parents=True, exist_ok=True)
    return opened(Surroundings(root, {"HOME": str(root.parent), "MEM_TIMEZONE": "UTC"} | environ, now), root)


def tree(root: Path, *leave_out: str) -> dict[str, bytes]:
    """Return the bytes of every file of the user's, without those whose path begins with one of some words."""
    paths = [path for path in sorted(root.rglob("*")) if path.is_file()]
    files = {path.relative_to(root).as_posix(): path for path in paths}
    return {name: path.read_bytes() for name, path in files.items() if not name.startswith((".mem", *leave_out))}


def git(folder: Path, *words: str, who: str = "Rita") -> str:
    """Run git as somebody, whatever the settings of this machine are; return what it prints."""
    environ = {f"GIT_{role}_NAME": who for role in ("AUTHOR", "COMMITTER")}
    environ |= {f"GIT_{role}_EMAIL": "rita@example.org" for role in ("AUTHOR", "COMMITTER")}
    environ |= {"GIT_CONFIG_GLOBAL": os.devnull}
    command = ["git", *words]
    done = subprocess.run(command, cwd=folder, env=os.environ | environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


def commit(folder: Path, subject: str = "x", who: str = "Rita") -> None:
    """Commit everything in a folder."""
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", subject, who=who)
