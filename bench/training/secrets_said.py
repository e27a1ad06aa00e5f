"""Train the score of secrets that somebody says: `python bench/training/secrets_said.py [--write]`.

Reads texts whose secrets are marked (`bench/training/data/secrets-*.jsonl`), puts other values in their places, and
adds texts that hold none: the sentences and conversations of the other trainers, the entries of the fixtures, and
code. Deterministic.
"""

import json
import random
import string
import sys
import sysconfig
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[1]))

import secret_contexts
from secret_frames import filled, frames

from memcli.text.linear_model import FORMAT
from memcli.text.secrets import Finding, prose, scan
from memcli.text.secrets.token_shapes import Token, tokens

DATA = Path(__file__).with_name("data")
ROOT = Path(__file__).parents[2]
SIZE = 1 << 17
FOLDS = 4
STEPS = 140
STRENGTH = 2e-5  # of the penalty on large weights, for each example
VARIANTS = 3
FILLS = 4
CODE_FILES = 120
NOUNS = ("relation", "database", "process", "worker", "job", "request", "user", "row", "page", "file", "line", "thread")
VERBS = ("blocked by", "waits for", "finished in", "failed after", "retried", "opened", "closed", "read", "skipped")
SECRET_WEIGHT = 2.0


@dataclass(frozen=True)
class Text:
    """A text, where its secrets lie, and the group it is left out with."""

    text: str
    spans: tuple[tuple[int, int], ...]
    group: int  # negative for texts that only ever train
    is_variant: bool = False


@dataclass(frozen=True)
class Line:
    """A line that is judged, with the one it follows."""

    raw: str
    lead: str
    tokens: list[Token]
    labels: list[bool]


@dataclass(frozen=True)
class Rows:
    """Features of examples, each a stretch of `places`."""

    places: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray
    labels: np.ndarray
    groups: np.ndarray
    weights: np.ndarray

    def some(self, chosen: np.ndarray) -> "Rows":
        """Return those examples."""
        mask = np.repeat(chosen, self.lengths)
        lengths = self.lengths[chosen]
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
        return Rows(self.places[mask], starts, lengths, self.labels[chosen], self.groups[chosen], self.weights[chosen])


def labelled() -> list[Text]:
    """Read the marked texts."""
    found = []
    for path in sorted(DATA.glob("secrets-*.jsonl")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines()):
            told = json.loads(line)
            spans = []
            for secret in told["secrets"]:
                at = told["text"].find(secret)
                while at >= 0:
                    spans.append((at, at + len(secret)))
                    at = told["text"].find(secret, at + len(secret))
            found.append(Text(told["text"], tuple(sorted(spans)), zlib.crc32(f"{path.name}{number}".encode())))
    return found


def small_texts() -> list[str]:
    """Read the single sentences."""
    return [line.split("\t")[3] for line in (DATA / "utterances.tsv").read_text(encoding="utf-8").splitlines()]


def harmless() -> list[Text]:
    """Read what holds no secret: sentences, conversations, entries of the fixtures, lines of code."""
    found = small_texts()
    for line in (DATA / "conversations.jsonl").read_text(encoding="utf-8").splitlines():
        found += [one["content"] for one in json.loads(line)["messages"]]
    found += [path.read_text(encoding="utf-8") for path in sorted((ROOT / "fixtures" / "workspace").rglob("*.md"))]
    found += [path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").rglob("*.md"))]
    chance = random.Random(3)
    for path in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))[:CODE_FILES]:
        text = path.read_text(encoding="utf-8").splitlines()
        found.append("\n".join(line for line in text if line.strip() and chance.random() < 0.15))
    for path in sorted((ROOT / "memcli").rglob("*.py"))[::3]:
        text = path.read_text(encoding="utf-8").splitlines()
        found.append("\n".join(line for line in text if line.strip() and chance.random() < 0.15))
    found += [line for _, line in secret_contexts.ordinary(chance, 40)]
    found += [logged(chance) for _ in range(600)]
    for number, line in enumerate((DATA / "conversations.jsonl").read_text(encoding="utf-8").splitlines()):
        for one in json.loads(line)["messages"][:12]:
            found.append(json.dumps(recorded(chance, one["role"], one["content"]), ensure_ascii=number % 2 == 0))
    return [Text(text, (), -1) for text in found]


def sentences() -> list[Text]:
    """Return the frames filled several times, some after or before another sentence."""
    found = []
    small = [one for one in small_texts() if len(one) < 70] + [
        "ok",
        "hey",
        "so",
        "btw",
        "thanks",
        "please",
        "for later",
        "fyi",
    ]
    for number, (has_secret, frame) in enumerate(frames()):
        for again in range(FILLS):
            chance = random.Random(number * 10 + again)
            text, spans = filled(chance, frame)
            if chance.random() < 0.2:
                text = text[:1].upper() + text[1:] + "."
            if chance.random() < 0.25 and text[:1] not in "|*-":
                before = chance.choice(small) + chance.choice((", ", ". ", " - ", " ", "\n"))
                text, spans = before + text, [(start + len(before), end + len(before)) for start, end in spans]
            if chance.random() < 0.2:
                text += chance.choice((", ", ". ", " ")) + chance.choice(small)
            if chance.random() < 0.05 and "\n" not in text and '"' not in text:
                role = chance.choice(("user", "assistant"))
                before, after = json.dumps({"role": role, "content": "\0"}).split("\\u0000")
                text, spans = before + text + after, [(a + len(before), b + len(before)) for a, b in spans]
            found.append(Text(text, tuple(spans) if has_secret else (), -1, is_variant=again > 0))
    return found


def recorded(chance: random.Random, role: str, text: str) -> dict[str, object]:
    """Return a message as an agent's transcript has it."""
    told: dict[str, object] = {"role": role, "content": chance.choice((text, [{"type": "text", "text": text}]))}
    if chance.random() < 0.3:
        return told
    return {
        "parentUuid": None,
        "sessionId": f"{chance.getrandbits(64):016x}",
        "type": role,
        "message": {"id": f"msg_{chance.getrandbits(64):x}", "model": "claude-opus-4-1", **told},
        "cwd": f"/home/me/{chance.choice(('app', 'shop', 'notes'))}",
        "gitBranch": "main",
        "version": f"{chance.randint(0, 3)}.{chance.randint(0, 60)}.{chance.randint(0, 60)}",
        "usage": {"input_tokens": chance.randint(1, 9000), "output_tokens": chance.randint(1, 900)},
        "timestamp": f"2026-11-{chance.randint(10, 28)}T{chance.randint(10, 23)}:{chance.randint(10, 59)}:11.520Z",
    }


def logged(chance: random.Random) -> str:
    """Return a line as programs report: numbers, names and paths among words."""
    number = [str(chance.randint(0, 10 ** chance.randint(1, 6))) for _ in range(4)]
    noun = chance.choices(
        [
            "relation",
            "database",
            "process",
            "worker",
            "job",
            "request",
            "user",
            "row",
            "page",
            "file",
            "line",
            "thread",
            "lock",
            "table",
        ],
        k=4,
    )
    verb = chance.choice(
        [
            "blocked by",
            "waits for",
            "finished in",
            "failed after",
            "retried",
            "opened",
            "closed",
            "read",
            "wrote",
            "skipped",
        ]
    )
    time = (
        f"2026-{chance.randint(10, 12)}-{chance.randint(10, 28)}T{chance.randint(10, 23)}:{chance.randint(10, 59)}:11Z"
    )
    name = f"{noun[0]}_{noun[1]}{chance.randint(1, 99)}"
    return chance.choice(
        (
            f"{noun[0]} {number[0]} {verb} {noun[1]} {number[1]}",
            f"{time} INFO {name} {verb} {noun[2]} {number[0]} ({number[1]} ms)",
            f"[{noun[0]}] {noun[1]}={number[0]} {noun[2]}={number[1]} {noun[3]}={name}",
            f"ERROR: {verb} on {noun[0]} {number[0]} of {noun[1]} {number[1]}; {verb} {noun[2]} {number[2]}.",
            f"{noun[0].upper()} {number[0]}: {name} {verb} {number[1]}/{number[2]}",
            f"at {name} ({noun[1]}/{noun[2]}.js:{number[0]}:{number[1]})",
            f"{number[0]} {noun[0]}s, {number[1]} {noun[1]}s, {number[2]} failed in {number[3]} s",
            f'{{"{noun[0]}": {number[0]}, "{noun[1]}": "{name}", "{noun[2]}": [{number[1]}, {number[2]}]}}',
            f"test_{name} PASSED [{number[0]}%]",
            f"{noun[0].capitalize()} {number[0]} waits for {name} on {noun[1]} {number[1]} of {noun[2]} {number[2]}",
        )
    )


def drawn(secret: str, pool: list[str], chance: random.Random) -> str:
    """Return another value of the kind of a secret."""
    if not any(map(str.isalpha, secret)):
        if secret.isdigit() and len(secret) < 9:
            return "".join(chance.choices(string.digits, k=chance.choice((4, 4, 4, 5, 6, 6, 8, len(secret)))))
        return "".join(chance.choice(string.digits) if char.isdigit() else char for char in secret)
    parts = secret.split()
    if len(parts) > 1:
        same = [one for one in pool if len(one.split()) > 1 and any(map(str.isalpha, one))]
        if len({len(part) for part in parts}) == 1:
            return "".join(
                chance.choice(string.ascii_lowercase if char.islower() else string.ascii_uppercase)
                if char.isalpha() and char.isascii()
                else char
                for char in secret
            )
        return chance.choice(same)
    if len(secret) > 14 and sum(map(str.isdigit, secret)) > 3:
        return "".join(
            chance.choice(string.ascii_letters + string.digits) if char.isalnum() else char for char in secret
        )
    same = [one for one in pool if " " not in one and any(map(str.isalpha, one)) and len(one) < 24]
    return chance.choice(same)


def variants(texts: list[Text]) -> list[Text]:
    """Return texts with other values: of secrets, and of the digits of harmless ones."""
    pool = sorted({one.text[start:end] for one in texts for start, end in one.spans})
    found = []
    for one in texts:
        for number in range(VARIANTS if one.spans else 1):
            chance = random.Random(one.group * 10 + number)
            pieces, spans, done, size = [], [], 0, 0
            for start, end in one.spans:
                value = drawn(one.text[start:end], pool, chance)
                pieces += [one.text[done:start], value]
                size += start - done
                spans.append((size, size + len(value)))
                size += len(value)
                done = end
            pieces.append(one.text[done:])
            text = "".join(pieces)
            if not one.spans:
                text = "".join(chance.choice(string.digits) if char.isdigit() else char for char in text)
            if text != one.text:
                found.append(Text(text, tuple(spans), one.group, is_variant=True))
        if one.spans:
            text = one.text
            for start, end in reversed(one.spans):
                text = f"{text[:start]}[REDACTED:password]{text[end:]}"
            found.append(Text(text, (), one.group, is_variant=True))
    return found


def lines(text: Text) -> Iterator[Line]:
    """Yield the lines of a text as they are judged."""
    for start, raw, lead in prose.lines(text.text):
        line = tokens(raw)
        labels = [
            any(start + token.start < end and begin < start + token.end for begin, end in text.spans) for token in line
        ]
        yield Line(raw, lead, line, labels)


def words(texts: Iterable[Text]) -> Rows:
    """Return the features of words."""
    places, lengths, labels, groups, weights = [], [], [], [], []
    chance = random.Random(1)
    for text in texts:
        for line in lines(text):
            before, told = prose.lead_words(line.lead), prose.facts(line.raw, line.tokens, line.lead)
            around = prose.segments(line.tokens)
            rare = (text.group < 0 and not text.spans) or text.is_variant
            for at, token in enumerate(line.tokens):
                if token.kind in ".R":
                    continue
                if rare and not line.labels[at]:
                    near = any(line.labels[max(0, at - 3) : at + 4])
                    if chance.random() > (0.7 if near else 0.06 if token.kind in "lTn" else 0.4):
                        continue
                cues = prose.cues(line.tokens, at, before, told, around[at])
                own = [place for cue in cues for place in prose.features(cue, SIZE)]
                places += own
                lengths.append(len(own))
                labels.append(float(line.labels[at]))
                groups.append(text.group)
                share = 1.0 / (1 + VARIANTS) if text.is_variant else 1.0
                weights.append(share * (SECRET_WEIGHT if line.labels[at] else 1.0))
    return rows(places, lengths, labels, groups, weights)


def whole(texts: Iterable[Text]) -> Rows:
    """Return the features of lines."""
    places, lengths, labels, groups, weights = [], [], [], [], []
    for text in texts:
        for line in lines(text):
            own = [place for word in line.raw.split() if len(word) <= 80 for place in prose.line_features(word, SIZE)]
            own += [
                place for word in line.lead.split()[-prose.LEAD :] for place in prose.line_features(word, SIZE, "gp")
            ]
            if own:
                places += own
                lengths.append(len(own))
                labels.append(float(any(line.labels)))
                groups.append(text.group)
                weights.append((0.3 if text.is_variant else 1.0) * (3.0 if any(line.labels) else 1.0))
    return rows(places, lengths, labels, groups, weights)


def rows(places: list[int], lengths: list[int], *others: list[float]) -> Rows:
    """Put lists into arrays."""
    labels, groups, weights = others
    size = np.array(lengths)
    starts = np.concatenate([[0], np.cumsum(size)[:-1]])
    return Rows(
        np.array(places, np.int32), starts, size, np.array(labels), np.array(groups), np.array(weights, np.float64)
    )


def sums(data: Rows, weights: np.ndarray, bias: float) -> np.ndarray:
    """Return the weighted sum of each example."""
    return np.add.reduceat(weights[data.places], data.starts) + bias


def fit(data: Rows, strength: float = STRENGTH) -> tuple[np.ndarray, float]:
    """Return weights and bias of a logistic regression: Adam over all examples."""
    weights, bias = np.zeros(SIZE), -3.0
    first, second = np.zeros(SIZE + 1), np.zeros(SIZE + 1)
    total = data.weights.sum()
    for step in range(1, STEPS + 1):
        chance = 1 / (1 + np.exp(-np.clip(sums(data, weights, bias), -30, 30)))
        wrong = (chance - data.labels) * data.weights / total
        slope = np.append(
            np.bincount(data.places, np.repeat(wrong, data.lengths), SIZE) + strength * weights, wrong.sum()
        )
        first = 0.9 * first + 0.1 * slope
        second = 0.98 * second + 0.02 * slope * slope
        rate = 0.06 * (1 - step / (STEPS + 10))
        move = rate * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.98**step)) + 1e-7)
        weights -= move[:-1]
        bias -= move[-1]
    return weights, float(bias)


def line_of(texts: list[Text]) -> np.ndarray:
    """Return for each word that is judged the number of its line."""
    found, number = [], 0
    for text in texts:
        for line in lines(text):
            found += [number] * sum(token.kind not in ".R" for token in line.tokens)
            number += 1
    return np.array(found)


def left_out(data: Rows) -> np.ndarray:
    """Return the sums that examples get from a model which never saw their text."""
    found = np.zeros(len(data.labels))
    for fold in range(FOLDS):
        held = (data.groups >= 0) & (data.groups % FOLDS == fold)
        weights, bias = fit(data.some(~held))
        found[held] = sums(data.some(held), weights, bias)
    return found


def calibration(found: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return the weights of the sums of word and line, and the offset (Platt 1999), by Newton's method."""
    design = np.c_[found, np.ones(len(found))]
    weights = np.zeros(design.shape[1])
    for _ in range(50):
        chance = 1 / (1 + np.exp(-design @ weights))
        step = (design * (chance * (1 - chance))[:, None]).T @ design + 1e-6 * np.eye(len(weights))
        weights += np.linalg.solve(step, design.T @ (labels - chance))
    return weights


def structural(text: str) -> list[Finding]:
    """Return what the other detectors find."""
    told, prose.LINE_SUM = prose.LINE_SUM, float("inf")
    try:
        return scan(text)
    finally:
        prose.LINE_SUM = told


def figures(texts: list[Text], chance: np.ndarray, show: float = 0) -> None:
    """Print what share of secrets goes and of harmless texts is touched, with what the other detectors find."""
    known = {text.text: structural(text.text) for text in texts}
    table = []
    for certain in (0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9):
        at = gone = secrets = touched = plain = 0
        for text in texts:
            marks = bytearray(len(text.text))
            for one in known[text.text]:
                marks[one.start : one.end] = b"\1" * (one.end - one.start)
            for start, raw, _ in prose.lines(text.text):
                line, own = tokens(raw), []
                for token in line:
                    is_judged = token.kind not in ".R"
                    own.append(chance[at] if is_judged else 0.0)
                    at += is_judged
                for begin, end in prose.joined(line, own, certain):
                    marks[start + begin : start + end] = b"\1" * (end - begin)
            hits = []
            for begin, end in text.spans:
                inner = [n for n in range(begin, end) if text.text[n].isalnum()]
                hits.append(sum(marks[n] for n in inner) >= 0.8 * len(inner))
            gone += sum(hits)
            secrets += len(hits)
            touched += any(marks) and not text.spans
            plain += not text.spans
            if show == certain and (not all(hits) or (any(marks) and not text.spans)):
                shown = "".join(char if mark else " " for char, mark in zip(text.text, marks, strict=True)).split()
                missed = [text.text[begin:end] for begin, end in text.spans]
                print("   ", "MISS" if text.spans else "FALSE", repr(text.text[:160]), missed, shown)
        table.append(f"{certain}: finds {gone / secrets:.3f}, touches {100 * touched / plain:.1f} of 100 harmless")
    print("\n".join(table))


def main() -> None:
    """Train, print the figures, and with --write put the model beside the code."""
    texts, others = labelled(), harmless() + sentences()
    more = variants(texts)
    data, line_data = words([*texts, *more, *others]), whole([*texts, *more, *others])
    print(
        f"{len(texts)} texts, {len(data.labels)} words ({int(data.labels.sum())} secret), {len(line_data.labels)} lines"
    )
    if "--quick" not in sys.argv:
        count = len(words(texts).labels)
        found, line_found = left_out(data), left_out(line_data)
        both = np.c_[found[:count], line_found[line_of(texts)]]
        slope, share, offset = map(float, calibration(both, data.labels[:count]))
        print(f"slope {slope:.2f}, of the line {share:.2f}, offset {offset:.2f}")
        chance = 1 / (1 + np.exp(-(both @ [slope, share] + offset)))
        kept = np.sort(line_found[: len(line_data.labels)][line_data.labels * (line_data.groups >= 0) > 0])
        print(
            "sum of lines of secrets, lowest shares:",
            [f"{q}: {np.quantile(kept, q):.2f}" for q in (0.01, 0.02, 0.05, 0.1, 0.2)],
        )
        figures(texts, chance, show=0.5 if "--show" in sys.argv else 0)
    else:
        slope, share, offset = 1.0, 0.0, 0.0
    outputs = [fit(data), fit(line_data)]
    scale = [float(np.abs(weights).max()) / 127 for weights, _ in outputs]
    small = np.array([np.round(w / s) for (w, _), s in zip(outputs, scale, strict=True)]).astype(np.int8)
    said = {
        "format": FORMAT,
        "outputs": [prose.SECRET, prose.LINE],
        "size": SIZE,
        "plain": [[round(share / slope, 5)], [0.0]],
        "bias": [round(bias, 5) for _, bias in outputs],
        "scale": [round(one, 8) for one in scale],
        "slope": round(slope, 5),
        "offset": round(offset, 5),
        "checksum": zlib.crc32(small.tobytes()),
    }
    if "--write" in sys.argv:
        prose.FILE.write_bytes(json.dumps(said).encode() + b"\n" + small.tobytes())
        print(f"wrote {prose.FILE}")


if __name__ == "__main__":
    main()
