"""Which parts of a prompt the user only hands on: labelled, quoted, to be written, or asked about.

Owns: the forms by which somebody hands on words that are not addressed to the agent. Unlike foreign text, which states
nothing, such words may be kept as observed; they bind nobody. Refuses to judge content.
"""

import re
from collections.abc import Iterator, Sequence

from .foreign_text import THING

Span = tuple[int, int]

_SHARE = 0.5  # of a stretch; with more of it handed on, the stretch is

_TEXT = (
    rf"(?:{THING}|sms|tweet|quote|quotation|excerpt|extract|passage|memo|voicemail|statement|clause|warning|notice|poster"
    r"|request|report|verse|poem|speech|slogan|sign|leaflet|flyer|contract|policy|zitat|auszug|brief|hinweis|aushang"
    r"|vertrag|carta|cita|lettre|citation|contrat|contrato)"
).replace(" ", "[ ]")
_NAME = r"(?:[^:\n.!?]|\b(?:dr|mrs?|ms|prof|st|fr|hr)[.]){1,60}"
_ONE_TEXT = rf"(?!\w*(?:mails|messages|logs|texts|comments|outputs|errors|contents)\b){_TEXT}"
_DAY = (
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|\w+tag"
    r"|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|now|here|today"
)

# Labels of a source; what follows is its text, up to the next blank line. "deploys: never …" has none of these.
_SOURCE = re.compile(
    rf"""(?:^|(?<=[.!?…])[ ])[ \t]*[\[(<#*-]*[ \t]*(?:
      (?:system|assistant|user|human|bot|chatbot|ai)
      (?:[ -](?:prompt|message|note|instructions?|override|notice))?[\])>*]*:
    | \[(?:system|assistant|user|human|bot|ai|inst)\][ \t]*:?
    | (?:[\w'’-]+[ ]){{0,4}}{_ONE_TEXT}[ ](?:[\w'’-]+[ ]){{0,3}}?(?:from|by|von|vom|de|del|du)[ ]{_NAME}:
    | from[ ](?:the|my|our|his|her|their|an?)[ ](?:[\w'’-]+[ ]){{0,3}}
      (?:{_TEXT}|agreement|handbook|manual|statutes?|brochure|newspaper|website|book):
    | (?:the[ ]|an?[ ])?(?:quote|quotation|excerpt|extract|passage|sign|notice|lyrics|clause|statement|slogan|poster)
      [ ](?:of|in|on|at)[ ]{_NAME}:
    | (?:[\w-]+[ ]){{0,3}}[\w-]+['’]s[ ](?:[\w-]+[ ])?{_ONE_TEXT}:
    | (?:sent[ ]by|forwarded[ ]by|from|von|via)[ ](?!(?:{_DAY})\b)(?-i:[A-ZÀ-Þ]){_NAME}:
    | (?:look[ ]at|see|check(?:[ ]out)?|read|consider|take|judge|about|regarding)[ ](?:at[ ])?(?:this|that|the|these
      |an?)(?:[ ][^:\n.!?]{{0,40}}\b{_TEXT})?:
    | (?:warning|notice|caution|disclaimer|quote|excerpt|lyrics|transcript|voicemail|slogan|motto|headline|zitat|auszug
      |breaking[ -]change|horoscope|fortune[ ]cookie|terms(?:[ ]of[ ]\w+)?):
    | (?:§+|art(?:icle|ikel)?\.?|clause|section|absatz|abs\.)[ ]?\d[\w.()]{{0,8}}[:.]?[ ]
    )""",
    re.MULTILINE | re.IGNORECASE | re.VERBOSE,
)
# Lines of a log or a chat.
_STAMPED = re.compile(
    r"""^[ \t]*(?:
      [\[(<]?\d{4}[-/.]\d\d[-/.]\d\d[T ,]+\d\d:\d\d
    | [\[(]?\d{1,2}[./-]\d{1,2}[./-]\d{2,4},?[ ]\d{1,2}:\d\d
    | [\[(]\d{1,2}:\d\d(?::\d\d)?[\])]
    | \d{1,2}:\d\d:\d\d\b
    | \d{1,2}:\d\d[ ](?:<[^>\n]{1,30}>|[\w -]{1,30}:[ ])
    | (?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[ ]+\d{1,2}[ ]\d\d:\d\d
    | [\w.-]+\[\d+\]:
    | <\w[\w .-]{0,24}>[ ]
    ).*$""",
    re.MULTILINE | re.IGNORECASE | re.VERBOSE,
)
_COMMIT = re.compile(
    r"\s*(?:feat|fix|chore|docs|refactor|test|perf|build|ci|style|revert)"
    r"(?:(?:\([^)\n]*\)!?|!): |: [^\n]*\n)"
    r"|[\s\S]*^(?:signed-off-by|co-authored-by|reviewed-by|acked-by|change-id): "
    r"|[\s\S]*\b(?:closes|fixes|resolves|refs) #\d+\s*$",
    re.MULTILINE | re.IGNORECASE,
)

_AT = (
    r"(?:^|(?<=[.!?…])[\"'”’)]*[ \t]+|,[ \t]+(?=(?:please|can|could|what|is|should)\b))[ \t]*"
    r"(?:(?:please|pls|bitte|now|ok(?:ay)?|and|so|hey|hi|well|then|also|quick(?:[ ]question)?"
    r"|(?:can|could|would|will)[ ]you|kannst[ ]du|könntest[ ]du)[, :]+)*"
)
_IT = r"(?:it|this|that|these|them|him|her)\b"
# A question or a request about the text that stands beside it.
_ABOUT = re.compile(
    rf"""{_AT}(?P<about>
      (?:is|was|are|does|sounds?|looks?|seems?)[ ](?:{_IT}|the[ ]\w+|they)?[ ]?[^.?!\n]{{0,30}}
      \b(?:spam|scam|phish\w*|fake|fraud\w*|suspicious|legit\w*|genuine|real|true|valid|legal|trustworthy|attack
      |injection|trick|hoax)\b[^.!?\n]{{0,40}}[?]
    | (?:suspicious|spam|scam|phishing|legit|fake|hoax|seriös|verdächtig|betrug)\b[^.!?\n]{{0,30}}[?]
    | (?:what|how)[ ](?:do|would|did)[ ]you[ ](?:think|make|say|feel)[ ](?:of|about|to)[ ]{_IT}
    | (?:any[ ])?thoughts[ ]on[ ]{_IT} | what['’]?s[ ]your[ ](?:take|opinion|view)[ ]on[ ]{_IT}
    | what[ ](?:does|did|do)[ ](?:{_IT}|he|she|they|the[ ]\w+)[ ](?:mean|want|say|ask)\b
    | (?:what|how)[ ](?:should|do|can|would|could)[ ](?:i|we)[ ](?:answer|reply|respond|react|write[ ]back)\b
      (?![ ](?:to[ ])?(?:the|my|our|an?)[ ])
    | should[ ](?:i|we)[ ](?:trust|believe|follow|answer|reply|respond|worry|sign|click|forward)\b
    | (?:draft|write|suggest|prepare|compose|formulate|give)[ ](?:me[ ]|us[ ])?
      (?:an?|the|my|our|some)[ ](?:\w+[ ]){{0,2}}
      (?:answer|reply|response)\b(?![ ]to[ ](?!{_IT}))
    | (?:translate|summari[sz]e|proofread|rephrase|reword|paraphrase|interpret|analy[sz]e|rate|shorten|polish|correct
      |explain|übersetze?|erkläre?|fasse?)(?:[ ](?:{_IT}|das|es|the[ ](?:text|mail|message|above)))?
      (?:[ ](?:please|bitte|for[ ]me|(?:in)?to[ ]\w+
      |in[ ]\w+|zusammen|ins[ ]\w+))*[.!?]*[ \t]*$
    | (?:reply|answer|respond)[ ](?:to[ ])?{_IT}
    | (?:that|this|it)[ ](?:was|stood|came|appeared|popped[ ]up|hung)[ ](?:\w+[ ])?(?:in|on|from|at)
      [ ](?:an?|the|my|his|her
      |their|our)[ ]
    | (?:(?:i|we)[ ])?(?:got|found|received|read|saw)[ ](?:this|that|it)[ ](?:in|on|from|at|by|via|yesterday|today)\b
    | (?:someone|somebody|they|he|she|my[ ]\w+)[ ](?:sent|wrote|mailed|texted|forwarded)[ ](?:me[ ])?(?:this|that|it)\b
    | agree(?:[ ]with[ ]{_IT})?[?] | who[ ](?:wrote|says|said|sent)[ ]{_IT}
    | was[ ](?:hältst|denkst|meinst|sagst)[ ]du[ ](?:davon|dazu) | was[ ](?:heißt|bedeutet|will)[ ](?:das|er|sie)\b
    | ist[ ]das[ ](?:echt|seriös|spam|wahr|legal|gültig|erlaubt|betrug)\b | qu['’]en[ ]penses-tu | qué[ ]opinas
    )""",
    re.MULTILINE | re.IGNORECASE | re.VERBOSE,
)
# The head of a request, behind which stands what is to be told, written, or worked on.
_TOLD = re.compile(
    rf"""{_AT}(?:
      (?:tell|inform|remind|assure|answer|reply[ ]to|write(?:[ ]to)?|text|email|mail|message|let|sag|schreib|dis
      |dile)[ ]
      (?!me\b|us\b|mir\b|uns\b)[^.!?:\n]{{1,50}}?(?:[ ](?:that|know|dass|que|to[ ]say|saying)\b|,?[ ](?=(?:we|our|i)\b))
    | (?:write|draft|compose|create|make[ ]up|invent|generate|give|suggest|design|think[ ]of|come[ ]up[ ]with|find|sing
      |schreib\w*|erfinde?|gib|écris|escribe)[ ][^.!?:\n]{{1,80}}?
      [ ](?:like|such[ ]as|saying|says|say|that|who|which|about|where|titled|called
      |in[ ]which|wie|über|der|die|das|sur|qui|que|sobre)\b
    | say[ ](?!(?:so|it|that|this)\b)
    )""",
    re.MULTILINE | re.IGNORECASE | re.VERBOSE,
)
_WORKED_ON = re.compile(
    rf"""{_AT}(?:
      (?:translate|proofread|spell-?check|rephrase|reword|rewrite|paraphrase|correct|improve|shorten|explain|summari[sz]e
      |check(?=[^:\n]*\b(?:this|text|typos|grammar|spelling|sentence)\b)
      |rate|polish|fill[ ]in|complete|compare|interpret|analy[sz]e|discuss|review|continue|finish
      |read[ ]out|sing
      |tell|inform|answer|reply|write|draft|compose|create|make|come[ ]up[ ]with|invent|generate|give[ ]me|suggest
      |say|repeat|quote|print
      |übersetz\w*|korrigier\w*|erklär\w*|schreib\w*|traduis|traduce|escribe|écris|corrige|explique|explica)\b[^.!?:\n]{{0,80}}:
    | (?:play|be|act|you[ ]are(?:[ ]now)?|spiel|joue|haz[ ]de)[ ](?:(?:as|like|out)[ ])?
      (?:an?|the[ ](?:role|part|character)|eine?n?|une?)[ ][^.!?:\n]{{1,60}}[:.,–—]
    | (?:pretend|imagine|role-?play|act[ ](?:as|like)|simulate|suppose|stell[ ]dir[ ]vor|imagine-toi|imagina)\b
    )""",
    re.MULTILINE | re.IGNORECASE | re.VERBOSE,
)
_LASTING = re.compile(
    r"\b(?:always|never|from now on|going forward|(?:every|each) time|whenever|in (?:the )?future|immer|nie|niemals"
    r"|künftig|ab (?:jetzt|sofort)|toujours|désormais|siempre|nunca)\b",
    re.IGNORECASE,
)
_QUOTED = re.compile(
    r"(?<!\w)['‘](?=\S)[^\n]{8,400}?(?<=\S)['’](?!\w)|\"(?=\S)[^\"\n]{8,400}\"|“[^”]{8,400}”|«[^»]{8,400}»"
    r"|„[^“”]{8,400}[“”]|‚[^‘’]{8,400}[‘’]"
)
_WORDS = 3  # a shorter quotation is a name or a word that is spoken of
_BLANK = re.compile(r"\n[ \t]*\n|\Z")
_STOP = re.compile(r"[.!?…](?=\s|$)|\n|\Z")


def labelled(text: str) -> tuple[Span, ...]:
    """Return the stretches that stand behind a label of somebody else, or in a log or a commit."""
    if _COMMIT.match(text):
        return ((0, len(text)),)
    found = [(match.start(), _end(_BLANK, text, match.end())) for match in _SOURCE.finditer(text)]
    return tuple(found + [match.span() for match in _STAMPED.finditer(text)])


def reported(text: str) -> tuple[Span, ...]:
    """Return all stretches of a prompt that the user only hands on; they may overlap."""
    found = list(labelled(text))
    found += [match.span() for match in _QUOTED.finditer(text) if len(match[0].split()) >= _WORDS]
    found += [(_begin(match), _end(_STOP, text, match.end())) for match in _TOLD.finditer(text)]
    found += [(_begin(match), len(text)) for match in _WORKED_ON.finditer(text)]
    return (*found, *_asked_about(text))


def is_within(spans: Sequence[Span], start: int, stop: int) -> bool:
    """Tell whether more than half of a stretch lies in the spans."""
    own = sum(end - begin for begin, end in outside(spans, start, stop))
    return stop - start - own > _SHARE * (stop - start)


def outside(spans: Sequence[Span], start: int, stop: int) -> Iterator[Span]:
    """Yield the parts of a stretch that lie in none of the spans."""
    for begin, end in sorted(spans):
        if start < min(begin, stop):
            yield start, min(begin, stop)
        start = max(start, end)
    if start < stop:
        yield start, stop


def _asked_about(text: str) -> Iterator[Span]:
    """Yield what stands before a question about it; where nothing does, what follows."""
    for match in _ABOUT.finditer(text):
        start = match.start("about")
        if any(map(str.isalnum, text[: match.start()])):
            yield 0, start
        else:
            yield match.end(), len(text)


def _begin(request: re.Match[str]) -> int:
    """Return where a request is no longer the user's rule: "write so from now on: …" is one up to its colon."""
    return request.end() if _LASTING.search(request[0]) else request.start()


def _end(mark: re.Pattern[str], text: str, start: int) -> int:
    found = mark.search(text, start)
    return found.end() if found else len(text)
