"""Find credentials by their own shape, whatever is written around them, also broken over two lines.

Owns the cheap first look that lets ordinary text pass, the guards and the joining of wrapped lines; the shapes
themselves are data in `rules`.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache
from itertools import accumulate, pairwise

from .carriers import is_continued, pieces, place_of, word_start, wrapped_end
from .token_patterns import AROUND, LONG_WORDS, PREFIXED, PRIVATE_KEY, compiled, prefixed, word_set
from .value_classifier import is_hex, is_monotonous, is_random, is_stand_in

Place = tuple[int, int, str]  # start, end, rule

# A lower-case or capital prefix and a long random tail: what services mint that no rule knows yet.
_UNKNOWN = (
    r"(?<![A-Za-z0-9/_.+-])((?:[a-z][a-z0-9]{1,9}|[A-Z][A-Z0-9]{1,9})(?:[-_.][a-z0-9]{1,8}){0,3}[-_])"
    r"([A-Za-z0-9]{28,256}(?:[-_.][A-Za-z0-9]{6,256}){0,3}|[A-Za-z0-9_-]{36,256})(?![A-Za-z0-9_/-])"
)
_SPACED = {code: " " for code in range(128) if not chr(code).isalnum()}
_DIGESTS = frozenset((22, 27, 32, 43, 64, 86))  # the lengths of digests in base64url, which may begin like a prefix
_IDENTIFIERS = word_set(
    "cs pk phc sha sha1 sha256 sha384 sha512 md5 msg resp run thread toolu call req chatcmpl cus pi ch evt in "
    "sub seti price prod file asst step vs rs fc ws batch ft gen chunk index build commit blob tree obj img "
    "image layer cache asset mem hist id uid gid trace span event session conv user org proj project team srv "
    "vpc subnet arn data css font fonts static media bundle vendor main app page pages component module sb g "
    "go rust py node ssh key cert"
)


def shapes(text: str) -> Iterator[Place]:
    """Yield the place and rule of everything that looks like a credential by itself."""
    if "-----BEGIN" in text:
        yield from ((m.start(), m.end(), "private-key") for m in compiled(PRIVATE_KEY).finditer(text))
    words = [word for word in text.split() if len(word) > 12]
    lines = text.split("\n")
    ends, broken = _line_ends(lines)
    long = "\n".join(words + ends)
    for rule, literal, pattern in AROUND:
        if literal in long:
            yield from _spelled(text, rule, compiled(pattern), [literal])
    for rule, prefixes, tail in _candidates(long):
        if any(prefix in long for prefix in prefixes.split()):
            yield from _spelled(text, rule, prefixed(prefixes, tail), prefixes.split())
    longer = "\n".join([word for word in words if len(word) > 28])
    if longer:
        yield from _long_words(text, longer)
    if broken:
        yield from _long_over_lines(text, lines, broken)


def _line_ends(lines: list[str]) -> tuple[list[str], list[int]]:
    """Return the ends of lines where a short piece of a secret may stand, and the lines where a long one may."""
    ends, broken = [], []
    for number, (line, after) in enumerate(pairwise(lines)):
        if " " not in line[-6:-3]:
            ends.append(line[-15:])
            if " " not in line[-13:-3] and len(line) > 12 and len(after) > 7 and _is_dense(after.lstrip()):
                broken.append(number)
    return ends, broken


def _is_dense(line: str) -> bool:
    return " " not in line[2:8] and ":" not in line[:16]


@cache
def _by_start() -> dict[str, list[int]]:
    """Index the rows of PREFIXED by the first two letters of their prefixes."""
    rows: dict[str, list[int]] = {}
    for number, (_, prefixes, _) in enumerate(PREFIXED):
        for start in {prefix[:2] for prefix in prefixes.split()}:
            rows.setdefault(start, []).append(number)
    return rows


def _candidates(long: str) -> Iterator[tuple[str, str, str]]:
    """Yield the rows of PREFIXED that could match, by how the words begin: asking for each prefix is slower."""
    by_start = _by_start()
    if long.isascii():
        starts = {word[:2] for word in long.translate(_SPACED).split()}
    else:
        starts = set(compiled("(?<![A-Za-z0-9])[A-Za-z0-9]{2}").findall(long))
    yield from (
        PREFIXED[number] for number in sorted({n for start in starts if start in by_start for n in by_start[start]})
    )


def _spelled(text: str, rule: str, pattern: re.Pattern[str], literals: list[str]) -> Iterator[Place]:
    """Yield what a pattern finds, whole or from the literals on over the ends of lines."""
    whole: list[tuple[int, int]] = []
    for match in pattern.finditer(text):
        start, end = match.span(pattern.groups)
        whole.append(match.span())
        if _is_real(text[start:end], rule):
            yield start, wrapped_end(text, start, end), rule
    for literal in literals:
        at = text.find(literal)
        while at >= 0:
            before = bisect_right(whole, (at, len(text))) - 1
            if before < 0 or whole[before][1] <= at:
                yield from _over_lines(text, word_start(text, at), rule, pattern)
            at = text.find(literal, at + len(literal))


def _over_lines(text: str, start: int, rule: str, pattern: re.Pattern[str]) -> Iterator[Place]:
    """Yield what the pattern finds from this place on when lines are joined, as few as will do."""
    places = pieces(text, start)
    for count in range(2, len(places) + 1):
        whole = "".join(text[begin:end] for begin, end in places[:count])
        match = pattern.search(whole)
        if match and match.start() < places[0][1] - start < match.end():
            begin, end = (place_of(places, offset) for offset in match.span(pattern.groups))
            if _is_real(match[pattern.groups], rule):
                yield begin, wrapped_end(text, places[count - 1][0], end), rule
            return


def _is_real(value: str, rule: str) -> bool:
    """Tell a token from its documented example."""
    if rule == "jwt":
        return "IxMjM0NTY3ODkwI" not in value  # the subject 1234567890 of every tutorial
    return not is_stand_in(value) and not is_monotonous(value[-24:])


def _long_words(text: str, longer: str) -> Iterator[Place]:
    for rule, pattern in LONG_WORDS:
        if compiled(pattern).search(longer):
            yield from _spelled(text, rule, compiled(pattern), [])
    if compiled(_UNKNOWN).search(longer):
        for match in compiled(_UNKNOWN).finditer(text):
            if _is_minted(match):
                yield match.start(), wrapped_end(text, match.start(2), match.end()), "token"


def _long_over_lines(text: str, lines: list[str], broken: list[int]) -> Iterator[Place]:
    """Yield long words broken in two."""
    ends = list(accumulate(len(line) + 1 for line in lines))
    for number in broken:
        last = compiled(r"[ \t\r\\+\"']{0,6}([\w.:~-]{13,160})").match(lines[number][:-180:-1])
        end = ends[number] - 1
        if last and is_continued(text, end - last.start(1)):
            for rule, pattern in LONG_WORDS:
                yield from _over_lines(text, end - last.end(), rule, compiled(pattern))
            yield from _unknown_over_lines(text, pieces(text, end - last.end())[:2])


def _unknown_over_lines(text: str, places: list[tuple[int, int]]) -> Iterator[Place]:
    words = [text[begin:end] for begin, end in places]
    alone, both = compiled(_UNKNOWN).match("".join(words[:1])), compiled(_UNKNOWN).match("".join(words))
    if len(words) > 1 and both and _is_minted(both) and not (alone and _is_minted(alone)):
        yield places[0][0], wrapped_end(text, *places[1]), "token"


def _is_minted(match: re.Match[str]) -> bool:
    """Tell a random tail in mixed case, or a very long one in lower case, from digests and identifiers."""
    first = compiled("[a-z0-9]+").match(match[1].lower())
    if len(match[0]) in _DIGESTS or is_stand_in(match[0]) or (first and first[0] in _IDENTIFIERS):
        return False
    tail = match[2]
    if is_hex(tail.replace("-", "").replace("_", "")) or not is_random(tail, 28):
        return False
    mixed = any(c.islower() for c in tail) and any(c.isupper() for c in tail)
    return mixed or (len(tail) >= 48 and "-" not in tail)
