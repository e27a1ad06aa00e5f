"""Review: the questions that only a person can decide, and the changes that an answer makes.

Memories with the same words are no question: mem merges them.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import unified_diff

from ..errors import ChangedError, UsageError
from ..formats import (
    SUMMARY_LENGTH,
    build_digest,
    build_id,
    frontmatter,
    get_body,
    shorten,
    summarize_texts,
)
from ..index import Index, IndexedEntry, open_index
from ..store import (
    Append,
    ChangeGroup,
    Commit,
    Replace,
    Workspace,
    commit,
    commit_one,
    hold_lock,
    read_file,
)
from .admit import Admission, read_sources
from .changes import (
    LIST_FIELDS,
    InboxItem,
    Planned,
    build_inbox_draft,
    build_path,
    change_page_line,
    complete_draft,
    edit_file,
    follow_promoted_lines,
    list_inbox,
)
from .pairs import (
    OWN_FIELDS,
    Pair,
    add_distinct_id,
    find_conflicts,
    find_contradictions,
    find_duplicates,
    is_distinct,
    is_sync_copy,
    read_metadata,
)

OLDER, NEWER, BOTH = PAIR_ANSWERS = ("older", "newer", "both")
COPY, NOTE, _ = COPY_ANSWERS = ("copy", "note", BOTH)
ACCEPT, REJECT = INBOX_ANSWERS = ("accept", "reject")
MOST_LINES = 10  # of the lines in which two memories differ
TEXTS = {
    "conflict": "These memories disagree. Which one is true?",
    "copy": "Two machines changed this note. Which version is right?",
    "number": "These memories give two numbers for the same thing. Which one is true?",
    "duplicate": "These memories may say the same thing. Which one should stay?",
    "inbox": "Save this memory?",
}


@dataclass
class Choice:
    """A memory that a question is about."""

    id: str
    short_id: str
    path: str
    text: str
    source: str
    date: str


@dataclass
class Question:
    """A question for a person."""

    id: str
    kind: str  # conflict, copy, inbox, number or duplicate
    text: str
    memories: list[Choice]
    answers: Sequence[str]
    reason: str = ""


def list_questions(workspace: Workspace, *, duplicates: bool = False) -> list[Question]:
    """Return the open questions, with `duplicates` also about possible repeats."""
    return find_questions(open_index(workspace), duplicates=duplicates)


def find_questions(index: Index, *, duplicates: bool = False) -> list[Question]:
    """Return the questions about the memories that the index has now."""
    questions = [build_pair_question(index, "conflict", pair) for pair in find_conflicts(index)]
    questions += [build_inbox_question(index, item) for item in list_inbox(index.workspace)]
    questions += [build_pair_question(index, "number", pair) for pair in find_contradictions(index)]
    if duplicates:
        pairs = find_duplicates(index)
        questions += [build_pair_question(index, "duplicate", pair) for pair in pairs]
    unique: dict[str, Question] = {}
    for question in questions:
        unique.setdefault(question.id, question)  # one about the same two memories is enough
    return list(unique.values())


def build_pair_question(index: Index, kind: str, pair: Pair) -> Question:
    choices = [build_choice(index, entry) for entry in pair]
    texts = [index.read_text(entry.path) or "" for entry in pair]
    older, newer = (get_body(text).splitlines() for text in texts)
    # Two machines can give a property of a note two values.
    if older == newer or is_sync_copy(*pair):
        own_fields = dict.fromkeys(OWN_FIELDS)
        older, newer = (frontmatter.edit(text, own_fields).splitlines() for text in texts)
    # `-` is a line of the older memory, and `+` one of the newer. `@@` is a place.
    lines = list(unified_diff(older, newer, n=0, lineterm=""))[2:]
    lines = [line for line in lines if line[:1] != "@" and line[1:].strip()]
    # Two versions of a note have the same title.
    if choices[0].text == choices[1].text:
        for choice, sign in zip(choices, "-+", strict=True):
            line = next((line[1:] for line in lines if line[0] == sign), "")
            choice.text = shorten(f"{choice.text} … {line}", SUMMARY_LENGTH)
    answers = PAIR_ANSWERS
    if is_sync_copy(*pair):
        kind, answers = "copy", COPY_ANSWERS
        for choice in choices:
            choice.date = ""  # of the file, which git has written, not of the edit
    question = Question(build_question_id(choices), kind, TEXTS[kind], choices, answers)
    if len(older) > 1 or len(newer) > 1:
        shown = [shorten(line, SUMMARY_LENGTH) for line in lines[:MOST_LINES]]
        if len(lines) > MOST_LINES:
            shown.append(f"… {len(lines) - MOST_LINES} more lines")
        question.reason = "\n".join(shown)
    return question


def build_choice(index: Index, entry: IndexedEntry) -> Choice:
    return Choice(
        entry.id,
        index.shorten_id(entry.id),
        entry.path,
        entry.summary,
        entry.source,
        entry.updated_at,
    )


def build_inbox_question(index: Index, item: InboxItem) -> Question:
    entry = item.entry
    short_id = index.shorten_id(item.id)
    choice = Choice(item.id, short_id, item.path, item.text, entry.source, entry.created_at)
    question_id = build_question_id([choice])
    return Question(question_id, "inbox", TEXTS["inbox"], [choice], INBOX_ANSWERS, item.reason)


def build_question_id(choices: Sequence[Choice]) -> str:
    ids = " ".join(sorted(choice.id for choice in choices))
    return build_digest(ids)[:6]


def answer_questions(
    workspace: Workspace, questions: Sequence[Question], answer: str, *, actor: str = "person"
) -> Commit:
    """Carry out the same answer to questions of one kind, in one commit.

    Raises ChangedError if one of them is no longer open, for example because it was answered in
    another terminal.
    """
    if not questions:
        raise UsageError("no question is given")
    if questions[0].kind == "copy":
        # A script may give all pairs the same answer.
        answer = {OLDER: COPY, NEWER: NOTE}.get(answer, answer)
    for question in questions:
        if answer not in question.answers:
            raise UsageError(
                f"cannot answer {answer!r} to {question.id}",
                f"one of: {', '.join(question.answers)}",
            )
    # Between the check and the commit, another terminal must not answer.
    with hold_lock(workspace):
        index = open_index(workspace)
        for question in questions:
            check_open(index, question)
        build_groups = build_pair_groups
        if questions[0].kind == "inbox":
            build_groups = build_inbox_groups
        elif answer in (COPY, NOTE):
            build_groups = build_copy_groups
        groups = build_groups(index, questions, answer)
        texts = [get_text(question, answer) for question in questions]
        summary = f"{answer}: {summarize_texts(texts, 'question')}"
        result = commit(workspace, "review", groups, summary=summary, actor=actor)
    result.raise_rejected()
    index.refresh()
    for question in questions:
        for choice in question.memories:
            path = choice.path
            is_replaced = index.list_entries("path = ? and status = 'superseded'", (path,))
            # A program that syncs folders made the second file of a note. Its user may miss it.
            if is_replaced and not workspace.is_managed(path):
                message = f"{path} stays, but mem no longer shows it. You can delete it."
                result.messages.append(message)
    return result


def get_text(question: Question, answer: str) -> str:
    """Return the sentence of the memory that stays."""
    return question.memories[-1 if answer in (NEWER, NOTE) else 0].text


def check_open(index: Index, question: Question) -> None:
    """Raise ChangedError if a question was answered meanwhile."""
    workspace = index.workspace
    if question.kind == "inbox":
        is_open = read_file(workspace, question.memories[0].path) is not None
    else:
        found = [
            index.list_entries("path = ? and status = 'active'", (item.path,))
            for item in question.memories
        ]
        is_open = all(found) and not is_distinct(index, load_pair(index, question))
    if not is_open:
        raise ChangedError(
            "this question was answered already", "list the open questions: mem review"
        )


def build_pair_groups(
    index: Index, questions: Sequence[Question], answer: str
) -> list[ChangeGroup]:
    """Return the changes of an answer about pairs of memories, as one group."""
    workspace = index.workspace
    memories: dict[str, Planned] = {}  # by path
    pairs: list[tuple[Planned, Planned]] = []  # the memory that stays, and the one that it replaces
    for question in questions:
        first, second = (
            memories.get(entry.path) or Planned(entry.path, entry, read_sources(index, entry))
            for entry in load_pair(index, question)
        )
        if not (first.is_active and second.is_active):
            continue  # of three that say the same thing, one is replaced already
        memories.update({first.path: first, second.path: second})
        for memory, other in ((first, second), (second, first)):
            conflicts = tuple(item for item in memory.conflicts_with if item != other.id)
            if conflicts != memory.conflicts_with:
                memory.fields["conflicts_with"] = conflicts
        if answer == BOTH:
            # The first one may be a copy, and the second one the user's note.
            metadata = first.fields.get("metadata") or read_metadata(workspace, first.path)
            first.fields["metadata"] = add_distinct_id(metadata, second.id)
            continue
        winner, loser = (first, second) if answer == OLDER else (second, first)
        pairs.append((winner, loser))
        if question.kind == "duplicate":
            merge_repeat(winner, loser)
        # A note without a header has its path as id, and below it moves to that of the loser.
        is_moving = winner.id == winner.path and is_copy_of(workspace, winner.path, loser.path)
        kept_id = loser.path if is_moving else winner.id
        loser.fields.update(superseded_by=kept_id, status=None)
        if loser.id == winner.id:
            # A program that syncs folders has copied the file.
            loser.fields["id"] = build_id("mem", workspace.now, workspace.context.noise)
    for memory in memories.values() if is_answered_by_user(workspace) else ():
        # As if the user had said it again. A note of the vault is the user's text already.
        if memory.is_active and workspace.is_managed(memory.path):
            memory.fields.update(
                strength=memory.strength + 1, source="user", trust=None, updated_at=workspace.stamp
            )
    changes = {path: edit_file(workspace, path, memory.fields) for path, memory in memories.items()}
    page_changes: list[Replace | Append] = []
    successors = {}
    is_moved = False
    for winner, loser in pairs:
        if loser.base.id == winner.id:
            page_changes += change_page_line(workspace, winner.id, winner.summary)
        else:
            successors[loser.id] = winner.id, winner.summary
        if is_copy_of(workspace, winner.path, loser.path):
            # The note that stays gets the name that the user knows.
            kept_text, old_text = changes[winner.path].after, changes[loser.path].after
            changes[winner.path] = changes[winner.path]._replace(after=old_text)
            changes[loser.path] = changes[loser.path]._replace(after=kept_text)
            is_moved = True
    page_changes += follow_promoted_lines(workspace, successors)
    all_changes = [*changes.values(), *page_changes]
    return [ChangeGroup(all_changes, is_said_by_user=True, is_moved=is_moved)]


def build_copy_groups(
    index: Index, questions: Sequence[Question], answer: str
) -> list[ChangeGroup]:
    """Return the changes that delete copies, and give notes the text of their copies."""
    changes: dict[str, Replace] = {}  # by path
    for question in questions:
        copy, note = load_pair(index, question)
        if note.path in changes:
            continue  # another copy replaces it already
        # A note stays in its file under its id. Otherwise, if two machines answered differently,
        # a merge could make two files with one id.
        fields = index.read_fields(note.path)
        own_fields = {
            name: fields.get(name) for name in index.read_fields(copy.path) if name in OWN_FIELDS
        }
        change = edit_file(index.workspace, copy.path, own_fields)
        changes[copy.path] = change._replace(after=None)
        if answer == COPY:
            before = read_file(index.workspace, note.path)
            changes[note.path] = Replace(note.path, before, change.after)
    return [ChangeGroup([*changes.values()], is_said_by_user=True, is_moved=True)]


def merge_repeat(winner: Planned, loser: Planned) -> None:
    """Add what a repeat says to the memory that stays."""
    # Each was confirmed on its own.
    winner.fields["strength"] = winner.strength + loser.strength
    for name in LIST_FIELDS:
        items = tuple(dict.fromkeys([*getattr(winner, name), *getattr(loser, name)]))
        # A person's own property may have a form that mem does not read.
        if items != getattr(winner, name):
            winner.fields[name] = items
    winner.sources = winner.fields.get("sources", winner.sources)
    if loser.key and not winner.key:
        winner.fields["key"] = loser.key


def find_repeats(index: Index) -> list[tuple[Planned, Planned]]:
    """Return active memories with the same words: each that stays, and its repeat.

    A merge brings them, because two people saved them in two files. The memory that is trusted
    more stays, or the older one, so each machine makes the same changes.
    """
    workspace = index.workspace
    pairs: list[tuple[Planned, Planned]] = []
    kept: dict[object, list[Planned]] = defaultdict(list)
    rows = index.run(
        "select path, same_words from entries join files using(file)"
        " where status = 'active' and conflicts_with = '[]' and summary <> ''"
        " and same_words in (select same_words from entries group by 1 having count(*) > 1)"
        " order by trust desc, created_at, id"
    ).fetchall()
    for path, words in rows:
        # Without trust, another one may stay than on other machines.
        if not (workspace.is_trusted and workspace.is_managed(path)):
            continue
        entry = index.list_entries("path = ?", (path,))[0]
        memory = Planned(path, entry, read_sources(index, entry))
        earlier = kept[words, entry.title, entry.owner, entry.project]
        for winner in earlier:
            # "enabled" under one key says something else than under another.
            has_two_keys = entry.key and winner.key not in ("", entry.key)
            # `mem check` gives a copy of a file, which has the same id, a new one first.
            is_copy = entry.id == winner.id
            if not (has_two_keys or is_copy or is_distinct(index, (winner, memory))):
                merge_repeat(winner, memory)
                memory.fields = {"superseded_by": winner.id, "status": None}
                pairs.append((winner, memory))
                break
        else:
            earlier.append(memory)
    return pairs


def merge_repeats(
    workspace: Workspace, pairs: Sequence[tuple[Planned, Planned]], command: str = "tend"
) -> None:
    """Save what `find_repeats` planned. Raises the error of an edit or a gate."""
    memories = {memory.path: memory.fields for pair in pairs for memory in pair}
    changes: list[Replace | Append] = [
        edit_file(workspace, path, fields) for path, fields in memories.items()
    ]
    successors = {loser.id: (winner.id, winner.summary) for winner, loser in pairs}
    changes += follow_promoted_lines(workspace, successors)
    summary = summarize_texts([winner.summary for winner, _ in pairs], "memory")
    commit_one(workspace, command, changes, summary=summary, actor="hook")


def is_answered_by_user(workspace: Workspace) -> bool:
    """Return whether an answer is the user's word, by the rule of `mem write --source`."""
    return workspace.context.is_terminal and workspace.is_trusted


def is_copy_of(workspace: Workspace, path: str, original: str) -> bool:
    """Return whether a note is named as a copy: `House (conflict 2).md` of `House.md`."""
    # A memory of mem is one file for its whole life. If two machines answered differently and one
    # exchanged the texts, a merge would make two files with one id.
    if workspace.is_managed(path) or workspace.is_managed(original):
        return False
    start = original.removesuffix(".md")
    return path.startswith(start) and "/" not in path[len(start) :]


def load_pair(index: Index, question: Question) -> Pair:
    first, second = (
        index.list_entries("path = ?", (choice.path,))[0] for choice in question.memories
    )
    return first, second


def build_inbox_groups(
    index: Index, questions: Sequence[Question], answer: str
) -> list[ChangeGroup]:
    """Return the changes that save or reject memories of the inbox."""
    workspace = index.workspace
    admission = Admission(index)
    rejected = []
    items = {item.path: item for item in list_inbox(workspace)}
    for question in questions:
        item = items[question.memories[0].path]
        draft = complete_draft(index, build_inbox_draft(workspace, item))
        if answer == ACCEPT:
            if is_answered_by_user(workspace):
                draft = replace(draft, source="user")
            admission.admit(draft)
            continue
        # Rejected means forgotten: the text is refused if it comes again.
        fields = {"status": "forgotten", "forgotten_at": workspace.stamp}
        _, text, forgotten = edit_file(workspace, item.path, fields)
        path = build_path(workspace, draft, item.entry)
        changes = [Replace(path, None, forgotten), Replace(item.path, text, None)]
        rejected.append(ChangeGroup(changes, is_said_by_user=True))
    return rejected or admission.build_groups()
