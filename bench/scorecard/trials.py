"""Trials of what a memory must stand: edits by hand, twenty writers at once, a write that is killed; what it costs."""

import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from bench.beliefs.workspace import flat
from bench.retrieval.sets import Collection
from bench.scorecard.place import Broken, Hit, Place
from bench.scorecard.questions import Line
from bench.scorecard.tools import write_note
from bench.timing import PYTHON, QUERY, Bench, say
from bench.workspaces import sentence

NOTES, EDITS, WRITERS, KILLS, SEARCHED, ROUNDS = 50, 4, 20, 30, 200, 4
PATIENCE = 240
"""Seconds after which a writer counts as one that hangs."""


def _sentences(count: int, seed: int) -> list[str]:
    draw, found = random.Random(seed), dict[str, None]()
    while len(found) < count:
        found[sentence(draw)] = None
    return list(found)


def _filled(place: Place, count: int = NOTES) -> list[str]:
    texts = _sentences(count, seed=1)
    documents = tuple({"id": f"n{number}.md", "text": text} for number, text in enumerate(texts))
    place.fill(Collection("notes", "notes", documents, ()))
    with place.asking() as program:
        program.index()
    return texts


def edited(place: Place, rounds: int = EDITS) -> Iterator[Line]:
    """Change a note by hand, delete one and add one; does a search that is started then see it?"""
    texts, new = _filled(place), _sentences(2 * rounds, seed=2)
    for number in range(0, 2 * rounds, 2):
        names = [f"{place.tool.notes}/n{at}.md" for at in (number, number + 1, NOTES + number)]
        write_note(place.root / names[0], new[number])
        (place.root / names[1]).unlink()
        write_note(place.root / names[2], new[number + 1])
        with place.asking() as program:
            told = [program.ask(text)[0] for text in (new[number], texts[number], texts[number + 1], new[number + 1])]
        old = any(_tells(hit, texts[number]) for hit in told[1])
        yield {"kind": "edit", "seen": _is_told(told[0], names[0], new[number]) and not old}
        yield {
            "kind": "delete",
            "seen": not any(hit.path == names[1] or _tells(hit, texts[number + 1]) for hit in told[2]),
        }
        yield {"kind": "add", "seen": _is_told(told[3], names[2], new[number + 1])}


def _is_told(hits: Sequence[Hit], name: str, text: str) -> bool:
    return any(hit.path == name and _tells(hit, text) for hit in hits)


def _tells(hit: Hit, text: str) -> bool:
    return flat(text) in flat(hit.text)


def crowded(place: Place, writers: int = WRITERS) -> Iterator[Line]:
    """Let writers write at the same time; what is left of it?"""
    _filled(place)
    new = _sentences(writers, seed=3)
    started = time.monotonic()
    with ThreadPoolExecutor(writers) as pool:
        codes = list(pool.map(lambda one: _write(place, *one), enumerate(new)))
    seconds = round(time.monotonic() - started, 1)
    kept = _files(place)
    with place.asking() as program:
        for code, text in zip(codes, new, strict=True):
            is_found = any(_tells(hit, text) for hit in program.ask(text)[0])
            is_kept = any(flat(text) in file for file in kept)
            yield {"exit": code, "failed": code != 0, "on disk": is_kept, "found": is_found, "seconds of all": seconds}


def killed(place: Place, kills: int = KILLS) -> Iterator[Line]:
    """Kill writes at drawn moments between a fifth of the time that one took and its end.

    Is each file whole, is all there that was there, does a search find it, and does the last write go through?
    """
    texts, new, draw = _filled(place), _sentences(kills + 2, seed=4), random.Random(5)
    started = time.monotonic()
    _write(place, kills, new[-1])
    took = time.monotonic() - started
    for number in range(kills):
        process, delay = _started(place, f"k{number}", new[number]), draw.uniform(0.2, 1.0) * took
        time.sleep(delay)
        is_running = process.poll() is None
        _kill(process)
        files = _files(place)
        line: Line = {
            "after ms": round(1000 * delay),
            "running": is_running,
            "torn": any(not any(flat(text) in file for text in texts + new) for file in files),
            "lost": any(not any(flat(text) in file for file in files) for text in texts),
        }
        try:
            line["found"] = any(_tells(hit, texts[number]) for hit in place.search(texts[number]))
        except Broken as error:
            line |= {"found": False, "said": str(error)}
        yield {"kind": "kill", **line}
    yield {"kind": "write", "goes through": _write(place, kills + 1, new[-2]) == 0}


def _files(place: Place) -> list[str]:
    return [flat(path.read_text("utf-8", "replace")) for path in place.notes.rglob("*.md")]


def _write(place: Place, number: int, text: str) -> int | None:
    """Bring a new text into the memory; the exit code, None for a process that hangs."""
    process = _started(place, f"w{number}", text)
    try:
        return process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        return None
    finally:
        _kill(process)


def _started(place: Place, name: str, text: str) -> Any:
    """Start what brings a new text into the memory: the tool's verb, or a file and what takes it up."""
    if place.tool.write:
        return place.start(place.tool.write, text=text)
    file = place.notes / f"{name}.md"
    write_note(file, text)
    return place.start(place.tool.add, file=str(file))


def _kill(process: Any) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def costs(places: Sequence[Place], rounds: int = ROUNDS) -> Iterator[tuple[str, Line]]:
    """Search notes once with each tool and start an empty Python, round after round; yield tools and lines."""
    benches = []
    for place in places:
        say(f"{place.tool.name}: costs")
        _filled(place, SEARCHED)
        benches.append(Bench(place.home, 1, place.root))
        benches[-1].environ = place.environ
    for number in range(rounds + 1):
        for place, bench in zip(places, benches, strict=True):
            cost = bench.cost(place.words(place.tool.search, query=QUERY))
            python = bench.cost([PYTHON, "-c", "pass"])
            made = sum(_size(Path(path)) for path in place.words(place.tool.made))
            line = {
                "wall ms": round(cost.elapsed), "processor ms": round(cost.processor), "peak MB": round(cost.peak),
                "python ms": round(python.elapsed), "index MB": round(made / 1e6, 1),
                "installed MB": round(_size(place.installed) / 1e6),
            }  # fmt: skip
            if number:  # the first round warms up
                yield place.tool.name, line


def _size(path: Path) -> int:
    found = [path] if path.is_file() else path.rglob("*")
    return sum(one.stat().st_size for one in found if one.is_file() and not one.is_symlink())
