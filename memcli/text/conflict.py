"""Find the marks that git leaves in a file it could not merge. Resolving them is the user's business."""


def conflict_marker(text: str) -> int | None:
    """Return the 1-based line where the first conflict (`<<<<<<< ` … `>>>>>>> `) begins, if there is one."""
    begin = f"\n{text}".find("\n<<<<<<< ")
    if begin < 0 or text.find("\n>>>>>>> ", begin) < 0:
        return None
    return text.count("\n", 0, begin) + 1
