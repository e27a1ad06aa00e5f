"""Find the marks that git leaves in a file it could not merge. Resolving them is the user's business."""

from ..errors import RefusedError


def conflict_marker(text: str) -> int | None:
    """Return the 1-based line where the first conflict (`<<<<<<< ` … `>>>>>>> `) begins, if there is one."""
    begin = f"\n{text}".find("\n<<<<<<< ")
    if begin < 0 or text.find("\n>>>>>>> ", begin) < 0:
        return None
    return text.count("\n", 0, begin) + 1


def require_no_conflict(path: str, text: str) -> None:
    """Refuse to add to a file with a git conflict, which readers pass over: what is added would not be found."""
    line = conflict_marker(text)
    if line is not None:
        raise RefusedError(f"{path}:{line}: a git conflict marker", "resolve the conflict, then try again")
