"""The review in a terminal: one question after the other, one key each. What was answered is done at once."""

import os
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from ..api.review import HUB, Decision, Question, ReviewSession, allowed, shorten
from ..api.workspace import Workspace
from ..errors import BusyError, MemError, NotFoundError
from . import output, review_page

_ESCAPE = b"\x1b"


def read_key(prompt: Callable[[], None]) -> str:
    """Wait for a key; return its letter in lower case, empty at the end of input.

    `prompt` says what may be pressed, when the terminal is ready: a Ctrl-D that came before would be swallowed. Keys
    that are no letter, such as arrows, are a sign of no meaning. The terminal is left as it was, also by Ctrl-C.
    """
    try:
        import termios
        import tty
    except ImportError:  # no POSIX terminal: the first letter of a line
        prompt()
        return sys.stdin.readline().strip()[:1].lower()
    fd = sys.stdin.fileno()
    before = termios.tcgetattr(fd)
    try:
        tty.setcbreak(fd, termios.TCSADRAIN)  # what was typed ahead counts
        prompt()
        found = os.read(fd, 1)
        if found == _ESCAPE:
            _drain(fd)
    finally:
        termios.tcsetattr(fd, termios.TCSADRAIN, before)
    return found.decode("ascii", "replace").lower()


def _drain(fd: int) -> None:
    """Read the rest of what one key sends."""
    import select

    while select.select([fd], [], [], 0.01)[0] and os.read(fd, 1):
        pass


TOGETHER = {"new": 5, "faded": 5}
"""Questions of a kind from which they may be answered as one; pairs of one entry from `HUB` on."""
_PAIR: Mapping[str, Decision] = {
    "k": "keep", "n": "newer", "o": "older", "s": "same", "f": "forget", "l": "later"
}  # fmt: skip
_WORDS: Mapping[str, str] = {
    "k": "keep both", "n": "newer", "o": "older", "s": "same", "e": "edit", "f": "forget both", "l": "later",
    "q": "quit",
}  # fmt: skip
_SINGLE: Mapping[str, str] = {"k": "keep", "e": "edit", "f": "forget", "l": "later", "q": "quit"}
_DONE: Mapping[Decision, str] = {
    "keep": "kept", "newer": "the newer holds", "older": "the older holds", "same": "one memory, both wordings kept",
    "forget": "in the archive: `mem restore` brings it back", "later": "asked again later",
}  # fmt: skip
_LISTED = 12  # memories of a group that are shown before it is answered as one
_QUIT = "q\x03\x04"


class _Quit(Exception):
    """The person has had enough."""


def session(workspace: Workspace, questions: Sequence[Question]) -> None:
    """Ask until all is answered or the person leaves; what is not answered waits for the next time."""
    count = 0
    settled: set[str] = set()  # memories that an answer was about: questions about them may be gone with it
    groups = _groups(questions)
    left = sum(map(len, groups))
    review = ReviewSession(workspace)
    try:
        for group in groups:
            done = _ask_together(review, group, left) if len(group) > 1 else None
            if done is not None:
                count += done
                left -= len(group)
                continue
            for one in group:
                count += _ask(workspace, review, one, left, settled)
                left -= 1
    except _Quit:
        pass
    finally:  # also at Ctrl-C
        rest = f"; {left:,} left, `mem review` goes on there" if left else ""
        output.note(f"{count:,} answered{rest}")


def _groups(questions: Sequence[Question]) -> list[list[Question]]:
    """Gather what may be answered as one, in the order of the queue."""
    sizes = Counter((one.kind, one.group) for one in questions if one.group)
    groups: dict[object, list[Question]] = {}
    for one in questions:
        least = HUB if one.is_pair else TOGETHER[one.kind]
        name = (one.kind, one.group)
        groups.setdefault(name if one.group and sizes[name] >= least else one.id, []).append(one)
    return list(groups.values())


def _ask(workspace: Workspace, review: ReviewSession, question: Question, left: int, settled: set[str]) -> int:
    """Ask one question; return how many were answered. What an answer settles is added to `settled`."""
    ids = {side.entry.id for side in question.sides}
    while True:
        try:
            question = review.current(question)
        except NotFoundError as error:
            if not ids & settled:
                output.note(error.message)
            return 0
        except MemError as error:
            output.note(str(error))
            return 0
        output.say(f"\n{left:,} to go · {review_page.heading(question)}\n")
        for line in review_page.shown(question):
            output.say_styled(*line)
        output.say("")
        if question.proposal:
            output.say(f"proposed: {question.proposal.decision} (by {question.proposal.by}); y takes it\n")
        words = _choices(question)
        key = _key(words, "y" if question.proposal else "")
        if key == "e":
            _edit(workspace, question)
            continue
        decision: Decision = question.proposal.decision if key == "y" else _PAIR[key]  # type: ignore[union-attr, assignment]
        try:
            review.answer(question, decision)
        except BusyError:
            raise
        except NotFoundError as error:
            output.note(error.message)
            return 0
        except MemError as error:
            output.note(str(error))
            continue
        output.say(_DONE[decision])
        settled |= ids
        return int(decision != "later")


def _choices(question: Question) -> Mapping[str, str]:
    names = _WORDS if question.is_pair else _SINGLE
    open_to = allowed(question)
    return {key: word for key, word in names.items() if key in "eq" or _PAIR[key] in open_to}


def _ask_together(review: ReviewSession, group: Sequence[Question], left: int) -> int | None:
    """Ask about questions that have something in common; None where they are to be asked one by one."""
    first = group[0]
    one = next((side for side in first.sides if side.entry.id == first.group), first.sides[0])
    about = f"{first.group} is flagged with {len(group):,} others" if first.is_pair else ""
    about = about or (f"{len(group):,} rules nobody confirmed for long" if first.kind == "faded" else "")
    output.say(f"\n{left:,} to go · {about or f'{len(group):,} new memories from {first.group}'}\n")
    listed = [one] if first.is_pair else []
    listed += [side for each in group for side in each.sides if side.entry.id != one.entry.id or not first.is_pair]
    for side in listed[:_LISTED]:
        output.say(f"  {side.entry.id}  {output.visible(shorten(' '.join(side.entry.body.split()), 70))}")
    if listed[_LISTED:]:
        output.say(f"  … and {len(listed) - _LISTED:,} more: i shows each")
    output.say("")
    words = {"k": "keep all", "i": "one by one", "l": "all later", "q": "quit"}
    if first.kind != "key" and all("keep" in allowed(each) for each in group):
        key = _key(words)
    else:
        key = _key({name: word for name, word in words.items() if name != "k"})
    if key == "i":
        return None
    if key == "l":
        review.put_off(group)
        return 0
    bar = output.Bar("keeping")
    count, problems = review.keep_all(group, bar)
    bar.clear()
    for problem in problems:
        output.note(problem)
    output.say(f"{count:,} kept")
    return count


def _edit(workspace: Workspace, question: Question) -> None:
    from .edit import edit

    side = question.sides[0]
    if question.is_pair:
        key = _key({"n": "edit the newer", "o": "edit the older", "b": "back", "q": "quit"})
        if key == "b":
            return
        side = question.sides["no".index(key)]
    try:
        edit(side.path, workspace=str(workspace.root))
    except MemError as error:
        output.note(str(error))


def _key(words: Mapping[str, str], more: str = "") -> str:
    """Show what may be pressed and wait for it; leaving raises."""
    shown = " · ".join(
        f"[{key}]{word[1:]}" if word.startswith(key) else f"[{key}] {word}" for key, word in words.items()
    )
    prompt = f"{shown} ? "

    def ask() -> None:
        output.say(prompt, end="")
        output.flush()

    while True:
        pressed = read_key(ask)
        prompt = ""
        if not pressed or pressed in _QUIT:
            output.say("q")
            raise _Quit
        if pressed in words or (more and pressed in more):
            output.say(pressed)
            return pressed
