"""Measure the action and failure moments: wanted rules that are shown, and shown without need.

    python -m bench.actions [DATA.jsonl] [--projects NAME …] [--misses]

Each line of the data is a project with its memories, or an action or failure in one of them with
the ids of the memories that should be shown. Each action is a session of its own.
"""

import argparse
import io
import json
import os
import random
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memcli.api import add_gates
from memcli.context import CommonOptions, Context
from memcli.formats.dates import format_time
from memcli.formats.entry import Entry, format_entry
from memcli.index.database import FILE
from memcli.index.index import open_index
from memcli.recall.action import build_action_context
from memcli.recall.failure import build_failure_context
from memcli.recall.lookup import Place
from memcli.recall.shown import Shown
from memcli.store.init import create_workspace
from memcli.store.workspace import get_target_workspace

DATA = Path(__file__).parent / "data" / "actions.jsonl"
TOKENS = 150


def make_place(folder: Path, project: dict[str, Any]) -> Place:
    """Create and index a workspace with the memories of a project."""
    context = Context(
        environment={"HOME": str(folder)},
        folder=folder,
        stdin=io.StringIO(),
        stdout=io.StringIO(),
        stderr=io.StringIO(),
        read_clock=lambda: datetime.now(UTC),
        noise=random.Random(1),
        common=CommonOptions(workspace=str(folder / "memory")),
    )
    create_workspace(context, folder / "memory")
    workspace = add_gates(get_target_workspace(context))
    said = format_time(datetime.now(UTC) - timedelta(days=3))
    for memory in project["memories"]:
        entry = Entry(
            memory["id"],
            memory["text"],
            type=memory["type"],
            source="user",
            trust=1.0,
            created_at=said,
            updated_at=said,
            files=tuple(memory.get("files") or ()),
        )
        path = workspace.root / "entries" / f"{memory['id']}.md"
        path.write_text(format_entry(entry), encoding="utf-8")
        # The index trusts only files that are older than its note of them.
        os.utime(path, (time.time() - 60,) * 2)
    time.sleep(0.1)
    open_index(workspace)
    assert workspace.machine.folder is not None
    return Place(str(workspace.root), str(workspace.machine.folder / FILE), "", "")


def show(place: Place, folder: Path, case: dict[str, Any], now: str) -> set[str]:
    """Return the ids that the moment shows."""
    shown = Shown("", {})
    options: dict[str, Any] = {"tokens": TOKENS, "now": now}
    if case["kind"] == "failure":
        build_failure_context([place], str(folder), case["input"], case["error"], shown, **options)
    else:
        build_action_context([place], str(folder), case["input"], shown, **options)
    return shown.ids


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", type=Path, default=DATA)
    parser.add_argument("--projects", nargs="*", default=[])
    parser.add_argument("--misses", action="store_true", help="print what went wrong")
    arguments = parser.parse_args()
    cases = [json.loads(line) for line in arguments.data.read_text("utf-8").splitlines() if line]
    projects = {case["project"]: case for case in cases if case["kind"] == "project"}
    now = format_time(datetime.now(UTC))
    counts: dict[str, Counter[str]] = {"action": Counter(), "failure": Counter()}
    for name, project in projects.items():
        if arguments.projects and name not in arguments.projects:
            continue
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            place = make_place(folder, project)
            texts = {memory["id"]: memory["text"] for memory in project["memories"]}
            for case in cases:
                if case["kind"] not in counts or case["project"] != name:
                    continue
                shown, wanted = show(place, folder, case, now), set(case["wanted"])
                count = counts[case["kind"]]
                count["cases"] += 1
                count["wanted"] += len(wanted)
                count["shown"] += len(shown & wanted)
                count["without need"] += len(shown - wanted)
                count["cases with any"] += bool(shown - wanted)
                for label, ids in (("missed", wanted - shown), ("needless", shown - wanted)):
                    for memory_id in sorted(ids) if arguments.misses else ():
                        print(f"{label}: {case['input']}\n    {texts[memory_id]}")
    for kind, count in counts.items():
        if count["cases"]:
            print(
                f"{kind}: {count['cases']} cases, shown {count['shown']} of {count['wanted']} wanted"
                f" ({count['shown'] / max(count['wanted'], 1):.3f}); {count['without need']} without"
                f" need, in {count['cases with any']} cases"
                f" ({count['cases with any'] / count['cases']:.3f})"
            )


if __name__ == "__main__":
    main()
