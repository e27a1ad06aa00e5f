"""A workspace that is worked by the command line, and what stands in its files afterwards."""

import json
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import yaml

from memcli.cli.app import run


class Workspace:
    """A fresh workspace, worked by the command line."""

    def __init__(self, root: Path) -> None:
        """Make it."""
        self.root = root
        root.parent.mkdir(parents=True, exist_ok=True)
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):
            run(["init", str(root)])  # its own: in a workspace that is not trusted only the same words confirm

    def mem(self, *words: str, text: str) -> Any:
        """Run a command on a text and give the document it prints."""
        printed = StringIO()
        with redirect_stdout(printed), redirect_stderr(StringIO()):
            code = run([*words, "--workspace", str(self.root), "--json", "--", text])
        if code:
            raise RuntimeError(f"mem {' '.join(words)[:80]}: exit {code}")
        return json.loads(printed.getvalue())

    def write(self, text: str, *words: str) -> Any:
        """Write a memory."""
        return self.mem("write", *words, text=text)

    def entries(self) -> dict[str, dict[str, Any]]:
        """Read every entry from its file, by id: the fields, and the text under `body`."""
        found = {}
        for path in self.root.rglob("*.md"):
            parts = path.read_text(encoding="utf-8").split("---\n", 2)
            if len(parts) == 3 and path.name != "MEMORY.md":
                fields = yaml.safe_load(parts[1])
                if "id" in fields:
                    found[str(fields["id"])] = {**fields, "body": parts[2].strip()}
        return found


def flat(text: str) -> str:
    """Give a text without what never makes it another one."""
    return " ".join(text.casefold().split()).rstrip(" .。")


def is_kept(entries: dict[str, dict[str, Any]], text: str) -> bool:
    """Tell whether a text stands in some file, as a body or a wording."""
    said = (one for entry in entries.values() for one in (entry["body"], *map(str, entry.get("wordings") or ())))
    return any(flat(text) == flat(one) for one in said)
