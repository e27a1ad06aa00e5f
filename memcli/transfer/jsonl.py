"""JSON lines: one file of a workspace per line, with its path, its kind and its whole text."""

import json
from collections.abc import Iterator
from typing import Any

from .items import BadItem, Content, Item, Source, TransferFile

KINDS = ("entry", "memory", "history", "note", "session", "inbox")


def format_line(file: TransferFile) -> str:
    """Return a file as one line of JSON."""
    data = {"path": file.path, "kind": file.kind}
    if file.modified:
        data["modified"] = file.modified
    data["text"] = file.text
    # Bytes that are not UTF-8 need JSON's escapes, or the line would not be UTF-8.
    is_clean = is_encodable(file.path + file.text)
    return json.dumps(data, ensure_ascii=not is_clean) + "\n"


def is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def read_jsonl(source: Source) -> Iterator[Item] | None:
    """Read what `format_line` wrote."""
    line = source.head.lstrip(b"\xef\xbb\xbf \r\n")
    if not line.startswith(b'{"path":'):
        return None
    return read_items(source)


def read_items(source: Source) -> Iterator[Item]:
    for number, line in source.read_lines():
        if line is None or line.strip(b"\xef\xbb\xbf \r\n"):
            yield Item(f"line {number}", read_content(line))


def read_content(line: bytes | None) -> Content:
    """Return the file of a line, or why there is none."""
    if line is None:
        return BadItem("the line is too long")
    try:
        data = json.loads(line.decode("utf-8-sig", "surrogateescape"))
    except (ValueError, RecursionError):
        is_cut = not line.endswith(b"\n")
        return BadItem("the file ends here in mid-line" if is_cut else "not JSON")
    if not isinstance(data, dict) or not all(
        isinstance(data.get(k), str) for k in ("path", "text")
    ):
        return BadItem("not a file of a workspace: `path` and `text` are missing")
    return build_file(data)


def build_file(data: dict[str, Any]) -> Content:
    path, text, kind = data["path"], data["text"], str(data.get("kind") or "entry")
    if kind not in KINDS:
        return BadItem(f"unknown kind {kind!r}")
    try:
        (path + text).encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return BadItem("its text is not Unicode")
    return TransferFile(path, kind, text, str(data.get("modified") or ""))
