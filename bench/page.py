"""What a person waits for at the page of `mem ui`: its first view, a keystroke's search, and a browser that stays free.

Usage: python -m bench page [--entries 10000 100000] [--runs 20] [--write]. Times are of the server, over HTTP, by the
clock and of its processor: a first view is all that the page asks for before a list stands there, a keystroke one more
letter of a query. Above 20,000 entries vectors are drawn by lot instead of embedded, which takes an hour and changes no
time. With playwright and a Chromium the page is driven too, and the tasks that keep the browser longer than 50 ms are
counted, by the clock and by the processor's time of the page's thread, which other processes hardly lengthen.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import httpx

from bench import measures
from bench.timing import PYTHON, QUERY, say
from bench.workspaces import make

EMBEDDED = 20_000
FIRST_VIEW = ("/", "/static/page.css", "/static/page.js", "/view/frame", "/view/memories")
VIEWS = ("inbox", "days", "start", "pictures", "changes")
LONG = 50
"""Milliseconds."""


def index_of(root: Path) -> None:
    """Bring the index of a workspace up to date, with vectors drawn by lot where there are many texts."""
    if sum(1 for _ in root.glob("entries/**/*.md")) <= EMBEDDED:
        subprocess.run([PYTHON, "-m", "memcli", "index", "--workspace", str(root)], check=True, capture_output=True)
        return
    import numpy as np

    from memcli.api.workspace import open_workspaces
    from memcli.index.database import texts_of
    from memcli.index.index import Index, ask

    def fill(index: Index) -> None:
        index.refresh()
        embedding, chance = index.embedding, np.random.default_rng(1)
        model: Any = SimpleNamespace(model=embedding.model())
        embedding.embed_missing(0)  # the table is of the model from then on
        missing = embedding.table.missing()
        for start in range(0, len(missing), 4096):
            hashes = list({text.hash for text in texts_of(index.connection, missing[start : start + 4096])})
            vectors = chance.standard_normal((len(hashes), 384), dtype=np.float32)
            embedding._keep(model, hashes, vectors / np.linalg.norm(vectors, axis=1, keepdims=True))

    ask(open_workspaces(root)[0], fill)


@contextmanager
def page_of(root: Path) -> Iterator[tuple[str, int]]:
    """Run the page of a workspace; give its address, and the number of its process."""
    words = [PYTHON, "-m", "memcli", "ui", "--no-open", "--workspace", str(root)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout
    yield process.stdout.readline().strip(), process.pid
    process.terminate()
    process.wait()


def processor_time(pid: int) -> float:
    """Return the milliseconds of processor time that a process has taken."""
    user, system = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[11:13]
    return 1000 * (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def turns_of(runs: int) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield what is asked of the server with the paths asked for one after the other, of each turn."""
    words = [QUERY[:end] for end in range(2, len(QUERY) + 1)]
    yield "first view, the first of the process", [[*FIRST_VIEW]]
    yield "first view", [[*FIRST_VIEW]] * runs
    yield "a keystroke", [[f"/view/memories?q={quote(text)}&typing=1"] for text in words]
    yield "the search after a pause", [[f"/view/memories?q={quote(text)}"] for text in words]
    yield "a filter", [["/view/memories?type=fact"]] * runs
    for name in VIEWS:
        yield f"the view {name}", [[f"/view/{name}"]] * max(3, runs // 5)


def times_of(url: str, pid: int, runs: int) -> Iterator[str]:
    """Yield a row for each thing that is asked of the server."""
    address, _, token = url.partition("/#token=")
    with httpx.Client(base_url=address, headers={"x-mem-token": token}, timeout=300) as client:
        for name, turns in turns_of(runs):
            times: list[float] = []
            before = processor_time(pid)
            for paths in turns:
                begin = time.perf_counter()
                for path in paths:
                    client.get(path).raise_for_status()
                times.append(1000 * (time.perf_counter() - begin))
            spent = (processor_time(pid) - before) / len(turns)
            times.sort()
            late = times[int(0.95 * (len(times) - 1))]
            yield f"| {name} | {statistics.median(times):.0f} ms | {late:.0f} ms | {spent:.0f} ms |"


def driven(url: str) -> str:
    """Return how many tasks kept a browser long while a person used every view, and the longest."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return "no playwright: not driven"
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        return "no Chromium: not driven"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 1280, "height": 820})
        page.set_default_timeout(120_000)
        browser.start_tracing(page=page, categories=["toplevel"])
        page.goto(url)
        page.wait_for_selector("#list .row")
        for _ in range(20):
            count = page.locator("#list .row").count()
            page.locator("#list .more").click()
            page.wait_for_function("count => document.querySelectorAll('#list .row').length > count", arg=count)
        page.locator("#q").press_sequentially(QUERY, delay=120)
        page.wait_for_selector("#list:not([aria-busy])")
        page.locator("#list .row").first.click()
        page.wait_for_selector("#beside .memory .facts")
        for view in ("inbox", "days", "session", "pictures", "changes", "memories"):
            page.click(f"nav [data-view={view}]")
            page.wait_for_selector("#list .row" if view == "memories" else "main:not([aria-busy]) .sheet")
        events = json.loads(browser.stop_tracing())["traceEvents"]
        nodes = page.evaluate("document.querySelectorAll('*').length")
        browser.close()
    named = {(event["pid"], event["tid"]): event["args"]["name"] for event in events if event["name"] == "thread_name"}
    tasks = [
        event
        for event in events
        if event["name"].endswith("RunTask") and named.get((event["pid"], event["tid"])) == "CrRendererMain"
    ]
    told = []
    for name, key in (("by the clock", "dur"), ("by its processor time", "tdur")):
        spent = [event.get(key, 0) / 1000 for event in tasks]
        told.append(f"{sum(time > LONG for time in spent)} {name} (the longest {max(spent):.0f} ms)")
    return f"Tasks over {LONG} ms in Chromium: {', '.join(told)}; {nodes:,} nodes at the end"


def measure(folder: Path, entries: list[int], runs: int) -> Iterator[str]:
    """Yield the lines of the report."""
    for count in entries:
        root = folder / f"of-{count}"
        if not root.exists():
            say(f"making {count:,}")
            make(root, count)
        index_of(root)
        say(f"asking at {count:,}")
        yield f"At {count:,} entries:\n\n| what | median | 95 % within | of the processor |\n|---|---|---|---|"
        with page_of(root) as (url, pid):
            yield from times_of(url, pid, runs)
            yield f"\n{driven(url)}.\n"


def main() -> None:
    """Run everything and print the report."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--entries", type=int, nargs="+", default=[10_000, 100_000])
    options.add_argument("--runs", type=int, default=20)
    options.add_argument("--folder", type=Path, help="keep the workspaces here, and use those that are there")
    options.add_argument("--write", action="store_true", help="keep the report in results/")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        text = "\n".join(measure(chosen.folder or Path(folder), chosen.entries, chosen.runs))
    machine = f"{os.cpu_count()} cores, Python {sys.version.split()[0]}, medians of {chosen.runs}"
    measures.show("page", f"{machine}.\n\n{text}\n", write=chosen.write)
