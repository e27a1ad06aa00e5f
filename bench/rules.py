"""Measure whether standing rules and preferences come with the prompts they bind: `python -m bench rules [--write]`.

`data/strangers` holds what twenty people keep and what they ask of an assistant, each with the rules that bind the
answer. Two authors who knew nothing of the code wrote it: the limits of recall were chosen on the prompts of the first,
those of the second are held. `--write` puts the table into results/.
"""

import argparse
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from bench import measures
from bench.workspaces import fresh
from memcli.index.index import ask
from memcli.recall.pack import RELEVANT
from memcli.recall.recall import gather, select_pack
from memcli.recall.request import RecallRequest
from memcli.store.workspace import Workspace

AUTHORS = Path(__file__).parent / "data" / "strangers"
TYPES = {"rule": "constraint", "preference": "preference"}
MOST = (0, 1, 2, 3)


class Shown(NamedTuple):
    """What a recall brought for a prompt: ids of what binds it, of rules shown, and how many other memories."""

    fit: frozenset[str]
    rules: frozenset[str]
    others: int


def main() -> None:
    """Ask every prompt, print the table and keep it."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--write", action="store_true", help="keep the table in results/")
    told = options.parse_args()
    lines = [
        "| prompts | rules at most | of them bound | rules shown | that bind | binding ones shown | other memories |",
        "|---|---|---|---|---|---|---|",
    ]
    for author in sorted(AUTHORS.iterdir()):
        found: dict[int, list[Shown]] = {most: [] for most in MOST}
        for person in measures.rows(author / "prompts.jsonl"):
            with tempfile.TemporaryDirectory() as place:
                for most, shown in measured(Path(place), person):
                    found[most].append(shown)
        lines += [row(author.name, most, shown) for most, shown in found.items()]
    measures.show("rules", "\n".join(lines) + "\n", write=told.write)


def measured(root: Path, person: dict[str, Any]) -> Iterator[tuple[int, Shown]]:
    """Recall for every prompt of a person, with each limit."""
    workspace, paths = filled(root, person["memories"])
    rules = {one["id"] for one in person["memories"] if one["kind"] in TYPES}
    for prompt in person["prompts"]:
        for most in MOST:
            values = {**workspace.settings.values, "recall.limit.rules": most}
            limited = replace(workspace, settings=replace(workspace.settings, values=values))
            request = RecallRequest(prompt["text"], sections=(RELEVANT,))
            pack, _ = select_pack(limited.settings, request, gather([limited], request))
            shown = {paths[memory.path] for memory in pack.chosen} - set(person["universal"])
            yield most, Shown(frozenset(prompt["fit"]), frozenset(shown & rules), len(shown - rules))


def filled(root: Path, memories: list[dict[str, str]]) -> tuple[Workspace, dict[str, str]]:
    """Make a workspace of memories; give the id of each by its path."""
    workspace = fresh(root)
    paths = {f"entries/{one['id']}.md": one["id"] for one in memories}
    for path, one in zip(paths, memories, strict=True):
        kind = TYPES.get(one["kind"], "fact")
        (root / path).write_text(f"---\ntype: {kind}\n---\n{one['text']}\n", encoding="utf-8")
    ask(workspace, lambda index: (index.refresh(), index.embedding.embed_missing(None)))
    return workspace, paths


def row(author: str, most: int, shown: list[Shown]) -> str:
    """Write what a limit brings."""
    rules = sum(len(one.rules) for one in shown)
    fit = sum(len(one.fit) for one in shown)
    right = sum(len(one.fit & one.rules) for one in shown)
    others = sum(one.others for one in shown) / len(shown)
    bound = sum(bool(one.fit) for one in shown)
    cells = f"{rules} | {right} ({right / max(rules, 1):.2f}) | {right / fit:.2f} of {fit} | {others:.1f} a prompt"
    return f"| {author} ({len(shown)}) | {most} | {bound} | {cells} |"


if __name__ == "__main__":
    main()
