"""Workspaces for tests."""

import io
import os
import random
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

from memcli.api import add_gates
from memcli.cli.main import run
from memcli.context import CommonOptions, Context
from memcli.store.init import create_workspace
from memcli.store.workspace import Workspace, get_target_workspace

PROJECT = Path(__file__).parents[1]
CACHE = PROJECT / "build" / "cache"  # for the prepared copy of the model
NOW = datetime(2026, 11, 28, 12, 0, tzinfo=UTC)
COUNTER = count()


def make_context(folder: Path, **environment: str) -> Context:
    """Return a context without a terminal, with a home in `folder`.

    Each one is a second later than the one before and has other random ids, as commands do.
    """
    number = next(COUNTER)
    return Context(
        environment={"HOME": str(folder / "home"), "MEM_TIMEZONE": "UTC", **environment},
        folder=folder,
        stdin=io.StringIO(),
        stdout=io.StringIO(),
        stderr=io.StringIO(),
        read_clock=lambda: NOW + timedelta(seconds=number),
        noise=random.Random(number),
        common=CommonOptions(workspace=str(folder / "memory")),
    )


def make_workspace(folder: Path) -> Workspace:
    """Create and open a trusted workspace in `folder/memory`."""
    context = make_context(folder)
    create_workspace(context, folder / "memory")
    return add_gates(get_target_workspace(context))


def open_again(workspace: Workspace) -> Workspace:
    """Open a workspace as another process does, with an index connection of its own."""
    return add_gates(get_target_workspace(workspace.context))


def run_mem(folder: Path, *words: str, stdin: str = "", **environment: str) -> tuple[int, str, str]:
    """Run a command in process, in `folder`. Return its exit code, stdout and stderr."""
    context = make_context(folder, **environment)._replace(
        stdin=io.StringIO(stdin), common=CommonOptions()
    )
    code = run(context, words)
    return code, context.stdout.getvalue(), context.stderr.getvalue()  # type: ignore[attr-defined]


def put(workspace: Workspace, path: str, text: str | bytes) -> Path:
    """Write a file as an editor does."""
    file = workspace.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text)
    return file


def get_process_environment(home: Path) -> dict[str, str]:
    """Return the environment of a `mem` process with a home of its own."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "XDG_CACHE_HOME": str(CACHE),
        "PYTHONPATH": str(PROJECT),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "Ana",
        "GIT_AUTHOR_EMAIL": "ana@example.org",
        "GIT_COMMITTER_NAME": "Ana",
        "GIT_COMMITTER_EMAIL": "ana@example.org",
    }
