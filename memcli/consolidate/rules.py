"""Find what a conversation asks to remember or to forget, its rules, preferences and corrections.

Only sentences of the user count, and only in their own words. The prompt hook calls
`find_requests` with every prompt, so the patterns are imported when a prompt may need them.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ..formats.session import Message

MESSAGES_BACK = 12  # in which a corrected value is looked up
STATEMENTS_BACK = 200  # of which a correction or a forget removes some
PROJECT_LINE = re.compile(r"(?im)^[ \t]*project[ \t]*[:=][ \t]*([\w./-]{1,80})[ \t\r]*$")
# A prompt without any of these words asks for nothing. Most prompts have none.
REQUEST_WORD = re.compile(
    r"remember|memor|in mind|forget|reminder|futur|(?:note|save|store|record|keep)(?: |:|,|$)"
    r"|(?:write|put) down|merk|denk|notier|speicher|vergiss|zukunft|recuerda|olvid|guarda|apunta"
    r"|anota|cuenta|souviens|rappelle|retiens|oublie|avenir|记住",
    re.IGNORECASE,
)


class Statement(NamedTuple):
    """A statement of the user that is worth a memory, or a wish to forget one."""

    text: str
    type: str  # of the memory; empty for kind forget
    kind: str  # request, rule, preference, correction, forget
    message_id: str = ""
    timestamp: str = ""
    project: str = ""
    corrects: str = ""  # the words of the wrong value, or the sentence with it


def find_statements(messages: Sequence["Message"]) -> list[Statement]:
    """Return the statements of a conversation in their order, except withdrawn ones."""
    from .reading import read_message

    statements: dict[str, Statement] = {}
    project = last_id = ""
    for number, message in enumerate(messages):
        if message.speaker != "user":
            continue
        named = PROJECT_LINE.search(message.text)
        project = named[1] if named else project
        earlier = messages[max(0, number - MESSAGES_BACK) : number]
        for statement in read_message(message.text, earlier):
            new = statement._replace(
                message_id=message.id, timestamp=message.timestamp, project=project
            )
            if new.kind == "forget" and not new.text:
                new = remove_last(statements, last_id, new)
            elif new.kind == "forget" or new.corrects:
                for old in list(statements.values())[-STATEMENTS_BACK:]:
                    if is_replaced(old, new):
                        del statements[old.text]
            if new.text:
                statements.setdefault(new.text, new)
        last_id = message.id
    return list(statements.values())


def find_requests(text: str) -> list[Statement]:
    """Return what a prompt asks to remember or to forget."""
    if not REQUEST_WORD.search(text):
        return []
    from .reading import read_message

    found = read_message(text, [])
    return [item for item in found if item.kind in ("request", "forget") and item.text]


def remove_last(statements: dict[str, Statement], last_id: str, new: Statement) -> Statement:
    """Remove the last statement, as "forget that" asks. Return what else is to be forgotten."""
    last = next(reversed(statements.values()), None)
    if last is None or last.message_id != last_id:
        return new
    del statements[last.text]
    # The prompt hook has saved a request already.
    return new._replace(text=last.text) if last.kind == "request" else new


def is_replaced(old: Statement, new: Statement) -> bool:
    """Return whether a new statement withdraws or corrects an older one."""
    from .language import find_content

    shared = find_content(old.text) & find_content(new.text)
    if new.kind == "forget":
        return len(shared) * 2 > len(find_content(new.text))
    wrong, text = new.corrects.casefold(), old.text.casefold()
    return bool(wrong) and len(shared) >= 2 and (wrong in text or text.rstrip(".") in wrong)
