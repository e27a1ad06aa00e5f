"""The hooks of mem in the settings of agents: put in beside those of others, and taken out again.

All keep JSON of one shape. A file that is not plain JSON is refused and left as it is. What mem put there it knows by
its command; taking it out gives back the bytes that were there before, if nobody changed the rest meanwhile.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ...api.installation import FileChange, propose, read_bytes
from ...dataclass import dataclass
from ...errors import RefusedError
from .. import AGENTS, Agent
from .skill import BACKUP

_OURS = re.compile(rf"(?:^|[\s/'\"\\])mem(?:\.exe)?['\"]? hook run (?:{'|'.join(AGENTS)})\b")
_EVENTS = {event for agent in AGENTS.values() for event in agent.events}


@dataclass(frozen=True)
class JsonStyle:
    """How a JSON file is written."""

    indent: int | str | None = 2
    ascii: bool = False
    tail: str = "\n"
    newline: str = "\n"

    def written(self, document: Mapping[str, Any]) -> str:
        """Write a document in this style."""
        text = json.dumps(document, indent=self.indent, ensure_ascii=self.ascii) + self.tail
        return text.replace("\n", self.newline)


def command_of(agent: str, program: str) -> str:
    """Return the line that runs the hook; where mem is missing or fails to start, the agent must not hear of it."""
    return f"{program} hook run {agent} || true"


def hooks_of(agent: Agent, command: str, *, tools: bool) -> dict[str, dict[str, Any]]:
    """Return the hook for each event of an agent as its settings hold it, those after tools if they are asked for."""
    return {
        name: {"type": "command", "command": command, "timeout": event.seconds * agent.second}
        for name, event in agent.events.items()
        if tools or not event.is_optional
    }


def install_plan(path: Path, agent: Agent, hooks: Mapping[str, Mapping[str, Any]]) -> list[FileChange]:
    """Propose the hooks in a settings file of an agent, with a copy of the file as it was."""
    text = _text(path)
    document = _document(path, text) if text is not None else dict(agent.head)
    new = _with_hooks(document, hooks)
    if text is not None and new == document:
        return []
    style = _style(text) if text is not None else JsonStyle()
    changed = propose(path, style.written(new).encode())
    copy = _backup(changed.path)
    if text is None or is_installed(document):
        return [changed]
    return [propose(copy, text.encode()), changed]


def uninstall_plan(path: Path, agent: Agent) -> list[FileChange]:
    """Propose the settings file without the hooks: the bytes from before where the rest says the same as then."""
    text = _text(path)
    if text is None:
        return []
    document = _document(path, text)
    if not is_installed(document):
        return []
    new = _without_hooks(document)
    real = path.resolve()
    copy = _backup(real)
    old = read_bytes(copy)
    if old is not None:
        before = _document(copy, old.decode("utf-8", "replace"))
        same = _without_hooks(before) == new
        return [propose(path, old if same else _style(text).written(new).encode()), propose(copy, None)]
    return [propose(path, _style(text).written(new).encode() if new != agent.head else None)]


def is_installed(document: Mapping[str, Any]) -> bool:
    """Tell whether a hook of mem stands in a settings file."""
    return any(True for _ in _hooks_of_mem(document))


def installed_hooks(path: Path) -> list[tuple[str, Mapping[str, Any]]]:
    """List the hooks of mem in a settings file with their events; raise RefusedError for one that cannot be read."""
    text = _text(path)
    return [] if text is None else list(_hooks_of_mem(_document(path, text)))


def installed_events(path: Path) -> list[str]:
    """List the events that mem answers by a settings file; raise RefusedError for one that cannot be read."""
    return list(dict.fromkeys(event for event, _ in installed_hooks(path)))


def programs(path: Path) -> list[str]:
    """List by what names a settings file calls mem, as the shell reads them."""
    return list(dict.fromkeys(str(hook["command"]).partition(" hook run ")[0] for _, hook in installed_hooks(path)))


def _backup(path: Path) -> Path:
    return path.with_name(path.name + BACKUP)


def _text(path: Path) -> str | None:
    data = read_bytes(path)
    if data is None:
        return None
    if data.startswith(b"\xef\xbb\xbf"):
        raise _refused(path, "begins with a byte order mark")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        raise _refused(path, "is not UTF-8") from None


def _document(path: Path, text: str) -> dict[str, Any]:
    """Read a settings file that can be written back with nothing lost."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({key for key, _ in pairs}) < len(pairs):
            raise ValueError("a key stands there twice")
        return dict(pairs)

    try:
        document = json.loads(text, object_pairs_hook=once) if text.strip() else {}
        json.dumps(document, ensure_ascii=False, allow_nan=False).encode()  # what could not be written back
    except (ValueError, RecursionError) as error:
        what = "has comments or is broken" if re.search(r"^\s*(?://|/\*)", text, re.MULTILINE) else "is not plain JSON"
        raise _refused(path, f"{what} ({error})") from None
    hooks = document.get("hooks", {}) if isinstance(document, dict) else None
    if not isinstance(hooks, dict) or not all(isinstance(hooks[event], list) for event in _EVENTS & hooks.keys()):
        raise _refused(path, "does not hold hooks as agents read them")
    return dict(document)


def _refused(path: Path, what: str) -> RefusedError:
    return RefusedError(f"{path} {what}", "it is left as it is: mend it, or add the hooks by hand (docs/agents.md)")


def _hooks_of_mem(document: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for event, groups in document.get("hooks", {}).items():
        for group in groups if isinstance(groups, list) else ():  # beside events there may be a switch
            hooks = group.get("hooks") if isinstance(group, dict) else None
            yield from ((event, hook) for hook in hooks or [] if _is_ours(hook)) if isinstance(hooks, list) else ()


def _is_ours(hook: object) -> bool:
    return isinstance(hook, dict) and isinstance(hook.get("command"), str) and bool(_OURS.search(hook["command"]))


def _with_hooks(document: dict[str, Any], wanted: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    present = [(event, dict(hook)) for event, hook in _hooks_of_mem(document)]
    if sorted(event for event, _ in present) == sorted(wanted) and all(
        wanted[event_name] == hook for event_name, hook in present
    ):
        return document
    new = _without_hooks(document)
    hooks = dict(new.get("hooks", {}))
    for event, hook in wanted.items():
        hooks[event] = [*hooks.get(event, []), {"hooks": [hook]}]
    return {**new, "hooks": hooks}


def _without_hooks(document: Mapping[str, Any]) -> dict[str, Any]:
    """Take the hooks of mem out, and what is empty for want of them."""
    hooks: dict[str, Any] = {}
    for event, groups in document.get("hooks", {}).items():
        if not isinstance(groups, list):
            hooks[event] = groups
            continue
        remaining = []
        for group in groups:
            inner = group.get("hooks") if isinstance(group, dict) else None
            if isinstance(inner, list) and any(map(_is_ours, inner)):
                others = [hook for hook in inner if not _is_ours(hook)]
                remaining += [{**group, "hooks": others}] if others else []
            else:
                remaining.append(group)
        if remaining or event not in _EVENTS:
            hooks[event] = remaining
    new = {key: value for key, value in document.items() if key != "hooks"}
    return {key: hooks if key == "hooks" else new[key] for key in document if key != "hooks" or hooks}


def _style(text: str) -> JsonStyle:
    """Find how a file is written, so that only what changes looks changed."""
    newline = "\r\n" if "\r\n" in text else "\n"
    plain = text.replace("\r\n", "\n")
    tail = plain[len(plain.rstrip()) :]
    match = re.search(r"^([ \t]+)\S", plain, re.MULTILINE)
    is_one_line = ":" in plain and "\n" not in plain.strip()
    return JsonStyle(
        match[1] if match else None if is_one_line else 2, plain.isascii() and "\\u" in plain, tail, newline
    )
