"""Look at every file of a workspace, or at what git is about to commit of it, and say what is wrong.

Reads the files themselves and not the index, which is one of the things it checks. Secrets are a question of their own,
asked of every text of a workspace and not only of entries.
"""

import os
import posixpath
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from .. import __version__
from ..beliefs.plan import Plan, applied
from ..dataclass import dataclass
from ..errors import RefusedError
from ..formats.entry import SPELLINGS
from ..formats.frontmatter import document
from ..formats.history import in_order
from ..formats.ids import blake2b, new_id, parse_time
from ..formats.ignore_patterns import ignored
from ..git.run import Staged, in_repository, staged
from ..index import database
from ..index.database import out_of_step
from ..index.file_reader import Reading, digest_of, read_file, try_bytes
from ..index.filters import Filter
from ..index.index import Index, ask
from ..index.scan import abandoned, scan
from ..store.entries import is_managed
from ..store.file_steps import remove_abandoned
from ..store.journal import Change, unsealed
from ..store.privacy import small_text
from ..store.redaction import redactor, secret_in_name
from ..store.sessions.append import end_cut_off
from ..store.sessions.event_file import cut_off_lines
from ..store.workspace import MARKER, Workspace
from .archiving import forget_deleted
from .invariants import Fault, Names, doubles, faults, names_of

_DIGEST = 16  # bytes


def mend_plan(workspace: Workspace, readings: Sequence[Reading], faults: Iterable[Fault]) -> Plan:
    """Return the changes that fix these faults.

    Files of other tools' folders get no ids: there a path names them as well.
    """
    wrong = {(fault.path, fault.rule) for fault in faults if fault.fixable}
    steps: list[Change] = []
    reasons: list[str] = []
    taken = {reading.entry.id for reading in readings if reading.entry is not None}
    for reading in readings:
        new, reason = reading.text, ""
        if (reading.path, "history") in wrong:
            new, reason = in_order(reading.text, workspace.zone), "its records sorted by time, doubles left out"
        elif (reading.path, "id") in wrong or (workspace.layout.is_mems and lacks_id(reading)):
            try:
                new, reason = _with_id(workspace, reading, taken)
            except RefusedError:  # a frontmatter in which no single line can be changed
                continue
        if new != reading.text:
            steps.append(Change(reading.path, reading.text, new))
            reasons.append(f"{reading.path}: {reason}")
    return Plan(tuple(steps), tuple(reasons))


def lacks_id(reading: Reading) -> bool:
    """Return whether an entry has no id but its path, and could have one."""
    if reading.kind != "entry" or reading.problems or reading.entry is None:
        return False
    # An id of ours can only come from its frontmatter, which need not be parsed once more.
    is_ours = reading.entry.id.startswith("mem_") and reading.entry.id != reading.path
    return not is_ours and not _ids(reading)


def _ids(reading: Reading) -> Mapping[str, object]:
    fields = document.parse(reading.text).fields
    return {name: fields[name] for name in ("id", *SPELLINGS["id"]) if fields.get(name)}


def _with_id(workspace: Workspace, reading: Reading, taken: set[str]) -> tuple[str, str]:
    """Give a file an id of its own, and its time where it states none: the file's own is lost in every clone."""
    assert reading.entry is not None
    moment = parse_time(reading.entry.created_at) or workspace.now
    for attempt in range(100):
        identifier = new_id("mem", moment, workspace.noise(f"{reading.path} {attempt}"))
        if identifier not in taken:
            break
    taken.add(identifier)
    fields = document.parse(reading.text).fields
    ids = _ids(reading)
    changes: dict[str, object] = {next(iter(ids), "id"): identifier}
    if not any(fields.get(name) for name in ("created_at", *SPELLINGS["created_at"])) and "metadata" not in fields:
        changes["created_at"] = reading.entry.created_at
    reason = f"the id {identifier} in the place of one that is another's" if ids else f"the id {identifier}"
    return document.edit(reading.text, changes), reason


def fix(workspace: Workspace, faults: Iterable[Fault], plan: Plan) -> tuple[str, ...]:
    """Apply the plan, remove what killed writers left and rebuild a damaged index; return what was done, in words."""
    applied(workspace, plan, "mem check --fix")
    faults = list(faults)
    unfinished = removed(workspace, [fault.path for fault in faults if fault.rule == "unfinished"])
    cut_off = dict.fromkeys(fault.path for fault in faults if fault.rule == "read" and fault.fixable)
    whole = [path for path in cut_off if end_cut_off(workspace, path)]
    damaged = [fault for fault in faults if fault.rule == "index"]
    if damaged:
        database.discard(workspace.derived)
    forget_deleted(workspace, wipes=True)  # also what plain git deleted, of which nothing tells the index
    anew = [f"{fault.path}: made anew" for fault in damaged]
    ended = [f"{path}: the lines that were cut off ended with …" for path in whole]
    return (*plan.reasons, *(f"{path}: removed" for path in unfinished), *ended, *anew)


def removed(workspace: Workspace, paths: Iterable[str]) -> list[str]:
    """Remove unfinished files that still have no living writer; return their paths."""
    now = time.time()
    return [path for path in paths if remove_abandoned(workspace.root / path, now)]


@dataclass(frozen=True)
class Checked:
    """What was looked at, and what is wrong with it."""

    faults: tuple[Fault, ...]
    readings: tuple[Reading, ...]

    @classmethod
    def of(cls, faults: Iterable[Fault], readings: Iterable[Reading]) -> "Checked":
        """Return the faults by path, line and reason."""
        ordered = sorted(faults, key=lambda fault: (fault.path, fault.line, fault.reason))
        return cls(tuple(ordered), tuple(readings))


def check(workspace: Workspace) -> Checked:
    """Check everything in a workspace."""
    layout = workspace.layout
    listing = scan(workspace.root, layout)
    listed = [Fault(_shown(path), 1, reason, "outside") for path, reason in listing.problems.items()]
    readings: list[Reading] = []
    for path in sorted(listing.stats):
        kind = layout.kind_of(path)
        if kind is None or kind == "session":
            continue
        if _shown(path) != path:
            listed.append(Fault(_shown(path), 1, "its name is not UTF-8: rename it", "read"))
            continue
        got = try_bytes(workspace, path)
        if not isinstance(got, str):
            readings.append(read_file(workspace, path, kind, *got, digest_of(got[0])))
        elif got:
            listed.append(Fault(path, 1, got, "read"))
    listed += [
        Fault(
            _shown(path), 1, "left by a write that was killed: `mem check --fix` removes it", "unfinished", fixable=True
        )
        for path in abandoned(workspace.root, listing)
    ]
    managed, faults_in_files = _read_faults(workspace, readings)
    listed += faults_in_files
    reason = (
        "a change that another user began, or that came with a clone: never carried out; delete it if nobody needs it"
    )
    listed += [Fault(_shown(path), 1, reason, "journal") for path in unsealed(workspace)]
    listed += _settings(workspace)
    listed += ask(workspace, lambda index: _index(index, readings))
    return Checked.of(listed, managed)


def check_some(workspace: Workspace, files: Sequence[Staged]) -> Checked:
    """Check some files, such as the versions that git is about to commit; what they name may be on disk alone."""
    problems: list[Fault] = []
    readings: list[Reading] = []
    now = int(workspace.now.timestamp() * 10**9)
    for file in files:
        kind = workspace.layout.kind_of(file.path)
        if file.is_link:
            to = posixpath.normpath(posixpath.join(posixpath.dirname(file.path), os.fsdecode(file.data)))
            if to.startswith(("/", "../")):
                problems.append(Fault(_shown(file.path), 1, "a symbolic link that leaves the workspace", "outside"))
        elif kind and kind != "session":
            stat = (now, now, len(file.data), 0)
            readings.append(read_file(workspace, _shown(file.path), kind, file.data, stat, digest_of(file.data)))
    here = {reading.path for reading in readings}

    def others(index: Index) -> tuple[list[tuple[str, str, str]], list[str]]:
        index.refresh()
        rows = index.list_entries(Filter(statuses=()), "path")
        history = [text for path, text in index.texts(Filter(statuses=(), kinds=("history",))) if path not in here]
        return [(row["id"], row["path"], row["title"]) for row in rows if row["path"] not in here], history

    entries, history = ask(workspace, others)
    managed, faults_in_files = _read_faults(workspace, readings, entries, history)
    return Checked.of([*problems, *faults_in_files], managed)


def _read_faults(
    workspace: Workspace,
    readings: Sequence[Reading],
    others: Sequence[tuple[str, str, str]] = (),
    history: Sequence[str] = (),
) -> tuple[list[Reading], list[Fault]]:
    """Return those of some files that mem keeps, and what is wrong with all of them.

    Of a note that mem only reads that is what hides it from a search. `others` are id, path and title of the entries
    that were not read, `history` the texts of the history files that were not.
    """
    names = _names(readings, others, is_file_in(workspace), history)
    managed = [reading for reading in readings if reading.is_managed(workspace.layout)]
    notes = (reading for reading in readings if not reading.is_managed(workspace.layout))
    unread = [Fault(note.path, problem.line, problem.reason, "read") for note in notes for problem in note.problems]
    unread += faults(managed, names, workspace.zone, workspace.settings["memory.budget"])
    return managed, [*unread, *doubles(managed, {identifier: path for identifier, path, _ in others})]


def is_file_in(workspace: Workspace) -> Callable[[str], bool]:
    """Make a test for files of the workspace, by path or, as a wiki link does, by name alone; it looks when asked."""
    names: set[str] = set()

    def is_file(path: str) -> bool:
        if not path or "\0" in path or posixpath.normpath(path).startswith(("..", "/")):
            return False
        try:
            if (workspace.root / path).is_file():
                return True
        except OSError:  # a name too long to be one
            return False
        if "/" in path:
            return False
        if not names:
            names.add("")
            for folder, below, files in os.walk(workspace.root):
                below[:] = [name for name in below if not name.startswith(".")]
                names.update(name.casefold() for name in files if not Path(folder, name).is_symlink())
        return path.casefold() in names

    return is_file


def _names(
    readings: Sequence[Reading],
    entries: Sequence[tuple[str, str, str]],
    is_file: Callable[[str], bool],
    history: Sequence[str] = (),
) -> Names:
    own = [(reading.entry.id, reading.path, reading.entry.title) for reading in readings if reading.entry is not None]
    own += [
        (reading.entry.id, reading.path, alias)
        for reading in readings
        if reading.entry is not None
        for alias in reading.entry.aliases
    ]
    texts = [*history, *(reading.text for reading in readings if reading.kind == "history")]
    return names_of(
        [*own, *entries], [*(reading.path for reading in readings), *(path for _, path, _ in entries)], texts, is_file
    )


def _index(index: Index, readings: Sequence[Reading]) -> list[Fault]:
    """Compare the index with the files, and take from it what it knows of conversations."""
    index.refresh(talk=True)
    workspace = index.workspace
    talk = [problem for problem in index.problems() if workspace.layout.kind_of(problem.path) == "session"]
    cut_off = {path: cut_off_lines(workspace.path(path)) for path in {problem.path for problem in talk}}
    result = [
        Fault(problem.path, problem.line, problem.reason, "read", fixable=problem.line in cut_off[problem.path])
        for problem in talk
    ]
    stale = out_of_step(index, {reading.path: reading.digest for reading in readings})
    # A file that changed while this looked is not the index's fault.
    stale = [path for path in stale if not _changed(workspace, path, readings)]
    if stale:
        reason = f"knows {stale[0]} otherwise than it is" + (f", and {len(stale) - 1:,} more" if stale[1:] else "")
        result.append(Fault(".mem/index.db", 1, f"{reason}: run `mem index --rebuild`", "index", fixable=True))
    return result


def _changed(workspace: Workspace, path: str, readings: Sequence[Reading]) -> bool:
    got = try_bytes(workspace, path)
    digest = "" if isinstance(got, str) else digest_of(got[0])
    return digest != next((reading.digest for reading in readings if reading.path == path), "")


def _settings(workspace: Workspace) -> list[Fault]:
    """Return the settings of the workspace's own file that have no effect."""
    marker = workspace.root / MARKER
    prefix = f"{marker}: "
    reasons = [line.removeprefix(prefix) for line in workspace.settings.ignored if line.startswith(prefix)]
    lines = small_text(workspace.root, MARKER).split("\n") if reasons else []
    unused = []
    for reason in reasons:
        words = [word.rpartition(".")[2] for word in reason.split() if "." in word] or reason.split()[-1:]
        line = next((number for number, text in enumerate(lines, 1) if words[0] in text), 1)
        unused.append(Fault(MARKER, line, reason, "read"))
    return unused


def _shown(path: str) -> str:
    """Return a name as a text; bytes of it that are no UTF-8 come as lone surrogates."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def leaks_in(workspace: Workspace, *, everywhere: bool) -> list[Fault]:
    """Return the secrets in the files of a workspace.

    `everywhere` includes conversations and, in a git repository, staged versions that differ from the files.
    """
    texts = dict(all_texts(workspace, sessions=everywhere))
    searched = texts.items() if everywhere else ask(workspace, lambda index: _unsearched(index, texts))
    result = list(leaks(workspace, searched, names=everywhere))
    if not everywhere and searched:
        clean = dict(searched)
        for fault in result:
            clean.pop(fault.path, "")
        ask(workspace, lambda index: _note_clean(index, texts, clean))
    environ, folder = workspace.environ, workspace.folder
    if everywhere and in_repository(workspace, environ, folder):
        versions = [(file.path, file.data.decode("utf-8", "replace")) for file in staged(workspace, environ, folder)]
        others = [(path, text) for path, text in versions if texts.get(path) != text]
        result += leaks(workspace, others, " in the version staged for git")
    return result


def _unsearched(index: Index, texts: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return path and text of what was not found free of secrets by the same rules.

    Whether a text has one depends on the text, the rules and the values of `.env` files; with such values every text
    is searched, lest a note of them stay in the index.
    """
    clean = _clean(index)
    return [(path, text) for path, text in texts.items() if _text_digest(text) not in clean]


def _clean(index: Index) -> set[bytes]:
    """Return the digests of the texts found free of secrets."""
    if redactor(index.workspace, "check").values or index.meta("clean by") != _rules(index.workspace):
        return set()
    digests = index.meta("clean") or b""
    return {digests[start : start + _DIGEST] for start in range(0, len(digests), _DIGEST)}


def _note_clean(index: Index, texts: Mapping[str, str], clean: Mapping[str, str]) -> None:
    """Keep the digests of texts just found free of secrets, and of those known to be, as far as they are there."""
    workspace = index.workspace
    allowed = "\n".join(workspace.settings["secrets.allow"])
    if redactor(workspace, "check").values:
        return
    known = _clean(index).intersection(map(_text_digest, texts.values()))
    known.update(_text_digest(text) for path, text in clean.items() if not (allowed and ignored(allowed, path)))
    index.try_meta({"clean by": _rules(workspace), "clean": b"".join(sorted(known))})


def _rules(workspace: Workspace) -> str:
    """Return what tells the rules by which a text is searched from others: the settings, and the program's files."""
    guard = redactor(workspace, "check")
    program = Path(__file__).parents[1]
    files = [*program.glob("secrets/*.py"), *program.glob("data/*"), *program.glob("formats/*.py")]
    files.append(program / "store" / "redaction.py")
    stats = [(path.name, status.st_mtime_ns, status.st_size) for path in sorted(files) for status in (path.stat(),)]
    return digest_of(repr((__version__, sorted(guard.personal), stats)).encode())


def _text_digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST).digest()


def leaks(
    workspace: Workspace, texts: Iterable[tuple[str, str]], where: str = "", *, names: bool = True
) -> Iterator[Fault]:
    """Yield the places in texts, given by path, that look like a secret; `where` says which version of a file it is.

    Their `names` are looked at too, which takes longer than their texts.
    """
    return (fault for fault, _ in credentials(workspace, texts, where, names=names))


def credentials(
    workspace: Workspace, texts: Iterable[tuple[str, str]], where: str = "", *, names: bool = True
) -> Iterator[tuple[Fault, str]]:
    """Yield the places that look like a secret, each with the secret itself, which is to be shown nowhere."""
    guard = redactor(workspace, "check")
    allowed = "\n".join(workspace.settings["secrets.allow"])
    fix = "or name the file in the setting secrets.allow"
    for path, text in texts:
        if allowed and ignored(allowed, path):
            continue
        shown = path
        if rule := secret_in_name(guard, path) if names else "":
            folder = posixpath.dirname(path)
            shown = posixpath.join("" if secret_in_name(guard, folder) else folder, f"[REDACTED:{rule}]")
            yield Fault(shown, 1, f"its name looks like a secret ({rule}){where}: rename it, {fix}", "secret"), path
        for finding in guard.findings(text):
            what = "personal data" if finding.group == "personal" else "a secret"
            reason = f"looks like {what} ({finding.rule}){where}: remove it, {fix}"
            yield Fault(shown, finding.line, reason, "secret"), text[finding.start : finding.end]


def all_texts(workspace: Workspace, *, sessions: bool) -> Iterator[tuple[str, str]]:
    """Yield path and text of every file that mem keeps, and where asked of conversations and a person's own notes."""
    for path in sorted(scan(workspace.root, workspace.layout).stats):
        kind = workspace.layout.kind_of(path)
        got = try_bytes(workspace, path) if kind and (sessions or kind != "session") else ""
        if not isinstance(got, str):
            text = got[0].decode("utf-8", "replace")
            if sessions or is_managed(workspace, path, text):
                yield path, text
