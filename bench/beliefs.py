"""Measure what mem merges, supersedes and flags on labelled pairs; `--write` puts the table into README.md.

Usage: beliefs.py [DATA_DIR] [--wrong] [--write]. Pairs: `pairs.tsv` beside this file and, anywhere below
DATA_DIR, `sick.tsv` (number, old, new, relatedness, label), `belief_updates.jsonl` and `contradictions.jsonl`.
The rules were made looking at the half called tuned (the even crc32 of a pair); the other half is what to believe.
"""

import argparse
import json
import re
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from memcli.lifecycle.beliefs import Verdict, compare

HERE = Path(__file__).parent
AGAINST = ("revises", "contradicts")
PARAPHRASE = 4.7  # relatedness from which annotators took an entailment for the same said twice
LIMITS = {"merges, right": 0.97, "of the same": 0.5, "supersedes, right": 0.95, "flags": 0.7, "flags of others": 0.1}


@dataclass(frozen=True)
class Pair:
    """Two texts, and what the second is to the first: same, revises, contradicts, extends or unrelated."""

    source: str
    kind: str
    old: str
    new: str

    @property
    def is_tuned(self) -> bool:
        """Tell whether the rules were made looking at it."""
        return zlib.crc32((self.old + self.new).encode()) % 2 == 0


@dataclass(frozen=True)
class Judged:
    """A pair with the verdict on it."""

    pair: Pair
    verdict: Verdict

    @property
    def merges(self) -> bool:
        """Tell whether `mem write` would merge the two."""
        return self.verdict.kind == "same" and self.verdict.sure

    @property
    def loses(self) -> bool:
        """Tell whether merging is wrong."""
        return self.pair.kind != "same"


def main() -> None:
    """Judge all pairs and print the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("data", nargs="?", type=Path, help="folder with sick.tsv and the samples, anywhere below it")
    options.add_argument(
        "--wrong", action="store_true", help="list the pairs of the tuned half that are judged wrongly"
    )
    options.add_argument("--write", action="store_true", help="put the table into README.md")
    chosen = options.parse_args()
    pairs = [*_ours(), *(_others(chosen.data) if chosen.data else ())]
    judged = [Judged(pair, compare(pair.old, pair.new)) for pair in pairs]
    text = _table(judged)
    print(text)
    for one in judged if chosen.wrong else ():
        if one.pair.is_tuned and _is_wrong(one):
            print(f"{one.pair.kind} → {one.verdict.kind}, sure={one.verdict.sure}: {one.pair.old} | {one.pair.new}")
    if chosen.write:
        page = HERE / "README.md"
        old = page.read_text(encoding="utf-8")
        page.write_text(
            re.sub(r"(?s)(<!-- beliefs -->\n).*?(<!-- /beliefs -->)", lambda found: found[1] + text + found[2], old),
            encoding="utf-8",
        )


def _ours() -> Iterator[Pair]:
    for line in (HERE / "pairs.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        kind, old, new = line.split("\t")
        yield Pair("pairs.tsv", kind, old, new)


def _others(folder: Path) -> Iterator[Pair]:
    for path in sorted(folder.rglob("sick.tsv")):
        for line in path.read_text(encoding="utf-8").splitlines():
            _, old, new, score, label = line.split("\t")[:5]
            same = "same" if float(score) >= PARAPHRASE else "extends"
            kind = {"CONTRADICTION": "contradicts", "NEUTRAL": "unrelated", "ENTAILMENT": same}[label]
            yield Pair("SICK", kind, old.strip(), new.strip())
    kinds = {"TEMPORAL": "revises", "REVISION": "revises", "CONFLICT": "contradicts", "REFINEMENT": "extends"}
    for path in sorted(folder.rglob("belief_updates.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            yield Pair("belief updates", kinds[row["category"]], row["old"], row["new"])
    for path in sorted(folder.rglob("contradictions.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            yield Pair("contradictions", "revises", row["stored"] or row["contradicts"], row["new"])
            for other in row["others"]:
                yield Pair("contradictions", "unrelated", other, row["new"])


def _is_wrong(one: Judged) -> bool:
    against = one.pair.kind in AGAINST
    return (
        (one.merges and one.loses) or against != one.verdict.is_against or (one.pair.kind == "same" and not one.merges)
    )


def _table(judged: Sequence[Judged]) -> str:
    lines = [
        f"{len(judged):,} pairs. Limits: "
        + ", ".join(f"{name} {'≤' if name == 'flags of others' else '≥'} {limit}" for name, limit in LIMITS.items())
        + ".\n",
        "| pairs | half | merges, right | of the same | supersedes, right | flags | flags of others |",
        "|---|---|---|---|---|---|---|",
    ]
    sources = list(dict.fromkeys(one.pair.source for one in judged))
    for source in [*sources, "all"]:
        for half in (True, False):
            rows = [one for one in judged if one.pair.is_tuned is half and source in (one.pair.source, "all")]
            lines.append(f"| {source} | {'tuned' if half else 'held out'} | {' | '.join(_cells(rows))} |")
    return "\n".join(lines) + "\n"


def _cells(rows: Sequence[Judged]) -> list[str]:
    merged = [one for one in rows if one.merges]
    same = [one for one in rows if one.pair.kind == "same"]
    against = [one for one in rows if one.pair.kind in AGAINST]
    others = [one for one in rows if one.pair.kind not in AGAINST]
    ended = [one for one in rows if one.verdict.is_against and one.verdict.sure]
    return [
        _share(sum(not one.loses for one in merged), len(merged)),
        _share(sum(one.merges for one in same), len(same)),
        _share(sum(one.pair.kind in AGAINST for one in ended), len(ended)),
        _share(sum(one.verdict.is_against for one in against), len(against)),
        _share(sum(one.verdict.is_against for one in others), len(others)),
    ]


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.3f} ({part} of {whole})" if whole else "–"


if __name__ == "__main__":
    main()
