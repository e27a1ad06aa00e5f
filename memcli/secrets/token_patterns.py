"""Find credentials by their own shape, whatever surrounds them, even if a line break splits them.

The shapes are the rules in `data/secret_rules.toml`, in the form that gitleaks uses. A quick check
lets ordinary text pass without trying the rules.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate, pairwise
from math import log2
from typing import NamedTuple

from .. import data
from ..data import compiled
from .value_classifier import (
    Place,
    Span,
    count_changes,
    find_places,
    has_both_cases,
    is_fragment,
    is_hex,
    is_monotonous,
    is_random,
    is_stand_in,
    is_uuid,
)

# A backslash, the mark of a quoted mail (> ) or two adjacent literals ("first" + "second")
_BREAK = r"(?:[ \t]*\\?\r?\n[ \t]*(?:[>#*|/+-]{1,2}[ \t]+)?|[\"'][ \t]*[+.\\]?[ \t]*\n[ \t]*[+.]?[ \t]*[\"'])"
_WORD = r"[A-Za-z0-9_.:%+/=~-]"
# RSA PRIVATE KEY-----, PGP PRIVATE KEY BLOCK-----
_EDGE = r"(?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----"
_GLUE = r"(?:\s|\\[nr]|[>#*|\"',+\\])"
# A line of base64, the checksum of PGP (=aB3d), or a header: Proc-Type: 4,ENCRYPTED
_LINE = r"(?:[A-Za-z0-9+/=]{16,}+|=[A-Za-z0-9+/]{4}|[A-Z][A-Za-z-]{2,20}: [^\n\\]{0,80}+)"
# Groups are atomic, not possessive: with these, Python 3.11.2 (Debian 12) left the last line.
# The header alone is enough; body and footer go with it, also escaped in JSON, indented, or cut short.
_PRIVATE_KEY = (
    f"-----BEGIN {_EDGE}(?>(?:(?>{_GLUE}+){_LINE}){{0,600}})"
    f"(?>(?:(?>{_GLUE}+)[A-Za-z0-9+/=]{{0,15}}+(?>{_GLUE}*)-----END {_EDGE})?)"
)
# A lower-case or capital prefix and a long random tail: tokens of services that have no rule yet.
_UNKNOWN = (
    r"(?<![A-Za-z0-9/_.+-])((?:[a-z][a-z0-9]{1,9}|[A-Z][A-Z0-9]{1,9})(?:[-_.][a-z0-9]{1,8}){0,3}[-_])"
    r"([A-Za-z0-9]{28,256}(?:[-_.][A-Za-z0-9]{6,256}){0,3}|[A-Za-z0-9_-]{36,256})(?![A-Za-z0-9_/-])"
)
_SPACED = {code: " " for code in range(128) if not chr(code).isalnum()}
# The lengths of digests in base64url, which may begin like a prefix.
_DIGESTS = frozenset((22, 27, 32, 43, 64, 86))


class TokenRule(NamedTuple):
    """The shape of a kind of token."""

    id: str
    regex: str  # its last group is the secret; without a group, all of it
    keywords: tuple[str, ...]  # every token contains one of them, in this letter case
    entropy: float  # the least bits per character of a token


class TokenRules(NamedTuple):
    """The rules, grouped by the way in which a text is searched."""

    anywhere: tuple[TokenRule, ...]  # a keyword may be inside a word
    prefixed: tuple[TokenRule, ...]  # a token begins with a keyword
    keyless: tuple[TokenRule, ...]  # tried only on long words
    by_start: Mapping[
        str, Sequence[int]
    ]  # the first two characters of a keyword → places in `prefixed`


@cache
def read_token_rules() -> TokenRules:
    """Return the rules of `secret_rules.toml`, in the order of the file."""
    anywhere, prefixed, keyless = list[TokenRule](), list[TokenRule](), list[TokenRule]()
    by_start: dict[str, list[int]] = {}
    for row in data.table("secret_rules.toml")["rules"]:
        keywords = tuple(row.get("keywords", ()))
        rule = TokenRule(row["id"], row["regex"], keywords, float(row.get("entropy", 0)))
        if not keywords:
            keyless.append(rule)
        elif rule.regex.startswith(f"(?<![A-Za-z0-9])(?:{'|'.join(map(re.escape, keywords))})"):
            for start in {keyword[:2] for keyword in keywords}:
                by_start.setdefault(start, []).append(len(prefixed))
            prefixed.append(rule)
        else:
            anywhere.append(rule)
    return TokenRules(tuple(anywhere), tuple(prefixed), tuple(keyless), by_start)


def find_tokens(text: str) -> Iterator[Span]:
    """Yield span and rule of every text that looks like a credential."""
    if "-----BEGIN" in text:
        yield from ((*m.span(), "private-key") for m in compiled(_PRIVATE_KEY).finditer(text))
    # Every token is longer. The rules are tried on few words only.
    words = [word for word in text.split() if len(word) > 12]
    lines = text.split("\n")
    ends, broken = find_line_ends(lines)
    long = "\n".join(words + ends)
    for rule in [*read_token_rules().anywhere, *find_candidate_rules(long)]:
        if any(keyword in long for keyword in rule.keywords):
            yield from find_rule_matches(text, rule)
    longer = "\n".join([word for word in words if len(word) > 28])
    if longer:
        yield from find_long_words(text, longer)
    if broken:
        yield from find_long_over_lines(text, lines, broken)


def find_line_ends(lines: list[str]) -> tuple[list[str], list[int]]:
    """Return line ends that may be a piece of a secret, and lines that a long secret may cross."""
    ends, broken = [], []
    for number, (line, after) in enumerate(pairwise(lines)):
        if " " not in line[-6:-3]:
            # A token that begins here may have too few characters on this line to be in the words.
            ends.append(line[-15:])
            if " " not in line[-13:-3] and len(line) > 12 and len(after) > 7:
                start = after.lstrip()[:16]
                if " " not in start[2:8] and ":" not in start:
                    broken.append(number)
    return ends, broken


def find_candidate_rules(long: str) -> Iterator[TokenRule]:
    """Yield the rules whose prefix starts a word of the text. Trying all is slower."""
    rules = read_token_rules()
    if long.isascii():
        starts = {word[:2] for word in long.translate(_SPACED).split()}
    else:
        starts = set(compiled("(?<![A-Za-z0-9])[A-Za-z0-9]{2}").findall(long))
    numbers = {
        number for start in starts if start in rules.by_start for number in rules.by_start[start]
    }
    yield from (rules.prefixed[number] for number in sorted(numbers))


def find_rule_matches(text: str, rule: TokenRule) -> Iterator[Span]:
    """Yield the matches of a rule, whole or broken over lines."""
    pattern = compiled(rule.regex)
    whole: list[Place] = []
    for match in pattern.finditer(text):
        start, end = match.span(pattern.groups)
        whole.append(match.span())
        if is_real_token(text[start:end], rule):
            yield start, find_wrapped_end(text, start, end), rule.id
    for literal in rule.keywords:
        for position, _ in find_places(text, literal):
            before = bisect_right(whole, (position, len(text))) - 1
            if before < 0 or whole[before][1] <= position:
                yield from find_over_lines(text, find_word_start(text, position), rule)


def find_over_lines(text: str, start: int, rule: TokenRule) -> Iterator[Span]:
    """Yield the match of a rule in joined lines, as few as possible."""
    pattern = compiled(rule.regex)
    places = find_pieces(text, start)
    for count in range(2, len(places) + 1):
        match = pattern.search("".join(text[begin:end] for begin, end in places[:count]))
        # It must cross the end of the first line. Other matches are found where they begin.
        if match and match.start() < places[0][1] - start < match.end():
            begin, end = (translate_offset(places, offset) for offset in match.span(pattern.groups))
            if is_real_token(match[pattern.groups], rule):
                yield begin, find_wrapped_end(text, places[count - 1][0], end), rule.id
            return


def is_real_token(value: str, rule: TokenRule) -> bool:
    """Return whether a match is not a documented example, and random enough for its rule."""
    if rule.id == "jwt":
        return "IxMjM0NTY3ODkwI" not in value  # the subject 1234567890 of every tutorial
    if rule.entropy and measure_entropy(value) < rule.entropy:
        return False
    return not is_stand_in(value) and not is_monotonous(value[-24:])


def measure_entropy(value: str) -> float:
    shares = [count / len(value) for count in Counter(value).values()]
    return -sum(share * log2(share) for share in shares)


def find_long_words(text: str, longer: str) -> Iterator[Span]:
    for rule in read_token_rules().keyless:
        if compiled(rule.regex).search(longer):
            yield from find_rule_matches(text, rule)
    if compiled(_UNKNOWN).search(longer):
        for match in compiled(_UNKNOWN).finditer(text):
            if is_generated(match):
                yield match.start(), find_wrapped_end(text, match.start(2), match.end()), "token"


def find_long_over_lines(text: str, lines: list[str], broken: list[int]) -> Iterator[Span]:
    """Yield long words that are broken over two lines."""
    ends = list(accumulate(len(line) + 1 for line in lines))
    for number in broken:
        # Backwards from the end of the line, because a search would begin at each word.
        last = compiled(r"[ \t\r\\+\"']{0,6}([\w.:~-]{13,160})").match(lines[number][:-180:-1])
        end = ends[number] - 1
        if last and is_continued(text, end - last.start(1)):
            for rule in read_token_rules().keyless:
                yield from find_over_lines(text, end - last.end(), rule)
            yield from find_unknown_over_lines(text, find_pieces(text, end - last.end())[:2])


def find_unknown_over_lines(text: str, places: list[Place]) -> Iterator[Span]:
    words = [text[begin:end] for begin, end in places]
    alone, both = (
        compiled(_UNKNOWN).match("".join(words[:1])),
        compiled(_UNKNOWN).match("".join(words)),
    )
    if len(words) > 1 and both and is_generated(both) and not (alone and is_generated(alone)):
        yield places[0][0], find_wrapped_end(text, *places[1]), "token"


def is_generated(match: re.Match[str]) -> bool:
    """Return whether the tail is random, and not a digest or an identifier."""
    # price_1… and toolu_01… are random too, and public.
    first = compiled("[a-z0-9]+").match(match[1].lower())
    if (
        len(match[0]) in _DIGESTS
        or is_stand_in(match[0])
        or (first and first[0] in data.words("harmless_values.toml", "identifiers"))
    ):
        return False
    tail = match[2]
    if is_hex(tail.replace("-", "").replace("_", "")) or not is_random(tail, 28):
        return False
    return has_both_cases(tail) or (len(tail) >= 48 and "-" not in tail)


def find_word_start(text: str, position: int) -> int:
    before = compiled(f"{_WORD}*").match(text[max(0, position - 64) : position][::-1])
    return position - len(before[0] if before else "")


def find_pieces(text: str, start: int) -> list[Place]:
    """Return the spans of the word at an offset, and of its continuations."""
    piece = compiled(f"{_WORD}{{1,400}}").match(text, start)
    places = [piece.span()] if piece else []
    while places and len(places) < 6:
        more = compiled(f"{_BREAK}({_WORD}{{4,400}})").match(text, places[-1][1])
        if more is None:
            break
        places.append(more.span(1))
    return places


def is_continued(text: str, end: int) -> bool:
    """Return whether the next line starts with the rest of the word that ends here."""
    more = compiled(f"{_BREAK}({_WORD}{{6,400}})").match(text, end)
    return more is not None and count_changes(more[1]) >= 2


def translate_offset(places: list[Place], offset: int) -> int:
    """Translate an offset in the joined pieces to the text."""
    for begin, end in places:
        if offset <= end - begin:
            return begin + offset
        offset -= end - begin
    return places[-1][1] if places else 0


def find_wrapped_end(text: str, start: int, end: int) -> int:
    """Return the end of a value that the next lines may continue."""
    digits = is_hex(text[max(start, end - 12) : end])
    for _ in range(12):
        more = compiled(f"{_BREAK}([A-Za-z0-9_.+/-]{{6,400}}={{0,2}})(?![=:])").match(text, end)
        if (
            # A digest, a date or a sentence in the next line is no continuation.
            more is None
            or is_uuid(more[1])
            or is_hex(more[1]) != digits
            or not is_fragment(more[1])
        ):
            break
        end = more.end()
    return end
