"""Train the score of whose words a sentence of a prompt is: `python -m bench training.attribution [--write]`.

Reads prompts whose sentences are labelled as the user's own or as handed on (`bench/training/data/prompts.jsonl`), and
the user's messages of the labelled conversations and sentences there, which are their own. Trains like `worth.py`.
Deterministic.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench import measures
from bench.training.worth import DATA, STRENGTH, Features, fit, is_to_be_written, judged, write
from memcli.consolidation.attribution import FILE, HANDED_ON, SentencePlace, hashed_features, places, plain_features
from memcli.language.foreign_text import Prompt
from memcli.language.sentences import sentences

SIZE = 1 << 15
BINDING = ("rule", "preference")
BREAKS = ("\n\n", "\n", "\n\n", ". ")
OPENINGS = (
    *("for the future", "btw", "one more thing", "fyi", "next time", "in general", "ps", "and another one", "wichtig"),
    *("für später", "por cierto", "à propos", "small correction", "about that", "at work", "at home", "new here"),
    *("IMPORTANT", "note", "NB", "rule", "reminder", "please", "from Tuesday on", "since the move", "docs", "releases"),
    *("calls with clients", "the kids", "mails", "kitchen", "garden", "our team", "money", "reviews", "parking"),
    "trips",
)
"""How users head and part what they say themselves."""


@dataclass(frozen=True)
class Example:
    """A sentence of a prompt, and whether it is handed on."""

    place: SentencePlace
    is_handed_on: bool
    group: str


def labelled(path: Path) -> list[Example]:
    """Read prompts with their own and their handed-on parts; a sentence is what most of it is."""
    found = []
    for number, told in enumerate(measures.rows(path)):
        text = told["text"]
        marks = bytearray(len(text))
        for value, name in ((1, "own"), (2, "foreign")):
            for part in told[name]:
                start = text.find(part)
                while start >= 0:
                    marks[start : start + len(part)] = bytes([value]) * len(part)
                    start = text.find(part, start + len(part))
        whole = sentences(text)
        for one, place in zip(whole, places(Prompt(text), whole), strict=True):
            here = marks[one.start : one.stop]
            if any(here):
                found.append(Example(place, here.count(2) > here.count(1), f"{path.name}{number}"))
    return found


def own() -> list[Example]:
    """Read what users say in the conversations, none of it handed on."""
    found = []
    for told in measures.rows(DATA / "conversations.jsonl"):
        kept = {label["message"] for label in told["labels"] if label["keep"]}
        for number, one in enumerate(told["messages"]):
            if one["role"] == "user" and number in kept:
                whole = sentences(one["content"])
                found += [Example(place, False, told["id"]) for place in places(Prompt(one["content"]), whole)]
    said = [line.split("\t") for line in (DATA / "utterances.tsv").read_text(encoding="utf-8").splitlines()]
    kept = [text for label, _, role, text in said if label == "keep" and role == "user"]
    rest = [text for label, _, role, text in said if label == "drop" and role == "user"]
    mixed = [
        BREAKS[number % len(BREAKS)].join((chatter, statement, *([rest[-number - 1]] * (number % 2))))
        for number, (chatter, statement) in enumerate(zip(rest[::3], kept[::3], strict=False))
    ]
    headed = [f"{OPENINGS[number % len(OPENINGS)]}: {text}" for number, text in enumerate(kept[1::3])]
    asked = [f"{text.rstrip('.!')}. {request}" for text, request in zip(kept[2::4], rest[1::3], strict=False)]
    rules = [text for label, kind, role, text in said if (label, role) == ("keep", "user") and kind in BINDING]
    reasoned = [f"{rule.rstrip('.!')}. {more}" for rule, more in zip(rules, kept[3:], strict=False)]
    for number, text in enumerate([*kept, *mixed, *headed, *asked, *reasoned]):
        found += [Example(place, False, f"u{number // 5}") for place in places(Prompt(text), sentences(text))]
    return found + above_pastes(rules)


def above_pastes(rules: list[str]) -> list[Example]:
    """Put a rule of the user's above what is wholly somebody else's."""
    pasted = [
        "\n".join(one["foreign"][:4]) for one in measures.rows(DATA / "prompts.jsonl") if len(one["foreign"]) > 2
    ][::3]
    found = []
    for number, (rule, paste) in enumerate(zip(rules, pasted, strict=False)):
        text = f"{rule}\n\n{paste}"
        whole = sentences(text)
        for one, place in zip(whole, places(Prompt(text), whole), strict=True):
            found.append(Example(place, one.start > len(rule), f"u{number // 5}"))
    return found


def main() -> None:
    """Train, print the figures, and with --write put the model beside the code."""
    is_written = is_to_be_written(__doc__)
    examples = labelled(DATA / "prompts.jsonl") + own()
    groups = [one.group for one in examples]
    labels = np.array([float(one.is_handed_on) for one in examples])
    told = [one.place for one in examples]
    features = Features([(hashed_features(sentence, SIZE), plain_features(sentence)) for sentence in told], SIZE)
    print(f"{len(examples)} sentences, {int(labels.sum())} handed on, {len(set(groups))} prompts and conversations")
    chance, slope, offset = judged(features, labels, groups, STRENGTH)
    for least in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7):
        marked = chance >= least
        found, taken = marked[labels == 1].mean(), marked[labels == 0].mean()
        print(f"at {least}: finds {found:.2f} of what is handed on, takes {taken:.2f} of the own")
    weights = fit(features, labels, STRENGTH)
    if is_written:
        write(FILE, (HANDED_ON,), SIZE, weights[None, :-1], (float(weights[-1]),), (slope, offset))
