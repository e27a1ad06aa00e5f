"""A block of lines between two marks, in a page or script that belongs to somebody else."""

import re
from collections.abc import Sequence

PAGE_MARKS = ("<!-- mem:begin: `mem hook uninstall` removes this block -->", "<!-- mem:end -->")
SCRIPT_MARKS = ("# mem:begin: `mem hook uninstall` removes this block", "# mem:end")
HASH_BANG = re.compile(r"#!.*\n")


def build_block(text: str, marks: Sequence[str]) -> str:
    return f"{marks[0]}\n{text.rstrip()}\n{marks[1]}\n"


def append_block(page: str, text: str) -> str:
    """Return a page with a block at its end, in place of an earlier one."""
    page = remove_block(page, PAGE_MARKS)
    newline = "\r\n" if "\r\n" in page else "\n"
    block = build_block(text, PAGE_MARKS).replace("\n", newline)
    # One line break belongs to the block, so a page without one at its end gets it back that way.
    return f"{page}{newline}{block}" if page else block


def insert_block(script: str, text: str) -> str:
    """Return a script with a block below its first line: many scripts end with `exec`."""
    script = remove_block(script, SCRIPT_MARKS)
    head = HASH_BANG.match(script)
    position = head.end() if head else 0
    return script[:position] + build_block(text, SCRIPT_MARKS) + script[position:]


def remove_block(text: str, marks: Sequence[str]) -> str:
    before = r"(?:\r?\n)?" if marks is PAGE_MARKS else ""
    begin, end = re.escape(marks[0]), re.escape(marks[1])
    return re.sub(rf"{before}{begin}.*?{end}(?:\r?\n)?", "", text, flags=re.DOTALL)


def has_block(text: str, marks: Sequence[str]) -> bool:
    return marks[0] in text
