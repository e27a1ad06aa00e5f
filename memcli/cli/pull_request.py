"""What is shown beside a change that others review: a comment in markdown, annotations of GitHub, a report in SARIF.

What comes out of memory is hostile until it is read: in a comment it stands in code only, in a workflow command and in
a report it is escaped as each of them demands.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from .. import __version__
from . import output

if TYPE_CHECKING:
    from ..api.changes import MemoryChange, MemoryDiff
    from ..api.check import Fault

MARK = "<!-- mem diff -->"
"""The first line of a comment, by which a workflow finds the one it wrote before."""
LONGEST = 60_000
"""Characters of a comment; GitHub takes 65,536."""
MOST_LINES, LONGEST_LINE = 40, 400
"""Of the text of one change."""


def comment(found: "MemoryDiff") -> str:
    """Write what changed as a comment on a pull request."""
    head = f"{MARK}\n### Memory: {found.headline or 'nothing changed'}\n\n{code(f'{found.before}..{found.after}')}\n"
    pieces = [head]
    left = 0
    size = len(head)
    for kind, some in groupby(found.changes, lambda one: one.kind):
        title = f"\n#### {kind[:1].upper()}{kind[1:]}\n\n"
        for one in some:
            piece = f"{title}{''.join(_item(one))}"
            if size + len(piece) > LONGEST:
                left += 1
                continue
            pieces.append(piece)
            size += len(piece)
            title = ""
    if left:
        pieces.append(f"\n{output.number_of(left, 'change')} more had no room here: see `mem diff`.\n")
    return "".join(pieces)


def _item(one: "MemoryChange") -> Iterator[str]:
    """Yield a list item of a change: what it is, then its facts, then its text as a diff."""
    yield f"- {code(one.summary)}\n"
    facts = [code(fact) for fact in (one.id, one.type, one.source, one.path) if fact]
    yield f"  {' · '.join(facts)}\n"
    for detail in one.details:
        yield f"  - {code(detail)}\n"
    if one.lines and not (one.kind in ("new", "history") and len(one.lines) == 1):
        yield fenced(one.lines)


def code(text: str) -> str:
    """Write a text as inline code of one line: nothing in it is mark-up, a mention, a link or HTML."""
    plain = output.visible(" ".join(text.split()))
    if not plain:
        return '`""`'
    shown = plain if len(plain) <= LONGEST_LINE else f"{plain[: LONGEST_LINE - 1]}…"
    marks = "`" * (max(map(len, re.findall("`+", shown)), default=0) + 1)
    gap = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{marks}{gap}{shown}{gap}{marks}"


def fenced(lines: Sequence[str]) -> str:
    """Write the lines of a diff as a block of code within a list item, that none of them can end."""
    shown = [output.visible(" ".join(line.splitlines())) for line in lines[:MOST_LINES]]
    shown = [line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 1]}…" for line in shown]
    if len(lines) > MOST_LINES:
        shown.append(f"… {len(lines) - MOST_LINES:,} more lines")
    longest = max(map(len, re.findall("`+", "\n".join(shown))), default=0)
    fence = "`" * max(3, longest + 1)
    body = "".join(f"  {line}\n" for line in shown)
    return f"\n  {fence}diff\n{body}  {fence}\n\n"


def annotation(fault: "Fault") -> str:
    """Write a fault as a workflow command of GitHub, which shows it beside its line."""
    place = f"file={_property(fault.path)},line={max(fault.line, 1)},title={_property(f'mem check: {fault.rule}')}"
    return f"::error {place}::{_data(fault.reason)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def sarif(faults: Sequence["Fault"], rules: Mapping[str, str]) -> dict[str, Any]:
    """Return faults as a report in SARIF 2.1.0, as code scanning takes it; paths are from the top of the repository.

    `rules` says what each rule is about.
    """
    from urllib.parse import quote

    ids = list(dict.fromkeys(one.rule for one in faults))
    told = [{"id": name, "shortDescription": {"text": rules.get(name, name)}} for name in ids]
    results = []
    for one in faults:
        uri = quote(one.path.encode("utf-8", "surrogateescape"))
        where = {
            "artifactLocation": {"uri": uri, "uriBaseId": "%SRCROOT%"},
            "region": {"startLine": max(one.line, 1)},
        }
        results.append(
            {
                "ruleId": one.rule,
                "ruleIndex": ids.index(one.rule),
                "level": "error",
                "message": {"text": one.reason},
                "locations": [{"physicalLocation": where}],
            }
        )
    driver = {"name": "mem", "version": __version__, "semanticVersion": __version__, "rules": told}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}],
    }
