"""Without EDITOR, a person at a terminal gets vi."""

import io
import random
from datetime import UTC, datetime
from pathlib import Path

from memcli.cli.main import run
from memcli.context import Context


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_without_a_setting_the_editor_is_vi(tmp_path: Path) -> None:
    editor = tmp_path / "vi"
    editor.write_text('#!/bin/sh\nprintf "The port is 7654.\\n" > "$1"\n')
    editor.chmod(0o755)
    output = Terminal()
    context = Context(
        environment={"HOME": str(tmp_path), "PATH": str(tmp_path)},
        folder=tmp_path,
        stdin=Terminal(),
        stdout=output,
        stderr=output,
        read_clock=lambda: datetime(2026, 11, 28, 12, tzinfo=UTC),
        noise=random.Random(1),
        is_terminal=True,
    )
    note = tmp_path / "memory/entries/port.md"
    note.parent.mkdir(parents=True)
    (tmp_path / "memory/mem.yaml").touch()
    note.write_text("The port is 6543.\n")
    assert run(context, ["edit", "port"]) == 0, output.getvalue()
    assert "The port is 7654." in note.read_text()
    editor.unlink()
    assert run(context, ["edit", "port"]) == 2
    assert "cannot start the editor 'vi': No such file or directory" in output.getvalue()
