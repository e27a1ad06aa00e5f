"""Forget, restore and purge memories.

A purge deletes the files of memories, and their text in every other file, index and undo log. A
purge on another machine arrives as an id in purged.txt, and is carried out here with the text that
this machine has.
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import Any

from ..errors import BusyError, NotFoundError, RejectedError
from ..formats import (
    PassageFinder,
    get_body,
    get_content,
    is_id,
    normalize,
    normalize_time,
    parse,
    read_id,
    replace_passages,
    replace_promoted_line,
    split_words,
    summarize_texts,
)
from ..index import (
    Index,
    IndexedEntry,
    find_content_words,
    get_index,
    list_all_files,
    open_index,
    remove_leftovers,
)
from ..search.names import compile_words, get_entry
from ..store import (
    Append,
    ChangeGroup,
    Commit,
    Replace,
    Workspace,
    commit,
    find_recording_workspace,
    parse_objects,
    read_file,
    read_log,
    run_git,
)
from .changes import (
    ForgetResult,
    build_outcome,
    build_related,
    change_page_line,
    edit_file,
    find_same_key,
    replace_entries,
)
from .similar import embed_texts, find_close, has_sequence, load_pool

CUT = "\0cut\0"  # in the place of a purged passage, until empty records and notes are removed
# A heading with the id, `[2026-11-28 14:05] `, and nothing but cuts up to the next heading.
EMPTY_HISTORY_RECORD = re.compile(
    rf"(?m)^## [^\n]*\n+(?:\[[\d :-]+\])?[\s.]*{CUT}(?:[\s.]|{CUT})*(?=^## |\Z)"
)
# `[14:05] ` and nothing but cuts
EMPTY_NOTE = re.compile(rf"(?m)^(?:[-*] )?\[\d\d:\d\d\][ \t.]*{CUT}(?:[ \t.]|{CUT})*\r?(?:\n|\Z)")
NOTE_LINE = re.compile(r"(?m)^\[\d\d:\d\d\] .*\n?")
PURGED_PASSAGE = "[purged]"
# ":100644 100644 OLD NEW M\tpath". Zeros are no file.
BLOB = re.compile(rb" (?!0+ )([0-9a-f]{40,64})(?= )")
# Of 255 sentences that reword a memory, 174 find it at .8, and one finds another memory. Below .8,
# sentences about other things are found more and more often.
DESCRIBED_COSINE = 0.8
# The second closest memory must be this much farther away, or nobody knows which one is meant.
DESCRIBED_MARGIN = 0.05
# Only mem writes the others.
HIDDEN = "select path, hidden from files where hidden > 0 and kind not in ('history', 'session')"
MOST_DESCRIBED = 3  # a request that fits more memories is unclear


def purge_entries(
    index: Index, entries: Sequence[IndexedEntry], *, actor: str = "person"
) -> ForgetResult:
    """Delete memories and their text in every file, the index and the undo log."""
    workspace = index.workspace
    # An earlier value may be the same: the port was 8443, then 9443, then 8443 again.
    is_earlier = (
        "status = 'superseded' and same_words in (select same_words from entries where id = ?)"
    )
    earlier = [index.list_entries(is_earlier, (entry.id,)) for entry in entries]
    entries = list({entry.path: entry for entry in chain(entries, *earlier)}.values())
    texts = {entry.id: get_content(read_file(workspace, entry.path) or "") for entry in entries}
    ids = [entry.id for entry in entries]
    add_versions(workspace, ids, [entry.path for entry in entries], texts)
    done = ForgetResult()
    # The copies first: if the process is killed, the memory is still here to purge again.
    own = find_recording_workspace(workspace)
    if own is not None:
        copies = purge_texts(own, texts)
        done.other_files += [f"{own.root}/{path}" for path in copies.paths]
    changes: list[Replace | Append] = []
    for entry in entries:
        changes.append(Replace(entry.path, read_file(workspace, entry.path), None))
        # A note without an id is only deleted elsewhere, and its name may be private too.
        if is_id(entry.id):
            changes.append(Append(workspace.purged_path, f"{entry.id} {workspace.stamp}\n"))
        done.outcomes.append(build_outcome(index, "purged", entry))
        done.git_commits += find_git_commits(workspace, entry.path)
    cleaned = build_cleaning(workspace, texts, [entry.path for entry in entries])
    done.other_files += [change.path for change in cleaned]
    group = ChangeGroup([*changes, *cleaned])
    purged_texts = tuple(texts.values())
    done.result = commit(
        workspace, "purge", [group], actor=actor, is_purge=True, purged_texts=purged_texts
    )
    done.result.raise_rejected()
    done.result.messages += [
        f"still in {path}: edit the file, or delete it with --purge too"
        for path in find_files_with(workspace, texts)
    ]
    workspace.machine.note_carried_purges(ids)
    wipe_index(index)
    return done


def purge_texts(workspace: Workspace, texts: Mapping[str, str]) -> Commit:
    """Delete texts of memories, given by id, that are in another workspace."""
    workspace.ensure_machine()
    index = open_index(workspace)
    group = ChangeGroup(build_cleaning(workspace, texts))
    purged_texts = tuple(texts.values())
    # The command of a person is in the log of the first workspace.
    result = commit(
        workspace, "purge", [group], actor="hook", is_purge=True, purged_texts=purged_texts
    )
    result.raise_rejected()
    wipe_index(index)
    return result


def build_cleaning(
    workspace: Workspace, texts: Mapping[str, str], deleted: Collection[str] = ()
) -> list[Replace]:
    """Return the changes that delete the texts of memories from all files except entries."""
    finder = PassageFinder(texts)
    changes = []
    # In all files, because agents and people copy sentences into other files.
    for path in list_all_files(workspace):
        text = "" if path in deleted else read_file(workspace, path) or ""
        clean = clean_file(workspace, path, text, texts, finder)
        if clean != text:
            changes.append(Replace(path, text, clean))
    return changes


def find_files_with(workspace: Workspace, texts: Mapping[str, str]) -> list[str]:
    """Return the files with texts of memories: other memories, and notes of the vault."""
    finder = PassageFinder(texts)
    paths = list_all_files(workspace)
    return [path for path in paths if finder.find(normalize(read_file(workspace, path) or ""))]


def find_received_purges(workspace: Workspace) -> tuple[list[Replace], list[str]]:
    """Return the changes for purges of another machine, and the deleted texts.

    If git has deleted the file of a memory already, its text comes from the index or the undo log.
    """
    purged_ids = workspace.read_purged_ids()
    # A clone could list a memory of its own as purged, to hide the same text of its user.
    if not purged_ids or not workspace.is_trusted:
        return [], []
    index = get_index(workspace)
    paths = [path for (path,) in index.run("select path from problems where code = 'purged'")]
    texts = workspace.machine.read_pending_purges()
    new_ids = purged_ids - workspace.machine.read_carried_purges()
    if new_ids:
        for entry in filter(None, map(index.find_by_id, new_ids)):
            paths.append(entry.path)
            texts[entry.id] = get_content(index.read_text(entry.path) or "")
        add_versions(workspace, new_ids, paths, texts)
    changes = []
    for path in paths:
        text = read_file(workspace, path)
        # The index was not refreshed, so the file may contain something else.
        if text is not None and read_id(text) in purged_ids:
            changes.append(Replace(path, text, None))
            add_version(texts, read_id(text), get_content(text))
    if texts:
        own = find_recording_workspace(workspace)
        if own is not None:
            purge_texts(own, texts)
        changes += build_cleaning(workspace, texts, [change.path for change in changes])
    workspace.machine.note_carried_purges(new_ids)
    return changes, list(texts.values())


def find_pending_purges(workspace: Workspace) -> list[str]:
    """Return paths and ids of what another machine purged and this one still has."""
    rows = open_index(workspace).run("select path from problems where code = 'purged'").fetchall()
    pending = [*(path for (path,) in rows), *workspace.machine.read_pending_purges()]
    return pending if workspace.is_trusted else []


def add_versions(
    workspace: Workspace, ids: Collection[str], paths: Sequence[str], texts: dict[str, str]
) -> None:
    """Add the versions of memories in the undo log and in git."""
    changes = [change for record in read_log(workspace) for change in record.changes]
    versions = [text for change in changes for text in (change.before, change.after)]
    # The other machine may have edited a memory too, or a person in an editor.
    versions += read_committed_texts(workspace, paths)
    for file_text in versions:
        # Most texts have no id, and parsing one takes long.
        if file_text and "\nid: " in file_text and read_id(file_text) in ids:
            add_version(texts, read_id(file_text), get_content(file_text))


def add_version(texts: dict[str, str], key: str, text: str) -> None:
    """Add a text of a memory. The keys are its id, and a `+` for each other version."""
    while texts.get(key, text) != text:
        key += "+"
    texts[key] = text


def read_committed_texts(workspace: Workspace, paths: Sequence[str]) -> list[str]:
    """Return all texts that files have in git, on branches of other machines too."""
    # An untrusted clone could say that its memory once had a text of its user.
    if not paths or not workspace.is_trusted:
        return []
    options = ("--all", "--full-history", "-m", "--raw", "--no-abbrev", "--format=")
    texts: list[str] = []
    with suppress(NotFoundError, BusyError):
        output = run_git(workspace.root, "--literal-pathspecs", "log", *options, "--", *paths)
        names = [name.decode() for name in dict.fromkeys(BLOB.findall(output))]
        lines = "".join(f"{name}\n" for name in names).encode()
        blobs = parse_objects(names, run_git(workspace.root, "cat-file", "--batch", data=lines))
        texts = [blob.decode("utf-8", "surrogateescape") for blob in blobs.values() if blob]
    return texts


def clean_file(
    workspace: Workspace, path: str, text: str, ids: Iterable[str], finder: PassageFinder
) -> str | None:
    """Return the text of another file without the purged passages. None: delete the file."""
    kind = workspace.get_kind(path)
    if kind != "memory" and not workspace.is_managed(path):
        # In a note of the vault, only the lines that `mem note` wrote.
        return NOTE_LINE.sub(lambda line: remove_passages(line[0], "note", finder), text)
    if path.startswith(f"{workspace.prefix}inbox/"):
        return None if finder.find(normalize(text)) else text
    # An archive is a conversation too. Another memory may repeat the text on purpose, so it stays.
    if kind == "session" or path.endswith(".jsonl"):
        return "\n".join(remove_from_line(line, finder) for line in text.split("\n"))
    if kind in ("entry", ""):
        return text
    for entry_id in ids if kind == "memory" else ():
        text = replace_promoted_line(text, entry_id, None)
    return remove_passages(text, kind, finder)


def remove_passages(text: str, kind: str, finder: PassageFinder) -> str:
    """Return a file's text without the purged passages, and without records that become empty."""
    normal = normalize(text)
    passages = finder.find(normal)
    if not passages:
        return text
    clean = replace_passages(normal, passages, CUT)
    if kind == "history":
        clean = EMPTY_HISTORY_RECORD.sub("", clean)
    if kind == "note":
        clean = EMPTY_NOTE.sub("", clean)
    return clean.replace(CUT, "")


def remove_from_line(line: str, finder: PassageFinder) -> str:
    """Return a line of a session with the purged passages replaced."""
    try:
        event = json.loads(line)
        clean = replace_strings(event, finder)
    except (ValueError, RecursionError):
        # Cut off by a crash, or nested too deeply.
        return str(replace_strings(line, finder))
    # Half a character, such as `\ud83d`, can be written only with escapes.
    return line if clean == event else json.dumps(clean, ensure_ascii="\\u" in line)


def replace_strings(value: Any, finder: PassageFinder) -> Any:
    """Return a JSON value with the purged passages replaced in every text."""
    if isinstance(value, str):
        normal = normalize(value)
        passages = finder.find(normal)
        return replace_passages(normal, passages, PURGED_PASSAGE) if passages else value
    if isinstance(value, dict):
        return {
            str(replace_strings(name, finder)): replace_strings(item, finder)
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [replace_strings(item, finder) for item in value]
    return value


def wipe_index(index: Index) -> None:
    """Remove purged texts from the index file."""
    remove_leftovers(index.workspace)
    # Also a text that was purged before, and written again.
    index.database.try_set_meta("purged", "")
    index.refresh()


def find_git_commits(workspace: Workspace, path: str) -> list[str]:
    """Return the commits that contain a purged file, including earlier names, the latest first."""
    try:
        # mem never rewrites history, so the commits still contain the text.
        output = run_git(
            workspace.root, "log", "--all", "--follow", "--format=%h", "-n", "50", "--", path
        )
    except (NotFoundError, BusyError):
        return []
    return output.decode("ascii", "replace").split()


def forget(
    workspace: Workspace,
    names: Sequence[str],
    *,
    reason: str = "",
    purge: bool = False,
    said_at: str = "",
    command: str = "forget",
    actor: str = "person",
) -> ForgetResult:
    """Hide memories from search and agents, or delete them and their text everywhere.

    `said_at` is the time of the request; the same text is refused unless the user says it later.
    """
    index = open_index(workspace)
    entries = get_entries(index, names)
    if purge:
        return withdraw(workspace, purge_entries(index, entries))
    done = ForgetResult()
    groups = []
    messages = []
    for entry in entries:
        if entry.status == "forgotten":
            raise RejectedError(f"{index.shorten_id(entry.id)} is already forgotten")
        changes = {
            "status": "forgotten",
            "forgotten_at": said_at or workspace.stamp,
            "reason": reason,
        }
        edited = edit_file(workspace, entry.path, changes)
        groups.append(ChangeGroup([edited, *change_page_line(workspace, entry.id, None)]))
        if reason and parse(edited.after or "").fields.get("reason") != reason:
            messages.append(
                f"{entry.path} already has a property named reason, so your reason was not saved"
            )
        done.outcomes.append(build_outcome(index, "forgotten", entry))
    hidden_before = set(index.run(HIDDEN))
    summary = summarize_texts([entry.summary for entry in entries], "memory")
    done.result = commit(workspace, command, groups, summary=summary, actor=actor)
    done.result.messages += messages
    mark_rejected(done, groups)
    # The gates refuse the text from now on, also for commands that do not look at the files.
    index.refresh()
    done.result.messages += [
        f"this also hides the same text in {path}"
        for path, _ in sorted(set(index.run(HIDDEN)) - hidden_before)
    ]
    return withdraw(workspace, done)


def withdraw(workspace: Workspace, done: ForgetResult) -> ForgetResult:
    """Delete the memories from the team's server too."""
    if workspace.withdraw_from_team is not None:
        message = workspace.withdraw_from_team(workspace)
        done.result.messages += [message] if message else []
    return done


def forget_described(
    workspace: Workspace,
    text: str,
    *,
    said_at: str = "",
    project: str = "",
    command: str = "forget",
    actor: str = "person",
    dry_run: bool = False,
) -> ForgetResult:
    """Forget the memories that say a text or have it as their id, as a conversation asks.

    If it is unclear which ones are meant, nothing is forgotten, and `candidates` names them, as it
    does in a dry run. It also names the others with all words of the text.
    """
    index = open_index(workspace)
    done = ForgetResult()
    said_at = normalize_time(said_at)
    entries = [
        entry
        # Also superseded ones: the value that replaced "we deploy on Fridays" is not meant by it.
        for entry in index.list_entries("status <> 'forgotten'")
        if entry.project in ("", project or workspace.project)
        # A memory from after the request is not meant.
        and (not said_at or entry.updated_at <= said_at)
        and workspace.is_managed(entry.path)
    ]
    meant = [entry for entry in entries if entry.id == text or is_saying(index, entry, text)]
    if not meant:
        paths = {entry.path for entry in entries}
        close = [item for item in find_described(index, text) if item[1].path in paths]
        meant = [entry for cosine, entry in close if cosine > close[0][0] - DESCRIBED_MARGIN]
        if len(meant) > 1 and len({entry.summary for entry in meant}) > 1:
            done.candidates = [build_related(index, entry, "similar") for entry in meant]
            return done
    # "Forget what I said about the blue door" names a subject, so a person has to choose.
    current = [entry for entry in entries if entry.status != "superseded" and entry not in meant]
    others = find_about(index, current, text)
    done.candidates = [build_related(index, entry, "similar") for entry in others[:MOST_DESCRIBED]]
    if len(meant) > MOST_DESCRIBED or dry_run:
        done.candidates += [build_related(index, entry, "similar") for entry in meant]
    elif meant:
        candidates = done.candidates
        done = forget(
            workspace,
            [entry.path for entry in meant],
            reason="the user asked to forget it",
            said_at=said_at,
            command=command,
            actor=actor,
        )
        done.candidates = candidates
    return done


def is_saying(index: Index, entry: IndexedEntry, text: str) -> bool:
    """Return whether an entry has a text's words in order, and not much else.

    Three telling words in a row are no coincidence, so the entry may have twice as many more.
    """
    said = split_words(get_content(index.read_text(entry.path) or ""))
    telling = len(find_content_words(text))
    most = (3 if telling > 2 else 2) * telling
    has_words = has_sequence(said, split_words(text))
    return telling > 0 and has_words and len(find_content_words(" ".join(said))) <= most


def find_about(index: Index, entries: Sequence[IndexedEntry], text: str) -> list[IndexedEntry]:
    """Return the entries that have all telling words of a text."""
    words = find_content_words(text)
    return [
        entry
        for entry in entries
        if words and words <= find_content_words(index.read_text(entry.path) or "")
    ]


def find_described(index: Index, text: str) -> list[tuple[float, IndexedEntry]]:
    """Return the active entries close to a text that share a telling word."""
    vectors = embed_texts(index, [text])
    if vectors is None:
        return []
    words = find_content_words(text)
    close = find_close(index, load_pool(index, "active"), vectors[0], DESCRIBED_COSINE)
    return [
        item for item in close if words & find_content_words(index.read_text(item[1].path) or "")
    ]


def restore(workspace: Workspace, names: Sequence[str]) -> ForgetResult:
    """Make forgotten, faded or superseded memories active again."""
    index = open_index(workspace)
    entries = get_entries(index, names)
    done = ForgetResult()
    groups = []
    for entry in entries:
        if entry.status == "active":
            raise RejectedError(f"{index.shorten_id(entry.id)} is already active")
        cleared = ("status", "forgotten_at", "reason", "superseded_by")
        changes: dict[str, object] = dict.fromkeys(cleared)
        current = find_same_key(index, entry.key, entry.project, entry.owner)
        successor = index.find_by_id(entry.superseded_by) if entry.superseded_by else None
        if successor is not None and successor.status == "active" and successor not in current:
            # Both are active now, so a person should decide.
            changes["conflicts_with"] = (*entry.conflicts_with, successor.id)
        # A person decided, so trust does not matter.
        replaced = replace_entries(index, entry.id, 1.0, entry.summary, current)
        edited = edit_file(workspace, entry.path, changes)
        groups.append(ChangeGroup([edited, *replaced.changes], is_said_by_user=True))
        done.outcomes.append(build_outcome(index, "restored", entry))
    texts = [entry.summary for entry in entries]
    done.result = commit(workspace, "restore", groups, summary=summarize_texts(texts, "memory"))
    mark_rejected(done, groups)
    index.refresh()
    return done


def mark_rejected(done: ForgetResult, groups: Sequence[ChangeGroup]) -> None:
    """Record the rejected memories in their outcomes. Raises the error if all were rejected."""
    if len(done.result.rejected) == len(groups):
        done.result.raise_rejected()
    for outcome, group in zip(done.outcomes, groups, strict=True):
        outcome.error = done.result.get_error(group)
        if outcome.error is not None:
            outcome.action = "rejected"


def get_entries(index: Index, names: Sequence[str]) -> list[IndexedEntry]:
    """Return the entries that names mean, each once."""
    entries = (get_entry(index, name) for name in names)
    return list({entry.path: entry for entry in entries}.values())


def get_mentions(workspace: Workspace, text: str) -> list[IndexedEntry]:
    """Return the active entries that contain a text, for `forget --about`.

    Notes of a vault are forgotten only by name.
    """
    index = open_index(workspace)
    wanted = compile_words(text.casefold())
    # Not the frontmatter: everything mentions `type: fact`.
    entries = [
        entry
        for entry in index.list_managed_entries()
        if wanted.search(f"{entry.title}\n{get_body(index.read_text(entry.path) or '')}".casefold())
    ]
    if not entries:
        hint = "name a note of the vault to forget it" if workspace.is_vault else ""
        raise NotFoundError(f"no memory mentions {text!r}", hint)
    return entries
