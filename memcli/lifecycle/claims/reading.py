"""Read the statements of a text, and take each apart into a core and its circumstances.

A sentence that is not understood stays a row of words, which then agrees only with the same row of words.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from .change import MOVES, change_in
from .claim import Circumstance, Claim
from .shape import is_participle, is_possessive, is_time, verb_place
from .terms import Term, stem, terms
from .turning import active, compounds, folded, without_relatives
from .words import AUXILIARY, HEDGES, INDEFINITE, LIGHT, NEGATIONS, NOW, PAST, PLACES, TIMES, USER, WISHES, canonical

MOST = 12
"""Statements of a text that are looked at; what is longer is a document and no belief."""

_BREAK = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'(`])|;\s+|\n+|(?<=[。！？])")
_ABBREVIATED = re.compile(r"\b(?:[A-Z]|Prof|Dr|Mr|Mrs|Ms|St|Sr|Jr|Inc|Ltd|Co|vs|etc|e\.g|i\.e|approx|No|ca|cf)\.$")
_MARK = re.compile(r"^\s*(?:[-*+•]\s+(?:\[.\]\s+)?|\d{1,3}[.)]\s+|#{1,6}\s+|>\s+)")
_OPENER = re.compile(
    r"^(?:(?:no|nope|actually|correction|update|fyi|note|wait|well|oh|ok|okay|yes|please|remember|important|btw|sorry"
    r"|by the way|in fact|scratch that|that's wrong|that is wrong|not anymore|not any more)"
    r"(?:\s*[,:;!—–-]+\s*|\s+that\s+|(?<=please)\s+|(?<=remember)\s+))+",
    re.IGNORECASE,
)
_CORRECTS = re.compile(
    r"^(?:no|nope|actually|correction|wait|sorry|that's wrong|that is wrong|scratch that|in fact)\b\s*[,:;!—–.-]",
    re.IGNORECASE,
)


_EVERY = ("every", "each", "all")


def claims(text: str) -> list[Claim]:
    """Read the statements of a text, in order; at most `MOST` and one more."""
    found = []
    for sentence in sentences(text):
        claim = read_claim(sentence)
        if claim.core or claim.around or claim.verb not in ("", "be"):
            found.append(claim)
        if len(found) > MOST:
            break
    return found


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences and list items of a text."""
    for line in text.splitlines():
        line = _MARK.sub("", line).strip()
        start = 0
        for end in _BREAK.finditer(line):
            if not _ABBREVIATED.search(line[start : end.start()]):
                yield line[start : end.start()].strip()
                start = end.end()
        if line[start:].strip():
            yield line[start:].strip()


def read_claim(sentence: str) -> Claim:
    """Take one sentence apart."""
    corrects = bool(_CORRECTS.match(sentence))
    bare = _OPENER.sub("", sentence).strip(" .!。\"'`")
    return replace(read(terms(bare)), text=sentence, corrects=corrects)


def read(words: list[Term]) -> Claim:
    """Make a claim of the terms of one sentence."""
    said = {word.key for word in words if word.kind == "word"}
    words = folded(words)
    ends = any(word.key == "changed" for word in words)
    words = [word for word in words if word.key != "changed"]
    underway = _is_underway(words)
    words, retired, change = (words, set[str](), "") if _comes_again(words) else change_in(words)
    negatives = [word.key for word in words if word.key in NEGATIONS]
    words = [replace(word, key="someone") if word.key == "nobody" else word for word in words]
    words = [word for word in words if word.key not in NEGATIONS]
    first = words[0] if words else None
    claim = Claim(
        "",
        negated=len(negatives) % 2 == 1,
        has_never="never" in said and bool(said & {"have", "has", "had"}),
        changed=ends or bool(retired or change or said & NOW),
        retired=frozenset(retired),
        change=change,
        is_underway=bool(change or retired) and underway,
        is_wished=bool(said & WISHES),
        is_past=bool(said & {"was", "were"}),
        is_hedged=any(word.key in HEDGES for word in words),
        is_indefinite="nobody" in negatives
        or (first is not None and (first.key in INDEFINITE or first.kind == "number")),
        is_user=any(word.key in USER for word in words[:3]),
    )
    words, passive = active(without_relatives(words))
    return _laid_out(claim, compounds(words), passive)


def _is_underway(words: list[Term]) -> bool:
    """Tell a change that is still going on, such as `is migrating to`."""
    return any(word.kind == "word" and stem(word.key) in MOVES and word.key.endswith("ing") for word in words)


def _comes_again(words: list[Term]) -> bool:
    """Tell a change that is no change, since it happens all the time: `backups are moved to …`."""
    for at, word in enumerate(words):
        if word.kind == "word" and stem(word.key) in MOVES and not word.key.endswith("ing"):
            before = {one.key for one in words[max(0, at - 3) : at]}
            return bool(before & {"is", "are"}) and not before & {"has", "have", "been"}
    return False


@dataclass
class _Layout:
    """A sentence being told apart, word by word."""

    core: list[Term] = field(default_factory=list)
    around: list[Circumstance] = field(default_factory=list)
    place: str = ""
    word: str = ""
    phrase: list[Term] = field(default_factory=list)
    before_verb: bool = False

    def open(self, place: str, word: str, *, before_verb: bool) -> None:
        """Begin a phrase of circumstance."""
        self.close()
        self.place, self.word, self.before_verb = place, word, before_verb

    def close(self) -> None:
        """End the phrase, if one is open."""
        if self.place and self.phrase:
            is_time = self.phrase[0].kind == "time" or self.phrase[0].key in TIMES
            kind = "when" if is_time and self.place in ("in", "to", "when", "as") else self.place
            same = next(
                (one for one in self.around if one.place == kind == "when" and one.of_subject == self.before_verb), None
            )
            if same is not None:
                self.around.remove(same)
                self.phrase = [*same.terms, *self.phrase]
            self.around.append(Circumstance(kind, tuple(self.phrase), self.before_verb, self.word))
        self.place, self.phrase = "", []

    def add(self, term: Term) -> None:
        """Put a term where it belongs."""
        (self.phrase if self.place else self.core).append(term)


def _laid_out(claim: Claim, words: list[Term], passive: bool) -> Claim:
    verb_at, verb = verb_place(words)
    laid, subject, begun = _Layout(), 0, False
    for at, word in enumerate(words):
        key, is_word = word.key, word.kind == "word"
        if at == verb_at:
            laid.close()
            subject, begun = len(laid.core), True
            if verb == "~":
                laid.core.append(word)
            continue
        if is_word and key in PLACES:
            laid.open(PLACES[key], key, before_verb=not begun and verb_at >= 0)
        elif key in (",", ";"):
            if laid.place and not begun and at and not laid.core:
                laid.close()
        elif is_word and key in _EVERY and at + 1 < len(words) and is_time(words[at + 1]):
            laid.open("when", "", before_verb=False)
        elif is_word and (key in LIGHT or key in NOW or key in ("recently", "formerly")):
            if laid.place and key in AUXILIARY and not begun and not is_possessive(words, at):
                laid.close()
        else:
            if is_time(word) and not laid.place:
                laid.open("when", "", before_verb=False)
            elif laid.place == "when" and laid.phrase and not is_time(word) and is_time(laid.phrase[-1]):
                laid.close()
            laid.add(replace(word, key=canonical(key)) if is_word else word)
    laid.close()
    raw = words[verb_at] if verb_at >= 0 else None
    told = raw is not None and raw.key != "~" and verb != "be" and not passive and is_participle(raw)
    told = told and not any(word.key in AUXILIARY for word in words[max(0, verb_at - 3) : verb_at])
    is_past = claim.is_past or told or _is_over(words)
    return replace(
        claim,
        core=tuple(laid.core),
        around=tuple(laid.around),
        subject=subject,
        verb=verb,
        is_past=is_past and not claim.changed,
        is_passive=passive,
    )


def _is_over(words: list[Term]) -> bool:
    last = len(words) - 1
    return any(
        word.key == "formerly" or (word.key in PAST and (word.key not in PLACES or at == last))
        for at, word in enumerate(words)
        if word.kind == "word"
    )
