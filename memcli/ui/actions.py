"""What a person changes at the page: each action calls the function of a command, and says how to take it back."""

from collections.abc import Callable, Mapping
from typing import Any

from ..api import edit, maintain, review, sync
from ..api.workspace import recording
from ..api.write import NewEntry, write
from ..errors import NotFoundError, RefusedError, UsageError
from .views import Asked, rendered

USER = "user"
"""Whose word it is: a person sits before the page."""

Done = tuple[str, str]
"""What was done, in words, and the id of the memory to show; empty for none."""


class ChangedMeanwhile(RefusedError):
    """The memory changed since it was shown: both texts side by side, as HTML, and nothing was done."""

    def __init__(self, html: str) -> None:
        """Hold what is to be shown."""
        super().__init__("it changed underneath")
        self.html = html


def _told(asked: Asked, name: str) -> str | None:
    value = asked.body.get(name)
    if value is not None and not isinstance(value, str):
        raise UsageError(f"{name} is no text")
    return value


def _names(asked: Asked) -> list[str]:
    names = asked.body.get("ids")
    if not isinstance(names, list) or not names or not all(isinstance(name, str) and name for name in names):
        raise UsageError("nothing is chosen", "choose a memory first")
    return names


def save(asked: Asked) -> Done:
    """Write a new memory, or change the text and the fields of one; a change of another text is a conflict."""
    tags = _told(asked, "tags")
    pinned = asked.body.get("pinned")
    entry = NewEntry(
        text=_told(asked, "text"),
        type=_told(asked, "type") or None,
        key=_told(asked, "key"),
        title=_told(asked, "title"),
        project=_told(asked, "project"),
        tags=None if tags is None else [tag.strip() for tag in tags.split(",") if tag.strip()],
        pinned=None if pinned is None else bool(pinned),
        id=asked.text("id"),
        supersedes=asked.text("supersedes"),
    )
    expected = asked.text("digest") or None
    try:
        done = write(asked.where, entry, by=USER, expected=expected)
    except RefusedError:
        if expected and _digest(asked) != expected:
            raise ChangedMeanwhile(rendered(asked, "memory", mine=asked.body)) from None
        raise
    words = {"created": "Written", "updated": "Saved", "unchanged": "Nothing to change", "merged": "Known already"}
    others = f", in the place of {len(done.supersedes)}" if done.supersedes else ""
    return f"{words.get(done.action, done.action.capitalize())}{others}", done.superseded_by or done.id


def _digest(asked: Asked) -> str:
    from ..api.read import read

    return read(asked.where, asked.text("id"), limit=1, counts=False).digest


def forget(asked: Asked) -> Done:
    """Move memories to the archive: they stay forgotten."""
    report = edit.forget(asked.where, _names(asked), by=USER, reason=asked.text("reason"))
    return _counted("Forgotten", len(report.entries), report.failed), ""


def restore(asked: Asked) -> Done:
    """Bring memories back from the archive, and superseded ones into use."""
    report = edit.restore(asked.where, _names(asked))
    shown = report.entries[0].name if len(report.entries) == 1 else ""
    return _counted("Restored", len(report.entries), report.failed), shown


def _counted(word: str, count: int, failed: tuple[Any, ...]) -> str:
    if failed and not count:
        raise failed[0].error
    number = f" {count:,} memories" if count != 1 else ""
    return f"{word}{number}" + (f"; {len(failed):,} could not be: {failed[0].error}" if failed else "")


def supersede(asked: Asked) -> Done:
    """Let one memory take the place of another."""
    done = edit.supersede(asked.where, asked.text("id"), asked.text("by"), by=USER)
    return "Superseded" if done.superseded_by else "Flagged: both say otherwise", done.by


def merge(asked: Asked) -> Done:
    """Make one memory of two, or note that they are two."""
    is_distinct = asked.text("distinct") == "yes"
    report = maintain.merge(asked.where, asked.text("id"), asked.text("with"), distinct=is_distinct, by=USER)
    remaining = report.groups[0].kept if report.groups else asked.text("id")
    return "Noted: these are two" if is_distinct else "Merged, both wordings kept", remaining


def answer(asked: Asked) -> Done:
    """Answer questions of the inbox, all in one way and as one command."""
    ids = set(_names(asked))
    questions = [question for question in review.review(asked.where).questions if question.id in ids]
    if not questions:
        raise NotFoundError("answered already, or a text of it changed", "look at the inbox again")
    decision = review.require_decision(asked.text("decision"))
    done, problems, _ = review.ReviewSession(asked.where).answer(questions, decision, lambda *_: None)
    if problems and not done:
        raise RefusedError(problems[0])
    words = "1 question" if len(done) == 1 else f"{len(done):,} questions"
    return f"{words} answered" + (f"; {len(problems):,} could not be: {problems[0]}" if problems else ""), ""


def undo(asked: Asked) -> Done:
    """Take back a command by its number."""
    done = sync.undo(asked.where, asked.number("number"))
    return f"Taken back: {done.command}: {done.did}", ""


def _noted(action: Callable[[Asked], Done], command: str) -> Callable[[Asked], dict[str, Any]]:
    """Return an action that is noted as a command and gives its number, to take it back; 0 where nothing changed."""

    def carried_out(asked: Asked) -> dict[str, Any]:
        try:
            with recording(command, [asked.where]) as noted:
                message, identifier = action(asked)
        except UnicodeEncodeError:
            raise UsageError("the text is not UTF-8") from None
        return {"message": message, "id": identifier, "undo": noted.number(asked.where), "w": asked.index}

    return carried_out


ACTIONS: Mapping[str, Callable[[Asked], dict[str, Any]]] = {
    action.__name__: _noted(action, command)
    for command, action in {
        "write": save,
        "forget": forget,
        "restore": restore,
        "supersede": supersede,
        "dedup": merge,
        "review": answer,
        "undo": undo,
    }.items()
}
