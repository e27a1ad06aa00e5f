"""Filters of search and list commands: which files and chunks may be found."""

import json
import re
from collections.abc import Callable, Iterable
from datetime import datetime, tzinfo
from typing import Any, NamedTuple

from ..errors import UsageError, check_choice
from ..formats import (
    FIELDS,
    SPELLINGS,
    STATUSES,
    TYPES,
    format_time,
    parse_end,
    parse_period,
    parse_time,
)
from ..store import Workspace
from .index import KINDS, Index, IndexedEntry

# rating>=4, status = active, title ~ garden, Last Contact<october
CONDITION = re.compile(
    r"\s*([^\s<>=!~][^\n<>=!~]*?)\s*(>=|<=|!=|=|>|<|~)(?!\s*[=<>~])\s*(\S.*?)\s*", re.DOTALL
)
# [[Ana Silva]], [[people/ana|Ana]]
LINK = re.compile(r"\[\[(?:[^\]|]+\|)?([^\]]+)\]\]")
# The results of a comparison with which an operator is true: less, equal or greater.
ORDERS = {"=": {0}, ">=": {0, 1}, "<=": {-1, 0}, ">": {1}, "<": {-1}}


class Filter(NamedTuple):
    """The files and chunks that may be found. Empty values allow everything."""

    kinds: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ("active",)
    project: str = ""
    path: str = ""  # the beginning of the path
    since: str = ""  # stored times, inclusive
    until: str = ""
    conditions: tuple[str, ...] = ()  # such as rating>=4

    @property
    def is_about_entries(self) -> bool:
        """Whether only entries can pass."""
        return bool(
            self.types or self.tags or self.conditions or self.project
        ) or self.statuses not in (("active",), ())


def build_filter(
    workspace: Workspace, *, since: str = "", until: str = "", **values: Any
) -> Filter:
    """Build a filter from the words of a command line. Raises UsageError."""
    for kind in values.get("kinds", ()):
        check_choice("kind", kind, KINDS)
    for condition in values.get("conditions", ()):
        if not CONDITION.fullmatch(condition):
            raise UsageError(
                f"cannot read the condition {condition!r}",
                'write it as "rating>=4" or "status=active"; operators: = != < <= > >= ~',
            )
    statuses = tuple(status.lower() for status in values.pop("statuses", ()) or ("active",))
    for status in statuses:
        check_choice("status", status, (*STATUSES, "all"))
    # Without statuses there is no condition.
    if "all" in statuses:
        statuses = ()
    now, zone = workspace.now, workspace.zone
    start = format_time(parse_date(since, now, zone)[0]) if since else ""
    end = format_time(parse_date(until, now, zone)[1]) if until else ""
    if end and start > end:
        raise UsageError(f"the period ends before it starts: {since} to {until}")
    # typer passes lists, and a search without a filter is faster.
    values = {
        name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
    }
    types = tuple(type_.lower() for type_ in values.pop("types", ()))
    return Filter(since=start, until=end, statuses=statuses, types=types, **values)


def check_type(name: str, indexes: Iterable[Index] = ()) -> str:
    """Return the name of a type. Raises UsageError if mem does not know it and no memory has it."""
    if name in ("", *TYPES) or any(index.list_entries("type = ?", (name,)) for index in indexes):
        return name
    from difflib import get_close_matches

    # People call a constraint a rule, as the manual does.
    close = get_close_matches(name, ("rule", *TYPES), n=1)
    meant = "constraint" if close == ["rule"] else "".join(close)
    hint = f"did you mean {meant}? " if meant else ""
    raise UsageError(f"unknown type {name!r}", f"{hint}types: {', '.join(TYPES)}")


def parse_date(text: str, now: datetime, zone: tzinfo) -> tuple[datetime, datetime]:
    """Return the first and last moment of a date that a person typed. Raises UsageError."""
    period = parse_period(text, now, zone)
    if period is None:
        hint = "for example: 2026-11-28, 28.11.2026, october, nov 28, yesterday, last week, 3d"
        raise UsageError(f"cannot read the date {text!r}", hint)
    return period


def parse_expiry(text: str, workspace: Workspace) -> str:
    """Return the last moment of a date, or an empty string for none. Raises UsageError."""
    moment = parse_end(text, workspace.now, workspace.zone) if text else None
    if text and moment is None:
        hint = "for example: 2026-11-28, 28.11.2026, december, nov 28, tomorrow, friday, 3d"
        raise UsageError(f"cannot read the date {text!r}", hint)
    return format_time(moment) if moment else ""


def build_sql(wanted: Filter) -> tuple[str, list[Any]]:
    """Return an SQL condition on `files` and `entries`, and its values."""
    clauses = ["1"]
    values: list[Any] = []
    for column, allowed in (("files.kind", wanted.kinds), ("entries.type", wanted.types)):
        if allowed:
            clauses.append(f"{column} in ({', '.join('?' * len(allowed))})")
            values += allowed
    if wanted.path:
        clauses.append("(substr(files.path, 1, ?) = ?)")
        values += [len(wanted.path), wanted.path]
    if wanted.is_about_entries:
        clauses.append("entries.id is not null")
    if wanted.statuses:
        clauses.append(
            f"(entries.id is null or entries.status in ({', '.join('?' * len(wanted.statuses))}))"
        )
        values += wanted.statuses
    if wanted.project:
        clauses.append("entries.project in ('', ?)")
        values.append(wanted.project)
    for tag in wanted.tags:
        # A tag also finds the tags nested in it: `work` finds `work/shop`.
        clauses.append(
            "exists (select 1 from json_each(entries.tags)"
            " where folded(value) = folded(?) or folded(value) like folded(?) || '/%')"
        )
        values += [tag.lstrip("#"), tag.lstrip("#")]
    return " and ".join(clauses), values


def find_entries(index: Index, wanted: Filter) -> list[IndexedEntry]:
    """Return the memories that pass a filter, the latest first."""
    files = ", ".join(map(str, find_files(index, wanted)))
    return index.list_entries(
        f"file in ({files}) and updated_at >= ? and (? = '' or updated_at <= ?)",
        (wanted.since, wanted.until, wanted.until),
    )


def find_files(index: Index, wanted: Filter) -> list[int]:
    """Return the files that pass a filter, times aside."""
    where, values = build_sql(wanted)
    rows = index.run(
        "select files.file, path, fields, status, type from files left join entries using(file)"
        f" where {where}",
        values,
    ).fetchall()
    workspace = index.workspace
    checks = [build_check(text, workspace.now, workspace.zone) for text in wanted.conditions]
    if not checks:
        return [row[0] for row in rows]
    files = []
    for file, path, stored, status, type_ in rows:
        fields = json.loads(stored or "{}")
        # The status of a note is the person's property, and need not be a state of a memory.
        if workspace.is_managed(path):
            fields |= {"status": status, "type": type_}
        if all(check(fields) for check in checks):
            files.append(file)
    return files


def build_chunk_sql(index: Index, wanted: Filter) -> tuple[str, list[Any]]:
    """Return an SQL condition on `chunks`, and its values."""
    clauses = ["1"]
    values: list[Any] = []
    if wanted.kinds:
        clauses.append(f"kind in ({', '.join('?' * len(wanted.kinds))})")
        values += wanted.kinds
    if wanted.statuses == ("active",):
        clauses.append("active")
    if wanted.since:
        clauses.append("timestamp >= ?")
        values.append(wanted.since)
    if wanted.until:
        clauses.append("timestamp <= ?")
        values.append(wanted.until)
    if wanted.is_about_entries or wanted.path:
        clauses.append(f"file in ({', '.join(map(str, find_files(index, wanted)))})")
    return " and ".join(clauses), values


def build_check(condition: str, now: datetime, zone: tzinfo) -> Callable[[dict[str, Any]], bool]:
    """Return the function that checks one `--where` condition on the fields of an entry."""
    match = CONDITION.fullmatch(condition)
    assert match is not None
    name, operator, text = match.groups()
    wanted = text.strip("\"'")
    period = parse_period(wanted, now, zone)
    # A due date in "2 weeks" is ahead, and the last contact "2 weeks" ago.
    is_vague = any(parse_period(f"{word} {wanted}", now, zone) for word in ("in", "next"))

    def compare(value: Any) -> int:
        """Return -1, 0 or 1. A date within the wanted period is equal to it."""
        moment = parse_time(str(value), zone)
        # Letters have another order than dates, but `due=someday` may stand next to dates.
        if moment is not None and (period or operator[0] in "<>"):
            if is_vague:
                hint = "for example: in 2 weeks, 2 weeks ago, next friday, last friday"
                raise UsageError(f"{wanted!r} can be past or future", hint)
            first, last = period or parse_date(wanted, now, zone)
            return int(moment > last) - int(moment < first)
        return compare_order(value, wanted)

    def check(fields: dict[str, Any]) -> bool:
        values = get_values(fields, name)
        if operator == "~":
            return any(wanted.casefold() in str(value).casefold() for value in values)
        orders = set(map(compare, values))
        return 0 not in orders if operator == "!=" else bool(orders & ORDERS[operator])

    return check


def get_values(fields: dict[str, Any], name: str) -> list[Any]:
    """Return the values of a property under any spelling, a list's items one by one."""
    key = SPELLINGS.get(name.lower(), (name.lower(), 0))[0]
    values: list[Any] = []
    # An import stores the columns that mem does not know as metadata.
    metadata = fields.get("metadata")
    nested = metadata.items() if isinstance(metadata, dict) else ()
    for field, value in (*fields.items(), *nested):
        if SPELLINGS.get(field.lower(), (field.lower(), 0))[0] == key and value is not None:
            values += value if isinstance(value, list) else [value]
    # A default is not in the file, but `--where type=fact` means it.
    default = FIELDS[key].default if key in FIELDS and key != "status" else None
    return values or ([default] if default not in (None, (), "") else [])


def compare_order(value: Any, wanted: str) -> int:
    """Return -1, 0 or 1: as numbers if both are, otherwise as texts without case."""
    try:
        # The frontmatter has numbers as numbers or as quoted texts.
        left: Any = float(value)
        right: Any = float(wanted)
    except (TypeError, ValueError):
        left, right = (LINK.sub(r"\1", str(text)).casefold() for text in (value, wanted))
    return int(left > right) - int(left < right)
