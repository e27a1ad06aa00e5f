"""Which parts of a prompt are not the user's own words: what was pasted, quoted or forwarded claims nothing for them.

Owns: the marks by which foreign text is told apart, and how much a long prompt may claim. Refuses to judge content.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

LONG, PARAGRAPHS = 600, 3
"""A prompt of more characters or paragraphs was probably not typed by hand."""

_SHARE = 0.5  # of a sentence; with more of it foreign, the sentence is
_QUOTED_WORDS = 5  # a shorter quotation is part of what the user says

_Span = tuple[int, int]

_HEADER = (
    r"(?:From|To|Cc|Bcc|Subject|Date|Sent|Reply-To|Von|An|Betreff|Gesendet|Datum|De|Para|À|Objet|Asunto"
    r"|Title|Author|Labels|Assignees?|Reporter|Status|Priority)"
)
THING = (
    r"(?:texts?|logs?|logfile|outputs?|errors?|trace(?:back)?|stack ?trace|e?-?mails?|messages?|issue|ticket|comments?"
    r"|review|prompt|transcript|paste|snippet|article|description|readme|document|file|page|response|reply|answer|body|contents?"
    r"|diff|instructions|notes?|post|letter|thread|chat|meldung|ausgabe|nachricht|correo|mensaje|message d['’]erreur)"
)
_SAYS = (
    r"(?:wrote|writes|written|says|said|sends|sent|came|comes|reads|replied|answered|reported|posted"
    r"|schrieb|schreibt|sagt|schickte?|kam|[ée]crit|dit|escribi[oó]|dice)"
)
_CUE = (
    r"(?:here['’]?s|here is|here are|this|these|below|following|attached|pasted?|got|its|it['’]s|full"
    r"|hier(?: ist| kommt)?|voici|aqu[ií])"
)

# All that follows the head of a mail, of an issue, or of the prompt of another agent.
_HEADS = re.compile(
    rf"""^[ \t]*(?:
      {_HEADER}:[ ].*\n{_HEADER}:[ ]
    | [>* -]*(?:Original[ ]Message|(?:Begin[ ])?forwarded[ ]message|Weitergeleitete[ ]Nachricht)\b
    | (?:On|Am|Le|El)[ ].{{4,80}}(?:wrote|schrieb[ ].{{0,60}}|a[ ]écrit|escribió):[ \t]*$
    | .{{0,120}}(?:\#\d+.{{0,40}}\bopened[ ](?:by|on)[ ]|\bopened[ ]this[ ]issue
      |\bcommented[ ]on[ ]\w+[ ]\d|\b(?:opened|commented)[ ](?:(?:by[ ][\w@-]+[ ])?\d+[ ]\w+[ ]ago))
    | (?:Issue|PR|Pull[ ]request|Ticket|Bug)[ ]+\#\d+[ ]*(?:[:–-]|$)
    | (?:You[ ]are|Act[ ]as|Du[ ]bist)[ ](?:an?|the|ein\w*)[ ].{{0,60}}
      \b(?:agent|assistant|assistent\w*|expert|engineer|reviewer|model|bot|developer)\b
    | .{{0,40}}\binstructions?[ ](?:to|for)[ ].{{0,30}}\b(?:agents?|AIs?|assistants?|LLMs?)\b.{{0,40}}:
    | [-=*_]{{0,3}}[ ]?(?:BEGIN|START)[ ](?:OF[ ])?(?:QUOTE|TEXT|DOCUMENT|MESSAGE|PASTE|EMAIL|LOG)
    )""",
    re.MULTILINE | re.IGNORECASE | re.VERBOSE,
)
_QUOTED_LINE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_TRIPLE = re.compile(r"(\"{3}|'{3}).*?(?:\1|\Z)", re.DOTALL)
_TAG = re.compile(r"<([A-Za-z][\w:.-]*)(?:\s[^<>]*)?>")
_QUOTATION = re.compile(
    r"(?<![^\s(\[:,;–-])\"(?=\S)[^\"]{8,4000}(?<=\S)\"(?!\w)|“[^”]{8,4000}”|«[^»]{8,4000}»|„[^“”]{8,4000}[“”]"
    r"|「[^」]{8,4000}」"
)
# A line that ends in a colon and says that somebody else's words follow: "here is the log:", "they wrote me this:".
_LEAD_LINE = re.compile(
    rf"(?:\b{_CUE}\b.{{0,60}}\b{THING}\b|\b{THING}\s(?:from|of|by|von|de)\b|\b{_SAYS}\b"
    rf"|\b(?:one|this|these|got|came)\s(?:is\s)?(?:from|by)\b).{{0,40}}$",
    re.IGNORECASE,
)
# The same where the words follow on the line itself: "its text: …", "she wrote me: …".
_LEAD_INLINE = re.compile(
    rf"(?:\b(?:its|whose|their|his|her)\s(?:\w+\s)?{THING}"
    rf"|\b(?:here['’]?s|here is|this is|hier ist|voici)\b.{{0,50}}\b{THING}"
    rf"|\b{_SAYS}(?:\s(?:me|us|this|that|to|the|team))*|\b(?:issue|mail|email|log|message|ticket)\s(?:reads|goes|text|body))\s*$",
    re.IGNORECASE,
)
# "here is the log somebody sent", without a colon: an announcement that a line break ends.
_ANNOUNCED = re.compile(
    rf"\b(?:here['’]?s|here is|hier ist|voici|this is)\b.{{0,40}}\b{THING}\b.{{0,40}}$", re.IGNORECASE
)
_BREAK = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")


@dataclass(frozen=True)
class Prompt:
    """A message of the user's, read for what of it is theirs."""

    text: str

    @cached_property
    def foreign(self) -> tuple[_Span, ...]:
        """The stretches that are not the user's words, in order and apart."""
        text = self.text
        found = [match.span() for mark in (_FENCE, _TRIPLE, _QUOTED_LINE) for match in mark.finditer(text)]
        found += [match.span() for match in _QUOTATION.finditer(text) if _is_long(match[0])]
        found += _tagged(text)
        head = _HEADS.search(text)
        found += [(head.start(), len(text))] if head else []
        found += _led_in(text)
        return _joined(found)

    @cached_property
    def is_long(self) -> bool:
        """Tell whether it is too long to have been typed: what it states is `observed`."""
        return len(self.text) > LONG or len(_BREAK.split(self.text.strip())) > PARAGRAPHS

    @cached_property
    def first_stop(self) -> int:
        """Return where its first paragraph ends."""
        found = _BREAK.search(self.text, len(self.text) - len(self.text.lstrip()))
        return found.start() if found else len(self.text)

    @cached_property
    def last_start(self) -> int:
        """Return where its last line begins."""
        return self.text.rstrip().rfind("\n") + 1

    def is_foreign(self, start: int, stop: int) -> bool:
        """Tell whether more than half of a stretch is not the user's words."""
        held = sum(max(0, min(stop, end) - max(start, begin)) for begin, end in self.foreign)
        return held > _SHARE * (stop - start)

    def may_ask(self, start: int, stop: int) -> bool:
        """Tell whether a request to remember is the user's here: in the first paragraph or the last line, unquoted."""
        at_an_end = start < self.first_stop or start >= self.last_start
        return at_an_end and not any(begin < stop and start < end for begin, end in self.foreign)


def _is_long(quoted: str) -> bool:
    return "\n" in quoted or len(quoted.split()) >= _QUOTED_WORDS or (quoted[0] == "「" and len(quoted) > 14)


def _tagged(text: str) -> Iterator[_Span]:
    """Yield each `<tag>…</tag>`; a tag alone on its line that is never closed holds all that follows."""
    position = 0
    endless: set[str] = set()
    while found := _TAG.search(text, position):
        name, position = found[1], found.end()
        stop = -1 if name in endless else text.find(f"</{name}", position)
        if stop >= 0:
            close = text.find(">", stop)
            position = len(text) if close < 0 else close + 1
            yield found.start(), position
        elif (
            text[text.rfind("\n", 0, found.start()) + 1 : text.find("\n", position) % (len(text) + 1)].strip()
            == found[0]
        ):
            yield found.start(), len(text)
            return
        else:
            endless.add(name)


def _led_in(text: str) -> Iterator[_Span]:
    """Yield what follows a line that says whose words come: the quotation there, else all the rest."""
    start = 0
    for line in text.splitlines(keepends=True):
        stop = start + len(line)
        said = line.rstrip()
        if (said.endswith(":") and _LEAD_LINE.search(said[-160:-1])) or _ANNOUNCED.search(said[-160:].rstrip(".")):
            yield stop, _stop(text, stop)
        elif (colon := said.find(": ")) >= 0 and _LEAD_INLINE.search(said[max(0, colon - 100) : colon]):
            yield start + colon + 1, _stop(text, start + colon + 1)
        start = stop


def _stop(text: str, start: int) -> int:
    """Return where the words end that begin here: with their quotation or fence, or with the text."""
    begin = start + len(text[start:]) - len(text[start:].lstrip())
    for mark in (_FENCE, _TRIPLE, _QUOTATION):
        if found := mark.match(text, begin):
            return found.end()
    if text.startswith(">", begin):
        lines = re.compile(r"(?:[ \t]*>.*\n?)+").match(text, begin)
        return lines.end() if lines else len(text)
    return len(text)


def _joined(spans: list[_Span]) -> tuple[_Span, ...]:
    """Join stretches that overlap."""
    found: list[_Span] = []
    for start, stop in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(stop, found[-1][1])
        elif start < stop:
            found.append((start, stop))
    return tuple(found)
