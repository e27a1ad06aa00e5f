"""Find and mask secrets in text: credentials, passwords and, on request, personal data.

The scanner prefers a miss to a false alarm: digests, UUIDs, git object names and placeholders pass,
and so does a password that is an ordinary word.
"""

from bisect import bisect_right
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache

from .. import data
from ..data import compiled
from .value_classifier import Place, Span

# A text with more findings is hostile, and is not scanned again.
MOST_FINDINGS = 10_000
# The span of a mark in the masked text, and the span of its secret.
Mask = tuple[int, int, int, int]
MARK = r"\[REDACTED:[a-z0-9-]{1,40}\]"


@dataclass(frozen=True)
class Finding:
    """A secret in a text."""

    line: int  # of its start, from 1
    start: int  # offsets into the text
    end: int
    rule: str

    @property
    def description(self) -> str:
        """The kind of secret, with its article."""
        name = describe_rules().get(self.rule, self.rule.replace("-", " "))
        return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


def scan(text: str, *, personal: Collection[str] = ()) -> list[Finding]:
    """Return the secrets of a text in order.

    `personal` names the rules of personal data to apply; by default there are none.
    """
    spans = drop_nested_spans(scan_once(text, personal))
    more = spans
    while more and len(spans) <= MOST_FINDINGS:
        # Masking a secret can expose its neighbour, so scan again until nothing is left.
        masked, places = mask_spans(text, spans)
        more = [
            (*find_original_span(places, start, end), rule)
            for start, end, rule in scan_once(masked, personal)
        ]
        spans = drop_nested_spans([*spans, *more])
    findings, line, last = [], 1, 0
    for start, end, rule in spans:
        line += text.count("\n", last, start)
        last = start
        findings.append(Finding(line, start, end, rule))
    return findings


def redact(text: str, findings: Iterable[Finding]) -> str:
    """Return the text with `[REDACTED:rule]` for each finding. Overlapping findings become one."""
    return mask_spans(text, [(finding.start, finding.end, finding.rule) for finding in findings])[0]


@cache
def describe_rules() -> dict[str, str]:
    table = data.table("secret_rules.toml")
    rules = {row["id"]: str(row["description"]) for row in table["rules"] if "description" in row}
    return {**rules, **table["descriptions"]}


def scan_once(text: str, personal: Collection[str]) -> list[Span]:
    """Return the findings of one pass, except inside the marks of earlier redactions."""
    # Imported late, because many commands import this package and scan nothing.
    from .assignments import find_assignments
    from .carriers import find_command_passwords, find_http_credentials, find_table_passwords
    from .personal_data import find_codes, find_personal_data, find_seed_phrases
    from .prose_passwords import find_answered_passwords, find_prose_passwords
    from .token_patterns import find_tokens

    low = text.lower()
    # The small form of İ has two characters, and offsets must be those of the text.
    if len(low) != len(text):
        low = "".join(char.lower() if len(char.lower()) == 1 else char for char in text)
    # If two rules find the same secret, the first one names it.
    spans = [
        *find_tokens(text),
        *find_http_credentials(text, low),
        *find_assignments(text, low),
        *find_prose_passwords(text, low),
        *find_command_passwords(text, low),
        *find_answered_passwords(text),
        *find_codes(text, low),
        *find_table_passwords(text, low),
        *find_seed_phrases(text, low),
    ]
    # Phone numbers and addresses are common in notes, so only on request.
    if personal:
        spans += [span for span in find_personal_data(text, low) if span[2] in personal]
    if not spans or "[REDACTED:" not in text:
        return spans
    marks = [match.span() for match in compiled(MARK).finditer(text)]
    return [item for item in spans if not is_inside(marks, item[0], item[1])]


def is_inside(marks: list[Place], start: int, end: int) -> bool:
    index = bisect_right(marks, start, key=lambda mark: mark[0]) - 1
    return index >= 0 and end <= marks[index][1]


def drop_nested_spans(spans: list[Span]) -> list[Span]:
    """Return spans in order, without spans inside others. Of two equal spans the first stays."""
    distinct: list[Span] = []
    for item in sorted(spans, key=lambda item: (item[0], -item[1])):
        if distinct and item[1] <= distinct[-1][1]:
            continue
        distinct.append(item)
    return distinct


def mask_spans(text: str, spans: Iterable[Span]) -> tuple[str, list[Mask]]:
    """Return the text with marks, and for each mark its span there and in the original."""
    pieces: list[str] = []
    places: list[Mask] = []
    done = size = 0
    for start, end, rule in merge_spans(spans):
        pieces += [text[done:start], f"[REDACTED:{rule}]"]
        size += start - done
        places.append((size, size + len(pieces[-1]), start, end))
        size += len(pieces[-1])
        done = end
    return "".join([*pieces, text[done:]]), places


def merge_spans(spans: Iterable[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end, rule in sorted(spans, key=lambda item: (item[0], -item[1])):
        if merged and start < merged[-1][1]:
            first, last, name = merged[-1]
            merged[-1] = (first, max(last, end), name)
        elif start < end:
            merged.append((start, end, rule))
    return merged


def find_original_span(places: list[Mask], start: int, end: int) -> Place:
    """Translate a span of the masked text to the original. It includes every mark it touches."""

    def translate(offset: int, *, is_end: bool) -> int:
        index = bisect_right(places, offset - is_end, key=lambda mark: mark[0]) - 1
        if index < 0:
            return offset
        _, mask_end, begin, stop = places[index]
        if offset - is_end < mask_end:
            return stop if is_end else begin
        return offset - mask_end + stop

    return translate(start, is_end=False), translate(end, is_end=True)
