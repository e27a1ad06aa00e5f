"""Read bytes as UTF-8, and say where they are something else."""

from .problem import Problem


def decoded(data: bytes) -> tuple[str, Problem | None]:
    """Give the text, with U+FFFD in the place of what cannot be read, and the first line where that is so."""
    try:
        return data.decode("utf-8"), None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        reason = f"not UTF-8 (byte {data[error.start]:#04x}): convert it, for example with iconv"
        return data.decode("utf-8", "replace"), Problem(line, reason)
