"""Whose words a sentence of a prompt is: the user's own, or handed on from somebody else. A learned probability.

Owns: the model's file and its features, which are the words of the sentence, of what leads to it, and of the first and
last line of the prompt (hashed), the shape of its lines, and some plain facts. Refuses to decide what follows from it.
The model is trained by `bench/training/attribution.py`; `attribution.md` beside it says on what and how well it does.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cache, partial

from .. import data
from ..dataclass import dataclass
from ..language.foreign_text import Prompt
from ..language.linear_model import Model, hashed, hashed_text, load
from ..language.sentences import Sentence, is_question

_rule_pattern = partial(data.pattern, "rules.toml")


def untagged(text: str) -> str:
    """Return a statement without the tag that only asks for a nod: "always ask me first, ok?"; a question as it is.

    "…, right?" asks whether something is so, except behind a rule.
    """
    tag = _rule_pattern("tag").search(text)
    if not tag or is_question(text[: tag.start()]):
        return text
    statement = text[: tag.start()]
    return statement if tag["nod"] or is_standing_rule(statement) else text


def is_standing_rule(text: str, after: str = "") -> bool:
    """Tell whether a text binds whoever reads it from now on; a ban does so if what stands after it limits it."""
    if is_question(text := untagged(text) if is_question(text) else text):
        return is_polite_rule(text)
    first, _, remainder = text.partition(". ")
    is_ban = bool(_rule_pattern("ban").match(first)) and (
        exempts(remainder or after) or bool(_rule_pattern("reasoned").match(first))
    )
    return bool(_rule_pattern("binding").search(text)) or is_ban


def opens_as_rule(text: str) -> bool:
    """Tell a rule that begins with what makes it one: "never …", "from now on …", "please always …"."""
    return bool(_rule_pattern("opens").match(text)) and is_standing_rule(text)


def is_polite_rule(text: str) -> bool:
    """Tell whether a text asks for something to be done from now on: "could you please always …?"."""
    asked = _rule_pattern("asked").search(text)
    if not asked:
        return False
    order = text[asked.end() :].strip().rstrip("?？ \t\n\"'”’)*_`")
    is_polite = asked["polite"] or asked["please"] or not _rule_pattern("always_first").match(order)
    return bool(is_polite and _rule_pattern("binding").search(order))


def exempts(text: str) -> bool:
    """Tell whether a text says when what stands before it does not hold, or holds alone."""
    return limits(text) or bool(_rule_pattern("exempts").search(text))


def limits(text: str) -> bool:
    """Tell whether a text says under which condition alone something holds."""
    return bool(_rule_pattern("limited").search(text))


def plain_type(text: str) -> str:
    """Return the type of a text by its form alone; for texts that no model is asked about."""
    if is_standing_rule(text) or limits(text):
        return "constraint"
    return "preference" if _rule_pattern("prefers").search(text) else "fact"


_pattern = partial(data.pattern, "attribution.toml")
FILE = data.path("attribution.model")
HANDED_ON = "handed on"
"""The only output of the model."""

LIKELY, LABELLED, OWNED, OPENING = 0.5, 0.4, 0.8, 0.9
"""Probability from which a sentence counts as somebody else's, where it has a label, where that label is one of their
own, and in the first paragraph of a prompt too long to be typed, where the user says what the rest is."""

_QUOTED = re.compile(r"(?<!\w)(['\"‘“«„‚])(?=\S)[^\n'\"‘’“”«»]{8,400}(?<=\S)['\"’”»“](?!\w)")
_ASKS = 4  # words of a question that says what it is about
_END = 60  # characters of a line that are looked at, from its beginning and from its end
_LABEL = re.compile(r"[^\n:：]{1,80}?[:：](?=\s|\W|$)")
_SHAPE = (
    (re.compile(r"[A-ZÀ-Þ]"), "A"),
    (re.compile(r"[^\W\d_A]"), "a"),
    (re.compile(r"\d"), "9"),
    (re.compile(r"(.)\1+"), r"\1"),
)
_SPEAKER = re.compile(r"^[^\n]{1,40}?[:：>\])]", re.MULTILINE)
_CODE = re.compile(r"[;{}]\s*$|^\s*(?://|/\*|\*/|[+-]\s*[#/]|@@|def |import |const |let |func )", re.MULTILINE)
_OPENING, _CLOSING = re.compile(r"[^\n.!?:：。！？]*[.!?:：。！？]?"), re.compile(r"[^\n.!?。！？]*[.!?。！？)]*$")
_BREAK = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")


@dataclass(frozen=True)
class SentencePlace:
    """A sentence of a prompt and what stands around it."""

    text: str
    label: str  # of its line, up to a colon
    line: str  # the whole line it begins in
    lead: str  # the line before that is not empty
    follow: str  # the line after its own that is not empty
    before: str  # what stands on its line before it, and after it
    after: str
    first: str  # how the prompt begins before it, and ends after it
    last: str
    paragraph: int
    paragraphs: int
    is_foreign: bool  # it stands in a fence, a quotation or the like
    others: int  # lines of the prompt that begin like those of a speaker
    has_code: bool


def places(prompt: Prompt, sentences: Sequence[Sentence]) -> Iterator[SentencePlace]:
    """Yield each sentence of a prompt with what stands around it."""
    text = prompt.text
    lines = [(match.start(), match[0].strip()) for match in re.finditer(r"[^\n]*\S[^\n]*", text)]
    line_starts = [start for start, _ in lines]
    paragraph_breaks = [match.start() for match in _BREAK.finditer(text.rstrip())]
    first, last = _ends(text)
    speaker_lines, has_code = len(_SPEAKER.findall(text)), _CODE.search(text) is not None
    for sentence in sentences:
        number = bisect_right(line_starts, sentence.start) - 1
        following = bisect_left(line_starts, sentence.stop)
        line_start = line_starts[number]
        following_start = line_starts[following] if following < len(lines) else len(text)
        label = _LABEL.match(text, line_start, min(sentence.stop, line_start + 120))
        yield SentencePlace(
            text=sentence.text,
            label=label[0] if label else "",
            line=lines[number][1],
            lead=lines[number - 1][1] if number else "",
            follow=lines[following][1] if following < len(lines) else "",
            before=text[line_start : sentence.start].strip()[-_END:],
            after=text[sentence.stop : following_start].strip()[:_END],
            first=first if text[: sentence.start].strip() else "",
            last=last if text[sentence.stop :].strip() else "",
            paragraph=bisect_right(paragraph_breaks, sentence.start),
            paragraphs=len(paragraph_breaks) + 1,
            is_foreign=prompt.is_foreign(sentence.start, sentence.stop),
            others=speaker_lines,
            has_code=has_code,
        )


def _ends(text: str) -> tuple[str, str]:
    """Return the first line or sentence of a prompt, and its last one."""
    text = text.strip()
    return _OPENING.match(text)[0].strip(), _CLOSING.search(text[-300:])[0].strip()  # type: ignore[index]


def is_handed_on(prompt: Prompt, sentences: Sequence[Sentence]) -> list[bool]:
    """Tell for each sentence of a prompt whether it is taken for somebody else's, or has its rule from a quotation."""
    flags: list[bool] = []
    labelled = -1  # the line on which a label says that somebody else's words follow
    paragraphs = [
        part for part in _BREAK.split(prompt.text.strip()) if not _pattern("courtesy").fullmatch(part.strip())
    ]
    is_plain = len(paragraphs) == 1 and not prompt.is_long
    is_plain &= not any(is_question(sentence.text) and _points(sentence.text) for sentence in sentences)
    positions = list(places(prompt, sentences))
    is_plain &= all(not position.label or _is_own_label(position.label) for position in positions)
    for sentence, position in zip(sentences, positions, strict=True):
        opens = prompt.is_long and position.paragraph == 0 and ":" not in position.line
        is_users = is_plain and (opens_as_rule(sentence.text) or _is_own_label(position.label))
        threshold = OPENING if opens else LIKELY
        if position.label:
            threshold = OWNED if _is_own_label(position.label) else LABELLED
        is_others = not is_users and handed_on(position) >= threshold
        flags.append(is_others or sentence.line == labelled or _quotes_rule(sentence.text))
        if is_others and position.label and not position.before:
            labelled = sentence.line
    return flags


def _is_own_label(label: str) -> bool:
    label = label.strip("-*# ")
    return any(
        pattern.fullmatch(label) for pattern in (_pattern("own_label"), data.pattern("remember_requests.toml", "label"))
    )


def _points(question: str) -> bool:
    """Tell whether a question may be about the text beside it: "what do you make of this?", "phishing?"."""
    return len(question.split()) < _ASKS or _pattern("pointer").search(question) is not None


def handed_on(position: SentencePlace) -> float:
    """Return the probability that the user only hands a sentence on, in [0, 1], calibrated.

    Raises UnavailableError where the model's file is damaged or of another version.
    """
    model = built_in()
    return model.probability(list(hashed_features(position, model.size)), plain_features(position))


def _quotes_rule(sentence: str) -> bool:
    return is_standing_rule(sentence) and not is_standing_rule(_QUOTED.sub("", sentence))


def hashed_features(position: SentencePlace, size: int) -> Iterator[tuple[int, float]]:
    """Yield the places and values of the words around a sentence and in it; each region has length 1."""
    for name, text in (
        ("s", position.text[:300]),
        ("b", position.text[:_END]),
        ("l", position.label),
        ("p", position.lead[-_END:]),
        ("f", position.first[:_END]),
        ("e", position.last[-_END:]),
        ("n", position.follow[:_END]),
        ("v", position.before),
        ("x", position.after),
    ):
        yield from hashed_text(text, size, name)
    shapes = (
        ("S", position.line),
        ("P", position.lead),
        ("N", position.follow),
        ("F", position.first),
        ("E", position.last),
    )
    yield from hashed((f"{name}{_shape(line)[:many]}" for name, line in shapes for many in (1, 2, 4, 8)), size)


def plain_features(position: SentencePlace) -> tuple[float, ...]:
    """Return what else is known of a sentence, each in about [0, 1]."""
    last, first = position.last.split(), position.first.split()
    return (
        float(position.is_foreign),
        float(bool(position.label)),
        float(position.lead.endswith((":", "："))),
        float(position.first.endswith((":", "："))),
        float(bool(first) and len(first) < 7 and not position.first.endswith((".", "!", "?", ":"))),
        float(not position.first),
        float(not position.last),
        float(is_question(position.last)),
        float(bool(last) and len(last) < 7),
        float(is_question(position.text)),
        float(is_standing_rule(position.text)),
        float(_pattern("first_person").search(position.text) is not None),
        float(_pattern("first_person").search(position.first) is not None),
        float(_pattern("first_person").search(position.label) is not None),
        min(position.paragraph, 4) / 4,
        min(position.paragraphs, 5) / 5,
        float(position.paragraph == 0 and position.paragraphs > 1),
        float(0 < position.paragraph < position.paragraphs - 1),
        float(0 < position.paragraph == position.paragraphs - 1),
        min(position.others, 4) / 4,
        float(position.has_code),
        float(position.text[:1].islower()),
        min(len(position.text), 300) / 300,
        float(any(mark in position.text for mark in '"“”„«»「」')),
    )


def _shape(line: str) -> str:
    for pattern, sign in _SHAPE:
        line = pattern.sub(sign, line[:_END])
    return line


@cache
def built_in() -> Model:
    """Return the model that is installed with mem; raise UnavailableError where its file cannot be used."""
    return load(
        FILE, HANDED_ON, len(plain_features(SentencePlace("", "", "", "", "", "", "", "", "", 0, 1, False, 0, False)))
    )
