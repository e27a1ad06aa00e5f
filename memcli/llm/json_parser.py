"""Read the JSON in a reply of a language model, even if it is malformed or cut off.

There are three tiers. Plain JSON is parsed by the standard library. Otherwise the first object in
the text is read by a tolerant reader, through fences, prose, comments and wrong quotes. If the
object is not complete, each wanted field is read separately: a reply that was cut off yields its
complete fields and the complete items of its last list. Nothing incomplete is guessed.
"""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

LARGEST = 400_000  # characters; a longer text is no reply
MOST_STARTS = 64  # brackets in prose at which an object may begin
MOST_DEPTH = 40
WRAPPER_DEPTH = 3

DECODER = json.JSONDecoder(strict=False)
THOUGHT = re.compile(r"(?is)<(think|thinking|thought|reasoning)>.*?</\1>")
THOUGHT_END = re.compile(r"(?is)\A.*</(?:think|thinking|thought|reasoning)>(?=.*\{)")
# Comments and fences may be anywhere between the values.
BLANK = re.compile(r"(?:[\s\ufeff\u200b\x00]|//[^\n]*|/\*.*?(?:\*/|\Z)|#[^\n]*|```\w*)+", re.DOTALL)
EMPTY = re.compile(r"\{\s*\}|\[\s*\]")
BRACKET = re.compile(r"[{\[]")
QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’", "`": "`´"}
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "/": "/", "\\": "\\"}
UNICODE_ESCAPES = re.compile(r"(?:\\u[0-9a-fA-F]{4})+")
NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?(?=[\s,\]}]|/[/*]|\Z)")
QUOTED_KEY = re.compile(r"""["'“‘`]+(?P<key>[^"'”’`´]*)["'”’`´]+""")
BARE_KEY = re.compile(r"(?P<key>[\w$.-]+)[\"']?(?=\s*[:=\"'])")
BARE_VALUE = re.compile(r"[^,\[\]{}\n\"]+")
NEXT_KEY = re.compile(r"[\"'“‘\[]|[\w$.-]+\s*:|[}\]]|\Z|/[/*]|```")
NEXT_ITEM = re.compile(r"[\"'“‘{\[\]}]|-?\d|(?:true|false|null|None|True|False)\b|\Z|/[/*]|\.\.\.")
CONSTANTS = {"true": True, "false": False, "null": None, "none": None, "undefined": None}
JsonObject = dict[str, Any]


class Reading(NamedTuple):
    """The wanted fields in a text."""

    fields: JsonObject
    is_cut: bool = False  # the text ended in the middle of a value


class NoValueError(ValueError):
    """No value begins at this place."""


def read_fields(text: str, wanted: Sequence[str], list_name: str = "") -> Reading:
    """Return the wanted fields of the object that a text contains. `{}` has none and is valid.

    A list without an object around it becomes the field `list_name`. Raises ValueError if the text
    contains neither.
    """
    if len(text) > LARGEST:
        raise ValueError(f"{len(text):,} characters are more than any reply needs")
    text = remove_thoughts(text)
    try:
        objects = find_objects(json.loads(text.strip("\ufeff\x00 \t\r\n")), wanted, list_name)
        if objects is not None:
            return Reading(join_objects(objects, wanted))
    except (ValueError, RecursionError):
        pass
    objects = []
    is_empty = is_foreign = is_cut = False
    unread = []
    position = 0
    for start, end, value, is_whole in read_parts(text):
        found = find_objects(value, wanted, list_name)
        objects += found or []
        # `{...}` is not empty, but shortened.
        is_empty = is_empty or bool(EMPTY.fullmatch(text, start, end))
        is_foreign = is_foreign or found is None
        is_cut = is_cut or not is_whole
        # A damaged object may have hidden other fields.
        unread.append(text[position : start if is_whole else end])
        position = end
    fields = join_objects(objects, wanted)
    single = read_single_fields("".join([*unread, text[position:]]), wanted)
    fields = {**single, **fields}
    if not fields and (is_foreign or is_cut or not is_empty):
        raise ValueError("there is no JSON object in the reply")
    return Reading(fields, is_cut)


def remove_thoughts(text: str) -> str:
    """Return a text without the reasoning before the answer, even if only its end is marked."""
    if re.match(r"\s*(?:```\w*\s*)?[\[{]", text):
        return text  # a mark further on is part of the answer
    return THOUGHT_END.sub("", THOUGHT.sub("", text))


def find_objects(value: Any, wanted: Sequence[str], list_name: str) -> list[JsonObject] | None:
    """Return the objects of a value that have a wanted field; [] for `{}`; None if it is no reply.

    Some models wrap the object that they were asked for in another object.
    """
    if value in ({}, []):
        return []
    if isinstance(value, list) and list_name:
        inner = [item for item in value if isinstance(item, dict)]
        if not any(name in item for item in inner for name in wanted):
            is_reply = bool(inner) or all(isinstance(item, str) for item in value)
            return [{list_name: value}] if is_reply else None
    return list(find_inner_objects(value, wanted, WRAPPER_DEPTH)) or None


def find_inner_objects(value: Any, wanted: Sequence[str], depth: int) -> Iterator[JsonObject]:
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = json.loads(value, strict=False)
        except (ValueError, RecursionError):
            return
    if isinstance(value, dict):
        if any(name in value for name in wanted):
            yield value
            return
        value = list(value.values())
    if isinstance(value, list) and depth:
        for item in value:
            yield from find_inner_objects(item, wanted, depth - 1)


def join_objects(objects: Sequence[JsonObject], wanted: Sequence[str]) -> JsonObject:
    """Return the wanted fields of several objects. The first one counts; lists are joined."""
    fields: JsonObject = {}
    for item in objects:
        for name in wanted:
            known = fields.get(name)
            if isinstance(known, list) and isinstance(item.get(name), list):
                fields[name] = known + [other for other in item[name] if other not in known]
            elif name in item and name not in fields:
                fields[name] = item[name]
    return fields


def read_parts(text: str) -> Iterator[tuple[int, int, Any, bool]]:
    """Yield start, end, value and completeness of the objects and lists in a text."""
    position = 0
    for _ in range(MOST_STARTS):
        match = BRACKET.search(text, position)
        if match is None:
            return
        start = match.start()
        reader = TolerantReader(text, start)
        try:
            value, is_whole = reader.read_plain_json() or reader.read_value()
        except NoValueError:
            position = start + 1
            continue
        position = reader.position
        yield start, position, value, is_whole


def read_single_fields(text: str, wanted: Sequence[str]) -> JsonObject:
    """Return the complete values behind the names of fields, wherever they are."""
    fields = {}
    for name in wanted:
        # Without quotes or brackets, it may be a sentence about the field.
        match = re.search(rf"""\b{re.escape(name)}\b["'”’]?\s*[:=]\s*(?=["'“‘{{\[])""", text)
        if match is None:
            continue
        with suppress(NoValueError):
            value, is_whole = TolerantReader(text, match.end()).read_value()
            # Of a list that was cut off, the complete items.
            if is_whole or (value and isinstance(value, dict | list)):
                fields[name] = value
    return fields


class TolerantReader:
    """Reads one value. A value that the end of the text cuts off is incomplete."""

    def __init__(self, text: str, position: int = 0) -> None:
        self.text = text
        self.position = position
        self.depth = 0

    def read_plain_json(self) -> tuple[Any, bool] | None:
        try:
            value, self.position = DECODER.raw_decode(self.text, self.position)
        except (ValueError, RecursionError):
            return None
        return value, True

    def peek(self) -> str:
        """Skip blanks and comments, and return the next character; empty at the end."""
        self.position = self.skip_blanks(self.position)
        return self.text[self.position : self.position + 1]

    def skip_blanks(self, position: int) -> int:
        blank = BLANK.match(self.text, position)
        return blank.end() if blank else position

    def read_value(self, *, is_item: bool = False) -> tuple[Any, bool]:
        character = self.peek()
        if character in ("{", "["):
            self.depth += 1
            if self.depth > MOST_DEPTH:
                raise NoValueError("nested too deeply")
            try:
                return self.read_object() if character == "{" else self.read_list()
            finally:
                self.depth -= 1
        if character in QUOTES and character:
            return self.read_string(NEXT_ITEM if is_item else NEXT_KEY)
        return self.read_bare_value()

    def read_object(self) -> tuple[JsonObject, bool]:
        fields: JsonObject = {}
        self.position += 1
        while True:
            self.skip_commas()
            character = self.peek()
            if character == "}":
                self.position += 1
                return fields, True
            if character == "]" and self.depth > 1:
                return fields, True  # its own bracket is missing
            try:
                key = self.read_key()
                if self.peek() in (",", "}"):
                    fields[key] = None  # its value is missing
                    continue
                value, is_whole = self.read_value()
            except NoValueError:
                # Prose in braces is no object, and the fields before a mistake are.
                if fields or not self.peek():
                    return fields, False
                raise
            if is_whole or (value and isinstance(value, dict | list)):
                fields[key] = value
            if not is_whole:
                return fields, False

    def read_list(self) -> tuple[list[Any], bool]:
        items: list[Any] = []
        self.position += 1
        while True:
            self.skip_commas()
            character = self.peek()
            if character == "]":
                self.position += 1
                return items, True
            if character in ("}", ":"):
                return items, True  # its own bracket is missing
            if not character:
                return items, False
            value, is_whole = self.read_value(is_item=True)
            # An object without its end may lack a field that changes its meaning.
            if not is_whole:
                return items, False
            items.append(value)

    def skip_commas(self) -> None:
        while self.peek() == "," or self.text.startswith("...", self.position):
            self.position += 1 if self.peek() == "," else 3

    def read_key(self) -> str:
        """Return the name of a field, and move behind its colon."""
        match = QUOTED_KEY.match(self.text, self.position) or BARE_KEY.match(
            self.text, self.position
        )
        if match is None:
            raise NoValueError("no field")
        key = match["key"]
        self.position = match.end()
        if self.peek() in (":", "="):
            self.position += 1
        return key

    def read_string(self, following: re.Pattern[str]) -> tuple[str, bool]:
        """Read a text in quotes. Quotes inside of it that nobody escaped are part of it."""
        text = self.text
        start = self.position + 1
        closing = QUOTES[text[self.position]]
        self.position += 1
        pieces: list[str] = []
        inner_quotes: list[int] = []
        special = re.compile(f"[\\\\{closing}]")
        while match := special.search(text, self.position):
            pieces.append(text[self.position : match.start()])
            self.position = match.end()
            if match[0] == "\\":
                pieces.append(self.read_escape())
            elif self.is_closing(following):
                break
            else:
                inner_quotes.append(match.start())
                pieces.append(match[0])
        else:
            pieces.append(text[self.position :])
            self.position = len(text) + 1
        is_whole = self.position <= len(text)
        # The next field, inside of a text whose end quote is missing.
        next_field = re.compile(rf"[,\"'\n]\s*(?={closing}[\w -]+{closing}\s*:)")
        swallowed = next_field.search(text, start, self.position - 1)
        if swallowed and following is NEXT_KEY:
            self.position = swallowed.end()
        elif is_whole:
            return "".join(pieces), True
        last = swallowed.start() if swallowed else len(text)
        before = [quote for quote in inner_quotes if quote < last]
        if len(before) == 1:
            # The only inner quote was the end, and something other than a comma follows it.
            self.position = before[0] + 1
            return text[start : before[0]], True
        if swallowed:
            return text[start:last], True
        self.position = len(text)
        return "".join(pieces), False

    def is_closing(self, following: re.Pattern[str]) -> bool:
        """Return whether a quote that was just read ends its text."""
        place = self.skip_blanks(self.position)
        character = self.text[place : place + 1]
        if character == ",":
            # A comma can also follow a quoted word inside of the text.
            return bool(following.match(self.text, self.skip_blanks(place + 1)))
        if not character or character in "}]":
            return True
        # A missing comma: the next field or item is on the next line.
        is_next_line = "\n" in self.text[self.position : place]
        return is_next_line and bool(following.match(self.text, place))

    def read_escape(self) -> str:
        """Return the characters of an escape. A stray backslash is part of the text."""
        # Two escapes together may be one character.
        match = UNICODE_ESCAPES.match(self.text, self.position - 1)
        if match:
            self.position = match.end()
            return str(json.loads(f'"{match[0]}"')).encode("utf-8", "replace").decode()
        character = self.text[self.position : self.position + 1]
        self.position += 1
        return ESCAPES.get(character, character if character in "'`" else f"\\{character}")

    def read_bare_value(self) -> tuple[Any, bool]:
        """Read a number, a constant, or a word without quotes."""
        match = NUMBER.match(self.text, self.position) or BARE_VALUE.match(self.text, self.position)
        if match is None or not match[0].strip():
            raise NoValueError("no value")
        self.position = match.end()
        word = match[0].strip()
        # `12` at the end may have been `125`.
        is_whole = self.position < len(self.text)
        if word.lower() in CONSTANTS:
            return CONSTANTS[word.lower()], True
        if match.re is NUMBER:
            return json.loads(word), is_whole
        return word, is_whole
