"""Measure what waits in the inbox because it resembles a forgotten memory.

    python -m bench.forgotten [DATA]

DATA has one JSON object per line: `text` is forgotten, both `paraphrases` should be held, and
`unrelated`, which shares words with the text, should pass. Every text is offered by an agent, in a
workspace in which all texts are forgotten. Prints both shares.
"""

import argparse
import io
import json
import random
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from memcli.api import add_gates
from memcli.context import CommonOptions, Context
from memcli.reconcile.admit import write_memories
from memcli.reconcile.changes import Draft
from memcli.reconcile.forgetting import forget
from memcli.store.init import create_workspace
from memcli.store.workspace import Workspace, get_target_workspace

DATA = Path(__file__).parent / "data" / "forgotten.jsonl"


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure near repeats of forgotten memories.")
    parser.add_argument("data", type=Path, nargs="?", default=DATA)
    data = parser.parse_args().data
    cases = [json.loads(line) for line in data.read_text("utf-8").splitlines()]
    with tempfile.TemporaryDirectory() as folder:
        workspace = make_workspace(Path(folder))
        texts = [Draft(case["text"], source="user") for case in cases]
        outcomes, _ = write_memories(workspace, texts)
        forget(workspace, [outcome.id for outcome in outcomes])
        paraphrases = [text for case in cases for text in case["paraphrases"]]
        held = [offer(workspace, text) == "held" for text in paraphrases]
        unrelated = [case["unrelated"] for case in cases]
        passed = [offer(workspace, text) == "saved" for text in unrelated]
    for text, is_held in zip(paraphrases, held, strict=True):
        if not is_held:
            print(f"  not held: {text}")
    for text, is_saved in zip(unrelated, passed, strict=True):
        if not is_saved:
            print(f"  not saved: {text}")
    print(f"paraphrases held: {sum(held)} of {len(held)}")
    print(f"unrelated texts saved: {sum(passed)} of {len(passed)}")


def offer(workspace: Workspace, text: str) -> str:
    """Offer a text as an agent does, and return what became of it."""
    outcomes, _ = write_memories(workspace, [Draft(text)])
    return outcomes[0].action


def make_workspace(folder: Path) -> Workspace:
    context = Context(
        environment={"HOME": str(folder / "home"), "MEM_TIMEZONE": "UTC"},
        folder=folder,
        stdin=io.StringIO(),
        stdout=io.StringIO(),
        stderr=io.StringIO(),
        read_clock=lambda: datetime.now(UTC),
        noise=random.Random(7),
        common=CommonOptions(workspace=str(folder / "memory")),
    )
    create_workspace(context, folder / "memory")
    return add_gates(get_target_workspace(context))


if __name__ == "__main__":
    main()
