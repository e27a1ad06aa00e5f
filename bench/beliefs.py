"""Measure what becomes of new memories: confirmed, superseded, flagged; `--write` writes results/beliefs.md.

Usage: beliefs.py DATA [--fresh FILE] [--sizes 6k,64k] [--wrong] [--write]. Everything goes through the command line, in
real workspaces. Below DATA are sought `natural.tsv` (label, old, new: measuring only, nothing is trained or chosen on
it) and `fact-consolidation/*.json` (facts in the order they were said, questions, answers). FILE has more such pairs.
What is right is told from the texts alone: nothing here calls the code that it judges.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

import yaml
from workspaces import make

from memcli.cli.app import run
from memcli.index import embedding
from memcli.index.embedder import open_embedder

HERE = Path(__file__).parent
FIXTURES = HERE.parent / "fixtures" / "workspace"
AGAINST = ("update", "conflict")
ACTIONS = ("merged", "superseded", "flagged", "kept")
LINKS = (
    " is a citizen of ", " is affiliated with the religion of ", " was founded by ", " is married to ",
    " plays the position of ",
    " is associated with the sport of ", " is located in the city of ", " was performed by ", " was created by ",
    " was developed by ", " was created in the country of ", " speaks the language of ", " was founded in the city of ",
    " is located in the continent of ", " was born in the city of ", " died in the city of ", " is employed by ",
    " is famous for ", " worked in the city of ", " was written in the language of ", " works in the field of ",
)  # fmt: skip
PAIRS = (
    "| pairs | | same: merged, merged or flagged | updates, conflicts: merged | superseded or flagged"
    " | distinct: touched | superseded wrongly | texts lost |"
)
FACTS = (
    "| facts | written | wrong supersessions | true facts hidden | stale superseded or flagged"
    " | wrong flags in 100 writes | top-1 | questions that show a stale value |"
)
GERMAN = re.compile(r"(?i)[äöüß]|\b(der|die|das|und|ist|nicht|wird|den|ein|eine|im|zum|mit|hat|bei|jetzt|auf)\b")


class Workspace:
    """A fresh workspace, worked by the command line."""

    def __init__(self, root: Path) -> None:
        """Make it."""
        self.root = root
        root.mkdir(parents=True)
        (root / "mem.yaml").write_text("# bench\n", encoding="utf-8")
        (root / "MEMORY.md").write_text("# Memory\n", encoding="utf-8")

    def mem(self, *words: str, text: str) -> Any:
        """Run a command on a text and give the document it prints."""
        printed = StringIO()
        with redirect_stdout(printed), redirect_stderr(StringIO()):
            code = run([*words, "--workspace", str(self.root), "--json", "--", text])
        if code:
            raise RuntimeError(f"mem {' '.join(words)[:80]}: exit {code}")
        return json.loads(printed.getvalue())

    def write(self, text: str, *words: str) -> Any:
        """Write a memory."""
        return self.mem("write", *words, text=text)

    def entries(self) -> dict[str, dict[str, Any]]:
        """Read every entry from its file, by id: the fields, and the text under `body`."""
        found = {}
        for path in self.root.rglob("*.md"):
            parts = path.read_text(encoding="utf-8").split("---\n", 2)
            if len(parts) == 3 and path.name != "MEMORY.md":
                fields = yaml.safe_load(parts[1])
                if "id" in fields:
                    found[str(fields["id"])] = {**fields, "body": parts[2].strip()}
        return found


def flat(text: str) -> str:
    """Give a text without what never makes it another one."""
    return " ".join(text.casefold().split()).rstrip(" .。")


def is_kept(entries: dict[str, dict[str, Any]], text: str) -> bool:
    """Tell whether a text stands in some file, as a body or a wording."""
    said = (one for entry in entries.values() for one in (entry["body"], *map(str, entry.get("wordings") or ())))
    return any(flat(text) == flat(one) for one in said)


# Pairs.


@dataclass(frozen=True)
class Judged:
    """A pair and what became of it."""

    label: str
    old: str
    new: str
    action: str
    lost: int  # texts that stand in no file

    @property
    def is_wrong(self) -> bool:
        """Tell whether it should have become something else."""
        return self.badness > 0

    @property
    def badness(self) -> int:
        """Give how bad an error it is: a fact hidden, a false confirmation, a false flag, a miss."""
        if self.lost or (self.action == "superseded" and self.label not in AGAINST):
            return 4
        if self.action == "merged" and self.label != "same":
            return 3
        if self.action == "flagged" and self.label == "distinct":
            return 2
        return int(self.action == "kept" and self.label != "distinct")


def judged_pairs(path: Path) -> list[Judged]:
    """Write the old and the new text of every pair into a workspace of its own."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("#") or line.count("\t") < 2:
            continue
        label, old, new = line.split("\t")[:3]
        with tempfile.TemporaryDirectory() as folder:
            workspace = Workspace(Path(folder) / "memory")
            workspace.write(old)
            action = action_of(workspace.write(new))
            entries = workspace.entries()
        found.append(Judged(label, old, new, action, sum(not is_kept(entries, text) for text in (old, new))))
    return found


def action_of(answer: dict[str, Any]) -> str:
    """Tell what a write did."""
    if answer["action"] != "created":
        return "merged"
    return "superseded" if answer.get("supersedes") else "flagged" if answer.get("conflicts_with") else "kept"


def language(pair: Judged) -> str:
    """Tell the language of a pair, roughly."""
    text = f"{pair.old} {pair.new}"
    if re.search(r"[\u3040-\u30ff]", text):
        return "Japanese"
    if re.search(r"[\u4e00-\u9fff]", text):
        return "Chinese"
    return "German" if len(GERMAN.findall(text)) > 1 else "English and others"


def pair_rows(name: str, pairs: Sequence[Judged]) -> Iterator[str]:
    """Give a row for all pairs and one for each language."""
    languages = [one for one, count in Counter(map(language, pairs)).most_common() if count > 9]
    groups = [(name, list(pairs))]
    groups += [(f"{name}, {one}", [pair for pair in pairs if language(pair) == one]) for one in languages]
    for title, rows in groups:
        same = [pair for pair in rows if pair.label == "same"]
        against = [pair for pair in rows if pair.label in AGAINST]
        others = [pair for pair in rows if pair.label == "distinct"]
        cells = [
            f"{share(same, 'merged')}, {share(same, 'merged', 'flagged')}",
            share(against, "merged"),
            share(against, "superseded", "flagged"),
            share(others, "merged", "superseded", "flagged"),
            str(sum(pair.action == "superseded" and pair.label not in AGAINST for pair in rows)),
            str(sum(pair.lost for pair in rows)),
        ]
        yield f"| {title} | {len(rows)} | {' | '.join(cells)} |"


def share(pairs: Sequence[Judged], *actions: str) -> str:
    """Give the share of pairs that became one of some things."""
    count = sum(pair.action in actions for pair in pairs)
    return f"{count / len(pairs):.2f} ({count} of {len(pairs)})" if pairs else "–"


def confusion(pairs: Sequence[Judged]) -> list[str]:
    """Give the table of labels against what became of them."""
    counts = Counter((pair.label, pair.action) for pair in pairs)
    lines = [f"| | {' | '.join(ACTIONS)} |", f"|---|{'---|' * len(ACTIONS)}"]
    rows = {label: [str(counts[label, action]) for action in ACTIONS] for label in ("same", *AGAINST, "distinct")}
    return [*lines, *(f"| {label} | {' | '.join(cells)} |" for label, cells in rows.items())]


# Facts that replace each other.


@dataclass
class Outcome:
    """What became of a set of facts that were said one after the other."""

    size: str
    keyed: bool
    facts: int = 0
    wrong: int = 0  # superseded by a fact about something else
    hidden: list[str] = field(default_factory=list)  # newest of their slot, and not believed
    stale: int = 0  # facts with a newer value
    caught: int = 0  # of these: superseded or flagged
    false_flags: int = 0  # writes flagged with nothing of their slot
    top: int = 0
    shown: int = 0  # questions where a stale value stood among the hits
    questions: int = 0


def slot_of(fact: str) -> str:
    """Give what a fact is about: its text before the value."""
    for link in LINKS:
        if link in fact:
            return fact.split(link)[0] + link
    return fact.rpartition(" is ")[0]


def consolidated(path: Path, keyed: bool) -> Outcome:
    """Write the facts in their order, look at the files, ask the questions."""
    data = json.loads(path.read_text(encoding="utf-8"))
    facts: list[str] = data["facts"]
    outcome = Outcome(data["size"], keyed, len(facts))
    newest = {slot_of(fact): fact for fact in facts}
    ids: dict[str, str] = {}  # id → slot of the fact it was made for
    with tempfile.TemporaryDirectory() as folder:
        workspace = Workspace(Path(folder) / "memory")
        for fact in facts:
            slot = slot_of(fact)
            key = ("--key", re.sub(r"\W+", "-", slot).strip("-").lower()) if keyed else ()
            answer = workspace.write(fact, *key)
            outcome.wrong += sum(ids.get(one) != slot for one in answer.get("supersedes", ()))
            flagged = answer.get("conflicts_with", ())
            outcome.false_flags += bool(flagged) and all(ids.get(one) != slot for one in flagged)
            ids.setdefault(answer["id"], slot)
        _look_at(outcome, workspace.entries(), facts, newest)
        for question, answers in zip(data["questions"], data["answers"], strict=True):
            _asked(outcome, workspace, question, answers, facts, newest)
    return outcome


def _look_at(
    outcome: Outcome, entries: dict[str, dict[str, Any]], facts: Sequence[str], newest: dict[str, str]
) -> None:
    said: dict[str, list[dict[str, Any]]] = {}
    for entry in entries.values():
        for text in (entry["body"], *map(str, entry.get("wordings") or ())):
            said.setdefault(flat(text), []).append(entry)
    for fact in newest.values():
        active = [one for one in said.get(flat(fact), ()) if one.get("status", "active") == "active"]
        if not any(slot_of(one["body"]) == slot_of(fact) for one in active):
            outcome.hidden.append(fact)
    for fact in dict.fromkeys(facts):
        if flat(newest[slot_of(fact)]) == flat(fact):
            continue
        outcome.stale += 1
        here = said.get(flat(fact), ())
        rivals = {str(one["id"]) for one in entries.values() if slot_of(one["body"]) == slot_of(fact)}
        outcome.caught += bool(here) and all(
            one.get("status") == "superseded" or rivals & {*map(str, one.get("conflicts_with") or ())} for one in here
        )


def _asked(
    outcome: Outcome,
    workspace: Workspace,
    question: str,
    answers: Sequence[str],
    facts: Sequence[str],
    newest: dict[str, str],
) -> None:
    hits = [str(hit["summary"]) for hit in workspace.mem("search", text=question)["hits"]]
    outcome.questions += 1
    outcome.top += bool(hits) and any(answer.casefold() in hits[0].casefold() for answer in answers)
    right = {
        slot_of(fact) for fact in newest.values() if any(answer.casefold() in fact.casefold() for answer in answers)
    }
    known = {flat(fact): slot_of(fact) for fact in facts}
    slots = {known.get(flat(hit), "") for hit in hits[:3]} & right
    stale = [hit for hit in hits if known.get(flat(hit), "") in slots and flat(newest[known[flat(hit)]]) != flat(hit)]
    outcome.shown += bool(stale)


def outcome_row(one: Outcome) -> str:
    """Give the row of a set of facts."""
    return (
        f"| {one.size}{', with keys' if one.keyed else ''} | {one.facts} | {one.wrong} | {len(one.hidden)} |"
        f" {one.caught / max(1, one.stale):.2f} ({one.caught} of {one.stale}) |"
        f" {100 * one.false_flags / one.facts:.1f} |"
        f" {100 * one.top / one.questions:.0f} | {one.shown} |"
    )


# Ordinary memories, one after the other; what it costs.


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


def cost() -> tuple[float, float]:
    """Give the seconds of `mem write` with five neighbours and of `mem search`, medians of nine, each a process."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "memory"
        make(root, 1000)
        command = [sys.executable, "-m", "memcli"]
        subprocess.run([*command, "index", "--workspace", str(root)], check=True, capture_output=True)

        def seconds(*words: str) -> float:
            start = time.perf_counter()
            subprocess.run([*command, *words, "--workspace", str(root)], check=True, capture_output=True)
            return time.perf_counter() - start

        writes, searches = [], []
        for number in range(10):
            text = f"The release team approved the nightly backup after {number + 3} failed attempts in CI"
            writes.append(seconds("write", text))
            searches.append(seconds("search", text))
    return statistics.median(writes[1:]), statistics.median(searches[1:])


def comparison_time() -> float:
    """Give the processor milliseconds of a new text and five neighbours, embedding included, the median of 20."""
    from memcli.beliefs.pair_model import load_pair_model

    with tempfile.TemporaryDirectory() as folder:
        embedder = open_embedder(None, bulk=True, cache=Path(folder))
        model = load_pair_model(embedder.model)
        texts = [f"The {noun} moved to port {port} after the migration" for port, noun in enumerate("abcdef", 8080)]
        spent = []
        for _ in range(21):
            start = time.process_time()
            _, tokens = embedder.embed_tokens(texts)
            model.compare(tokens[0], tokens[1:])
            spent.append(1000 * (time.process_time() - start))
    return statistics.median(spent[1:])


def worst(pairs: Sequence[Judged], count: int = 20) -> None:
    """Print the worst errors."""
    for pair in sorted((pair for pair in pairs if pair.is_wrong), key=lambda pair: -pair.badness)[:count]:
        print(f"{pair.label} → {pair.action}: {pair.old} | {pair.new}")


def main() -> None:
    """Measure, print, write."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("data", type=Path, help="folder with natural.tsv and fact-consolidation, anywhere below it")
    options.add_argument("--fresh", type=Path, help="pairs written after the model was fixed")
    options.add_argument("--sizes", default="6k,64k", help="sets of facts to write")
    options.add_argument(
        "--keys", action=argparse.BooleanOptionalAction, default=True, help="write the facts with keys too"
    )
    options.add_argument("--wrong", action="store_true", help="print the twenty worst errors")
    options.add_argument("--write", action="store_true", help="write results/beliefs.md")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {"HOME": home, "XDG_CACHE_HOME": f"{home}/cache", "MEM_TIMEZONE": "UTC"}
        for name in ("MEM_WORKSPACE", "MEM_SEED", "MEM_NOW", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
            os.environ.pop(name, None)
        opened = open_embedder(None, bulk=True, cache=Path(home) / "cache" / "mem")
        # Commands in one process share the model: to open it took most of their time.
        embedding.open_embedder = lambda *_, **__: opened
        page = _page(chosen)
    print(page)
    if chosen.write:
        (HERE / "results" / "beliefs.md").write_text(page, encoding="utf-8")


def _page(chosen: argparse.Namespace) -> str:
    sets: list[tuple[str, Path]] = [("natural.tsv", path) for path in sorted(chosen.data.rglob("natural.tsv"))]
    sets += [("fresh pairs", chosen.fresh)] if chosen.fresh else []
    rows, matrices = [], []
    for name, path in sets:
        pairs = judged_pairs(path)
        rows += pair_rows(name, pairs)
        print(*rows, sep="\n", file=sys.stderr, flush=True)
        matrices += [f"\n{name}:\n", *confusion(pairs)]
        if chosen.wrong:
            worst(pairs)
    outcomes = []
    for size in chosen.sizes.split(",") if chosen.sizes else ():
        for path in sorted(chosen.data.rglob(f"fact-consolidation/{size}.json")):
            outcomes += [consolidated(path, keyed) for keyed in ((False, True) if chosen.keys else (False,))]
    count, lost, flagged = fixtures_anew()
    for body, others in flagged if chosen.wrong else ():
        print(f"flagged: {body} | {' | '.join(others)}")
    write, search = cost()
    lines = [
        "# What becomes of new memories\n",
        "Written by `python bench/beliefs.py DATA --write`: through the command line, in real workspaces. Each pair",
        "has a workspace of its own. Facts replace each other in the order they were said; nothing says which does",
        "so.\n",
        PAIRS,
        "|---|" + "---|" * PAIRS.count(" | "),
        *rows,
        *matrices,
    ]
    if outcomes:
        lines += ["", FACTS, "|---|" + "---|" * FACTS.count(" | "), *map(outcome_row, outcomes)]
    lines += [
        f"\nThe {count} entries of fixtures/workspace written anew one after the other: {len(flagged)} writes flagged"
        f" ({100 * len(flagged) / count:.1f} in 100), {lost} texts lost.\n",
        f"`mem write` among 1,000 entries takes {1000 * write:.0f} ms, `mem search` {1000 * search:.0f} ms: ratio"
        f" {write / search:.2f}. Comparing a new text with five neighbours takes {comparison_time():.0f} ms of one"
        " core, embedding included.\n",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
