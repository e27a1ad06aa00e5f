"""The sessions shown in the documents are run here, in a real terminal, and print what the documents say.

A block that begins with ```console holds commands after `$ ` and below each what it prints. A command that ends with
`# keys: n k q` is typed to, a line each time it asks. `UPDATE=1 pytest tests/test_transcripts.py` writes the documents
anew.
"""

import errno
import os
import pty
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import team_server
from tests.conftest import NOW
from tests.machines import write_config

ROOT = Path(__file__).parent.parent
NAMES = ("README.md", *(f"docs/{name}.md" for name in ("start", "files", "search", "truth", "machines")))
DOCUMENTS = [path for path in map(ROOT.joinpath, NAMES) if path.exists()]
KEYS = re.compile(r"# keys: (.+)$")
BLOCK = re.compile(r"(?ms)^```console\n(.*?)^```$")


def in_terminal(command: str, folder: Path, environ: dict[str, str]) -> str:
    """Run a command with a terminal of 100 columns for stdout and stderr; give what it shows."""
    master, slave = pty.openpty()
    keys = KEYS.search(command)
    waiting = keys[1].split() if keys else []
    process = subprocess.Popen(
        ["bash", "-c", command], cwd=folder, env=environ, stdin=slave, stdout=slave, stderr=slave
    )
    os.close(slave)
    shown = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError as error:
            if error.errno == errno.EIO:  # the other end is closed
                break
            raise
        if not piece:
            break
        shown += piece
        if waiting and shown.endswith(b" ? "):
            os.write(master, f"{waiting.pop(0)}\n".encode())
    os.close(master)
    process.wait()
    text = re.sub(r"\r[^\n]*\r\x1b\[K", "", shown.decode()).replace("\r\n", "\n")
    return re.sub(r"[^\n]*\r\x1b\[K", "", text)


def played(block: str, folder: Path, environ: dict[str, str]) -> str:
    """Run the commands of a block one after the other and put down what they print."""
    commands = re.findall(r"(?m)^\$ (.*)$", block)
    return "".join(f"$ {command}\n{in_terminal(command, folder, environ)}" for command in commands)


def server(database: team_server.TeamDatabase, folder: Path) -> dict[str, str]:
    """Give the variables by which commands reach a database without tables as its administrator, ann and bea."""
    database.run("drop schema mem cascade")
    names = {"admin": "administrator", "team": "ann", "bea": "bea"}
    socket = f"host={database.server.folder}\ndbname={database.name}"
    services = (f"[{name}]\n{socket}\nuser={role}\n" for name, role in names.items())
    (folder / "services").write_text("\n".join(services))
    programs = team_server.programs()
    assert programs is not None
    (folder / "bin" / "psql").symlink_to(programs / "psql")
    return {"PGSERVICEFILE": str(folder / "services")}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_a_document_shows_what_the_commands_print(
    document: Path, tmp_path: Path, indexed: Path, request: pytest.FixtureRequest
) -> None:
    binary = tmp_path / "bin"
    binary.mkdir()
    (binary / "mem").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m memcli "$@"\n')
    (binary / "mem").chmod(0o755)
    folder = tmp_path / "project"
    folder.mkdir()
    shutil.copytree(indexed, tmp_path / "fixtures" / "workspace")
    write_config(tmp_path / "home")
    environ = {
        **{name: os.environ[name] for name in ("HOME", "LANG", "LC_ALL", "XDG_CACHE_HOME") if name in os.environ},
        "PATH": f"{binary}:{os.environ['PATH']}",
        "COLUMNS": "100",
        "NO_COLOR": "1",
        "TERM": "xterm",
        "MEM_NOW": NOW,
        "MEM_SEED": "docs",
        "MEM_TIMEZONE": "UTC",
    }
    text = document.read_text(encoding="utf-8")
    assert BLOCK.search(text)
    if "service=admin" in text:
        environ |= server(request.getfixturevalue("team"), tmp_path)
    new = BLOCK.sub(lambda found: f"```console\n{played(found[1], folder, environ)}```", text)
    assert "Traceback" not in new
    if os.environ.get("UPDATE"):
        document.write_text(new, encoding="utf-8")
        text = new
    assert new == text
