"""Many processes that write at the same moment lose and double nothing (MEM_CROWD: how many; 24 unless told)."""

import json
import os
from pathlib import Path

from tests.conftest import Mem
from tests.processes import run

MANY = int(os.environ.get("MEM_CROWD", "24"))
CROWD = """
import os, sys
import filelock, ruamel.yaml, sqlite3, typer
from memcli.cli import app, history, session, write
import memcli.api.write, memcli.beliefs.admission, memcli.index.index

root, many = sys.argv[1], int(sys.argv[2])
os.chdir(root)
os.environ |= {"MEM_WORKSPACE": root, "MEM_EMBEDDING_MODEL": "/nowhere", "MEM_LOCK_WAIT": "300"}
gate, opening = os.pipe()
children = []
for number in range(many):
    words = (
        ["write", f"The lamp number {number} is green", "--no-dedup"],
        ["write", f"The pump number {number} is blue", "--source", "user"],
        ["history", "add", f"The gate number {number} was shut"],
        ["note", f"Seen number {number}"],
        ["session", "append", "--session", "crowd", "--text", f"Said number {number}"],
    )[number % 5]
    child = os.fork()
    if child == 0:
        os.close(opening)
        os.read(gate, 1)
        code = 70
        try:
            code = app.run(words)
        finally:
            sys.stdout.flush()
            os._exit(code)
    children.append(child)
os.close(opening)
codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
print("codes", *codes)
"""


def test_many_processes_at_once_lose_and_double_nothing(mem: Mem, workspace: Path) -> None:
    ended = run(CROWD, workspace, MANY)
    assert ended.code == 0, ended.err
    assert ended.out.splitlines()[-1] == "codes" + " 0" * MANY, ended.err
    said = {0: "The lamp number", 1: "The pump number", 2: "The gate number", 3: "Seen number", 4: "Said number"}
    wanted = {f"{said[number % 5]} {number}" for number in range(MANY)}
    text = "\n".join(path.read_text() for path in workspace.rglob("*.*") if ".mem" not in path.parts and path.is_file())
    for one in wanted:
        found = [line for line in text.splitlines() if f"{one} " in f"{line} " or f'{one}"' in line]
        assert len([line for line in found if not line.startswith(("id:", "title:"))]) == 1, (one, found)
    assert mem("check").code == 0
    assert len(json.loads(mem("ls", "--json").out)["entries"]) == sum(number % 5 < 2 for number in range(MANY))
