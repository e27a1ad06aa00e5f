"""Measure what an agent waits for: its hooks, `mem recall`, a search over MCP; `--write` puts it into results/.

Usage: python -m bench agents [--entries 10000] [--runs 10] [--place DIR] [--write]. Every row is the median of so
many runs after a warm-up. DIR keeps the workspace that was made for the next time.
"""

import argparse
import json
import statistics
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench import measures
from bench.timing import PYTHON, QUERY, Bench, Row, row, say, table
from bench.workspaces import make

MEM = [PYTHON, "-m", "memcli"]
QUESTION = "Which editor theme did the release team approve for the login form?"
EVENTS: dict[str, dict[str, object]] = {
    "SessionStart": {"source": "startup"},
    "SessionStart after a compaction": {"source": "compact"},
    "UserPromptSubmit of thanks": {"prompt": "ok, thanks"},
    "PostToolUse of a success": {"tool_name": "Bash", "tool_response": {"stdout": "fine", "exit_code": 0}},
    "Stop": {"last_assistant_message": "It is done: the form has a dark theme now."},
    "PreCompact, all noted": {"trigger": "auto", "session_id": "fresh"},
    "SessionEnd": {"reason": "other"},
}
HOOK = [*MEM, "hook", "run", "claude-code"]
REST = 2.0  # seconds in which what a hook left behind ends

MCP = """
import json, os, sys, time
import anyio
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
root, query, runs, tool = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]

async def main():
    server = StdioServerParameters(command=sys.executable, args=["-m", "memcli", "mcp", "--workspace", root],
                                   env=dict(os.environ))
    async with stdio_client(server) as (reads, writes), ClientSession(reads, writes) as session:
        await session.initialize()
        times = []
        for _ in range(runs + 1):
            begun = time.perf_counter()
            answer = await session.call_tool(tool, {"query": query})
            times.append(1000 * (time.perf_counter() - begun))
            assert not answer.is_error
        print(json.dumps(times[1:]))

anyio.run(main)
"""

INSIDE = """
import json, os, sys, time
from datetime import UTC, datetime
from pathlib import Path
from memcli.index.filters import Filter
from memcli.index.index import ask
from memcli.search.index_search import SearchRequest, search_index
from memcli.store.workspace import Surroundings, opened
root, query, runs = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
times = []
for _ in range(runs + 1):
    begun = time.perf_counter()
    workspace = opened(Surroundings(root, os.environ, datetime.now(UTC)), root)
    ask(workspace, lambda index: search_index(index, SearchRequest(query, 5, Filter(), "hybrid")))
    times.append(1000 * (time.perf_counter() - begun))
print(json.dumps(times[1:]))
"""


def main() -> None:
    """Make the workspace, measure, print and keep the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--entries", type=int, default=10_000)
    options.add_argument("--runs", type=int, default=10)
    options.add_argument("--place", type=Path, help="keep the workspace here for the next time")
    options.add_argument("--write", action="store_true", help="keep the table in results/")
    told = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = told.place or Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        text = table(measured(place, told.entries, told.runs), told.entries, told.runs)
    measures.show("agents", text, write=told.write)


def measured(place: Path, entries: int, runs: int) -> list[Row]:
    """Measure every row."""
    root = place / f"lived-in-{entries}"
    bench = Bench(place, runs, root)
    if not root.exists():
        say("making")
        make(root, entries)
        live_in(root)
    bench.environ.pop("CI")
    bench.cost([*MEM, "index", "--workspace", str(root)])
    say("hooks")
    fed = {name: event(name, told, root) for name, told in EVENTS.items()}
    hooks = {"typer": [PYTHON, "-c", "import typer"], **dict.fromkeys(EVENTS, HOOK)}
    events = bench.timed(hooks, fed, REST, codes=(0,))
    say("finding")
    where = ["--workspace", str(root)]
    asked = {
        "search": [*MEM, "search", QUESTION, *where],
        "recall": [*MEM, "recall", QUESTION, "--session", "bench-{n}", *where],
        "hook": HOOK,
    }
    find = bench.timed(asked, {"hook": event("UserPromptSubmit", {"prompt": QUESTION}, root)}, REST, codes=(0,))
    say("serving")
    inside: list[float] = []
    served: list[float] = []
    for _ in range(3):
        inside += bench.inside(INSIDE, str(root), QUERY, str(runs))
        served += bench.inside(MCP, str(root), QUERY, str(runs), "memory_search")
    rows = [row(f"`hook run`: {name}", events[name], "typer", events["typer"], 2) for name in EVENTS]
    asking = "`hook run`: UserPromptSubmit with a question"
    rows.append(row(asking, find["hook"], "`mem search`", find["search"], None))
    rows.append(row("`mem recall`", find["recall"], "`mem search`", find["search"], 1.3))
    within = statistics.median(inside)
    rows.append(row("`memory_search` over MCP", statistics.median(served), "search in the same process", within, 2))
    return rows


def live_in(root: Path) -> None:
    """Give a workspace what a week of work leaves beside the entries."""
    today = datetime.now(UTC).date()
    facts = "".join(
        f"- Service {number} listens on port {7000 + number} and is deployed by hand.\n" for number in range(60)
    )
    (root / "MEMORY.md").write_text(f"# Memory\n\n## Services\n\n{facts}", encoding="utf-8")
    (root / "notes").mkdir(exist_ok=True)
    for back in range(8):
        day = today - timedelta(days=back)
        lines = [
            f"[{9 + hour:02}:15] User: What of the form on day {back}? | Assistant: It has {hour} tests more.\n"
            for hour in range(8)
        ]
        (root / "notes" / f"{day}.md").write_text("".join(lines), encoding="utf-8")


def event(name: str, told: dict[str, object], root: Path) -> bytes:
    """Write an event as an agent does; {n} becomes the number of the run."""
    common = {"hook_event_name": name.split(" ")[0].rstrip(","), "session_id": "bench-{n}", "cwd": str(root)}
    return json.dumps(common | told).encode()
