"""What ordinary writes get for it: fixtures written anew, the time of a write beside a search, of a comparison."""

import statistics
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import yaml

from bench.beliefs.workspace import Workspace, is_kept
from bench.timing import PYTHON, Bench, Cost
from bench.workspaces import make
from memcli.beliefs.pair_model import load_pair_model
from memcli.index.embedder import open_embedder

FIXTURES = Path(__file__).parents[2] / "fixtures" / "workspace"
RUNS = 15


def fixtures_anew() -> tuple[int, int, list[tuple[str, list[str]]]]:
    """Write the entries of the fixtures anew in their order; give writes, losses, and what was flagged with what."""
    entries = []
    for path in sorted(FIXTURES.rglob("entries/**/*.md")):
        parts = path.read_text(encoding="utf-8").split("---\n", 2)
        with suppress(yaml.YAMLError):  # some are damaged on purpose
            fields = yaml.safe_load(parts[1]) if len(parts) == 3 else {"status": "none"}
            if fields.get("status", "active") == "active" and fields.get("type") not in ("episode", "summary"):
                entries.append((str(fields.get("created_at", "")), str(fields.get("type", "fact")), parts[2].strip()))
    flagged = []
    with tempfile.TemporaryDirectory() as folder:
        workspace = Workspace(Path(folder) / "memory")
        bodies: dict[str, str] = {}
        for _, kind, body in sorted(entries):
            answer = workspace.write(body, "--type", kind, "--allow-secret")
            bodies.setdefault(answer["id"], body)
            if answer.get("conflicts_with"):
                flagged.append((body, [bodies[one] for one in answer["conflicts_with"]]))
        kept = workspace.entries()
        lost = sum(not is_kept(kept, body) for _, _, body in entries)
    return len(entries), lost, flagged


def costs() -> tuple[Cost, Cost]:
    """Measure `mem write` with five neighbours among 1,000 entries and `mem search`, one after the other in turn."""
    with tempfile.TemporaryDirectory() as folder:
        bench, root = Bench(Path(folder), RUNS), Path(folder) / "memory"
        make(root, 1000)
        command = [PYTHON, "-m", "memcli"]
        where = ["--workspace", str(root)]
        bench.cost([*command, "index", *where])
        found: dict[str, list[Cost]] = {"write": [], "search": []}
        for number in range(RUNS + 1):
            text = f"The release team approved the nightly backup after {number + 3} failed attempts in CI"
            for name, times in found.items():
                times.append(bench.cost([*command, name, text, *where]))
        medians = [[statistics.median(column) for column in zip(*times[1:], strict=True)] for times in found.values()]
        return Cost(*medians[0]), Cost(*medians[1])


def comparison_time() -> float:
    """Give the processor milliseconds of a new text and five neighbours, embedding included, the median of 20."""
    with tempfile.TemporaryDirectory() as folder:
        embedder = open_embedder(None, bulk=True, cache=Path(folder))
        model = load_pair_model(embedder.model)
        texts = [f"The {noun} moved to port {port} after the migration" for port, noun in enumerate("abcdef", 8080)]
        spent = []
        for _ in range(21):
            start = time.process_time()
            _, tokens = embedder.embed_tokens(texts)
            model.repeats([(old, tokens[0]) for old in tokens[1:]])
            spent.append(1000 * (time.process_time() - start))
    return statistics.median(spent[1:])


MARKING = """
import io, json, sys, time
from contextlib import redirect_stdout
from memcli.cli.app import run
from memcli.search import search
real, spent = search._mark_changed, []

def timed(*words):
    busy = time.process_time()
    found = real(*words)
    spent.append((1000 * (time.process_time() - busy), sum(bool(hit.changed) for hit in found.hits), len(found.hits)))
    return found

search._mark_changed = timed
with redirect_stdout(io.StringIO()):
    run(["search", *sys.argv[1:]])
print(json.dumps(spent[0]))
"""


@dataclass(frozen=True)
class Marking:
    """What it takes to mark the hits of a search, the first in its process, imports included."""

    milliseconds: float  # of one core
    hits: int
    changed: int


def marking() -> Marking:
    """Measure a search with ten hits that cite lines of ten files of 1,000 lines, half of which changed."""
    with tempfile.TemporaryDirectory() as folder:
        bench, root, source = Bench(Path(folder), RUNS), Path(folder) / "memory", Path(folder) / "src"
        make(root, 100)
        source.mkdir()
        command = [PYTHON, "-m", "memcli"]
        where = ["--workspace", str(root)]
        for number in range(10):
            file = source / f"part{number}.py"
            file.write_text("".join(f"value_{line} = {line * number}\n" for line in range(1000)), encoding="utf-8")
            words = ["write", f"Zeppelin rule {number} is kept in part{number}.py", "--about", f"{file}:400-420"]
            bench.cost([*command, *words, *where])
            if number % 2:
                file.write_text(file.read_text("utf-8").replace("value_410 =", "limit ="), encoding="utf-8")
        runs = [bench.inside(MARKING, "Zeppelin rule", "--limit", "10", *where) for _ in range(RUNS + 1)][1:]
        milliseconds, changed, hits = (statistics.median(column) for column in zip(*runs, strict=True))
        return Marking(milliseconds, int(hits), int(changed))
