"""What a person changes at the page: each action calls the function of a command, and says how to take it back.

An action says by a digest what was shown of the memory it is about: nothing is done to one that changed since.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from ..api import edit, maintain, review, sync
from ..api.read import read
from ..api.workspace import recording
from ..api.write import SECRET_FIX, NewEntry, write
from ..errors import NotFoundError, RefusedError, UsageError
from ..results import number_of
from .views import Asked, begins, digest_of, has, mark_of, rendered, short

USER = "user"
"""Whose word it is: a person sits before the page."""


class ActionResult(NamedTuple):
    """What was done, in words, the id of the memory to show, empty for none, and what else to tell the person."""

    message: str
    id: str = ""
    notices: Sequence[str] = ()


class ChangedMeanwhile(RefusedError):
    """The memory changed since it was shown: how it stands now, as HTML, and nothing was done."""

    def __init__(self, html: str) -> None:
        """Hold what is to be shown."""
        super().__init__("it changed underneath")
        self.html = html


def _text_or_none(asked: Asked, name: str) -> str | None:
    value = asked.body.get(name)
    if value is not None and not isinstance(value, str):
        raise UsageError(f"{name} is no text")
    return value


def _texts(asked: Asked, name: str) -> list[str]:
    texts = asked.body.get(name, [])
    if not isinstance(texts, list) or not all(isinstance(text, str) and text for text in texts):
        raise UsageError(f"{name} are no texts")
    return texts


def _names(asked: Asked) -> list[str]:
    if names := _texts(asked, "ids") or [name for name in [asked.text("id")] if name]:
        return names
    raise UsageError("nothing is chosen", "choose a memory first")


def _require_seen(asked: Asked) -> None:
    """Raise for the memory that an action is about, or another one chosen beside it, that is no longer as shown."""
    name, digest = asked.text("id") or asked.text("supersedes"), asked.text("digest")
    if digest and digest_of(asked.where, name) != digest:
        about = Asked(asked.workspaces, {**asked.query, "id": name}, asked.body)
        mine = asked.body if asked.text("typed") else None
        raise ChangedMeanwhile(rendered(about, "memory", has_changed=True, mine=mine))
    other, digest = asked.text("with") or asked.text("by"), asked.text("other_digest")
    if digest and digest_of(asked.where, other) != digest:
        raise RefusedError("the other one changed since it was shown", "look at it again")


def _unchanged(asked: Asked) -> tuple[list[str], list[str]]:
    """Return the memories of a batch that are as they were shown, and what to tell of the others."""
    names, digests = _names(asked), _texts(asked, "digests")
    if not digests:
        return names, []
    unchanged: list[str] = []
    for name, digest in zip(names, digests, strict=False):
        with suppress(NotFoundError):
            unchanged += [name] if digest_of(asked.where, name) == digest else []
    if not unchanged:
        raise RefusedError("all of these changed since they were shown", "look at the inbox again")
    left = len(names) - len(unchanged)
    return unchanged, [f"{number_of(left, 'memory')} changed meanwhile, and nothing was done there"] if left else []


def save(asked: Asked) -> ActionResult:
    """Write a new memory, or change the text and the fields of one; a change of another text is a conflict."""
    text, tags = _text_or_none(asked, "text"), _text_or_none(asked, "tags")
    if not (text or "").strip() and (text is not None or not asked.text("id")):
        raise UsageError("nothing to remember", "write a sentence first")
    pinned = asked.body.get("pinned")
    entry = NewEntry(
        text=text,
        type=_text_or_none(asked, "type") or None,
        key=_text_or_none(asked, "key"),
        title=_text_or_none(asked, "title"),
        project=_text_or_none(asked, "project"),
        tags=None if tags is None else [tag.strip() for tag in tags.split(",") if tag.strip()],
        pinned=None if pinned is None else bool(pinned),
        id=asked.text("id"),
        supersedes=asked.text("supersedes"),
    )
    try:
        done = write(asked.where, entry, by=USER, expected=(entry.id and asked.text("digest")) or None)
    except RefusedError as error:
        fix = "leave it out" if error.fix == SECRET_FIX else error.fix  # the page has no options
        raise RefusedError(error.message.removeprefix("--"), fix) from None
    words = {"created": "Written", "updated": "Saved", "unchanged": "Nothing to change", "merged": "Known already"}
    others = f", in the place of {len(done.supersedes)}" if done.supersedes else ""
    notices = [*map(str, done.redacted), *done.notices]
    if done.conflicts_with:
        rivals = "”, “".join(begins(name, asked.where) for name in done.conflicts_with)
        notices.append(f"may contradict “{rivals}”: the inbox asks which holds")
    message = f"{words.get(done.action, done.action.capitalize())}{others}"
    return ActionResult(message, done.superseded_by or done.id, notices)


def forget(asked: Asked) -> ActionResult:
    """Move memories to the archive: they stay forgotten."""
    names, left = _unchanged(asked)
    report = edit.forget(asked.where, names, by=USER, reason=asked.text("reason"))
    done = _counted("Forgotten", report)
    done = done._replace(notices=[*left, *done.notices])
    if len(report.entries) > 1:
        return done
    text = read(asked.where, report.entries[0].path, limit=400, counts=False).content
    return done._replace(message=f"{done.message}: {short(text, 90)}")


def restore(asked: Asked) -> ActionResult:
    """Bring memories back from the archive, and superseded ones into use."""
    report = edit.restore(asked.where, _names(asked))
    return _counted("Restored", report, report.entries[0].name if len(report.entries) == 1 else "")


def _counted(word: str, report: edit.RestoreReport, shown: str = "") -> ActionResult:
    count, failed = len(report.entries), report.failed
    if failed and not count:
        raise failed[0].error
    number = f" {count:,} memories" if count != 1 else ""
    message = f"{word}{number}" + (f"; {len(failed):,} could not be: {failed[0].error}" if failed else "")
    return ActionResult(message, shown, [notice for entry in report.entries for notice in entry.notices])


def supersede(asked: Asked) -> ActionResult:
    """Let one memory take the place of another."""
    done = edit.supersede(asked.where, asked.text("id"), asked.text("by"), by=USER)
    return ActionResult("Superseded" if done.superseded_by else "Flagged: both say otherwise", done.by, done.notices)


def merge(asked: Asked) -> ActionResult:
    """Make one memory of two."""
    report = maintain.merge(asked.where, asked.text("id"), asked.text("with"), by=USER)
    return ActionResult("Merged, both wordings kept", report.groups[0].kept)


def answer(asked: Asked) -> ActionResult:
    """Answer questions of the inbox, named or all of a group as it was shown, in one way and as one command."""
    questions: Sequence[review.Question] = review.review(asked.where).questions
    if mark := asked.text("group"):
        groups = review.by_group(question for question in questions if has(question, asked.text("words"))).values()
        questions = next((inside for inside in groups if mark_of(inside) == mark), ())
    else:
        ids = set(_names(asked))
        questions = [question for question in questions if question.id in ids]
    if not questions:
        raise NotFoundError("answered already, or a text of it changed", "look at the inbox again")
    return _settled(asked, questions)


def repeat(asked: Asked) -> ActionResult:
    """Answer whether two memories say the same, by their texts as they were shown."""
    session = review.ReviewSession(asked.where)
    return _settled(asked, [session.repeat(asked.text("question"), asked.text("newer"), asked.text("older"))])


def _settled(asked: Asked, questions: Sequence[review.Question]) -> ActionResult:
    decision = review.require_decision(asked.text("decision"))
    done, problems, _ = review.ReviewSession(asked.where).answer(questions, decision, lambda *_: None)
    if problems and not done:
        raise RefusedError(problems[0])
    words = number_of(len(done), "question")
    return ActionResult(f"{words} {'put off' if decision == 'later' else 'answered'}", notices=problems)


def seen(asked: Asked) -> ActionResult:
    """Note up to which memory a person has looked at what was added."""
    review.mark_seen(asked.where, asked.text("until"))
    return ActionResult("Seen")


def undo(asked: Asked) -> ActionResult:
    """Take back a command by its number."""
    done = sync.undo(asked.where, asked.number("number"))
    return ActionResult(f"Taken back: {done.command}: {done.did}")


def _noted(action: Callable[[Asked], ActionResult], command: str) -> Callable[[Asked], dict[str, Any]]:
    """Return an action that is noted as a command and gives its number, to take it back; 0 where nothing changed."""

    def carried_out(asked: Asked) -> dict[str, Any]:
        try:
            with recording(command, [asked.where]) as noted:
                _require_seen(asked)
                done = action(asked)
        except UnicodeEncodeError:
            raise UsageError("the text is not UTF-8") from None
        return done._asdict() | {"undo": noted.number(asked.where), "w": asked.index}

    return carried_out


ACTIONS: Mapping[str, Callable[[Asked], dict[str, Any]]] = {
    action.__name__: _noted(action, command)
    for action, command in {
        save: "write",
        forget: "forget",
        restore: "restore",
        supersede: "supersede",
        merge: "dedup",
        answer: "review",
        repeat: "dedup",
        seen: "review",
        undo: "undo",
    }.items()
}
