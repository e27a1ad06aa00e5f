"""One memory takes the place of another, or two stand against each other: the marks, their chain, and taking them off.

What is superseded stays where it is and can be read; only its frontmatter says so. Refuses circles.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from shlex import quote
from typing import Any

from ..dataclass import dataclass
from ..errors import NotFoundError, RefusedError
from ..formats.entry import FIELDS, SEMANTIC, TRUST, Entry, as_from_others, read_entry, same_key, slot_of
from ..formats.entry_fields import FILLED, JOINED, MOST
from ..formats.frontmatter import document as frontmatter
from ..formats.text_lines import normalized
from ..index.index import ask
from ..index.lookups import ask_current, entry_texts_with, replaced_by, successors, supersession_rows
from ..results import CreatedAt, FilePath, Id, Status, Summary, SupersededBy
from ..store import atomic_files, entries
from ..store.journal import Change
from ..store.workspace import Workspace
from .neighbours import are_twins, correction_in
from .plan import Plan, listed

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_NAME = re.compile(r"(?<![.!?:]\s)(?<!^)\b[A-ZÀ-ÖØ-Þ][\w.+#/-]*\w")
_PLAIN = "fact"  # what a memory is where nobody says more exactly


def are_of_one_kind(left: str, right: str) -> bool:
    """Return whether memories of two types can be one: the same types, or a fact and a more exact type."""
    return left == right or (_PLAIN in (left, right) and kind_of(left) == kind_of(right))


def kind_of(name: str) -> str:
    """Return what the types of memories that can be one have in common; a correction is an event of its own."""
    return "semantic" if name in SEMANTIC and name != "correction" else name


def says(entry: Entry, text: str) -> bool:
    """Return whether an entry has a text already, as its body or as another wording."""
    return any(are_twins(wording, text) for wording in (entry.body, *entry.wordings))


def sharing(texts: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Group the paths whose texts may say the same; `texts` are the text and the wordings of each path."""
    by_form: dict[str, dict[str, None]] = defaultdict(dict)  # paths in order
    for path, wordings in texts.items():
        for text in wordings:
            by_form[normalized(text)][path] = None
    return [list(paths) for form, paths in by_form.items() if form and len(paths) > 1]


def has_same_values(old: str, new: str) -> bool:
    """Return whether two texts have the same numbers and the same words with a capital inside a sentence."""
    return all(set(pattern.findall(old)) == set(pattern.findall(new)) for pattern in (_NUMBER, _NAME))


def told_anew(old: Entry, new: Entry) -> tuple[dict[str, Any], str | None]:
    """Return the fields, and the body if another is to be shown, that change when a memory is said again.

    Both wordings stay: the body is the newest of those of the highest trust, and the other one goes to `wordings`. The
    old entry keeps its id, its time of creation and, unless the new one's says more, its type. Empty where it only
    counts.
    """
    fields: dict[str, Any] = {}
    body = None
    if not says(old, new.body):
        is_newest = is_trusted_less(old, new) or (not is_trusted_less(new, old) and _moment(new) >= _moment(old))
        body = new.body if is_newest else None
        fields["wordings"] = [*old.wordings, old.body if is_newest else new.body]
    fields |= _wordings_of(old, new, fields.get("wordings", old.wordings), body or old.body)
    if old.type == _PLAIN != new.type:
        fields["type"] = new.type
    fields |= _merged(old, new, JOINED, lambda was, more: was + tuple(value for value in more if value not in was))
    if new.cited:  # the same lines as they are now, in the place of what they were
        cited_lines = {_cited_path(citation) for citation in new.cited}
        fields["cited"] = [
            *(citation for citation in old.cited if _cited_path(citation) not in cited_lines),
            *new.cited,
        ]
    if is_trusted_less(old, new):
        fields |= {"trust": new.trust, "source": new.source}
    return fields | _merged(old, new, MOST, _most) | _merged(old, new, FILLED, _filled), body


def _cited_path(citation: str) -> str:
    return citation.rpartition("@")[0] or citation


def _wordings_of(old: Entry, new: Entry, wordings: Any, body: str) -> dict[str, Any]:
    """Return the wordings of an entry with those of a new one that are not among them."""
    wordings = list(wordings)
    wordings += [
        wording for wording in new.wordings if not any(are_twins(wording, existing) for existing in (body, *wordings))
    ]
    return {"wordings": wordings} if wordings != list(old.wordings) else {}


def _merged(old: Entry, new: Entry, rule: str, merge: Callable[[Any, Any], Any]) -> dict[str, Any]:
    """Return the fields of a rule whose value is another one after the merge."""
    fields = {}
    for key in (name for name, field in FIELDS.items() if field.merge == rule):
        value = merge(getattr(old, key), getattr(new, key))
        if value != getattr(old, key):
            fields[key] = list(value) if isinstance(value, tuple) else value
    return fields


def _most(old: Any, new: Any) -> Any:
    return new if new is not None and (old is None or new > old) else old


def _filled(old: Any, new: Any) -> Any:
    if isinstance(old, Mapping):
        return {**old, **{key: value for key, value in new.items() if key not in old}}
    return old or new


def are_apart(old: Entry, new: Entry) -> bool:
    """Return whether two memories are about different things by name, or were found distinct, whatever they say."""
    if is_same_slot(old, new):
        return False
    if new.id in old.distinct or old.id in new.distinct:
        return True
    names = (old.title, new.title), (old.project, new.project), (same_key(old.key), same_key(new.key))
    return any(all(pair) and normalized(pair[0]) != normalized(pair[1]) for pair in names)


def is_same_slot(old: Entry, new: Entry) -> bool:
    """Return whether two memories fill the same slot: the same key in the same project."""
    return bool(new.key) and slot_of(old.key, old.project) == slot_of(new.key, new.project)


def may_replace(old: Entry, new: Entry) -> bool:
    """Return whether one may take the other's place: what holds for one project or title need not for another."""
    return is_same_slot(old, new) or (old.project == new.project and normalized(old.title) == normalized(new.title))


def is_believed_over(old: Entry, new: Entry, *, is_told_now: bool) -> bool:
    """Return whether the new memory is believed: a user's correction wins, else higher trust, else the newer one.

    What is told now without a date of its own is the newer one, whatever the clocks of the two say.
    """
    if new.source == "user" and (new.type == "correction" or correction_in(new.body)):
        return True
    if old.source == "user" and old.type == "correction" and new.source != "user":
        return False
    if is_trusted_less(new, old) or is_trusted_less(old, new):
        return is_trusted_less(old, new)
    return is_told_now or _moment(new) >= _moment(old)


def is_trusted_less(left: Entry, right: Entry) -> bool:
    """Return whether a memory is trusted less: no more than its source is worth, whatever trust it states."""
    return _trust(left) < _trust(right)


def is_earlier_value(old: Entry, new: Entry, *, is_told_now: bool) -> bool:
    """Return whether a memory is what filled the slot before the one that fills it: no less trusted, and older."""
    return is_same_slot(old, new) and _trust(old) == _trust(new) and not is_told_now and _moment(new) < _moment(old)


def _trust(entry: Entry) -> float:
    return min(entry.trust, TRUST[entry.source])


def _moment(entry: Entry) -> str:
    return max(entry.created_at, entry.updated_at)


_NAMING = ("references", "conflicts_with", "verdicts", "verdict_reasons", "distinct")
"""Fields in which an entry lists ids of others."""
LONGEST = 1000
"""Links of a chain that are followed; a longer one is a mistake."""


@dataclass(frozen=True)
class EntryFile:
    """An entry as its file has it."""

    path: str
    text: str
    entry: Entry


def read_entry_file(workspace: Workspace, path: str) -> EntryFile:
    """Read an entry's file; raise RefusedError if its frontmatter does not parse."""
    text = entries.decoded(path, atomic_files.read(workspace.path(path)))
    document = frontmatter.parse(text)
    if document.problem:
        raise RefusedError(
            f"{path}:{document.problem.line}: {document.problem.reason}", f"mend it with `mem edit {quote(path)}`"
        )
    entry, _ = read_entry(document, path, workspace.now)
    return EntryFile(path, text, entry if workspace.is_trusted else as_from_others(entry))


def revised_entry(
    workspace: Workspace, old: EntryFile, fields: Mapping[str, object], body: str | None = None
) -> EntryFile:
    """Return an entry with other fields, and with `body` another text; its `updated_at` stays."""
    text = entries.revised(workspace, old.path, old.text, fields, body)
    return with_text(workspace, old, text)


def with_text(workspace: Workspace, old: EntryFile, text: str) -> EntryFile:
    """Return an entry's file with another text."""
    return EntryFile(old.path, text, read_entry(frontmatter.parse(text), old.path, workspace.now)[0])


def superseded_text(workspace: Workspace, old: EntryFile, by: str, moment: str = "", reason: str = "") -> str:
    """Return the text of an entry that another one takes the place of, now or at a moment; its age stays.

    `reason` is that of an LLM's verdict.
    """
    fields = {"status": "superseded", "superseded_by": by, "superseded_at": moment or workspace.stamp}
    fields |= _because(old.entry, by, reason)
    return entries.revised(workspace, old.path, old.text, fields)


def referring_text(workspace: Workspace, new: EntryFile, to: str) -> str:
    """Return the text of the entry that took the place, which names the one it replaces."""
    if to in new.entry.references:
        return new.text
    fields = {"references": [*new.entry.references, to]}
    return entries.revised(workspace, new.path, new.text, fields)


def _because(entry: Entry, other: str, reason: str) -> dict[str, Any]:
    """Return the field of an entry that keeps the reason of an LLM's verdict on it and another one, by its id."""
    return {"verdict_reasons": [*_reasons_left(entry, {other}), f"{other}: {reason}"]} if reason else {}


def _reasons_left(entry: Entry, without: Collection[str]) -> list[str]:
    return [reason for reason in entry.verdict_reasons if reason.partition(": ")[0] not in without]


def conflicting_text(workspace: Workspace, file: EntryFile, other: Entry, reason: str = "") -> str:
    """Return the text of an entry that is flagged with another one by a verdict, or since both fill one key.

    `reason` is that of an LLM's verdict.
    """
    fields = {"conflicts_with": list(dict.fromkeys([*file.entry.conflicts_with, other.id]))}
    if not is_same_slot(file.entry, other):
        fields["verdicts"] = list(dict.fromkeys([*file.entry.verdicts, other.id]))
    fields = {key: ids for key, ids in fields.items() if len(ids) > len(getattr(file.entry, key))}
    fields |= _because(file.entry, other.id, reason)
    return entries.revised(workspace, file.path, file.text, fields) if fields else file.text


def flags_left(entry: Entry, left: Collection[str]) -> dict[str, object]:
    """Return the fields that change if an entry stays flagged with some ids alone."""
    before = {key: getattr(entry, key) for key in ("conflicts_with", "verdicts")}
    left_over = {key: [name for name in names if name in left] for key, names in before.items()}
    before["verdict_reasons"] = entry.verdict_reasons
    left_over["verdict_reasons"] = _reasons_left(entry, {*entry.conflicts_with} - {*left})
    return {key: names for key, names in left_over.items() if len(names) != len(before[key])}


def supersede_plan(workspace: Workspace, old: EntryFile, new: EntryFile, reason: str = "") -> Plan:
    """Propose that one entry takes another's place; `reason` is that of an LLM's verdict.

    Raises RefusedError where they are one, the old one has another successor, or it would take its own place in the
    end.
    """
    if old.entry.id == new.entry.id:
        raise RefusedError(f"{old.entry.id} cannot supersede itself", "name two entries")
    if old.entry.status == "superseded" and old.entry.superseded_by not in ("", new.entry.id):
        raise RefusedError(
            f"{old.entry.id} is superseded by {old.entry.superseded_by} already", f"`mem restore {old.entry.id}` first"
        )
    after = ask(workspace, successors)
    if old.entry.id in followed(new.entry.id, after):
        raise RefusedError(
            f"{new.entry.id} is itself superseded by {old.entry.id} in the end: this would be a circle",
            f"`mem restore {new.entry.id}` first",
        )
    done = old.entry.status == "superseded" and old.entry.superseded_by == new.entry.id
    changes = [] if done else [Change(old.path, old.text, superseded_text(workspace, old, new.entry.id, reason=reason))]
    text = referring_text(workspace, new, old.entry.id)
    if text != new.text:
        changes.append(Change(new.path, new.text, text))
    return Plan(tuple(changes), (f"{old.entry.id} is superseded by {new.entry.id}",) if changes else ())


def flagging_plan(workspace: Workspace, old: EntryFile, new: EntryFile) -> Plan:
    """Propose to flag an entry with a less trusted one that is named as its successor."""
    changes = [
        Change(file.path, file.text, conflicting_text(workspace, file, rival.entry))
        for file, rival in ((old, new), (new, old))
    ]
    changes = [change for change in changes if change.after != change.before]
    return Plan(tuple(changes), (flagged_reason(old.entry.id, new.entry.id),) if changes else ())


def flagged_reason(old: str, new: str) -> str:
    """Return why two entries are flagged of which the later one was to take the other's place."""
    return f"{old} and {new} are flagged: the later one is trusted less"


def restored_text(workspace: Workspace, old: EntryFile) -> str:
    """Return the text of an entry that is not in use made active again."""
    is_off = frontmatter.parse(old.text).fields.get("active") is False  # another tool's word, which stays
    fields: dict[str, object] = {"status": "active" if is_off else "", "superseded_by": "", "superseded_at": ""}
    if old.entry.verdict_reasons:
        fields["verdict_reasons"] = _reasons_left(old.entry, {old.entry.superseded_by})
    return entries.revised(workspace, old.path, old.text, fields)


def without_names(workspace: Workspace, deleted: Mapping[str, str]) -> Plan:
    """Propose to take the ids of memories that go, by path, out of the fields of others; the archive stays as it is."""
    from ..formats.links import bare  # late: a write deletes nothing

    names = frozenset(deleted.values())
    steps: list[Change] = []
    naming = ask_current(workspace, lambda index: [row for name in names for row in entry_texts_with(index, name)])
    for path in sorted({path for path, _ in naming} - deleted.keys()):
        with suppress(RefusedError):  # `mem check` names it
            file = read_entry_file(workspace, path)
            named = {key: getattr(file.entry, key) for key in _NAMING}
            fields = {
                key: [name for name in value if bare(name.partition(": ")[0]) not in names]
                for key, value in named.items()
            }
            fields = {key: left for key, left in fields.items() if len(left) < len(named[key])}
            if fields and not workspace.layout.is_archived(path):
                steps.append(Change(path, file.text, revised_entry(workspace, file, fields).text))
    return Plan(tuple(steps))


def hidden_with(workspace: Workspace, paths: Collection[str]) -> dict[str, str]:
    """Return id and path of what entries had taken the place of, which goes to the archive with them.

    Superseded by what nobody finds any more it would be found by nobody either.
    """
    return ask(workspace, lambda index: replaced_by(index, paths))


def put_away_note(name: str, ids: Collection[str]) -> tuple[str, ...]:
    """Return a note about the entries that went to the archive with what had taken their place."""
    if not ids:
        return ()
    first = next(iter(ids))
    return (f"{name} had taken the place of {listed(ids)}, put away too: `mem restore {first}` brings it back",)


def followed(identifier: str, after: Mapping[str, str]) -> list[str]:
    """Return what took the place of an id, one after the other; a circle ends where it closes."""
    ids: list[str] = []
    current = after.get(identifier, "")
    while current and current not in ids and len(ids) < LONGEST:
        ids.append(current)
        if current == identifier:
            break
        current = after.get(current, "")
    return ids


@dataclass(frozen=True)
class ChainLink:
    """One memory of a chain."""

    id: Id
    path: FilePath
    created_at: CreatedAt
    status: Status
    superseded_by: SupersededBy
    summary: Summary


@dataclass(frozen=True)
class Chain:
    """The memories that took each other's place, the oldest first, and what is wrong with how they are linked."""

    links: tuple[ChainLink, ...]
    problems: tuple[str, ...] = ()


def page_chain(workspace: Workspace, path: str) -> Chain:
    """Return the earlier texts of a file that is no entry, each with the first line that went and when it went."""
    from ..store.entry_revision import lost_lines, page_versions

    versions = page_versions(workspace, path)
    texts = [
        entries.decoded(old_path, atomic_files.read(workspace.path(old_path)))
        for old_path in (*(old_path for old_path, _ in versions), path)
    ]
    lost = [lost_lines(old, new) for old, new in pairwise(texts)]
    first_lines = [
        next((line for line in lines if not line.startswith("#")), "".join(lines[:1])).strip() for lines in lost
    ]
    return Chain(
        tuple(
            ChainLink(old_path, old_path, moment, "archived", path, line)
            for (old_path, moment), line in zip(versions, first_lines, strict=True)
        )
    )


def chain(workspace: Workspace, identifier: str) -> Chain:
    """Return a memory with what it replaced and what replaced it; raise NotFoundError where no entry has the id."""
    links = {row[0]: ChainLink(*row) for row in ask(workspace, supersession_rows)}
    if identifier not in links:
        raise NotFoundError(f"no entry {identifier!r}", "find it with `mem search` or `mem ls`")
    return _chain(links, identifier)


def _chain(links: Mapping[str, ChainLink], identifier: str) -> Chain:
    earlier: dict[str, list[str]] = {}
    for link in links.values():
        if link.superseded_by:
            earlier.setdefault(link.superseded_by, []).append(link.id)
    later = followed(identifier, {link.id: link.superseded_by for link in links.values()})
    before = list(_before(identifier, earlier))
    problems = []
    if later and later[-1] not in links:
        problems.append(f"{([identifier, *later])[-2]} is superseded by {later[-1]}, and there is no such entry")
    if _is_circle([identifier, *later], links):
        problems.append(
            f"{' → '.join([identifier, *later])} supersede each other in a circle: `mem restore` one of them"
        )
    ids = dict.fromkeys([*before, identifier, *later])
    chain_links = [links[link_id] for link_id in ids if link_id in links]
    return Chain(tuple(sorted(chain_links, key=lambda link: _sort_key(link, later, identifier))), tuple(problems))


def _is_circle(ids: list[str], links: Mapping[str, ChainLink]) -> bool:
    last = links.get(ids[-1])
    return len(ids) != len(set(ids)) or (last is not None and last.superseded_by in ids)


def _before(identifier: str, earlier: Mapping[str, Iterable[str]]) -> Iterable[str]:
    """Yield what led to an id, however it branched."""
    seen, waiting = {identifier}, [identifier]
    while waiting:
        for earlier_id in earlier.get(waiting.pop(), ()):
            if earlier_id not in seen and len(seen) < LONGEST:
                seen.add(earlier_id)
                waiting.append(earlier_id)
                yield earlier_id


def _sort_key(link: ChainLink, later: list[str], identifier: str) -> tuple[int, str, str]:
    """Return a key that sorts what came before by its time, and what came after as it is linked."""
    if link.id in later:
        return later.index(link.id) + 2, "", ""
    return (1 if link.id == identifier else 0), link.created_at, link.id


def over(rows: Iterable[Mapping[str, Any]]) -> frozenset[str]:
    """Return the ids of entries that are superseded or archived, of rows of every status."""
    active: set[str] = set()
    others: set[str] = set()
    for row in rows:
        (active if row["status"] == "active" else others).add(row["id"])
    return frozenset(others - active)


def is_in_conflict(row: Mapping[str, Any], over_ids: Collection[str]) -> bool:
    """Return whether an entry contradicts one that is not over: a mark that names any other is history."""
    return any(identifier not in over_ids for identifier in row["conflicts_with"])
