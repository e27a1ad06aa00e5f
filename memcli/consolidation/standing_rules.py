"""Recognise a standing rule, which holds until it is revoked: "never …", "from now on …", "… every time".

Owns: the words by which people make one, in the languages people write in. Refuses tales of what always or never was.
"""

import re

from ..language.sentences import is_question

_ALWAYS = (
    r"(?:always|never(?! mind\b| again\b)|immer(?! noch\b)|nie(?:mals)?(?! wieder\b)|toujours|jamais"
    r"|siempre|nunca|jamás|sempre)"
)
# What follows in a tale or a sigh: "always a pleasure", "never seen that", "you never know".
# What a polite rule is asked with; it needs "please", "could" or a word for the future: "can you always …?" only asks.
_ASKED = re.compile(
    r"\b(?:(?P<polite>could you|könntest du|könnten sie|pourrais-tu|pourriez-vous|podrías|podría)"
    r"|(?:can|will|would) you|kannst du|können sie|peux-tu|pouvez-vous|puedes)\s+"
    r"(?P<please>(?:please|bitte|kindly)\s+)?",
    re.IGNORECASE,
)
_TALE = (
    r"(?:an?|the|these|those|this|that|my|our|your|his|her|their|so|been|was|were|had|saw|seen|knew|known?|thought|heard|gone|gonna|ein\w*"
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
    rf"|\b(?:please|pls|normally|otherwise|usually|and|but|also|bitte|und|must|should|shall|may|can|will|do|don['’]?t|to|ne)\s+"
    rf"|\bwe\s+(?={_ALWAYS}\s+(?!{_STATE})))"
    rf"{_ALWAYS}\b(?!\s+{_TALE})"
    rf"|\b(?:please|pls|bitte)\s+{_ALWAYS}\b"
    # "don't ever …", "I never want …", "it is vital that you never …", "you must not …", "no calls on Sundays"
    r"|\b(?:do not|don['’]?t|never) ever\b|\b(?:i|we) (?:never|always|don['’]?t ever) want\b(?! to\b(?! be\b))"
    rf"|\bthat you {_ALWAYS}\b"
    r"|\byou (?:must|may|shall) not\b(?! have\b)|^only (?:(?-i:[A-ZÀ-Þ])|the |my |our |i |we )[^.!?\n]{0,40}"
    r" (?:may|must|(?:is|are) allowed to)\b"
    r"|^(?:my|our|the|one) (?:house )?rule (?:is|for\b.{1,40}):"
    r"|^no (?!idea|problem|worr|rush|hurry|clue|thanks|need)(?:[^.!?\n]+,? please\b"
    r"|[^.!?\n]{2,60}\bon (?:mon|tues|wednes|thurs|fri|satur|sun|week)(?:days|ends)\b)"
    r"|[.!]\s+(?:not )?ever[.!]"
    # "niemals die Post öffnen"
    r"|^(?:nie|niemals|immer)\s[^.!?\n]*\s(?-i:[a-zäöü])\w+en[.!]*$"
    # "from now on", "each time"
    r"|\b(?:from now on|from here on|going forward|in (?:the )?future|for the future|as a rule|house rule"
    r"|every(?: single)? time|each time|whenever|under no circumstances|no matter what|at all times"
    r"|ab (?:jetzt|sofort)|künftig|in zukunft|jedes mal"
    r"|unter keinen umständen|grundsätzlich|à partir de maintenant|désormais|chaque fois|de ahora en adelante"
    r"|a partir de ahora|cada vez|(?:immer|bitte) nur|ne \w+ jamais)\b|今后|(?:^|[，。,；\s从])以后|从现在起|从今以后"
    r"|(?:^|[，。,、；：:\s请請要])(?:总是|總是|一律|每次|绝对|絕對|务必|務必|千万|千萬|一定要)|永远不要|永遠不要|^常に|必ず|決して|今後|これからは|絶対に|毎回"
    r"|앞으로|항상|절대|반드시",
    re.IGNORECASE | re.MULTILINE,
)
_OKAY = (
    r"(?:alright|all right|okay|ok|fine|allowed|permitted|exempt\w*|excepted|excluded|erlaubt|gestattet|in ordnung"
    r"|ausgenommen|permis\w*|permitid\w*|autoris\w*)"
)
_EXEMPTS = re.compile(
    rf"\b(?:is|are|it['’]s|ist|sind|wäre|est|sont|está|están)\s(?:\w+\s){{0,2}}{_OKAY}\b|\bexceptions?\b|\bausnahmen?\b"
    r"|\b(?:that|this|it|which|das)\s(?:only|just|nur)\s(?:counts?|applies|holds|goes|concerns|matters|gilt)\b"
    r"|\b(?:counts|applies|holds|gilt)\s(?:only|nur)\b|^(?:das )?gilt nur\b|^(?:ただし|但し|但是|不过|除了|除非|但)",
    re.IGNORECASE,
)
_BAN = re.compile(r"(?:please\s+|bitte\s+)?(?:do not|don['’]?t|no|kein\w*|nicht|ne)\s", re.IGNORECASE)
# "don't use lambdas; I find them unreadable": an order with its reason lasts, but for "don't merge this yet because …"
_REASONED = re.compile(
    r"(?:please\s+|bitte\s+)?(?:do not|don['’]?t)\s+(?!see\b|get me\b)"
    r"(?:(?!\b(?:yet|now|today|tonight|tomorrow|this|that|these|those|it|them|until|again|worry|know|think|bother|care"
    r"|mind|believe|remember|understand|need|have|\w*\d)\b)[^.!?\n])*?"
    r"(?:[;,–—(]? because\s|; (?:i|we) (?:find|hate|dislike|never|can['’]?t|cannot|don['’]?t)\b)",
    re.IGNORECASE,
)
_LIMITED = re.compile(
    r"\b(?:only|nur|uniquement|solo|solamente)\s+(?:if|when|with|after|from|on|in|unless|wenn|falls|si|cuando|quand)\b"
    r"|\b(?:unless|es sei denn|sauf si|a menos que)\b",
    re.IGNORECASE,
)
_TAG = re.compile(
    r"\s*[,.;–—-]\s*¿?(?:(?P<nod>(?:is that |are we )?(?:ok|okay|k|alright|all right|got it|understood|clear|deal"
    r"|please|in ordnung|verstanden|klar|alles klar|einverstanden|gut|ja|d['’]accord|compris|ça marche|vale|de acuerdo"
    r"|entendido|está bien|va bene|capito|d'accordo|tá|tá bom|combinado|goed|oké|begrepen|好吗|可以吗))"
    r"|right|yes|yeah|no|oder|ne|gell|nicht wahr|n['’]est-ce pas|non|hein|verdad|vero|né|toch)\s*[?？][\s\"'”’)*_]*$",
    re.IGNORECASE,
)
_ALWAYS_FIRST = re.compile(rf"{_ALWAYS}\b", re.IGNORECASE)
_OPENS = re.compile(
    rf"(?:(?:ok|okay|oh|hey|and|also|so|but|please|pls|btw|by the way|as i said|(?:one|another) (?:more )?thing|und"
    rf"|bitte)[,:\s]+)*(?:{_ALWAYS}\b|(?:i|we) (?:never|always)\b"
    r"|do(?: not|n['’]?t) |(?:from \w+ on|going forward|as of|every time|each time|in (?:the )?future|whenever"
    r"|for (?:the )?future|ab \w+ |künftig|à partir|désormais|de ahora|a partir|cada vez|jedes mal)\b"
    r"|今后|以后|从现在起|总是|总|永远|必ず|今後|これからは|앞으로|항상|절대)",
    re.IGNORECASE,
)
_PREFERS = re.compile(
    r"\b(?:i|we)(?:['’]d)?\s+(?:really\s+|much\s+)?(?:prefer|like|love|hate|dislike|can['’]?t stand|favou?r)\b"
    r"|\b(?:i|we)\s+(?:do not|don['’]?t|dont)\s+(?:like|want)\b|\brather\b.*\bthan\b"
    r"|\bich (?:mag|bevorzuge|hasse|will kein)"
    r"|\bje (?:préfère|déteste)|\bprefiero\b|\bno me gusta|喜欢|好き",
    re.IGNORECASE,
)


def untagged(text: str) -> str:
    """Return a statement without the tag that only asks for a nod: "always ask me first, ok?"; a question as it is.

    "…, right?" asks whether something is so, except behind a rule.
    """
    tag = _TAG.search(text)
    if not tag or is_question(text[: tag.start()]):
        return text
    said = text[: tag.start()]
    return said if tag["nod"] or is_standing_rule(said) else text


def is_standing_rule(text: str, after: str = "") -> bool:
    """Tell whether a text binds whoever reads it from now on; a ban does so if what stands after it limits it."""
    if is_question(text := untagged(text) if is_question(text) else text):
        return is_polite_rule(text)
    first, _, rest = text.partition(". ")
    is_ban = bool(_BAN.match(first)) and (exempts(rest or after) or bool(_REASONED.match(first)))
    return bool(_BINDING.search(text)) or is_ban


def opens_as_rule(text: str) -> bool:
    """Tell a rule that begins with what makes it one: "never …", "from now on …", "please always …"."""
    return bool(_OPENS.match(text)) and is_standing_rule(text)


def is_polite_rule(text: str) -> bool:
    """Tell whether a text asks for something to be done from now on: "could you please always …?"."""
    asked = _ASKED.search(text)
    if not asked:
        return False
    order = text[asked.end() :].strip().rstrip("?？ \t\n\"'”’)*_`")
    is_polite = asked["polite"] or asked["please"] or not _ALWAYS_FIRST.match(order)
    return bool(is_polite and _BINDING.search(order))


def exempts(text: str) -> bool:
    """Tell whether a text says when what stands before it does not hold, or holds alone."""
    return limits(text) or bool(_EXEMPTS.search(text))


def limits(text: str) -> bool:
    """Tell whether a text says under which condition alone something holds."""
    return bool(_LIMITED.search(text))


def plain_type(text: str) -> str:
    """Return the type of a text by its form alone; for texts that no model is asked about."""
    if is_standing_rule(text) or limits(text):
        return "constraint"
    return "preference" if _PREFERS.search(text) else "fact"
