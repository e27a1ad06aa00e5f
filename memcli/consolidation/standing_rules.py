"""Recognise a standing rule, which holds until it is revoked: "never …", "from now on …", "… every time".

Owns: the words by which people make one, in the languages people write in. Refuses tales of what always or never was.
"""

from functools import partial

from .. import data
from ..language.sentences import is_question

_pattern = partial(data.pattern, "rules.toml")


def untagged(text: str) -> str:
    """Return a statement without the tag that only asks for a nod: "always ask me first, ok?"; a question as it is.

    "…, right?" asks whether something is so, except behind a rule.
    """
    tag = _pattern("tag").search(text)
    if not tag or is_question(text[: tag.start()]):
        return text
    said = text[: tag.start()]
    return said if tag["nod"] or is_standing_rule(said) else text


def is_standing_rule(text: str, after: str = "") -> bool:
    """Tell whether a text binds whoever reads it from now on; a ban does so if what stands after it limits it."""
    if is_question(text := untagged(text) if is_question(text) else text):
        return is_polite_rule(text)
    first, _, rest = text.partition(". ")
    is_ban = bool(_pattern("ban").match(first)) and (exempts(rest or after) or bool(_pattern("reasoned").match(first)))
    return bool(_pattern("binding").search(text)) or is_ban


def opens_as_rule(text: str) -> bool:
    """Tell a rule that begins with what makes it one: "never …", "from now on …", "please always …"."""
    return bool(_pattern("opens").match(text)) and is_standing_rule(text)


def is_polite_rule(text: str) -> bool:
    """Tell whether a text asks for something to be done from now on: "could you please always …?"."""
    asked = _pattern("asked").search(text)
    if not asked:
        return False
    order = text[asked.end() :].strip().rstrip("?？ \t\n\"'”’)*_`")
    is_polite = asked["polite"] or asked["please"] or not _pattern("always_first").match(order)
    return bool(is_polite and _pattern("binding").search(order))


def exempts(text: str) -> bool:
    """Tell whether a text says when what stands before it does not hold, or holds alone."""
    return limits(text) or bool(_pattern("exempts").search(text))


def limits(text: str) -> bool:
    """Tell whether a text says under which condition alone something holds."""
    return bool(_pattern("limited").search(text))


def plain_type(text: str) -> str:
    """Return the type of a text by its form alone; for texts that no model is asked about."""
    if is_standing_rule(text) or limits(text):
        return "constraint"
    return "preference" if _pattern("prefers").search(text) else "fact"
