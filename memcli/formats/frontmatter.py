"""Frontmatter: read as text values, edited line by line so that everything else stays as it is.

A third of real frontmatters do not survive a YAML dump unchanged. `edit` therefore replaces only
the lines of the keys it changes, parses the result, and refuses if anything else would differ.
"""

import json
import re
from collections.abc import Mapping
from functools import cache
from itertools import accumulate
from typing import Any, NamedTuple

# A byte order mark may come first, and the closing fence may end the file.
FENCES = re.compile(
    r"\A(\ufeff?---[ \t]*\r?\n)(.*?^)(---[ \t]*(?:\r?\n|\Z))", re.DOTALL | re.MULTILINE
)
# "quoted key": 1, 'quoted key': 1, or created at: 1. A key within a value is indented.
KEY_LINE = re.compile(
    r"""^(?:"([^"\n]+)"|'([^'\n]+)'|([^\s#'"&*!|>%@`{}\[\],-][^:\n]*?))[ \t]*:(?=[ \t\r\n]|\Z)""",
    re.MULTILINE,
)
# Values that YAML and this module read alike. mem writes such lines, and reading them without the
# YAML library saves 15 ms per command and 90 % of the time for 10,000 files.
SIMPLE_LINE = re.compile(r"([A-Za-z][\w-]*): ?(\[[^\[\]{}\"'#&*!|>%@`\n]*\]|[^\n]*)\n")
# A colon only in an address, where YAML reads it as text: https://acme.io/a?b=1
SIMPLE_SCALAR = re.compile(r"[A-Za-z0-9_/.+(][\w ./+()%°’,;?=-]*(?:://?[\w./?=-]+)?(?<! )")
# RFC 3339 times contain colons, which are harmless between digits.
SIMPLE_TIME = re.compile(
    r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?"
)
# YAML reads these as something other than text, or different versions of it disagree.
SPECIAL_WORD = re.compile(
    r"(?i)true|false|null|yes|no|on|off|~|\.inf|\.nan|[-+.\d][\d._eExXoObB:+-]*"
)
DEEPEST = 50
# Lists in a line nest without brackets: - - - - x
NESTED_MARKS = re.compile(r"(?:[-?:][ \t]+){30}")
# Nine anchors that each repeat the one before ten times make 10^9 items out of 1 kB.
MOST_ITEMS = 100_000
# Without leading zeros: YAML reads 007 as an octal number.
INTEGER = re.compile(r"0|[1-9]\d{0,15}")
DECIMAL = re.compile(r"\d+\.\d+")
# JSON leaves these characters as they are; YAML refuses them or turns them into line breaks.
UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
TRAILING_COMMENTS = re.compile(r"(?:^[ \t]*(?:#.*)?\r?\n)*\Z", re.MULTILINE)
# Without quotes, because the # in `title: "issue #7"` begins no comment.
INLINE_COMMENT = re.compile(r"[ \t]+#[^\"'\n]*$")
# "  - oak # mine" with the comments above it
BLOCK_ITEM = re.compile(r"(?:[ \t]*(?:#.*)?\r?\n)*([ \t]*-[ \t]+).+\r?\n")
# An item of [oak, "a, b", 'ash']
FLOW_ITEM = re.compile(r"""[\[,]\s*("(?:[^"\\]|\\.)*"|'[^']*'|[^\s,"'\[\]#][^,\[\]#\n]*(?<!\s))""")


class FrontmatterError(ValueError):
    """Frontmatter that cannot be parsed, or an edit that would disturb other keys."""

    def __init__(self, reason: str, line: int = 1) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


class Document(NamedTuple):
    """A file split into the text between its fences, the fields, and the body."""

    head: str
    fields: dict[str, Any]
    body: str


def parse(text: str) -> Document:
    """Split a file into its parts.

    Raises FrontmatterError, with a line, if the head does not consist of YAML `key: value` lines.
    """
    match = FENCES.match(text)
    if match is None:
        # A note can also begin with a horizontal rule. A key below it shows that this is no rule.
        if re.match(r"\ufeff?---[ \t]*\r?\n[\w-]+:", text):
            raise FrontmatterError("the frontmatter has no closing ---")
        return Document("", {}, text)
    head = match[2]
    fields = parse_simple(head)
    if fields is None:
        fields = parse_yaml(head)
    return Document(head, fields, text[match.end() :])


def get_body(text: str) -> str:
    """Return the body of a file. If the file does not parse, return its whole text."""
    try:
        return parse(text).body.strip()
    except FrontmatterError:
        return text.strip()


def get_content(text: str) -> str:
    """Return the body of a memory's file. If it has none, return its title."""
    return get_body(text) or str(parse(text).fields.get("title", ""))


def parse_simple(head: str) -> dict[str, Any] | None:
    """Parse a head of plain one-line values. Return None if it needs the YAML library."""
    fields: dict[str, Any] = {}
    position = 0
    while position < len(head):
        match = SIMPLE_LINE.match(head, position)
        if match is None or match[1] in fields:
            return None
        value = match[2]
        if value.startswith("["):
            if not value.endswith("]"):
                return None
            items = [item.strip() for item in value[1:-1].split(",")] if value[1:-1].strip() else []
            if not all(is_plain_text(item) for item in items):
                return None
            fields[match[1]] = items
        elif value in ("true", "false"):
            fields[match[1]] = value == "true"
        elif INTEGER.fullmatch(value):
            fields[match[1]] = int(value)
        elif DECIMAL.fullmatch(value):
            fields[match[1]] = float(value)
        elif is_plain_text(value) or SIMPLE_TIME.fullmatch(value):
            fields[match[1]] = value
        else:
            return None
        position = match.end()
    return fields


def is_plain_text(value: str) -> bool:
    """Return whether YAML reads an unquoted value as this text."""
    return SIMPLE_SCALAR.fullmatch(value) is not None and SPECIAL_WORD.fullmatch(value) is None


def parse_yaml(head: str) -> dict[str, Any]:
    """Parse a head with the YAML library. Raises FrontmatterError."""
    import yaml

    check_nesting(head)
    try:
        fields = yaml.load(head, get_text_loader())
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        reason = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise FrontmatterError(f"bad YAML: {reason}", 2 + (mark.line if mark else 0)) from None
    # From Python's int() and datetime(): 5,000 digits, or !!timestamp 2026-13-45.
    except (RecursionError, ValueError) as error:
        raise FrontmatterError(f"bad YAML: {error}") from None
    if fields is None:
        return {}
    check_size(fields)
    if not isinstance(fields, dict):
        raise FrontmatterError("the YAML has no `key: value` lines", 2)
    return {str(key): value for key, value in fields.items()}


def check_nesting(head: str) -> None:
    """Refuse a head whose nesting would overflow the stack of the YAML library, which is C code."""
    depths = accumulate((character in "[{") - (character in "]}") for character in head)
    if max(depths, default=0) > DEEPEST or NESTED_MARKS.search(head):
        raise FrontmatterError("the frontmatter is nested too deeply", 2)


def check_size(fields: Any) -> None:
    """Refuse values that are nested deeply, or that anchors blow up to millions of items."""
    pending = [(fields, 0)]
    count = 0
    while pending:
        value, depth = pending.pop()
        count += 1
        if depth > DEEPEST or count > MOST_ITEMS:
            raise FrontmatterError("the frontmatter is nested too deeply", 2)
        if isinstance(value, dict):
            value = list(value.values())
        if isinstance(value, list):
            pending += [(item, depth + 1) for item in value]


@cache
def get_text_loader() -> type:
    """Return a YAML loader that leaves dates, octal numbers and yes/no as the text in the file."""
    import yaml

    # PyYAML may be built without its C code, and then it is only slower.
    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    resolved = ("int", "float", "null", "merge")

    class TextLoader(base):  # type: ignore[misc]
        yaml_implicit_resolvers = {  # noqa: RUF012
            first: [(tag, rule) for tag, rule in rules if tag.rpartition(":")[2] in resolved]
            for first, rules in yaml.SafeLoader.yaml_implicit_resolvers.items()
        }

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            keys = [key.value for key, _ in node.value]
            if len(keys) != len(set(map(str, keys))):
                # YAML would silently use the last of two equal keys.
                raise yaml.constructor.ConstructorError(
                    None, None, "a key appears twice", node.start_mark
                )
            return super().construct_mapping(node, deep)

    TextLoader.add_implicit_resolver(
        "tag:yaml.org,2002:bool", re.compile(r"^(?:true|false|True|False)$"), list("tfTF")
    )
    return TextLoader


def edit(text: str, changes: Mapping[str, Any]) -> str:
    """Set keys, or delete the keys whose value is None. Everything else stays byte for byte.

    Raises FrontmatterError if the head cannot be parsed, or if the edit would change another key.
    """
    document = parse(text)
    wanted = {}
    for key, value in changes.items():
        value = list(value) if isinstance(value, tuple) else value
        if value != document.fields.get(key):
            wanted[key] = value
    if not wanted:
        return text
    match = FENCES.match(text)
    newline = "\r\n" if "\r\n" in (text[: match.end()] if match else text[:2000]) else "\n"
    head = document.head
    for key, value in wanted.items():
        head = replace_key_lines(head, key, value, newline, document.fields.get(key))
    if match and not head.strip():
        # The last key was deleted. Without the fences, the note is as it was before mem changed it.
        bare = document.body.removeprefix(newline)
        if parse(bare).head == "":
            return bare
    if match:
        new_text = text[: match.end(1)] + head + text[match.end(2) :]
        body = document.body
    else:
        new_text = f"---{newline}{head}---{newline}{newline}{text}"
        body = newline + text
    expected = {**document.fields, **wanted}
    for key, value in wanted.items():
        if value is None:
            del expected[key]
    result = parse(new_text)
    if (result.fields, result.body) != (expected, body):
        raise FrontmatterError(f"cannot change {', '.join(wanted)} without disturbing other lines")
    return new_text


def replace_key_lines(head: str, key: str, value: Any, newline: str, before: Any) -> str:
    """Return the head with the lines of one key replaced, or with the key added at the end.

    A list stays in its style, and items that were in `before` stay as they are.
    """
    start, end = find_key_lines(head, key)
    old = head[start:end]
    # Blank lines and comments at the end belong to the next key.
    match = TRAILING_COMMENTS.search(old) if old else None
    trailing = match[0] if match else ""
    if value is None:
        return head[:start] + trailing + head[end:]
    first, end_of_line, rest = old.removesuffix(trailing).partition("\n")
    text = format_value(value)
    if isinstance(value, list) and isinstance(before, list):
        blocks = list(BLOCK_ITEM.finditer(rest))
        if blocks and len(blocks) == len(before) and "".join(block[0] for block in blocks) == rest:
            known = {repr(item): block[0] for item, block in zip(before, blocks, strict=True)}
            new_line = f"{blocks[0][1]}{{}}{newline}"
            lines = [known.get(repr(item), new_line.format(format_item(item))) for item in value]
            return head[:start] + first + end_of_line + "".join(lines) + trailing + head[end:]
        items = FLOW_ITEM.findall(old)
        if len(items) == len(before):
            known = dict(zip(map(repr, before), items, strict=True))
            text = f"[{', '.join(known.get(repr(item), format_item(item)) for item in value)}]"
    comment = None if rest else INLINE_COMMENT.search(first.rstrip("\r"))
    line = f"{format_value(key)}: {text}{comment[0] if comment else ''}{newline}"
    return head[:start] + line + trailing + head[end:]


def find_key_lines(head: str, key: str) -> tuple[int, int]:
    """Return the span of a key and its value, or an empty span at the end of the head."""
    matches = KEY_LINE.finditer(head)
    for match in matches:
        if key in match.groups():
            following = next(matches, None)
            return match.start(), following.start() if following else len(head)
    return len(head), len(head)


def format_value(value: Any) -> str:
    """Return a value in one line of YAML."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(format_item(item) for item in value)}]"
    if isinstance(value, Mapping):
        pairs = [f"{format_item(key)}: {format_item(item)}" for key, item in value.items()]
        return "{" + ", ".join(pairs) + "}"
    text = str(value)
    if is_plain_text(text) or SIMPLE_TIME.fullmatch(text):
        return text
    return quote(text)


def quote(text: str) -> str:
    """Return a text in double quotes, which YAML reads like JSON."""
    quoted = json.dumps(text, ensure_ascii=False)
    return UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", quoted)


def format_item(value: Any) -> str:
    """Return a value inside a list or map, where a comma or a question mark needs quotes."""
    if isinstance(value, str) and re.search("[,?:]", value):
        return quote(value)
    return format_value(value)


def format_document(fields: Mapping[str, Any], body: str) -> str:
    """Return a new file."""
    lines = [f"{format_value(key)}: {format_value(value)}\n" for key, value in fields.items()]
    return f"---\n{''.join(lines)}---\n\n{body}\n"
