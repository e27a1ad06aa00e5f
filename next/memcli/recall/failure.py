"""The failure moment: the lesson that was learned when the same command failed before."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .action import Action, parse_action
from .lookup import Lookup, Memory, Place, choose, open_lookups, render_memories
from .match import FUNCTION_WORDS, WORD, Text, prepare, rate_command, stem
from .shown import Shown

ENOUGH = 1.0
ERROR_START, ERROR_END = 300, 1_200  # characters of an error that are compared
MOST_CUES = 40
MOST_RULES_OF_A_WORD = 6
TYPES = ("lesson", "correction", "procedure")
# Names that programs print: paths, modules, codes such as E0382 or ECONNREFUSED, camelCase.
NAME = re.compile(
    r"[\w@-]*[\w-](?:[./:]+[\w-]+)+|\w*[a-z][A-Z]\w*|\w*_\w+|\b[A-Z]+\d+\b|[A-Z]{5,}|\w+-\w[\w-]*"
)
# Words that are part of any error.
ERROR_WORDS = frozenset(
    "error errors failed failure fail fatal exit code line file not found such directory exception"
    " traceback most recent call last warning cannot could unable command module named invalid"
    " unexpected expected missing usr bin lib home python node".split()
)
HEADING = "From long-term memory, about this failure:"


def build_failure_context(
    places: Sequence[Place],
    folder: str,
    tool: Mapping[str, Any],
    error: str,
    shown: Shown,
    *,
    tokens: int,
    now: str,
) -> str:
    """Return the lessons about a failed command as text for the agent, or an empty text."""
    action = parse_action(tool, folder)
    error = (
        error
        if len(error) <= ERROR_START + ERROR_END
        else (f"{error[:ERROR_START]}\n{error[-ERROR_END:]}")
    )
    chosen: list[tuple[float, Memory]] = []
    for lookup in open_lookups(places, now):
        ratings = rate_memories(lookup, action, error)
        allowed = choose(lookup, [memory for memory, _ in ratings], shown)
        chosen += [(rating, memory) for memory, rating in ratings if memory in allowed]
    chosen.sort(key=lambda item: -item[0])
    return render_memories(HEADING, [(memory, "") for _, memory in chosen], shown, tokens)


def rate_memories(lookup: Lookup, action: Action, error: str) -> list[tuple[Memory, float]]:
    """Return the lessons that share enough with an error and its command."""
    names = list(dict.fromkeys(NAME.findall(error)))[:MOST_CUES]
    words = [word for word in find_words(error) if is_telling(word)]
    cues = [*names, *dict.fromkeys(words), *(command.program for command in action.commands)]
    frequencies: dict[str, int] = {}
    candidates: dict[int, None] = {}
    for cue in cues[: 2 * MOST_CUES]:
        files = lookup.find(cue)
        frequencies[stem(cue)] = len(files)
        candidates.update(dict.fromkeys(files))
    ratings = []
    for file in candidates:
        memory = lookup.load(file)
        if memory.type not in TYPES:
            continue
        text = prepare(memory.text)
        rating = rate_error(names, error, text, frequencies)
        # The command alone is what the action moment is for.
        if rating:
            rating += 0.7 * max(
                [rate_command(item, text, {}) for item in action.commands], default=0
            )
        if rating >= ENOUGH:
            ratings.append((memory, rating))
    return ratings


def find_words(error: str) -> list[str]:
    """Return the words of an error. The parts of a path tell where it happened, not what."""
    return WORD.findall(re.sub(r"[\w.@-]*/\S*", " ", error).lower())


def is_telling(word: str) -> bool:
    is_common = word in ERROR_WORDS or word in FUNCTION_WORDS
    return len(word) > 2 and not word.isdigit() and not is_common


def rate_error(
    names: Iterable[str], error: str, text: Text, frequencies: Mapping[str, int]
) -> float:
    """Rate a memory by the names, word sequences and rare words that it shares with an error."""
    shared = [
        name for name in names if re.search(rf"(?i)(?<!\w){re.escape(name)}(?!\w)", text.text)
    ]
    # A folder tells where it happened, not what.
    rating = sum(0.35 if "/" in name and "." not in name else 1.0 for name in shared)
    # Three words in the same order are hardly a coincidence.
    rating += bool(list_sequences(error) & list_sequences(text.text))
    for stemmed in {stem(word) for word in find_words(error) if is_telling(word)}:
        if stemmed in text.stems and frequencies.get(stemmed, 0) <= MOST_RULES_OF_A_WORD:
            rating += 0.35
    return rating


def list_sequences(text: str) -> set[tuple[str, ...]]:
    """Return the sequences of three words in which at least one tells something."""
    words = find_words(text)
    triples = zip(words, words[1:], words[2:], strict=False)
    return {triple for triple in triples if any(map(is_telling, triple))}
