"""The page of the scorecard, made of the lines that the tests brought and of nothing else."""

import os
import statistics
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.measures import mean, paired_error
from bench.scorecard.questions import MOST, SETS, Line
from bench.scorecard.tools import ABSENT, TOOLS

OURS = TOOLS[0].name
_COLUMNS = [tool.name for tool in TOOLS]
_RIVALS = [tool.name for tool in TOOLS if tool.folder != OURS]
Found = Mapping[tuple[str, str], Sequence[Line]]
"""The lines of each tool and test."""


@dataclass(frozen=True)
class Measure:
    """A row of the second table: how many lines of a test are so, or the median of a figure that is no count."""

    told: str
    test: str
    name: str  # in a line
    kind: str = ""  # only lines of this kind
    is_median: bool = False
    is_less_better: bool = False
    is_judged: bool = True

    def of(self, lines: Sequence[Line]) -> tuple[float, str]:
        """Give the value and how it is told."""
        found = [line[self.name] for line in lines if not self.kind or line["kind"] == self.kind]
        if self.is_median:
            value = statistics.median(found)
            return value, f"{value:,.0f}" if value == int(value) or value > 20 else f"{value:.1f}"
        return sum(found), f"{sum(found)} of {len(found)}"


def _less(told: str, test: str, name: str, **how: Any) -> Measure:
    return Measure(told, test, name, is_less_better=True, **how)


MEASURES = (
    Measure("facts that replace each other: the first hit tells the current value", "facts", "first"),
    _less("facts that replace each other: the first five hits tell a replaced value", "facts", "stale"),
    *(
        Measure(f"a note {told} by hand: the next search sees it", "edits", "seen", kind=kind)
        for kind, told in {"edit": "changed", "delete": "deleted", "add": "added"}.items()
    ),
    Measure("20 writers at once: memories on the disk", "writers", "on disk"),
    Measure("20 writers at once: memories that a search finds", "writers", "found"),
    _less("20 writers at once: those that failed or hung", "writers", "failed"),
    Measure(
        "20 writers at once: seconds until the last one ended", "writers", "seconds of all", "", True, is_judged=False
    ),
    Measure("kill -9 of a writer: it still ran", "kills", "running", kind="kill", is_judged=False),
    _less("kill -9 of a writer: a file is torn", "kills", "torn", kind="kill"),
    _less("kill -9 of a writer: a memory that was there is lost", "kills", "lost", kind="kill"),
    Measure("kill -9 of a writer: the next search finds what was there", "kills", "found", kind="kill"),
    Measure("kill -9 of writers: the next write goes through", "kills", "goes through", kind="write"),
    _less("one search of 200 notes from cold, milliseconds", "costs", "wall ms", is_median=True),
    _less("one search of 200 notes from cold, milliseconds of a processor", "costs", "processor ms", is_median=True),
    _less("one search of 200 notes from cold, peak MB", "costs", "peak MB", is_median=True),
    _less("index of 200 notes, MB", "costs", "index MB", is_median=True),
    _less("installed with what it depends on, MB", "costs", "installed MB", is_median=True),
)
HEAD = """\
mem beside other tools of agent memory: the same texts, the same questions, one machine ({cores} cores, shared with
other work meanwhile). Each tool has its best documented setting that works without a network. Where it takes
vectors from a server it gets those of the model that mem has built in (all-MiniLM-L6-v2), from a server on loopback
that is not counted to it. A dash stands for what was not measured."""
RETRIEVAL = """\
Recall@5/nDCG@10 over questions that nothing in mem was tuned on: of each conversation that was held, and of each other
set, all of them, or {most} drawn with a seed where there are more.
mem's rules were chosen with other questions of these sets in sight, those of the other tools without any of them.
mem's sessions and dated entries know when something was said; its plain files know as much as the files of the
others. The differences are of nDCG@10, with their standard error over the questions."""
TRIALS = """\
Facts are told one after the other by the tool's verb for a new memory, that of agentcairn's server by its library;
a tool that has none gets a file for each. So do writers: those of memsearch and memweave leave a file and have it
indexed, so their memories are always on the disk. After an edit by hand nothing runs but a process that searches:
memsearch looks at files only in `index`, or in `watch` that must run all the time; agentcairn's server looks at
them when it is first asked and not later, its command line never. Writers are killed at drawn moments between a
fifth of the time of one and its end. Other figures are medians; an empty Python took {python} ms beside them."""
_FEW_WORDS = """\
its questions share few words with what answers them, and mem goes by words for .58 of a short file. A share of
meaning of .6 instead of .42 gives all questions of coding .010 and of everyday .018, and takes .020 from MADial's
dialogues and .005 from operations and from LoCoMo turns in files, so no rule was made of it (41dadc1). The
turns around a turn and who says it, by which the same talk is first as sessions, a bare file does not tell"""
WHY: Mapping[str, str] = {
    "one search of 200 notes from cold, peak MB": "mem runs the model itself, the others ask a server not counted here",
    "facts that replace each other: the first five hits": "mem shows what a fact may have replaced below it, flagged;"
    " with keys it shows none of it ([beliefs.md](beliefs.md))",
    "coding, mem, plain files": "as everyday",
    "everyday, mem, plain files": _FEW_WORDS.replace("\n", " "),
}
"""Why mem is not first, by set or measure, as far as it was looked into."""


def page(lines: Sequence[Line]) -> str:
    """Write the page."""
    found = defaultdict[tuple[str, str], list[Line]](list)
    for line in lines:
        found[line["tool"], line["test"]].append(line)
    behind: list[str] = []
    parts = (_head(lines), _retrieval(found, behind), _measures(found, behind), _behind(behind), _broken(lines))
    return "\n".join("\n".join(part) + "\n" for part in map(list, parts) if part)


def _head(lines: Sequence[Line]) -> Iterator[str]:
    yield f"{HEAD.format(cores=os.cpu_count())}\n\n| tool | installed by pip | how it searches |\n|---|---|---|"
    for tool in TOOLS:
        made: dict[str, dict[str, None]] = defaultdict(dict)
        for line in lines:
            if line["tool"] == tool.name and line.get("commit"):
                made[line["commit"]][line["test"]] = None
        commits = "; ".join(f"{commit} ({', '.join(tests)})" for commit, tests in made.items())
        told = f"this source, {commits or 'no commit'}" if tool.folder == OURS else " ".join(tool.pip)
        yield f"| {tool.name} | {told} | {tool.told} |"
    yield from (f"\nNot measured: {name}, as {why}." for name, why in ABSENT.items())


def _retrieval(found: Found, behind: list[str]) -> Iterator[str]:
    yield f"## Retrieval by kind of talk\n\n{RETRIEVAL.format(most=MOST)}\n"
    differences = [f"{tool} − best other" for tool in _COLUMNS if tool not in _RIVALS]
    yield f"| kind of talk | set | questions | {' | '.join((*_COLUMNS, *differences))} |"
    yield f"|---|---|---|{'---|' * len(_COLUMNS + differences)}"
    for name, told in {**SETS, "": "all that every tool was asked"}.items():
        asked = _asked(found, name)
        cells = {tool: round(mean([line["nDCG@10"] for line in lines]), 3) for tool, lines in asked.items()}
        shown = [_cell(asked[tool], cells[tool] == max(cells.values())) if tool in asked else "–" for tool in _COLUMNS]
        shown += [_difference(name or told, tool, asked, behind) for tool in _COLUMNS if tool not in _RIVALS]
        yield f"| {told} | {name} | {max(map(len, asked.values()), default=0)} | {' | '.join(shown)} |"


def _asked(found: Found, name: str) -> dict[str, list[Line]]:
    """Give the lines of a set by tool, of those that answered to the end; without a name of all sets that all did."""
    if not name:
        each = [_asked(found, one) for one in SETS]
        every = max(map(len, each))
        return {tool: [line for one in each if len(one) == every for line in one[tool]] for tool in max(each, key=len)}
    asked = {}
    for tool in _COLUMNS:
        lines = [line for line in found.get((tool, "retrieval"), ()) if line.get("set") == name]
        asked[tool] = sorted(lines, key=lambda line: (line["workspace"], line["question"]))
    most = max(map(len, asked.values()))
    return {tool: lines for tool, lines in asked.items() if lines and len(lines) == most}


def _cell(lines: Sequence[Line], is_best: bool) -> str:
    told = f"{mean([line['recall@5'] for line in lines]):.3f}/{mean([line['nDCG@10'] for line in lines]):.3f}"
    return f"**{told}**" if is_best else told


def _difference(name: str, tool: str, asked: Mapping[str, Sequence[Line]], behind: list[str]) -> str:
    gains = {one: [line["nDCG@10"] for line in lines] for one, lines in asked.items()}
    rivals = [one for one in _RIVALS if one in gains]
    if tool not in gains or not rivals:
        return "–"
    best = max(rivals, key=lambda one: mean(gains[one]))
    difference, error = mean(gains[tool]) - mean(gains[best]), paired_error(gains[tool], gains[best])
    if difference < 0:
        sure = "more" if -difference > 2 * error else "less"
        behind.append(
            f"{name}, {tool}: {best} by {-difference:.3f} nDCG@10, {sure} than two standard errors ({error:.3f})"
        )
    return f"{difference:+.3f} ± {error:.3f}"


def _measures(found: Found, behind: list[str]) -> Iterator[str]:
    columns = [tool.name for tool in TOOLS if not tool.is_variant]
    empty = [line["python ms"] for (_, test), lines in found.items() if test == "costs" for line in lines]
    python = f"{statistics.median(empty):.0f}" if empty else "–"
    yield f"## What a memory must stand, and what it costs\n\n{TRIALS.format(python=python)}\n"
    yield f"| what | {' | '.join(columns)} |"
    yield f"|---|{'---|' * len(columns)}"
    for one in MEASURES:
        lines = {tool: found.get((tool, one.test), ()) for tool in columns}
        cells = {tool: one.of(those) for tool, those in lines.items() if those and "broken" not in those[-1]}
        best = (min if one.is_less_better else max)((value for value, _ in cells.values()), default=0)
        first = {tool: told for tool, (value, told) in cells.items() if value == best and one.is_judged}
        shown = [f"**{first[tool]}**" if tool in first else cells.get(tool, (0, "–"))[1] for tool in columns]
        yield f"| {one.told} | {' | '.join(shown)} |"
        if one.is_judged and OURS in cells and OURS not in first:
            behind.append(f"{one.told}: {', '.join(first)} with {best:g} against {cells[OURS][0]:g}")


def _behind(behind: Sequence[str]) -> Iterator[str]:
    yield "## Where mem is not first\n"
    yield from (f"- {told}{_why(told)}." for told in behind)
    if not behind:
        yield "Nowhere."


def _why(told: str) -> str:
    return next((f": {why}" for name, why in WHY.items() if told.startswith(name)), "")


def _broken(lines: Sequence[Line]) -> Iterator[str]:
    found = [line for line in lines if "broken" in line]
    if found:
        yield "## What broke\n"
        yield from (f"- {line['tool']}, {line['test']}: `{' '.join(line['broken'].split())[-200:]}`" for line in found)
