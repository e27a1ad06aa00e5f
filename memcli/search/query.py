"""What a query asks for: its words with their forms, its names, its exact phrases, and whether it asks at all.

And the passage of a text that fits it, short enough for a line or a prompt.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from itertools import chain
from math import log
from typing import NamedTuple

from ..data import table
from ..dataclass import dataclass
from ..formats.text_lines import shorten
from ..language.keyword_tokens import clean, fold, names_in, phrases, query_terms, spoken
from ..language.lexicon import (
    ENGLISH,
    common_share,
    forms,
    opens_a_question,
    speakers_asked_of,
    stop_words,
    without_task,
)
from .ranking_weights import WEIGHTS, Weights

_PROMPT = 1000
"""Characters from which on a query is pasted text, no prompt."""
_WORD = re.compile(r"[^\W_]+")
_LEAST_SHARE = 0.2
"""Below it a name is too rare to be left out."""
_MOST_NAMES = 6
"""Other names that are searched for; each is embedded with the query."""
LIMIT = 160
"""Characters of the summary of a hit."""
_LEAD = re.compile(r"(?:#{1,6}\s+|>\s*|[-*+]\s+)*")
_MARK = re.compile(r"<!-- (?:/?mem:|mem_|hist_)[^\n]*?-->")
"""What mem writes for itself into a page."""
_ASIDE = re.compile(r"\s*[(\[（][^()\[\]（）]*[)\]）]")
_FORMERLY = re.compile(r"(?:formerly|previously|ex|née|nee|aka|a\.k\.a\.)\s+(?=\S)", re.IGNORECASE)
"""What stands in an alias and is no part of a name."""
_EVERYDAY = 0.01
"""Share of everyday texts from which on a word is more than a frequent name, as John is one."""
_UNSPACED = "\u0e00"
"""The first character of the scripts without blanks between words."""
_NAMED = re.compile(r"([^\W_]+)(?:['’]s\b)?")


@dataclass(frozen=True)
class Term:
    """One word of a query."""

    word: str
    forms: tuple[str, ...]  # any of them counts as the word
    is_name: bool = False
    count: int = 1  # in the query: what is said again is what it is about


@dataclass(frozen=True)
class OtherName:
    """Another name of whom or what a query names."""

    name: str
    words: tuple[str, ...]
    in_query: str  # the name in the query
    words_in_query: tuple[str, ...]

    @property
    def pattern(self) -> re.Pattern[str]:
        """Return what finds the name in the query."""
        return re.compile(rf"(?<!\w){re.escape(self.in_query)}(?!\w)", re.IGNORECASE)


@dataclass(frozen=True)
class Query:
    """A parsed query."""

    text: str
    about: str  # the text without what it wants done with the answer
    terms: tuple[Term, ...]
    phrases: tuple[str, ...]  # several words that should stand as they are, lower case
    language: str  # "en", "de", …
    is_statement: bool  # it tells something, as a turn of a conversation does, and asks nothing
    other_names: tuple[OtherName, ...] = ()

    @cached_property
    def words(self) -> frozenset[str]:
        """Return the words asked for, those of other names too."""
        return frozenset(term.word for term in self.terms).union(*(other.words for other in self.other_names))

    @cached_property
    def speakers(self) -> frozenset[str]:
        """Return whom the query may name as the one who said it: its words, `user` for "I", `assistant` for "you"."""
        return self.words | (speakers_asked_of(self.text[:4000]) if self.language == ENGLISH else frozenset())

    def readable(self, by_model: Callable[[str], float]) -> float:
        """Return how far a model reads the query, from 0 to 1; it makes something up of digits and emoji alone."""
        return by_model(self.text) if any(map(str.isalpha, self.text)) else 0.0

    def parts(self, counts: Sequence[int] = (), weights: Weights = WEIGHTS) -> tuple[tuple[str, float], ...]:
        """Return the texts to embed and their weights; the query's vector is their weighted sum, scaled to length 1.

        The last line of a query of several lines counts once more: in a pasted dialogue it is where things stand.
        So does the query without the names that many texts hold, by `counts` as for `term_weights`: the model takes
        a name for half of what is asked, and would answer with anything about Melanie. And so does the query with
        each other name in the place of the one it says.
        """
        lines = [line.strip() for line in self.text.splitlines() if line.strip()]
        if len(lines) > 1:
            return (self.text, 1.0), (lines[-1], weights.last_line)
        shares = {
            term.word: min(count / weights.frequent, 1.0)
            for term, count in zip(self.terms, counts, strict=False)
            if term.is_name
        }
        names = {name: share for name, share in shares.items() if share >= _LEAST_SHARE}
        texts = [(self.about, 1.0)]
        if 0 < len(names) < len(self.terms):
            nameless = _NAMED.sub(lambda match: "" if fold(match[1]).lower() in names else match[0], self.about)
            texts.append((" ".join(nameless.split()), min(names.values())))
        for other in self.other_names:
            text = other.pattern.sub(lambda _, name=other.name: name, self.about)  # type: ignore[misc]
            texts.append((text, weights.other / len(self.other_names)))
        return tuple(texts)


def parse_query(query: str) -> Query:
    """Return the terms, phrases and form of a query; never raise, whatever the text."""
    text = clean(query).strip()
    language = spoken(text)
    names = names_in(text, language)
    is_prompt = language == ENGLISH and len(text) < _PROMPT and "\n" not in text
    about = without_task(text) if is_prompt else text
    counts = Counter(_WORD.findall(fold(about).lower()))
    terms = tuple(
        Term(word, forms(word), word in names, max(counts[word], 1)) for word in query_terms(about, language=language)
    )
    exact = tuple(phrase.lower() for phrase in phrases(query) if len(_WORD.findall(phrase)) > 1)
    return Query(text, about, terms, exact, language, language == ENGLISH and _is_statement(text))


def with_other_names(question: Query, name_groups: Iterable[Sequence[str]]) -> Query:
    """Return a query with the other names of whom or what it names; each of `name_groups` names one of them."""
    groups = [list(dict.fromkeys(name for alias in names for name in _names_in(alias))) for names in name_groups]
    mentioned = _mentioned(question, groups)
    other_names: list[OtherName] = []
    for names in groups:
        parts = {name: part for name in names if (part := query_terms(name, language=question.language))}
        most = max((name for name in parts if name in mentioned), key=len, default="")
        if most:
            others = {
                name: part for name, part in parts.items() if name not in mentioned and not {*part} <= {*parts[most]}
            }
            other_names += [OtherName(name, part, most, parts[most]) for name, part in others.items()]
    if not other_names:
        return question
    called = {word for other in other_names for word in other.words_in_query}
    terms = tuple(replace(term, is_name=True) if term.word in called else term for term in question.terms)
    return replace(question, terms=terms, other_names=tuple(other_names[:_MOST_NAMES]))


def _names_in(alias: str) -> Iterator[str]:
    """Yield the names in an alias: one of "Ada Bell (until 2021)" and of "formerly Ada Bell", two of "Kate = Emi"."""
    for name in _ASIDE.sub(" ", alias).split(" = "):
        if plain := _FORMERLY.sub("", name.strip()):
            yield plain


def _mentioned(question: Query, name_groups: Iterable[Iterable[str]]) -> set[str]:
    """Return the names that a query says, none of them within a longer one, nor as the everyday word that it is too."""
    text, remaining = clean(question.text), fold(question.text).lower()
    spelt: dict[str, set[str]] = {}
    for name in chain.from_iterable(name_groups):
        if (folded := fold(name).lower()) in remaining:
            spelt.setdefault(folded, set()).add(name)
    names: set[str] = set()
    for folded in sorted(spelt, key=len, reverse=True):
        # Where no blanks stand between words, a name has no beginning and no end.
        before, behind = (r"(?<![^\W_])" * (folded[0] < _UNSPACED), r"(?![^\W_])" * (folded[-1] < _UNSPACED))
        pattern = re.compile(f"{before}{re.escape(folded)}{behind}")
        if not pattern.search(remaining) or not question.words.issuperset(
            query_terms(folded, language=question.language)
        ):
            continue
        spellings = spelt[folded]
        as_written = {name for name in spellings if name in text}
        as_written = as_written or {name for name in spellings if text.startswith(name[0].upper() + name[1:])}
        if as_written or not _is_everyday(folded, question.language):
            names |= as_written or spellings
            remaining = pattern.sub("\0", remaining)
    return names


def _is_everyday(name: str, language: str) -> bool:
    """Return whether a name is made of everyday words alone, such as Will, May and the Old Man."""
    stop = stop_words(language)
    return all(word in stop or common_share(word, language) >= _EVERYDAY for word in _WORD.findall(name))


def term_weights(question: Query, counts: Sequence[int], texts: int, weights: Weights = WEIGHTS) -> list[float]:
    """Return what each term may add to a keyword score; they sum to 1, or to less where no term tells much.

    `counts` holds in how many of the workspace's `texts` a term occurs.
    A weight is the count in the query × idf to a power, over the sum: idf = ln(1 + (N − n + ½) / (n + ½)) as in BM25
    (Robertson and Zaragoza 2009), where N and n count other texts besides the workspace's, of which a thousand are
    everyday English. They keep small workspaces sensible and the weights of a growing one steady.
    """
    unscaled = []
    stop = stop_words(question.language)
    texts = max([texts, *counts])  # some may have gone since they were counted: a server's
    for term, count in zip(question.terms, counts, strict=True):
        is_stop_word = term.word in stop and not term.is_name
        share = 1.0 if is_stop_word else common_share(term.word, question.language)
        n = count + weights.everyday_texts * max(share, weights.least_share)
        idf = log(1 + (texts + weights.other_texts - n + 0.5) / (n + 0.5))
        unscaled.append(term.count * idf**weights.idf_power)
    total = max(sum(unscaled), weights.least_idf * sum(term.count for term in question.terms))
    return [weight / total for weight in unscaled]


def _is_statement(text: str) -> bool:
    words = _WORD.findall(text[:4000])
    if not words or opens_a_question(words[0]):
        return False
    return sum(word.lower() in stop_words() for word in words) >= 3


def snippet(text: str, query: str, limit: int = LIMIT, within: str = "") -> tuple[str, int]:
    """Return the sentences that hold most of the query's words, and how many lines into the text they begin.

    At most `limit` characters are returned; a text that fits is returned whole. The sentences begin in the stretch
    `within`, where the text has it. What stands in the first of them counts twice.
    """
    whole = _plain(text)
    if len(whole) <= limit:
        return whole, _first_line(text)
    stems = _stems(query)
    stretch = within if within and within in text else text
    first = text.index(stretch)
    pieces = _sentences(stretch)
    best, best_score = 0, -1.0
    for number, (offset, piece) in enumerate(pieces):
        low, shown = piece.casefold(), text[first + offset : first + offset + limit].casefold()
        score = sum((stem in low) + (stem in shown) for stem in stems) - number * 0.001
        if score > best_score:
            best, best_score = number, score
    start = first + pieces[best][0]
    passage = _plain(text[start : start + 4 * limit])
    if len(_plain(pieces[best][1])) > limit:
        start, passage = _around(text, start, pieces[best][1], stems, limit)
    lead = "…" if _plain(text[:start]) else ""
    return lead + shorten(passage, limit - len(lead)), text.count("\n", 0, start)


@lru_cache(maxsize=8)
def _stems(query: str) -> list[str]:
    return [term[: max(4, len(term) - 2)].casefold() for term in query_terms(query)]


def _sentences(text: str) -> list[tuple[int, str]]:
    from ..language.sentences import breaks

    pieces, start = [], 0
    for gap in breaks().finditer(text):
        if text[start : gap.start()].strip():
            pieces.append((start, text[start : gap.start()]))
        start = gap.end()
    if text[start:].strip():
        pieces.append((start, text[start:]))
    return pieces or [(0, text)]


def _around(text: str, start: int, piece: str, stems: list[str], limit: int) -> tuple[int, str]:
    """Begin a long sentence shortly before the first word asked for."""
    low = piece.casefold()
    offsets = [offset for stem in stems if (offset := low.find(stem)) >= 0]
    offset = max(min(offsets, default=0) - limit // 3, 0)
    if offset:
        space = piece.find(" ", offset, offset + 40)
        offset = space + 1 if space >= 0 else offset
    return start + offset, _plain(text[start + offset : start + offset + 4 * limit])


def _first_line(text: str) -> int:
    stripped = text.lstrip()
    return text.count("\n", 0, len(text) - len(stripped))


def _plain(text: str) -> str:
    lines = (_LEAD.sub("", line.strip(), count=1) for line in _MARK.sub("", text).splitlines())
    return " ".join(" ".join(line for line in lines if line).split())


TELLING = 0.7
"""Factor on the relevance of a turn that states something and asks nothing: it is news, not a question to memory."""
LIKELY = 0.5
"""Relevance below which a hit is more likely wrong than right: relevance is the share of hits that were right."""
CERTAINTIES = ("clear", "likely", "possible", "weak")
"""Names of a hit's certainty: .93, .82, .45 and .46 of first hits so called were right, .24 and .08 of others."""
_GOOD = {False: (0.4, 0.2), True: (0.2, 0.2)}
"""Relevance that a clear hit has, and one that is likely or possible: of texts, and of turns, which have less."""
_ALONE = {False: (0.6, 0.85), True: (0.7, 0.85)}
"""Share of its relevance that the next hit has at most, behind a clear one and behind a likely one."""
_NEAR = 0.8
"""Share of the best hit's relevance that a possible one has."""
EVERYDAY = 0.006
"""Share of short texts that hold a word from which on it names no subject: "idea" names none, "orbit" does."""
ENOUGH_WORDS = 2
"""Words that are not everyday ones, from which a turn can leave a topic."""


class Thresholds(NamedTuple):
    """From which relevance a turn gets memories, and below which likeness it is of another topic."""

    gate: float
    topic: float
    shown: float  # of a search's hits: 1 in 100 right ones is below it (`bench/retrieval`)


WORDS = Thresholds(0.12, 0.3, 0.0)
"""Where there is no vector: relevance by words alone."""
_MEASURED = Thresholds(0.16, 0.3, 0.02)


def thresholds(model: str) -> Thresholds:
    """Return a model's thresholds: those of words for "", the built-in model's for others, whose cosines are scaled.

    The likeness of two queries is not scaled, so that its threshold is moved instead. All hits are shown of a model
    that was not calibrated.
    """
    if not model:
        return WORDS
    from ..index.embedding_model import calibration_of  # late: words alone need none

    calibration = calibration_of(model)
    if calibration is None:
        return _MEASURED._replace(shown=0.0)
    return _MEASURED._replace(topic=calibration.unscaled(_MEASURED.topic))


def certainty(relevance: float, best: float, following: float, *, is_turn: bool = False) -> str:
    """Return what to say of a hit, by the best relevance of its search and the one that follows that.

    Measured on the first five hits of 2,300 questions to fifteen sets (`bench/retrieval`); how far a first hit is
    ahead tells more of whether it is right than its relevance does.
    """
    if relevance == best:
        for word, good, alone in zip(CERTAINTIES, _GOOD[is_turn], _ALONE[is_turn], strict=False):
            if relevance >= good and following <= alone * relevance:
                return word
    return CERTAINTIES[2 if relevance >= max(_GOOD[is_turn][-1], _NEAR * best) else 3]


def explained(relevance: float, made_of: Mapping[str, float], matched: Sequence[str]) -> str:
    """Return in words what a hit's relevance is made of, the largest part first."""
    names = table("relevance_parts.toml")
    words = f" ({', '.join(matched)})" if matched else ""
    parts = sorted(made_of.items(), key=lambda part: -part[1])
    terms = [f"{value:+.2f} {names.get(name, name)}{words * (name == 'keyword')}" for name, value in parts if value]
    return f"relevance {relevance:.2f}: {', '.join(terms)}"


def gate_of(model: str, setting: float) -> float:
    """Return the relevance in [0, 1] from which a turn gets memories: `setting`, or as measured if that is below 0."""
    return thresholds(model).gate if setting < 0 else setting


def asks_memory(turn: str, relevance: float, threshold: float) -> bool:
    """Return whether a turn should get memories, by the relevance of the best one found for it."""
    return bool(turn.strip()) and demand(turn, relevance) >= threshold


def is_telling(turn: str) -> bool:
    """Return whether a turn has any word that is not an everyday one; nothing need be searched for one that has not."""
    return telling_count(turn) > 0


def demand(turn: str, relevance: float) -> float:
    """Return the relevance found weighed by the kind of turn, in [0, 1]; 0 for "thanks, go on"."""
    if not is_telling(turn):
        return 0.0

    return relevance * (TELLING if "?" not in turn and parse_query(turn).is_statement else 1.0)


def likeness(left: Sequence[float], right: Sequence[float]) -> float:
    """Return the cosine of two vectors, in [-1, 1]; 1 if one of them is empty or they differ in length."""
    if not left or len(left) != len(right):
        return 1.0
    product = sum(a * b for a, b in zip(left, right, strict=True))
    lengths = sum(a * a for a in left) * sum(b * b for b in right)
    return product / lengths**0.5 if lengths > 0 else 1.0


def is_other_topic(turn: str, vector: Sequence[float], context: Sequence[float], threshold: float) -> bool:
    """Return whether a turn left the topic of those before; "yes, go on" says too little to leave any."""
    return likeness(vector, context) < threshold and telling_count(turn) >= ENOUGH_WORDS


def telling_count(turn: str) -> int:
    """Return the number of words of a turn that are not everyday ones."""
    from ..language.lexicon import acknowledgements, common_share, stop_words

    question = parse_query(turn)
    empty, language = stop_words(question.language) | acknowledgements(), question.language
    words = (term.word for term in question.terms if term.is_name or term.word not in empty)
    return sum(common_share(word, language) < EVERYDAY for word in words)
