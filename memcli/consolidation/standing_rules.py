"""Recognise a standing rule, which holds until it is revoked: "never …", "from now on …", "… every time".

Owns: the words by which people make one, in the languages people write in. Refuses tales of what always or never was.
"""

import re

from ..text.sentences import is_question

_ALWAYS = (
    r"(?:always|never(?! mind\b| again\b)|immer(?! noch\b)|nie(?:mals)?(?! wieder\b)|toujours|jamais"
    r"|siempre|nunca|jamás|sempre)"
)
# What follows in a tale or a sigh: "always a pleasure", "never seen that", "you never know".
_TALE = (
    r"(?:an?|the|these|those|this|that|my|our|your|his|her|their|so|been|was|were|had|saw|seen|knew|known?|thought|heard|gone|ein\w*"
    r"|der|die|das|diese\w*|un\w*|le|la|les|el|los|(?!need\b|feed\b|embed\b|speed\b)[a-z]{2,}ed)\b"
)
# What "we always …" only tells of: "we always have trouble with the boiler". "You always …" is a complaint.
_STATE = (
    r"(?:have|get|got|are|seem|feel|want|need|forget|end up|know|think|lose|laugh|talk|wonder|love|like|hate|enjoy)\b"
)
_THIRD = r"(?:the|it|its|this|that|they|he|she|there|an?|der|die|das|es|sie|er|le|la|les|il|elle|el|los)\b"
_BINDING = re.compile(
    # "always run …", "please never …", "tests must always …": at the beginning of a sentence or behind a duty; behind a
    # comma only where the sentence is no tale of something: "the job fails now and then, never here".
    rf"(?:(?:^|[:.;–—]\s+|\n\s*)|(?<!\w)(?:^(?!{_THIRD})[^.!?\n]*,\s*)"
    rf"|\b(?:please|pls|and|but|also|bitte|und|must|should|shall|may|can|will|do|don['’]?t|to|ne)\s+"
    rf"|\bwe\s+(?={_ALWAYS}\s+(?!{_STATE})))"
    rf"{_ALWAYS}\b(?!\s+{_TALE})"
    # "from now on", "each time"
    r"|\b(?:from now on|from here on|going forward|in (?:the )?future|for the future|as a rule|house rule"
    r"|every(?: single)? time|each time|whenever|under no circumstances|no matter what|at all times"
    r"|ab (?:jetzt|sofort)|künftig|in zukunft|jedes mal"
    r"|unter keinen umständen|grundsätzlich|à partir de maintenant|désormais|chaque fois|de ahora en adelante"
    r"|a partir de ahora|cada vez|(?:immer|bitte) nur|ne \w+ jamais)\b|今后|以后|从现在起|总是|永远不要|必ず|決して",
    re.IGNORECASE | re.MULTILINE,
)
_LIMITED = re.compile(
    r"\b(?:only|nur|uniquement|solo|solamente)\s+(?:if|when|with|after|from|on|in|unless|wenn|falls|si|cuando|quand)\b"
    r"|\b(?:unless|es sei denn|sauf si|a menos que)\b",
    re.IGNORECASE,
)
_PREFERS = re.compile(
    r"\b(?:i|we)(?:['’]d)?\s+(?:really\s+|much\s+)?(?:prefer|like|love|hate|dislike|can['’]?t stand|favou?r)\b"
    r"|\b(?:i|we)\s+(?:do not|don['’]?t|dont)\s+(?:like|want)\b|\brather\b.*\bthan\b"
    r"|\bich (?:mag|bevorzuge|hasse|will kein)"
    r"|\bje (?:préfère|déteste)|\bprefiero\b|\bno me gusta|喜欢|好き",
    re.IGNORECASE,
)


def is_standing_rule(text: str) -> bool:
    """Tell whether a text binds whoever reads it from now on."""
    return bool(_BINDING.search(text)) and not is_question(text)


def limits(text: str) -> bool:
    """Tell whether a text says under which condition alone something holds."""
    return bool(_LIMITED.search(text))


def plain_type(text: str) -> str:
    """Return the type of a text by its form alone; for texts that no model is asked about."""
    if is_standing_rule(text) or limits(text):
        return "constraint"
    return "preference" if _PREFERS.search(text) else "fact"
