"""Keep secrets out of what is written on purpose: refuse the text, or blank them out where that is asked for."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import field
from functools import partial
from typing import Any

from ..dataclass import dataclass
from ..errors import RefusedError, UsageError
from .redaction import Redacted, Redactor, redactor, require_no_secret
from .workspace import Workspace

FIX = "leave it out; --redact blanks it, --allow-secret keeps it"
_NAMES = ("tags", "key", "project")
"""Fields that stand in listings and logs: no secret of theirs is kept under a name that says it."""


@dataclass(frozen=True)
class SecretGuard:
    """What becomes of secrets in one change: refused, blanked out with `redact`, kept with `allow`."""

    workspace: Workspace
    redact: bool = False
    allow: bool = False
    redacted: list[Redacted] = field(default_factory=list)
    """The places where secrets were blanked out."""

    def __post_init__(self) -> None:
        """Raise UsageError if both are asked for."""
        if self.redact and self.allow:
            raise UsageError("secrets are blanked out, or kept", "give --redact or --allow-secret")

    def entry(self, body: str, told: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return text and fields as they may be kept; RefusedError names the line and the rule."""
        kept = dict(told)
        if self.allow:
            return body, kept
        for option in _NAMES if not self.redact else ():
            names = kept.get(option) or ()
            for name in [names] if isinstance(names, str) else names:
                require_no_secret(self.workspace, name, f"--{option}")
        guard = redactor(self.workspace, "the text")
        body = guard.text(body)
        for key, value in told.items():
            guard.name = f"--{key.replace('_', '-')}"
            kept[key] = _cleaned(partial(_clean_name, guard, key) if key in _NAMES else guard.text, value)
        if guard.refused and not self.redact:
            first = guard.refused[0]
            where = f"line {first.line} of the text" if first.name == "the text" else first.name
            raise RefusedError(f"{where} looks like a secret ({first.rule})", FIX)
        self.redacted.extend(guard.found)
        return body, kept

    def change(self, path: str, change: Callable[[str], str]) -> Callable[[str], str]:
        """Return a change of a file's text that brings no secret in; one that stood there before may stay."""
        if self.allow:
            return change

        def guarded(text: str) -> str:
            new = change(text)
            if not self.redact:
                return keepable(self.workspace, path, new, text, FIX)
            guard = redactor(self.workspace, path)
            new = guard.text(new)
            self.redacted.extend(guard.found)
            return new

        return guarded


def keepable(workspace: Workspace, path: str, new: str, old: str = "", fix: str = "leave it out") -> str:
    """Return the text as it may be kept: without personal data where the settings say so.

    Raise RefusedError, naming line and rule, where it holds a secret that the text before did not.
    """
    guard = redactor(workspace, path)
    kept = new if guard.refuses_personal else guard.text(new, only="personal")
    found = _refused(guard, kept)
    if not found:
        return kept
    guard.text(old)
    known = Counter(one.rule for one in guard.found)
    for one in found:
        known[one.rule] -= 1
        if known[one.rule] < 0:
            raise RefusedError(f"{path}:{one.line}: looks like a secret ({one.rule})", fix)
    return kept


def _refused(guard: Redactor, text: str) -> list[Redacted]:
    """Take out of the redactor what it has found so far, this text included, and is not to be kept."""
    guard.text(text)
    found, guard.found = guard.refused, []
    return found


def _clean_name(guard: Redactor, key: str, name: str) -> str:
    """Return a name without its secrets, as the frontmatter of an imported entry gets it."""
    head, tail = f"---\n{key}: ", "\n---\n"
    return guard.text(f"{head}{name}{tail}", 0).removeprefix(head).removesuffix(tail)


def _cleaned(clean: Callable[[str], str], value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_cleaned(clean, one) for one in value]
    if isinstance(value, dict):
        # What a value is may be said by its key.
        return {key: clean(f"{key}={one}").removeprefix(f"{key}=") for key, one in value.items()}
    return value
