"""What was forgotten stays forgotten: who says the same again is refused, unless it is the user, later.

The archived file is the record, and counts in a trusted workspace alone; "the same" is decided without a model. What
may be the same in other words waits in the inbox for a person's yes: files of entries that nothing finds or commits,
each with why it is `held`, since when, and what it is `about`.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any

from ..dataclass import dataclass
from ..errors import MemError, RefusedError
from ..formats.entry import Entry, read_entry
from ..formats.frontmatter.document import edit, parse
from ..formats.ids import blake2b, stamp
from ..formats.text_lines import normalized, shorten
from ..index.index import Index, ask
from ..index.lookups import ask_current, entry_texts_with, forgotten_saying, forgotten_texts, paths_by_id, places_saying
from ..store import entries, trust
from ..store.archive import may_have_forgotten
from ..store.atomic_files import digest
from ..store.entries import drafted, place_of, revised, unforgotten
from ..store.journal import Change, Move
from ..store.undo_log import telling_lines
from ..store.workspace import Workspace
from .plan import Plan, applied, ours_of, read_page
from .supersession import EntryFile, hidden_with, read_entry_file, says

FORGOTTEN, NEW = "forgotten", "new"
"""Why an entry is held that may say in other words what was forgotten."""
HELD_FOR = timedelta(days=90)
_MARKS = ("held", "held_at", "about")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")


def forgotten_like(entry: Entry, files: Iterable[EntryFile]) -> list[EntryFile]:
    """Return those of some archived files that are forgotten, and say what an entry says of the same project."""
    return [
        file
        for file in files
        if file.entry.forgotten_at
        and normalized(entry.body) in map(normalized, (file.entry.body, *file.entry.wordings))
        and not (file.entry.project and entry.project and file.entry.project != entry.project)
    ]


def is_lifted(entry: Entry, forgotten: Collection[EntryFile], *, is_told_now: bool) -> bool:
    """Return whether an entry is the user's own word, said after each of some files that say the same was forgotten."""
    is_users = entry.source == "user"
    return is_users and (is_told_now or all(entry.created_at > file.entry.forgotten_at for file in forgotten))


def refusal(file: EntryFile) -> str:
    """Return in one line what was forgotten, and how it comes back."""
    entry = file.entry
    if not file.path:
        return f"{shorten(entry.body, 80)!r} was deleted for good here on {entry.forgotten_at[:10]}"
    why = f" ({shorten(entry.reason, 80)})" if entry.reason else ""
    return (
        f"{entry.id} {shorten(entry.body, 80)!r} was forgotten on {entry.forgotten_at[:10]}{why}:"
        f" `mem restore {entry.id}` brings it back"
    )


def lifted(file: EntryFile) -> str:
    """Return in one line that a file counts as forgotten no more."""
    if not file.path:
        return f"it was deleted for good here on {file.entry.forgotten_at[:10]}: said again by the user, it is kept"
    return f"{file.entry.id} was forgotten on {file.entry.forgotten_at[:10]}: said again by the user, it is no more"


def lifting(workspace: Workspace, files: Collection[EntryFile]) -> Plan:
    """Propose to take the marks of forgetting off some archived files."""
    marked = [file for file in files if file.path]
    return Plan(tuple(Change(file.path, file.text, unforgotten(workspace, file.path, file.text)) for file in marked))


def note_said_again(workspace: Workspace, texts: Iterable[str]) -> None:
    """Let texts that were deleted for good here be kept again."""
    plain = [normalized(text) for text in texts]
    if plain and workspace.state:
        trust.note_said_again(workspace.state, workspace.root, plain)


def purged_files(workspace: Workspace, texts: Iterable[str]) -> list[EntryFile]:
    """Return a stand-in, which has no path, for each text that was deleted for good on this machine."""
    if not (workspace.state and trust.has_purged(workspace.state, workspace.root)):
        return []
    plain = {text: normalized(text) for text in texts}
    days = trust.purged_on(workspace.state, workspace.root, {*plain.values()})
    return [
        EntryFile("", "", Entry(id="", body=text, forgotten_at=days[normalized_text]))
        for text, normalized_text in plain.items()
        if normalized_text in days
    ]


def pass_by_the_forgotten(
    workspace: Workspace,
    fields: Mapping[str, Any],
    body: str,
    command: str,
    *,
    is_change: bool = False,
    entry: Entry | None = None,
    dry_run: bool = False,
) -> tuple[str, ...]:
    """Look, for what is written as it is, whether it was forgotten; return what the user's later word lifted.

    Raise RefusedError where it was, and is not the user's word. What is a change is told now; `entry` is that of a file
    that comes from elsewhere.
    """
    if fields.get("status") not in (None, "", "active"):
        return ()
    is_told_now = entry is None and (is_change or not fields.get("created_at"))
    entry = entry or drafted(workspace, fields, body)
    files = forgotten_like(entry, forgotten_files(workspace, [body]))
    if not files:
        return ()
    if not is_lifted(entry, files, is_told_now=is_told_now):
        raise RefusedError(refusal(files[0]), "`--source user` where the user said so again")
    if dry_run:
        return ()
    applied(workspace, lifting(workspace, files), command)
    note_said_again(workspace, [file.entry.body for file in files if not file.path])
    return tuple(map(lifted, files))


@dataclass
class ForgottenGuard:
    """Holds a change of a file's text against what was forgotten; what the user's own word says again is lifted."""

    workspace: Workspace
    path: str
    by: str
    lifts: tuple[EntryFile, ...] = ()

    def change(self, change: Callable[[str], str]) -> Callable[[str], str]:
        """Return a change that raises RefusedError where it would say what was forgotten, and is not the user's."""

        def guarded(text: str) -> str:
            new = change(text)
            if new != text and (files := self._said_anew(text, new)):
                if self.by != "user":
                    raise RefusedError(refusal(files[0]), "`--source user` where the user said so again")
                self.lifts = tuple(files)
            return new

        return guarded

    def lifted(self, command: str) -> tuple[str, ...]:
        """Take the marks off what the user said again; return what is to be said of each."""
        applied(self.workspace, lifting(self.workspace, self.lifts), command)
        note_said_again(self.workspace, [file.entry.body for file in self.lifts if not file.path])
        return tuple(map(lifted, self.lifts))

    def _said_anew(self, old: str, new: str) -> list[EntryFile]:
        """Return what was forgotten and a file's new text says, but not the old one."""
        layout, kind = self.workspace.layout, self.workspace.layout.kind_of(self.path)
        if kind == "memory":
            lines = set(map(_plain, new.splitlines())) - set(map(_plain, old.splitlines()))
            return forgotten_files(self.workspace, lines)
        if kind != "entry" or layout.is_archived(self.path):
            return []
        before, after = (read_entry(parse(text), self.path, self.workspace.now)[0] for text in (old, new))
        is_said = before.status == "active" and normalized(before.body) == normalized(after.body)
        if is_said or after.status != "active":
            return []
        return forgotten_like(after, forgotten_files(self.workspace, [after.body]))


def _plain(line: str) -> str:
    """Return a line of the page without its bullet and what mem notes behind it."""
    return line.partition("<!--")[0].strip().lstrip("-*+ ")


def read_forgotten(workspace: Workspace, paths: Iterable[str]) -> list[EntryFile]:
    """Read the files at some paths; one that went or cannot be read is left out."""
    files = []
    for path in paths:
        with suppress(MemError):
            files.append(read_entry_file(workspace, path))
    return files


def forgotten_files(workspace: Workspace, texts: Collection[str]) -> list[EntryFile]:
    """Read the archived files that are forgotten and say one of some texts."""
    if not may_have_forgotten(workspace, texts):
        return []
    files = read_forgotten(workspace, ask_current(workspace, lambda index: forgotten_saying(index, texts)))
    return files + purged_files(workspace, texts)


def forgotten_since(workspace: Workspace, texts: Collection[str], since: str) -> frozenset[str]:
    """Return those of some forgotten texts that were forgotten after a moment, as `normalized` gives texts."""
    later = [file.entry for file in forgotten_files(workspace, texts) if file.entry.forgotten_at > since]
    return frozenset(normalized(text) for entry in later for text in (entry.body, *entry.wordings))


def forgotten_in(workspaces: Iterable[Workspace]) -> frozenset[str]:
    """Return all texts that were forgotten in some workspaces, as `normalized` gives texts."""
    return frozenset().union(*map(all_forgotten, workspaces))


def all_forgotten(workspace: Workspace) -> frozenset[str]:
    """Return all texts that were forgotten here, as `normalized` gives texts."""
    return ask_current(workspace, forgotten_texts) if may_have_forgotten(workspace) else frozenset()


@dataclass(frozen=True)
class Forgetting:
    """Memories that are to be forgotten: the changes, with the lines that tell of them, and what goes."""

    plan: Plan
    files: list[EntryFile]  # of those asked for, as they are now; what cannot be read is not among them
    places: list[str]  # where those asked for are then
    earlier: dict[str, str]  # id → path of what they had taken the place of, which goes too


def forgetting(workspace: Workspace, paths: Sequence[str], *, by: str, reason: str = "") -> Forgetting:
    """Propose to put memories, or folders of them, away as forgotten, off the page and out of others' wordings."""
    named = [inner for path in paths for inner in entries.entries_below(workspace, path)]
    earlier = {name: path for name, path in hidden_with(workspace, named).items() if path not in named}
    leaving = [*named, *earlier.values()]
    steps, places = entries.forgetting(workspace, [*paths, *earlier.values()], by=by, reason=reason)
    files = read_forgotten(workspace, named)
    ids = [file.entry.id for file in files if not workspace.layout.is_archived(file.path)]
    has_line = ours_of(read_page(workspace).text, [*ids, *earlier])  # the journal takes it off
    reasons = [f"its line is taken off {workspace.layout.memory}"] if has_line else []
    worded = ask_current(workspace, lambda index: entry_texts_with(index, "wordings")) if files else ()
    others = [path for path, _ in worded if path not in leaving]
    wordings = [change for path in others if (change := _without_wordings(workspace, path, files))]
    reasons += [f"{change.path} had it as another wording, and has it no more" for change in wordings]
    return Forgetting(Plan((*steps, *wordings), tuple(reasons)), files, places[: len(paths)], earlier)


def still_said(workspace: Workspace, entry: Entry) -> list[str]:
    """Return the places, conversations included, that say a line of a forgotten memory still."""

    def answer(index: Index) -> list[str]:
        index.refresh(talk=True)
        return places_saying(index, telling_lines(entry.body))

    return ask(workspace, answer)


def _without_wordings(workspace: Workspace, path: str, forgotten: Sequence[EntryFile]) -> Change | None:
    if workspace.layout.is_archived(path):
        return None
    with suppress(MemError):
        other = read_entry_file(workspace, path)
        stay = [text for text in other.entry.wordings if not any(says(file.entry, text) for file in forgotten)]
        if len(stay) < len(other.entry.wordings):
            return Change(path, other.text, revised(workspace, path, other.text, {"wordings": stay}))
    return None


def inbox_path(workspace: Workspace, body: str) -> str:
    """Return where a text waits: one place for all that say the same."""
    return (
        f"{workspace.layout.inbox}{blake2b(normalized(body).encode('utf-8', 'replace'), digest_size=8).hexdigest()}.md"
    )


def is_held(entry: Entry, forgotten: Entry) -> bool:
    """Return whether a memory, near to one that was forgotten, is to wait: not of another project or other numbers."""
    if entry.project and forgotten.project and entry.project != forgotten.project:
        return False
    old, new = (set(_NUMBER.findall(text)) for text in (forgotten.body, entry.body))
    return not (old and new) or bool(old & new)


def held_back(path: str, forgotten: EntryFile) -> str:
    """Return in one line why a text waits, and who decides."""
    entry = forgotten.entry
    return (
        f"held back in {path}: may say in other words what was forgotten on {entry.forgotten_at[:10]}"
        f" ({entry.id} {shorten(entry.body, 80)!r}): `mem review` decides"
    )


def held_text(workspace: Workspace, text: str, forgotten: EntryFile | None) -> str:
    """Return the text of an entry that waits, since it may say what was forgotten, or since all that is new does."""
    values = (FORGOTTEN, workspace.stamp, forgotten.entry.id) if forgotten else (NEW, workspace.stamp, None)
    return edit(text, dict(zip(_MARKS, values, strict=True)))


def held_files(workspace: Workspace) -> Iterator[EntryFile]:
    """Yield what waits in the inbox; what cannot be read is passed over."""
    for path in workspace.inbox:
        with suppress(MemError):
            yield read_entry_file(workspace, path)


def told_of(file: EntryFile) -> tuple[str, str, str]:
    """Return why an entry is held, since when, and what it is about."""
    fields = parse(file.text).fields
    why, since, about = (fields.get(name, "") for name in _MARKS)
    return str(why), str(since), str(about)


def expired(workspace: Workspace) -> list[EntryFile]:
    """Return what may say what was forgotten and nobody decided about for 90 days; what is only new waits on."""
    oldest = stamp(workspace.now - HELD_FOR)
    marked = ((file, *told_of(file)) for file in held_files(workspace))
    return [file for file, why, since, _ in marked if why != NEW and "" < since < oldest]


def accepting(workspace: Workspace, file: EntryFile) -> Plan:
    """Propose to make a held text a memory."""
    path = workspace.free_name(place_of(workspace, file.entry))
    text = edit(file.text, dict.fromkeys(_MARKS))
    return Plan((Move(file.path, path, digest(file.text.encode())), Change(path, file.text, text)))


def refusing(workspace: Workspace, file: EntryFile) -> Plan:
    """Propose to take a held text away: it is refused from then on, as forgotten or as another wording of what was."""
    why, _, about = told_of(file)
    if why == NEW:
        path = workspace.free_name(workspace.layout.archive + place_of(workspace, file.entry))
        marks = dict.fromkeys(_MARKS) | {"forgotten_at": workspace.stamp, "forgotten_by": "user"}
        text = edit(file.text, marks)
        return Plan((Move(file.path, path, digest(file.text.encode())), Change(path, file.text, text)))
    path = ask_current(workspace, paths_by_id).get(about, "")
    plan = Plan((Change(file.path, file.text, None),))
    if not workspace.layout.is_archived(path):
        return plan
    with suppress(MemError):
        forgotten = read_entry_file(workspace, path)
        wordings = [*forgotten.entry.wordings, file.entry.body]
        text = revised(workspace, path, forgotten.text, {"wordings": wordings})
        return Plan((Change(path, forgotten.text, text),)) + plan
    return plan


def dropping(files: Iterable[EntryFile]) -> Plan:
    """Propose to take held texts away."""
    return Plan(tuple(Change(file.path, file.text, None) for file in files))
