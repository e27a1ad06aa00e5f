"""The memory of `mem ui --demo`: a year of a made-up person, in a folder of its own."""

import os
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from ..api import context, edit, find, read, sessions
from ..api.configure import init
from ..api.history import add_history, add_note
from ..api.workspace import Surroundings, Workspace, open_workspaces, surroundings
from ..api.write import NewEntry, write

_MEMORIES = Path(__file__).with_name("demo.toml")
_DATES = ("days", "user", "assistant", "forget", "reads")
"""Keys of a row that are no fields of an entry."""


@contextmanager
def sample() -> Iterator[Callable[[], list[Workspace]]]:
    """Give a function that opens the sample; it is deleted afterwards, and nothing of the person's is touched."""
    with TemporaryDirectory(prefix="mem-demo-") as folder:
        home = Path(folder)
        own = {name: os.environ[name] for name in ("MEM_NOW", "MEM_TIMEZONE") if name in os.environ}
        environ = {"HOME": folder, "MEM_SEED": "demo", **own}
        now = surroundings().now
        around = Surroundings(home, environ, now - timedelta(days=365))
        root = home / "bakery" / "memory"
        init(root, around=around)
        open_at = partial(open_workspaces, root, folder=home, environ=environ)
        for row in tomllib.loads(_MEMORIES.read_text(encoding="utf-8"))["row"]:
            (workspace,) = open_at(now=now - timedelta(days=row["days"], minutes=7 * len(str(row))))
            _keep(workspace, row)
        yield open_at


def _keep(workspace: Workspace, row: dict[str, object]) -> None:
    fields = {name: value for name, value in row.items() if name not in _DATES}
    if "history" in row:
        add_history(workspace, str(row["history"]))
    elif "user" in row:
        add_note(workspace, user=str(row["user"]), assistant=str(row["assistant"]))
        for role in ("user", "assistant"):
            sessions.append(workspace, [{"role": role, "content": str(row[role])}], "counter-talk")
        context.session_start(workspace, session="counter-talk")
    elif "forget" in row:
        hit = find.search(workspace, str(row["forget"]), limit=1, mode="keyword").hits[0]
        edit.forget(workspace, hit.id, by="user", reason=str(row["reason"]))
    else:
        done = write(workspace, NewEntry(**fields), by="user", dedup=False)  # type: ignore[arg-type]
        for _ in range(int(str(row.get("reads", 0)))):
            read.read(workspace, done.id)
    find.list_entries(workspace, limit=1)  # the index sees what was made on the day it was made
