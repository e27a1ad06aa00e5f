"""Measure the action and failure moments: wanted rules that are shown, and shown without need.

    python -m bench.actions [DATA.jsonl …] [--projects NAME …] [--misses | --unseen]

Each line of the data is a project with its memories, or an action or failure in one of them with
the ids of the memories that should be shown. Each action is a session of its own.

`--unseen` prints what to expect for other projects: weights and threshold are fitted to all
projects but one, and applied to that one. The signals themselves were chosen with all of them.
"""

import argparse
import io
import json
import math
import os
import random
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from memcli.api import add_gates
from memcli.context import CommonOptions, Context
from memcli.formats.dates import format_time
from memcli.formats.entry import Entry, format_entry
from memcli.index.database import FILE
from memcli.index.index import open_index
from memcli.recall.action import build_action_context, build_failure_context, parse_action
from memcli.recall.lookup import Place, Shown
from memcli.recall.match import ENOUGH, WEIGHTS, Rule, find_signals
from memcli.store.init import create_workspace
from memcli.store.workspace import get_target_workspace

DATA = Path(__file__).parent / "data" / "actions.jsonl"
TOKENS = 150
TYPES = ("constraint", "correction", "lesson", "procedure", "preference")
NEEDLESS, PENALTY = (0.01, 0.02, 0.05, 0.10), 1.0
Pair = tuple[list[dict[str, float]], bool]


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


def list_pairs(project: dict[str, Any], cases: list[dict[str, Any]]) -> list[Pair]:
    """Return the signals of each rule for each action, and whether it is wanted."""
    rules = [
        (memory["id"], Rule(memory["text"], memory["type"], memory.get("files") or ()))
        for memory in project["memories"]
        if memory["type"] in TYPES
    ]
    counts = Counter(word for _, rule in rules for word in rule.stems)
    pairs = []
    for case in cases:
        steps = parse_action(case["input"], "/project")
        flags = {flag for step in steps for flag in step.flags}
        for memory_id, rule in rules:
            is_followed = rule.advised and rule.advised <= flags
            rows = [find_signals(step, rule, counts) for step in (() if is_followed else steps)]
            pairs.append(([row for row in rows if any(row.values())], memory_id in case["wanted"]))
    return pairs


def fit(pairs: list[Pair]) -> dict[str, float]:
    """Fit a logistic regression. Of several steps the one with the highest rating counts."""
    names = ["bias", *WEIGHTS]
    weights = np.array([-ENOUGH, *WEIGHTS.values()])
    for _ in range(60):
        best = [max(rows, key=lambda row: rate_row(row, weights)) for rows, _ in pairs if rows]
        known = [is_wanted for rows, is_wanted in pairs if rows]
        values = np.array([[1.0, *(float(row.get(name, 0)) for name in WEIGHTS)] for row in best])
        odds = 1 / (1 + np.exp(-values @ weights))
        slope = values.T @ (odds - known) + PENALTY * weights
        bend = (values.T * (odds * (1 - odds))) @ values + PENALTY * np.eye(len(weights))
        weights = weights - np.linalg.solve(bend, slope)
    return dict(zip(names, weights, strict=True))


def rate_row(row: dict[str, float], weights: Any) -> float:
    values = [float(row.get(name, 0)) for name in WEIGHTS]
    return float(weights[0] + weights[1:] @ values) if row else -math.inf


def print_unseen(projects: dict[str, Any], cases: list[dict[str, Any]]) -> None:
    """Print what is shown at several rates of needless rules."""
    actions = [case for case in cases if case["kind"] == "action"]
    pairs = {
        name: list_pairs(project, [case for case in actions if case["project"] == name])
        for name, project in projects.items()
    }
    results: dict[float, Counter[bool]] = {limit: Counter() for limit in NEEDLESS}
    for name in projects:
        others = [pair for other, listed in pairs.items() if other != name for pair in listed]
        weights = np.array(list(fit(others).values()))

        def rate_all(listed: list[Pair], weights: Any = weights) -> list[tuple[float, bool]]:
            return [
                (max((rate_row(row, weights) for row in rows), default=-math.inf), is_wanted)
                for rows, is_wanted in listed
            ]

        needless = sorted(
            (rating for rating, wanted in rate_all(others) if not wanted), reverse=True
        )
        count = sum(case["project"] != name for case in actions)
        for limit in NEEDLESS:
            threshold = max(needless[int(limit * count)], -10.0)
            rated = rate_all(pairs[name])
            results[limit].update(wanted for rating, wanted in rated if rating > threshold)
    wanted = sum(len(case["wanted"]) for case in actions)
    for limit, result in results.items():
        print(
            f"fitted to {limit:.2f} without need: shown {result[True] / wanted:.3f},"
            f" without need {result[False] / len(actions):.3f}"
        )
    weights_of_all = fit([pair for listed in pairs.values() for pair in listed])
    print({key: round(float(value), 2) for key, value in weights_of_all.items()})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="*", type=Path, default=[DATA])
    parser.add_argument("--projects", nargs="*", default=[])
    parser.add_argument("--misses", action="store_true", help="print what went wrong")
    parser.add_argument("--unseen", action="store_true", help="leave one project out")
    arguments = parser.parse_args()
    lines = [line for path in arguments.data for line in path.read_text("utf-8").splitlines()]
    cases = [json.loads(line) for line in lines if line]
    projects = {case["project"]: case for case in cases if case["kind"] == "project"}
    now = format_time(datetime.now(UTC))
    if arguments.unseen:
        print_unseen(projects, cases)
        return
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
