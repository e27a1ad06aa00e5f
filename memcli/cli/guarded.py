"""What a person is about to keep on purpose, looked through for secrets: refused, blanked out, or kept all the same."""

from collections.abc import Callable
from typing import Annotated, Any

import typer

from ..errors import RefusedError, UsageError
from ..store.workspace import Workspace

Redact = Annotated[bool, typer.Option("--redact", help="Put [REDACTED:rule] in the place of secrets.")]
AllowSecret = Annotated[bool, typer.Option("--allow-secret", help="Keep what looks like a secret all the same.")]
_FIX = "leave it out; --redact blanks it, --allow-secret keeps it"


def looked_through(
    workspace: Workspace, body: str, told: dict[str, Any], *, redact: bool, allow: bool
) -> tuple[str, dict[str, Any]]:
    """Give text and fields as they may be kept; RefusedError names the line and the rule."""
    if redact and allow:
        raise UsageError("--redact and --allow-secret", "give one of them")
    if allow:
        return body, told
    from ..store.redaction import redactor, require_no_secret

    for option in ("tags", "key", "project") if not redact else ():
        names = told.get(option) or ()
        for name in [names] if isinstance(names, str) else names:
            require_no_secret(workspace, name, f"--{option}")
    guard = redactor(workspace, "the text")
    body = guard.text(body)
    for key, value in told.items():
        guard.name = f"--{key.replace('_', '-')}"
        told = {**told, key: _cleaned(guard.text, value)}
    if guard.refused and not redact:
        first = guard.refused[0]
        where = f"line {first.line} of the text" if first.name == "the text" else first.name
        raise RefusedError(f"{where} looks like a secret ({first.rule})", _FIX)
    if guard.found:
        from .redacted import tell_redacted

        tell_redacted(guard.found)
    return body, told


def guarded_change(
    workspace: Workspace, path: str, change: Callable[[str], str], *, redact: bool, allow: bool
) -> Callable[[str], str]:
    """Give a change of a file's text that brings no secret in; what stood there before is not held against it."""
    if redact and allow:
        raise UsageError("--redact and --allow-secret", "give one of them")
    if allow:
        return change
    from ..agents.guard import keepable
    from ..store.redaction import redactor

    def looked(text: str) -> str:
        new = change(text)
        if not redact:
            return keepable(workspace, path, new, text, _FIX)
        from .redacted import tell_redacted

        guard = redactor(workspace, path)
        new = guard.text(new)
        tell_redacted(guard.found)
        return new

    return looked


def _cleaned(clean: Callable[[str], str], value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_cleaned(clean, one) for one in value]
    if isinstance(value, dict):
        # What a value is may be said by its key.
        return {key: clean(f"{key}={one}").removeprefix(f"{key}=") for key, one in value.items()}
    return value
