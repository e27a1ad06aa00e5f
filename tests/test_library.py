"""The programs of docs/agents.md do what the page says, print what it shows, and pass a strict type checker."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import house

PAGE = Path(__file__).parent.parent / "docs" / "agents.md"
PROGRAM = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.DOTALL)
UPDATE = bool(os.environ.get("UPDATE"))


def programs() -> list[str]:
    """Read the programs in their order."""
    return [found[1] for found in PROGRAM.finditer(PAGE.read_text(encoding="utf-8"))]


def test_every_program_prints_what_the_page_shows(tmp_path: Path) -> None:
    environ = {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "MEM_SEED": "7",
        "MEM_NOW": "2026-11-21T20:15:03Z",
        "MEM_TIMEZONE": "UTC",
    }
    page = PAGE.read_text(encoding="utf-8")
    for found in list(PROGRAM.finditer(page)):
        ran = subprocess.run(
            [sys.executable, "-c", found[1]], cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, f"{found[1]}\n{ran.stderr}"
        assert ran.stderr == ""
        if UPDATE:
            shown = f"```python\n{found[1]}```\n" + (f"\n```text\n{ran.stdout}```\n" if ran.stdout else "")
            page = page.replace(found[0], shown)
        else:
            assert ran.stdout == (found[2] or "")
    if UPDATE:
        PAGE.write_text(page, encoding="utf-8")


def test_each_program_is_ten_lines_or_less() -> None:
    assert len(programs()) >= 5
    for program in programs():
        assert len([line for line in program.splitlines() if line.strip()]) <= 10, program


def test_a_strict_type_checker_accepts_them(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    names = []
    for number, program in enumerate(programs()):
        path = tmp_path / f"program_{number}.py"
        path.write_text(program, encoding="utf-8")
        names.append(str(path))
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", f"--cache-dir={tmp_path}/cache", *names],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout


def test_what_the_library_raises_names_no_option_of_the_command_line_as_what_is_wrong() -> None:
    """The first text of an error says what is wrong, to a program too; the second says what mends it, in the shell."""
    found = []
    for path, source in house.tree().items():
        if path.startswith("cli/"):
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and node.args and ast.unparse(node.func).endswith("Error"):
                said = "".join(
                    part.value
                    for part in ast.walk(node.args[0])
                    if isinstance(part, ast.Constant) and isinstance(part.value, str)
                )
                if re.search(r"(?:^|[\s`(])--?[a-z](?:[a-z-]*[a-z])?(?![\w-])", said):
                    found.append(f"{path}:{node.lineno} {said}")
    assert found == []
