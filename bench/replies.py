"""Measure what is read of malformed replies, and whether a conversation survives them.

    python -m bench.replies FILE

FILE has one JSON object per line with `input`, the malformed text, and `expected`, its value. A
field is complete if its name is in the text and the text does not end in the middle of its value.
Then each text is the reply of a language model that consolidates a conversation: everything that
was said must be in the history or still wait.
"""

import argparse
import json
import re
import shlex
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

from memcli.api import open_workspace
from memcli.consolidate.batch import read_pending
from memcli.consolidate.consolidate import consolidate_session
from memcli.context import CommonOptions
from memcli.llm.json_parser import read_fields
from memcli.store.init import create_workspace
from memcli.store.sessions import append_events, read_session

SAID = ("The boiler was serviced in October.", "Noted.", "Tea is at four.")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--show", action="store_true", help="print every field that was not read")
    options = parser.parse_args()
    rows = [json.loads(line) for line in options.file.read_text("utf-8").splitlines()]
    counts: Counter[str] = Counter(replies=len(rows))
    for row in rows:
        if isinstance(row["expected"], dict) and not row.get("expect_error"):
            count_fields(row, counts, is_verbose=options.show)
    with tempfile.TemporaryDirectory() as folder:
        count_losses(rows, Path(folder), counts, is_verbose=options.show)
    for name, count in counts.items():
        print(f"{name:36} {count:6,}")


def count_fields(row: dict[str, Any], counts: Counter[str], *, is_verbose: bool) -> None:
    expected = row["expected"]
    try:
        fields = read_fields(row["input"], list(expected)).fields
    except ValueError:
        fields = {}
    for name in find_complete_fields(row["input"], expected):
        outcome = "lost"
        if name in fields or expected[name] in (None, "", []):
            outcome = "as expected" if fields.get(name) == expected[name] else "read differently"
        counts["complete fields"] += 1
        counts[f"complete fields {outcome}"] += 1
        if is_verbose and outcome == "lost":
            print(f"{outcome}: {name} of {row['input']!r}")


def find_complete_fields(text: str, expected: dict[str, Any]) -> list[str]:
    """Return the fields of a text, without the last one if the text was cut off."""
    places = []
    for name in expected:
        keys = list(re.finditer(rf"""\b{re.escape(name)}\W?\s*[:="']""", text)) if name else []
        if keys:
            places.append((keys[-1].start(), name))
    names = [name for _, name in sorted(places)]
    is_cut = any(text.count(opening) > text.count(end) for opening, end in ("{}", "[]"))
    return names[:-1] if is_cut or text.count('"') % 2 else names


def count_losses(
    rows: list[dict[str, Any]], folder: Path, counts: Counter[str], *, is_verbose: bool
) -> None:
    """Consolidate a conversation with each text as the reply."""
    reply = folder / "reply"
    environment = {"HOME": str(folder), "MEM_LLM_COMMAND": f"cat {shlex.quote(str(reply))}"}
    root = folder / "memory"
    own = open_workspace(environment={**environment, "XDG_DATA_HOME": str(folder / "own")})
    create_workspace(own.context._replace(common=CommonOptions()), root)
    for number, row in enumerate(rows):
        reply.write_text(row["input"], encoding="utf-8", errors="replace")
        workspace = open_workspace(root, environment=environment)
        events = [
            {"role": "user", "content": f"{text} ({number})", "id": f"m{number}-{place}"}
            for place, text in enumerate(SAID)
        ]
        append_events(workspace, f"s{number}", events)
        (result,) = consolidate_session(workspace, read_session(workspace, f"s{number}"))
        pending = read_pending(workspace, read_session(workspace, f"s{number}"))
        is_complete = all(f"{text} ({number})" in result.history for text in SAID)
        is_empty_reply = (
            bool(re.search(r"\{\s*\}|\[\s*\]", row["input"])) and ":" not in row["input"]
        )
        counts[f"replies read as {result.method}"] += 1
        is_saved = bool(result.memories or result.history)
        is_lost = not is_empty_reply and not is_saved and not (pending and is_complete)
        counts["conversations lost"] += is_lost
        if is_lost and is_verbose:
            print(f"conversation lost: {row['input']!r}")


if __name__ == "__main__":
    main()
