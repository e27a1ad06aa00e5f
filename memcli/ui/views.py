"""What the page shows: each view is made of what a function of `memcli.api` returns, and a template of its name."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta
from functools import cache
from hashlib import blake2b
from itertools import groupby
from operator import itemgetter
from pathlib import Path, PurePosixPath
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context

from ..api import context, find, history, maintain, read, recall, review, sessions, stats, sync
from ..api.choice import SOURCES, STATUSES, TYPES, Choice
from ..api.find import is_id
from ..api.workspace import Workspace, Workspaces
from ..dataclass import dataclass, field
from ..errors import MemError, NotFoundError, UsageError
from ..results import number_of
from .pictures import growth_picture, share_picture, tokens_picture

PAGE = 60
"""Entries of a list that are sent at once."""
HITS = 20
TYPING = 2.0
"""Seconds for which the disk is not looked at again while letters of a query come: after the last one it is."""
LONGEST = 60_000
"""Characters of one memory that are shown; what is longer is edited in an editor."""
QUESTIONS, SHOWN = 20, 40
"""Questions of a group, and of all, that are shown at once."""
ADDED = 40
"""Memories added since a person looked that are shown, the oldest first."""
DAYS = 14
WEEKS = 4
"""Weeks to come of which is shown what will fade."""
_MOST_OF_A_DAY, _MOST_CHANGED, _MOST_FORGOTTEN, _MOST_FADING = 15, 1000, 200, 8
_DAY_ALONE = "T00:00:00Z"
"""How a day is stored that was written without a time."""
_TEMPLATES = Path(__file__).with_name("templates")
SORTS = {"updated": "changed last", "created": "newest", "title": "by title", "strength": "confirmed most"}
STATES = (*STATUSES, "forgotten")


@dataclass(frozen=True)
class Asked:
    """What is asked for: the workspaces as they are now, and what the request says."""

    workspaces: Sequence[Workspace]
    query: Mapping[str, str]
    body: Mapping[str, Any] = field(default_factory=dict)

    def text(self, name: str) -> str:
        """Return a value; empty where it is not given."""
        return self.query.get(name, "").strip()

    def number(self, name: str) -> int:
        """Return a value that is a number from 0; raise UsageError for what is none."""
        text = self.text(name) or "0"
        if not text.isdecimal() or len(text) > 9:
            raise UsageError(f"{name} {text!r} is no number")
        return int(text)

    def several(self, name: str) -> Sequence[str] | None:
        """Return a value as a choice takes it; None where it is not given."""
        return [self.text(name)] if self.text(name) else None

    @property
    def index(self) -> int:
        """Return which of the workspaces is asked for."""
        return self.number("w")

    @property
    def where(self) -> Workspace:
        """Return the workspace that is asked for; raise NotFoundError where there is none."""
        if self.index >= len(self.workspaces):
            raise NotFoundError("no such workspace", "load the page again")
        return self.workspaces[self.index]


View = Callable[[Asked], Mapping[str, Any]]


def rendered(asked: Asked, name: str, **others: Any) -> str:
    """Return a view as HTML."""
    values = {**VIEWS[name](asked), **others}
    return _environment().get_template(f"{name}.html").render(asked=asked, w=asked.index, where=asked.where, **values)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "day": _day,
        "number": lambda value: f"{value:,}",
        "number_of": number_of,
        "short": short,
        "begins": begins,
        "linked": linked,
        "listed": _listed,
    }
    environment.filters |= {"name": name_of, "says": says, "place": place}
    environment.globals |= {"TYPES": TYPES}
    return environment


@pass_context
def _day(context: Context, moment: str) -> str:
    """Return the day of a stored time as a person writes it, where the workspace is."""
    local = _local(context["where"], moment)
    return f"{local:%-d %b %Y}" if local else moment[:10]


def _listed(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def short(text: str, most: int = 200) -> str:
    """Return the beginning of a text on one line."""
    line = " ".join(text[: 4 * most].split())
    return line if len(line) <= most else f"{line[:most].rsplit(' ', 1)[0]} …"


def begins(name: str, workspaces: Workspaces) -> str:
    """Return the beginning of the text that a name means, by which a person knows it; where there is none, the name."""
    with suppress(MemError):
        return short(read.read(workspaces, name, limit=400, counts=False).content, 90) or name
    return name


def linked(text: str, where: Workspace) -> Iterator[tuple[str, str]]:
    """Yield the pieces of a text, each with the name of what it links to, empty for plain words."""
    end = 0
    for link in read.wiki_links(where, text):
        yield text[end : link.start], ""
        yield text[link.start : link.stop], name_of(link)
        end = link.stop
    yield text[end:], ""


def frame(asked: Asked) -> dict[str, Any]:
    """Return what stands around the list of memories: what it can be narrowed to."""
    return {"statuses": STATES, "sources": SOURCES, "sorts": SORTS}


def values(asked: Asked) -> dict[str, Any]:
    """Return the types, tags, keys and projects there are, to choose from."""
    return {"values": find.values_in_use(asked.where)}


def waiting(asked: Asked) -> dict[str, Any]:
    """Return how many questions wait for a person."""
    return {"count": review.waiting_count(asked.where)}


_LINE = (
    *("id", "type", "kind", "key", "status", "pinned", "source"),
    *("conflicts_with", "outdated_by", "expired", "certainty", "timestamp", "created_at", "updated_at"),
)


def _line(each: find.Hit | find.EntryRow) -> dict[str, Any]:
    """Return what a list shows of an entry or a hit; empty for what one of them has not."""
    return {name: getattr(each, name, "") for name in _LINE} | {"id": name_of(each), "says": says(each)}


def says(each: find.Hit | find.EntryRow) -> str:
    """Return what a list shows of an entry or a hit: its text, after its title or a note's name where that lacks it."""
    title = getattr(each, "title", "") or note_name(each)
    return each.summary if title in each.summary else ": ".join(filter(None, (title, each.summary)))


def note_name(each: find.Hit | find.EntryRow) -> str:
    """Return the name that a person gave to a file without an id, such as a note of a vault; empty for others."""
    is_named = each.path.endswith(each.id) and each.id.endswith(".md")
    return PurePosixPath(each.path).stem if is_named else ""


def place(where: Workspace) -> str:
    """Return what a person calls a workspace: its folder, or that of the project in which `memory` lies."""
    return where.root.parent.name if where.root.name == "memory" else where.root.name


def name_of(each: find.Hit | find.EntryRow | recall.Memory | read.WikiLink) -> str:
    """Return what an action calls it: its id, or its path where a hand-written id may be the path of another file."""
    return each.id if is_id(each.id) or getattr(each, "kind", "entry") != "entry" else each.path


def choice_of(asked: Asked) -> tuple[Choice, bool]:
    """Return what a list is narrowed to, and whether it is to what was forgotten."""
    status = asked.text("status")
    choice = Choice(
        type=asked.several("type"),
        tag=asked.several("tag"),
        key=asked.several("key"),
        project=asked.several("project"),
        source=asked.several("source"),
        status=STATUSES if status == "any" else None if status == "forgotten" else asked.several("status"),
        since=asked.text("since"),
        until=asked.text("until"),
    )
    return choice, status == "forgotten"


def memories(asked: Asked) -> dict[str, Any]:
    """Return a page of the entries that a choice lets pass, or the hits of a search among them."""
    choice, forgotten = choice_of(asked)
    words = asked.text("q")
    if words and forgotten:
        listed = find.list_entries(asked.where, forgotten=True, choice=choice)
        rows = [_line(row) for row in listed.entries if _has_words(row.summary, words)][:HITS]
        return {"rows": rows, "count": len(rows), "next": 0, "notices": (), "is_search": True, "most": HITS}
    if words:
        within = TYPING if asked.text("typing") else 0.0
        results = find.search(asked.where, words, limit=HITS, choice=choice, within=within)
        count = len(results.hits)
        rows = [_line(hit) for hit in results.hits]
        return {"rows": rows, "count": count, "next": 0, "notices": results.notices, "is_search": True, "most": HITS}
    offset = asked.number("offset")
    sort = asked.text("sort") or "updated"
    listed = find.list_entries(asked.where, sort=sort, limit=PAGE, offset=offset, forgotten=forgotten, choice=choice)
    following = offset + PAGE if offset + PAGE < listed.total else 0
    notices = [f"{problem.path}: {problem.reason}" for problem in listed.problems if problem.left_out][:1]
    rows = [_line(row) for row in listed.entries]
    return {"rows": rows, "count": listed.total, "next": following, "notices": notices, "is_search": False}


def memory(asked: Asked) -> dict[str, Any]:
    """Return one memory: an entry with its fields, or the text that a hit's address names."""
    page = read.read(asked.where, asked.text("id"), limit=LONGEST, counts=False)
    row = _row_of(asked.where, page) if page.kind == "entry" else None
    is_archived = row is not None and row.status == "archived"
    layout = asked.where.layout
    return {
        "page": page,
        "row": row,
        "name": name_of(row) if row else page.id,
        "title": (row.title or note_name(row)) if row else "",
        "is_own_note": row is not None and layout.is_vault and not layout.manages(page.path, row.id),
        "is_cut": page.next_offset is not None,
        "can_edit": row is not None and page.next_offset is None and not (is_archived or page.problems),
        "is_archived": is_archived,
        "has_changed": False,
        "mine": None,
        "forgotten": {name: page.fields.get(name, "") for name in ("forgotten_at", "forgotten_by", "reason")},
    }


def _row_of(where: Workspace, page: read.TextPage) -> find.EntryRow | None:
    rows = find.list_entries(where, str(where.root / page.path), choice=Choice(status=STATUSES)).entries
    return next((row for row in rows if row.path == page.path), None)


def origins(asked: Asked) -> dict[str, Any]:
    """Return where a memory comes from, what became of it, and the other texts of its key."""
    name = asked.text("id")
    sources: Sequence[Any] = ()
    with suppress(NotFoundError):  # it does not say what it was taken from
        sources = read.read_origins(asked.where, name).sources
    timeline = read.read_history(asked.where, name)
    values: Sequence[Any] = ()
    if asked.text("key"):
        with suppress(MemError):
            values = read.read_key_history(asked.where, asked.text("key"), asked.text("project")).values
    raw = read.read(asked.where, name, raw=True, limit=4000, counts=False).content
    return {
        "sources": sources,
        "history": timeline,
        "key_values": values,
        "changed": read.changed_citations(asked.where, raw),
        "links": read.read_backlinks(asked.where, name)[:SHOWN],
        "raw": raw,
    }


def pick(asked: Asked) -> dict[str, Any]:
    """Return entries to choose another one from."""
    if asked.text("q"):
        rows: Sequence[Any] = find.search(asked.where, asked.text("q"), limit=9, choice=Choice(kind=["entry"])).hits
    else:
        rows = find.list_entries(asked.where, limit=9).entries
    return {"rows": [_with_digest(asked, row) for row in rows if name_of(row) != asked.text("but")]}


def _with_digest(asked: Asked, row: find.Hit | find.EntryRow) -> dict[str, Any]:
    return _line(row) | {"digest": digest_of(asked.where, row.path)}


def digest_of(where: Workspace, name: str) -> str:
    """Return the digest of the file of a memory, by which an action knows that it is as it was shown."""
    return read.read(where, name, raw=True, limit=1, counts=False).digest


def inbox(asked: Asked) -> dict[str, Any]:
    """Return what waits for a yes or no, by group, and what was added since a person looked last."""
    words = asked.text("words")
    questions = [question for question in review.review(asked.where).questions if has(question, words)]
    groups: list[dict[str, Any]] = []
    for (kind, group), inside in review.by_group(questions).items():
        common = [answer for answer in inside[0].answers if all(answer in other.answers for other in inside)]
        shown = inside[: max(0, min(QUESTIONS, SHOWN - sum(len(earlier["shown"]) for earlier in groups)))]
        row = {"kind": kind, "group": group, "questions": inside, "shown": shown, "answers": common}
        groups.append({**row, "mark": mark_of(inside)})
    mark = review.seen_mark(asked.where)
    added, added_count = review.added_since(asked.where, mark, ADDED)
    return {
        "groups": groups,
        "count": len(questions),
        "added": [_with_digest(asked, row) for row in added.values()],
        "added_count": added_count,
        "until": list(added)[-1] if added else "",
        "since": mark.partition(" ")[0],
    }


def mark_of(questions: Sequence[review.Question]) -> str:
    """Return what stands for questions as they were shown: another mark once one of them is answered or edited."""
    return blake2b("".join(sorted(question.id for question in questions)).encode(), digest_size=16).hexdigest()


def has(question: review.Question, words: str) -> bool:
    """Return whether a question holds some words."""
    return _has_words(" ".join([question.kind, question.reason, *(side.entry.body for side in question.sides)]), words)


def _has_words(text: str, words: str) -> bool:
    return all(word in text.casefold() for word in words.casefold().split())


def repeats(asked: Asked) -> dict[str, Any]:
    """Return pairs that may say the same, which takes a while among many."""
    report = maintain.dedup(asked.where, limit=QUESTIONS)
    return {"questions": report.questions, "has_more": report.has_more}


def days(asked: Asked) -> dict[str, Any]:
    """Return what happened on each of some days: history, notes, sessions, what was written and forgotten."""
    where = asked.where
    today = _today(where)
    try:
        last = date.fromisoformat(asked.text("until")) if asked.text("until") else today
        *wanted, before = [last - timedelta(days=back) for back in range(DAYS + 1)]
    except (ValueError, OverflowError):
        raise UsageError(f"{asked.text('until')!r} is no day", "write 2026-11-21") from None
    first = wanted[-1]
    events: dict[str, list[dict[str, Any]]] = {day.isoformat(): [] for day in wanted}
    for event in _events(where, first.isoformat(), last.isoformat()):
        moment = _local(where, event["at"])
        if moment and (day := f"{moment:%Y-%m-%d}") in events:
            events[day].append({**event, "time": f"{moment:%H:%M}"})
    full: list[dict[str, Any]] = []
    for day, inside in events.items():
        notes = _notes(where, day)
        if inside or notes:
            shown = sorted(inside, key=itemgetter("at"))[-_MOST_OF_A_DAY:]
            full.append({"day": day, "notes": notes, "events": shown, "left": len(inside) - len(shown)})
    return {"days": full, "before": before.isoformat(), "first": first.isoformat()}


def _today(where: Workspace) -> date:
    return where.now.astimezone(where.zone).date()


def _events(where: Workspace, since: str, until: str) -> Iterator[dict[str, Any]]:
    for record in history.read_history(where, since=since, until=until).records:
        yield {"what": "history", "at": record.timestamp, "text": record.text, "id": record.id or record.path}
    choice = Choice(since=since, until=until, status=("active", "superseded"))
    for row in find.list_entries(where, limit=_MOST_CHANGED, choice=choice).entries:
        what = "written" if row.created_at == row.updated_at else "changed"
        yield {"what": what, "at": row.updated_at, "text": says(row), "id": name_of(row)}
    for row in find.list_entries(where, forgotten=True, limit=_MOST_FORGOTTEN).entries:
        with suppress(MemError):
            moment = str(read.read(where, row.path, limit=1, counts=False).fields.get("forgotten_at", ""))
            yield {"what": "forgotten", "at": moment, "text": says(row), "id": row.path}
    for session in sessions.list_sessions(where).sessions:
        count = number_of(session.messages, "message")
        yield {
            "what": "session",
            "at": session.updated_at,
            "text": f"{session.id}: {count}",
            "id": f"session:{session.id}",
        }


def _local(where: Workspace, moment: str) -> datetime | None:
    """Return a stored time where the workspace is, a day alone as the same day there; None for what is no time."""
    with suppress(ValueError, OverflowError):
        time = datetime.fromisoformat(moment.removesuffix(_DAY_ALONE))
        return time.astimezone(where.zone) if time.tzinfo else time.replace(tzinfo=where.zone)
    return None


def _notes(where: Workspace, day: str) -> str:
    path = where.layout.notes.format(date=day)
    if not where.path(path).is_file():  # else the index would be asked what is meant
        return ""
    return read.read(where, path, limit=LONGEST, counts=False).content


def start(asked: Asked) -> dict[str, Any]:
    """Return what an agent is told at the start of a session, with the reason of each line."""
    beginning = context.session_start(asked.workspaces)
    lines = [(section, list(inside)) for section, inside in groupby(beginning.lines, key=lambda line: line.section)]
    return {"beginning": beginning, "sections": lines}


def recalled(asked: Asked) -> dict[str, Any]:
    """Return what a prompt would be given, and what was left out."""
    pack = recall.recall(asked.workspaces, asked.text("q"), sections=[recall.RELEVANT, recall.DOCUMENTS], counts=False)
    return {"pack": pack, "total": sum(pack.tokens.values())}


def pictures(asked: Asked) -> dict[str, Any]:
    """Return how memory grows, what agents are told of it, what is used and what fades, as pictures."""
    numbers = stats.stats(asked.where)
    faded, fading = maintain.fading(asked.where, 7 * WEEKS)
    return {
        "numbers": numbers,
        "growth": growth_picture(_growth(asked.where), _today(asked.where)),
        "told": tokens_picture(stats.tokens_by_day(asked.where), _today(asked.where)),
        "used": share_picture(
            [(entry.summary, entry.accesses, entry.path) for entry in numbers.most_used], ("time read", "times read")
        ),
        "ages": share_picture([(name, count, "") for name, count in numbers.ages.items()], ("memory", "memories")),
        "active": sum(numbers.types.values()),
        "faded": faded,
        "fading": fading,
        "weeks": WEEKS,
        "most": _MOST_FADING,
    }


def _growth(where: Workspace) -> list[tuple[str, str, int]]:
    """Return how many entries of each type were made in each month."""
    counts: Counter[tuple[str, str]] = Counter()
    for moment, kind, count in stats.growth_by_type(where):
        if local := _local(where, moment):
            counts[f"{local:%Y-%m}", kind] += count
    return [(*row, count) for row, count in sorted(counts.items())]


def changes(asked: Asked) -> dict[str, Any]:
    """Return the commands that changed something, each with whether it can be taken back."""
    commands = sync.list_undoable(asked.where).commands
    return {"commands": [(each, _local(asked.where, each.at)) for each in commands]}


VIEWS: Mapping[str, View] = {
    view.__name__: view
    for view in (
        frame,
        values,
        waiting,
        memories,
        memory,
        origins,
        pick,
        inbox,
        repeats,
        days,
        start,
        recalled,
        pictures,
        changes,
    )
}
