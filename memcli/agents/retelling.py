"""What a session was about, for an agent whose own view of it was cut: words that were said, as marked data."""

from ..errors import NotFoundError
from ..store.sessions import find
from ..store.workspace import Workspace
from ..text.injected import quoted

LONGEST = 3000
"""Characters it takes at most."""
_ROOM = 2500
_TELLING = 60  # characters of a line by which it is known again


def retold_session(workspace: Workspace, name: str, told_already: str = "") -> str:
    """Write the recap of a session, without what was told already; empty for one that memory knows nothing of."""
    from ..lifecycle.recap import recap

    try:
        told = recap(workspace, find(workspace, name, strict=True))
    except NotFoundError:
        return ""
    lines = [f"- Done: {told.history}"] if told.history else []
    fresh = [one for one in told.said if quoted(one.text)[:_TELLING] not in told_already and one.text not in told.open]
    lines += [f"- {'Asked' if one.role == 'user' else 'Answered'}: {one.text}" for one in fresh]
    lines += [f"- Open: {question}" for question in told.open]
    if not lines:
        return ""
    text = quoted("\n".join(lines))[:_ROOM].replace("<", "&lt;")
    mark = "".join(letter for letter in told.session if letter.isalnum() or letter in "-_")[:80]
    return f'## This Session So Far\n\n<memory id="session:{mark}" source="observed">\n{text}\n</memory>'
