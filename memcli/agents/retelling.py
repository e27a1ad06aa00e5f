"""What a session was about, for an agent whose own view of it was cut: words that were said, as marked data."""

from ..errors import NotFoundError
from ..store.sessions import find
from ..store.workspace import Workspace

_LONGEST = 2500


def retold_session(workspace: Workspace, name: str) -> str:
    """Write the recap of a session; empty for one that memory knows nothing of."""
    from ..lifecycle.recap import recap

    try:
        told = recap(workspace, find(workspace, name, strict=True))
    except NotFoundError:
        return ""
    lines = [f"- Done: {told.history}"] if told.history else []
    lines += [f"- Asked: {prompt}" for prompt in told.prompts]
    lines += [f"- Open: {question}" for question in told.open if question not in told.prompts]
    if not lines:
        return ""
    text = "\n".join(lines)[:_LONGEST].replace("<", "&lt;")
    mark = "".join(letter for letter in told.session if letter.isalnum() or letter in "-_")[:80]
    return f'## This Session So Far\n\n<memory id="session:{mark}" source="observed">\n{text}\n</memory>'
