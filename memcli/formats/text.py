"""Plain text: decode it, check it, and make summaries, words, digests and passages of it.

The action hook imports this module, so it imports nothing that is slow to load.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

try:
    # hashlib takes 9 ms to import; this is the same function.
    from _blake2 import blake2b
except ImportError:  # pragma: no cover - a Python that was built without it
    from hashlib import blake2b

BYTES_PER_TOKEN = 4
SUMMARY_LENGTH = 160
HIDDEN_MARK = "[forgotten]"  # in the place of a passage that repeats a forgotten memory
LONGEST_MARK = 30  # characters
# <<<<<<< HEAD, =======, >>>>>>> branch
CONFLICT = re.compile(r"(?m)^(?:<{7} .*|={7}|>{7} .*)$")
CONFLICT_START = re.compile(r"(?m)^<{7} ")
# Tabs and line ends are text. Everything else below a blank, and delete, can hide or forge output.
# Also half of an emoji, which no file can store. A surrogate of the rest stands for a byte.
CONTROL = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x80-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udc7f\udd00-\udfff]"
)
WORD = re.compile(r"[^\W_]+")
# C++ is not C#, > 5 is not < 5, -5 is not 5, and a thumb up is not a thumb down.
EXACT_WORD = re.compile(
    "[^\\W_]+[+#]*|[<>]=?(?=\\s?\\d)|[-−](?=\\d)|[\u2600-\u27bf\U0001f300-\U0001faff]"
)
# Not the period of `pip install .`, "Mr. Hale", "J. Doe", "e.g. tea", "No. 5", "Lindenstr. 12" or
# "10. März".
FULL_STOP = (
    r"""(?<=[\w"'”’»)\]`%+#*])(?<!\b[^\W\d_])(?<!p\.ex)(?<!\bapprox)"""
    r"(?<!\b(?i:[dm]r|[mv]s|st))(?<!\b(?i:mrs|etc|usw|bzw))(?<!\b(?i:prof|incl))"
    r"\.(?!(?:(?<=\bN[or]\.)|(?<=(?:[Ss]tr|Art|Abs|Fig|Kap|Tel)\.)) \d|(?<=\d\.)"
    r" (?:Jan|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez))"
)
# It begins with a blank, which makes the search 5 times faster. No sentence begins in lower case.
SENTENCE_END = re.compile(
    rf"\s(?:(?<=[!?。！？]\s)|(?<=\n)|(?<={FULL_STOP}\s)(?!\s*[a-zß-ÿα-ωа-я]))\s*"
)
# The id of a passage in Obsidian, ` ^fees` at the end of a line. The powers in `2 ^16` stay.
BLOCK_ID = r"(?<!\S)\^(?=[\d-]*[A-Za-z])[\w-]+[ \t]*(?![^\n])"
# Marks may be nested: > 1. ## Title. A line of tags (tags: #tree #garden) is nothing but a mark.
LIST_MARK = re.compile(
    r"(?:#{1,6}\s+|>\s*|[-*+]\s+|\d+[.)]\s+|\[!\w+\][-+]?\s*)*(?:(?:[Tt]ags:\s*)?(?:#[^\s#,]+[\s,]*)+$)?"
)
# Frontmatter is part of the text only if it cannot be read.
BROKEN_HEAD = re.compile(r"\A\ufeff?---[ \t]*\r?\n.*?\n---[ \t]*\r?\n", re.DOTALL)
SHORT = 4  # a passage of fewer words must be a whole line
# Many notes have the heading "## Log" or the task "- [ ] water the plants".
SHARED_LINE = re.compile(r"\s*(?:#|[-*+] \[.\])")
# In "[14:15] User: yes" nothing but "yes" counts.
LINE_PREFIX = re.compile(r"\[\d\d:\d\d\]|\b(?:user|assistant):|^- |\d+\.", re.IGNORECASE)

Progress = Callable[[int, int], None]
"""Shows how far a long step is: called with how much is done, and of how much."""


class Problem(NamedTuple):
    """Something wrong with a file, reported as `path:line: reason`."""

    line: int
    reason: str
    code: str = ""  # for the kinds that other code asks for: unread, conflict, purged


def decode(data: bytes) -> tuple[str, Problem | None]:
    """Decode the bytes of a file. Bytes that are not UTF-8 become U+FFFD and are a problem."""
    try:
        return data.decode(), None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return data.decode("utf-8", "replace"), Problem(line, "not UTF-8: convert the file")


def is_binary(text: str) -> bool:
    """Return whether a text is a picture or a program, judged by its first 8,192 characters."""
    # A text may have a few odd bytes; a program consists of them.
    head = text[:8192]
    odd = len(CONTROL.findall(head)) + head.count("\ufffd")
    return "\x00" in head and odd > len(head) / 10


def find_conflict_line(text: str) -> int | None:
    """Return the line of the first git conflict marker."""
    start = CONFLICT_START.search(text)
    # A line of seven equal signs alone underlines a heading.
    if start is None or not CONFLICT.search(text, start.end()):
        return None
    return text.count("\n", 0, start.start()) + 1


def find_control_character(text: str) -> tuple[int, str] | None:
    """Return the line and name of the first control character."""
    match = CONTROL.search(text)
    if match is None:
        return None
    return text.count("\n", 0, match.start()) + 1, f"U+{ord(match[0]):04X}"


def summarize(text: str, limit: int = SUMMARY_LENGTH) -> str:
    """Return the first sentence that says something, in one line."""
    for line in BROKEN_HEAD.sub("", text).splitlines():
        # Once, because the pattern matches an empty text and would continue inside the line.
        content = LIST_MARK.sub("", line.strip().lstrip("\ufeff"), count=1).strip(" |")
        if any(character.isalnum() for character in content):
            first = SENTENCE_END.split(content, maxsplit=1)[0]
            return shorten(first, limit)
    return shorten(collapse_blanks(text), limit)


def summarize_texts(texts: Sequence[str], noun: str) -> str:
    """Return the text if there is only one, otherwise their number: `2 memories`."""
    return texts[0] if len(texts) == 1 else count_noun(len(texts), noun)


def add_title(title: str, text: str) -> str:
    """Return a text after its title, or alone if it contains the title."""
    return f"{title}: {text}" if title and text and title.lower() not in text.lower() else text


def collapse_blanks(text: str) -> str:
    """Return a text in one line, with one blank between its words."""
    return " ".join(text.split())


def shorten(text: str, limit: int) -> str:
    """Return a text in one line, cut at a word with an ellipsis if it is too long."""
    plain = collapse_blanks(text)
    if len(plain) <= limit:
        return plain
    cut = plain[:limit].rpartition(" ")[0] or plain[: limit - 1]
    return f"{cut}…"


def cut_middle(text: str, start: int, end: int, mark: str = "\n[… {} characters …]\n") -> str:
    """Return the first and the last characters of a text, with a mark between them.

    `{}` in the mark becomes the number of characters that are left out. A short text stays.
    """
    left_out = len(text) - start - end
    # With a mark it would be as long. So a text that was cut before stays too.
    if left_out <= LONGEST_MARK:
        return text
    return text[:start] + mark.format(left_out) + text[len(text) - end :]


def fold_name(name: str) -> str:
    """Return a name for comparisons: Unicode form NFC, no letter case, single blanks."""
    return " ".join(unicodedata.normalize("NFC", name).casefold().split())


def normalize(text: str) -> str:
    """Return a text in Unicode form NFC, in which an accent is part of its letter."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def split_words(text: str) -> list[str]:
    """Return the words of a text for comparisons: NFKC, no case, no punctuation."""
    # NFKC makes ordinary letters of the full-width ones that Japanese keyboards type.
    # Normalizing ASCII changes nothing and takes a third of the time.
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return WORD.findall(text.casefold())


def find_values(text: str, wrong: str) -> set[str]:
    """Return the words of the wrong value, and of the new one if a text says "NEW, not WRONG".

    In "Go 1.24, not Go 1.23", Go is the subject. Of a wrong statement, the value is what a text
    leaves out.
    """
    old = wrong.casefold().split()
    before = text.casefold().rpartition(wrong.casefold())[0]
    clauses = re.split(r"\W+(?:and )?(?:not|nicht|pas)\b", before)[:-1]
    new = " ".join(clauses).split()[-len(old) :]
    differing = {*old} ^ {*new} if new else {*old}.difference(text.casefold().split())
    return set(split_words(" ".join(differing)))


def find_words(text: str) -> list[tuple[int, int, str]]:
    """Return start, end and folded form of every word, for comparing passages."""
    return [(*match.span(), fold_word(match[0])) for match in EXACT_WORD.finditer(text)]


def fold_word(word: str) -> str:
    return word.lower() if word.isascii() else unicodedata.normalize("NFKC", word).casefold()


def find_strings(value: object) -> list[str]:
    """Return every text in a value of JSON or YAML, and the names of its keys."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        # A key can contain a secret or a forgotten text, as a value can.
        value = [*value, *value.values()]
    if not isinstance(value, list):
        return []
    return [text for item in value for text in find_strings(item)]


class Passage(NamedTuple):
    """A passage with the words of a wanted text."""

    start: int
    end: int
    id: str  # of the wanted text


class PassageFinder:
    """Finds passages with the words of the wanted texts, given by id."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.by_first_word: dict[str, list[tuple[list[str], str]]] = {}
        for text_id, text in texts.items():
            words = [word for _, _, word in find_words(normalize(text))]
            if words:
                wanted = self.by_first_word.setdefault(words[0], [])
                wanted.append((words, text_id))

    def find(self, text: str) -> list[Passage]:
        """Return the passages of a normalized text, in order."""
        if not self.by_first_word:
            return []
        places = find_words(text)
        words = [word for _, _, word in places]
        passages = []
        for first, word in enumerate(words):
            for wanted, text_id in self.by_first_word.get(word, ()):
                stop = first + len(wanted)
                # The first word is only a quick test.
                if words[first:stop] != wanted:
                    continue
                start = places[first][0]
                end = places[stop - 1][1]
                if len(wanted) >= SHORT or is_whole_line(text, start, end):
                    passages.append(Passage(start, end, text_id))
        return sorted(passages)


def is_whole_line(text: str, start: int, end: int) -> bool:
    """Return whether a passage is a line of its own, except for list marks, times and speakers.

    Headings and tasks are not.
    """
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", end)
    if line_end < 0:
        line_end = len(text)
    around = text[line_start:start] + text[end:line_end]
    return not (SHARED_LINE.match(around) or WORD.search(LINE_PREFIX.sub("", around)))


def replace_passages(text: str, passages: list[Passage], mark: str) -> str:
    """Return a normalized text with a mark for each passage. Line numbers stay the same."""
    pieces = []
    position = 0
    for start, end, _ in passages:
        if start >= position:
            line_ends = "\n" * text.count("\n", start, end)
            pieces += [text[position:start], mark, line_ends]
        position = max(position, end)
    pieces.append(text[position:])
    return "".join(pieces)


def count_noun(number: int, noun: str) -> str:
    """Return a number with its noun: `1 text`, `2,000 texts`, `2 memories`."""
    if number != 1:
        noun = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {noun}"


def count_bytes(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def count_tokens(text: str) -> int:
    """Estimate the tokens of a text: four bytes per token."""
    return -(-count_bytes(text) // BYTES_PER_TOKEN)


def replace_surrogates(text: str) -> str:
    """Return a text that a file can store: `?` instead of half of a character."""
    return text.encode("utf-8", "replace").decode()


def build_digest(data: bytes | str, size: int = 16) -> str:
    """Return a digest of a text or of some bytes, to notice changes."""
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogatepass")
    return blake2b(data, digest_size=size).hexdigest()


def build_text_digest(text: str) -> bytes:
    """Return the 16-byte key of a text and its vector."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def build_keyed_digest(key: str, text: str) -> str:
    """Return a digest that cannot be computed or tested without the key."""
    return blake2b(text.encode("utf-8", "replace"), key=key.encode(), digest_size=16).hexdigest()


def build_words_digest(text: str) -> bytes:
    """Return a digest that equal sentences share, whatever their case, blanks and final period.

    Symbols count: C++ is not C#, and -5 is not 5.
    """
    return build_text_digest(fold_name(text).rstrip(".!? "))
