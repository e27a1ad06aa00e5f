"""Find what fixed an error: a command failed, something was run, and the command worked.

Owns: what counts as the same command and as a fix. Refuses fixes that only changed files, since how they were changed
is in the files, and commands that only look.
"""

import json
import re
from collections.abc import Iterator, Sequence

from ..dataclass import dataclass
from ..formats.session_event import Event
from ..formats.text_lines import shorten

_WITHIN = 40
"""Events between the failure and the command that worked."""

_LISTED = 4  # files of a conversation that are named

_SHELL = re.compile(r"bash|shell|exec|terminal|command|\brun|^sh$|console|powershell", re.IGNORECASE)
_LOOKS = re.compile(
    r"(?:\S*/)?(?:ls|cat|head|tail|less|grep|rg|ag|find|fd|which|type|pwd|echo|printf|cd|test|stat|file|wc|diff|tree|env|ps"
    r"|sleep|jq|sed -n|man|git (?:status|log|diff|show|branch|remote|blame|grep)"
    r"|(?:docker|kubectl) (?:ps|logs|get|describe|images))\b"
)
_FAILED = re.compile(
    r"\bexit(?:ed)?(?: with)?(?: code| status)?[ :=]+[1-9]|command not found|Traceback \(most recent|^(?:fatal|error):",
    re.IGNORECASE | re.MULTILINE,
)
_SAYS_WHY = re.compile(
    r"error|exception|not found|fail|cannot|can't|denied|fatal|missing|unable|refused|no such|invalid|undefined",
    re.IGNORECASE,
)
_BEFORE = re.compile(r"^(?:cd \S+ (?:&&|;) |(?:\w+=\S+ )+|sudo |time |env )+")
_EDITS = re.compile(r"edit|write|patch|create|replace|insert", re.IGNORECASE)


@dataclass(frozen=True)
class _Run:
    command: str
    failed: bool
    output: str
    event: Event
    position: int


def repairs(events: Sequence[Event]) -> list[tuple[str, str]]:
    """Return which command failed, why, and what made it work, with the id of the event that worked; each once."""
    runs = list(_runs(events))
    repairs_by_command: dict[str, tuple[str, str]] = {}
    for index, run in enumerate(runs):
        if not run.failed or _LOOKS.match(_plain(run.command)):
            continue
        fix = _fix(run, runs[index + 1 :])
        if fix:
            repairs_by_command.setdefault(run.command, fix)
    return list(repairs_by_command.values())


def unfixed(events: Sequence[Event]) -> list[str]:
    """Return the commands that failed and did not work later, each with why, in their order."""
    failures: dict[str, str] = {}
    for run in _runs(events):
        if not run.failed:
            failures.pop(run.command, None)
        elif not _LOOKS.match(_plain(run.command)):
            failures[run.command] = f"`{shorten(run.command, 100)}` failed{_why(run.output)}"
    return list(failures.values())


def changed_files(events: Sequence[Event]) -> tuple[str, ...]:
    """Return the files that tools wrote, each once, in the order they were first written."""
    paths: dict[str, None] = {}
    for event in events:
        if event.type == "tool_call" and _EDITS.search(event.name):
            paths.update(dict.fromkeys(_paths_of(event.text)))
    return tuple(paths)


def listed_files(files: Sequence[str]) -> str:
    """Return the first files of a list in one line, and how many more there are."""
    more = f" and {len(files) - _LISTED} more" if len(files) > _LISTED else ""
    return f"{', '.join(files[:_LISTED])}{more}"


def _fix(failure: _Run, later: Sequence[_Run]) -> tuple[str, str] | None:
    between: list[str] = []
    for run in later:
        if run.position - failure.position > _WITHIN:
            return None
        if _same(run.command, failure.command):
            if run.failed:
                return None  # the failure after it has the better story
            return _repair(failure, between, run)
        if not run.failed and not _LOOKS.match(_plain(run.command)):
            between.append(run.command)
    return None


def _repair(failure: _Run, between: Sequence[str], success: _Run) -> tuple[str, str] | None:
    text = f"`{shorten(failure.command, 100)}` failed{_why(failure.output)}"
    if success.command != failure.command:
        return f"{text}; `{shorten(success.command, 160)}` worked.", success.event.id
    if not between:
        return None  # it worked when tried again, and nobody knows why
    steps = ", then ".join(f"`{shorten(step, 120)}`" for step in between[-3:])
    return f"{text}; it worked after {steps}.", success.event.id


def _runs(events: Sequence[Event]) -> Iterator[_Run]:
    answers = {
        str(event.extra.get("call_id")): event
        for event in events
        if event.type == "tool_result" and event.extra.get("call_id")
    }
    for position, event in enumerate(events):
        if event.type != "tool_call" or not event.text.strip() or not _is_command(event):
            continue
        answer = answers.get(str(event.extra.get("call_id", "")))
        following = events[position + 1] if position + 1 < len(events) else None
        if answer is None and following is not None and following.type == "tool_result":
            answer = following
        if answer is not None:
            failed = answer.is_error or bool(_FAILED.search(answer.text[-2000:]))
            yield _Run(event.text.strip(), failed, answer.text, event, position)


def _is_command(event: Event) -> bool:
    return bool(_SHELL.search(event.name)) and not event.text.lstrip().startswith(("{", "[{"))


def _plain(command: str) -> str:
    return _BEFORE.sub("", command)


def _same(left: str, right: str) -> bool:
    """Tell whether two command lines try the same thing: the program and what it is told, or all but the program."""
    first, second = _plain(left).split(), _plain(right).split()
    if not first or not second:
        return False
    text, told_other = _told(first), _told(second)
    if first[0] == second[0] and (text == told_other or not text or not told_other):
        return True
    return len(first) > 1 and first[1:] == second[1:]


def _told(words: Sequence[str]) -> str:
    return next((word for word in words[1:] if not word.startswith("-")), "")


def _why(output: str) -> str:
    lines = [line.strip() for line in output[-4000:].splitlines() if any(map(str.isalpha, line))]
    telling = [line for line in lines if _SAYS_WHY.search(line) and not _FAILED.fullmatch(line)]
    line = (telling or lines or [""])[-1]
    return f" with “{shorten(line, 160)}”" if line else ""


def _paths_of(text: str) -> list[str]:
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        return re.findall(r"^\*\*\* (?:Update|Add) File: (.+)$", text, re.MULTILINE)
    if not isinstance(given, dict):
        return []
    named = [
        given[key] for key in ("file_path", "path", "filename", "notebook_path") if isinstance(given.get(key), str)
    ]
    patch = given.get("patch") or given.get("input")
    return named or (_paths_of(patch) if isinstance(patch, str) else [])
