"""Turn a sentence that begins with "I" or "my" into one about the user, where every word of it can be turned.

Owns: English verbs and pronouns, as far as that is sure. What is not sure gives None, and nobody has to read
"User kindas like tea".
"""

import re

_ADVERBS = "|".join(
    """
    always also already currently do even generally just kinda mostly never now often only sometimes still totally
    usually
    """.split()  # noqa: SIM905
)
_NOT_ADVERBS = frozenset(("apply", "comply", "fly", "multiply", "rely", "reply", "supply"))
_MODALS = frozenset(
    """
    can could will would should must might may shall cannot can't won't couldn't wouldn't shouldn't didn't wasn't
    hadn't mustn't
    """.split()  # noqa: SIM905
)
_CHANGES = {"am": "is", "have": "has", "do": "does", "go": "goes", "don't": "does not", "haven't": "has not"}
_PAST = frozenset(
    """
    was had did went got made said told took saw came knew thought found gave left felt kept began brought bought
    built sold sent spent met led lost won paid wrote ran drove spoke broke chose grew threw flew drew wore ate drank
    slept taught caught learnt held stood understood heard meant became forgot fell hid rode rose swam woke dealt hit
    put set cut read quit let cost shut hurt split spread bet swore stuck hung dug shot sang lent
    """.split()  # noqa: SIM905
)
_PRESENT_IN_ED = frozenset(("need", "feed", "speed", "embed", "succeed", "proceed", "exceed", "heed", "shed", "seed"))
_NO_VERBS = frozenset("and or but the a an in on at of to for with not too so as if".split())  # noqa: SIM905
_COMMON = (
    "avoid|build|dislike|enjoy|hate|have|keep|know|like|live|love|manage|need|own|prefer|run|speak|use|want|work|write"
)

_AM = re.compile(r"I(?:['’]m|\sam)\s+(?P<rest>.+)", re.DOTALL)
_MY = re.compile(r"My\b(?P<rest>.+)", re.IGNORECASE | re.DOTALL)
_I = re.compile(
    rf"I(?P<short>['’](?:ve|d|ll))?\s+(?P<adverbs>(?:(?:[a-z]+ly|{_ADVERBS})\s+)*+)"
    r"(?P<verb>[a-z]+(?:['’]t)?)(?P<rest>.*)",
    re.DOTALL,
)
_SECOND_VERB = re.compile(rf"\b(and|or|but) ((?:also |always |never |usually )?)({_COMMON})\b(?=\s)")
_PRONOUNS = (
    (re.compile(r"\bI(?:['’]m| am)\b"), "they are"),
    (re.compile(r"\bI was\b"), "they were"),
    (re.compile(r"\bI wasn['’]t\b"), "they were not"),
    (re.compile(r"\bI\b"), "they"),
    (re.compile(r"\b[Mm]y\b"), "their"),
    (re.compile(r"\bme\b"), "them"),
    (re.compile(r"\bmine\b"), "theirs"),
    (re.compile(r"\bmyself\b"), "themselves"),
)
_YOU = re.compile(r"\b(?:you|your|yours|yourself)\b", re.IGNORECASE)
_ME = re.compile(r"\b(?:I|me|mine|myself)\b", re.IGNORECASE)


def third_person(sentence: str, who: str) -> str | None:
    """Say of `who` what the sentence says of its speaker; None where that is not sure to be right."""
    if _YOU.search(sentence):
        return None
    if found := _MY.fullmatch(sentence):
        return f"{who}'s{_they(found['rest'])}"
    if found := _AM.fullmatch(sentence):
        return f"{who} is {_they(found['rest'])}"
    if found := _I.fullmatch(sentence):
        verb, rest = found["verb"].replace("’", "'"), found["rest"]
        start = _start(found["short"] or "", found["adverbs"], verb)
        if start is None:
            return None
        if verb not in _MODALS and " to " not in f" {rest.partition(' and ')[0]} ":
            rest = _SECOND_VERB.sub(lambda match: f"{match[1]} {match[2]}{_present(match[3])}", rest)
        return f"{who} {start}{_they(rest)}"
    if _ME.search(sentence):
        return None  # in the middle of a sentence "I" and "me" have nobody to refer to yet
    turned = re.sub(r"\bmy\b", f"{who}'s", sentence, count=1, flags=re.IGNORECASE)
    return _they(turned) if turned != sentence else None


def is_personal(sentence: str) -> bool:
    """Say whether a sentence speaks of its speaker or to somebody, so that it does not stand alone."""
    return bool(_ME.search(sentence) or _YOU.search(sentence) or re.search(r"\bmy\b", sentence, re.IGNORECASE))


def _start(short: str, adverbs: str, verb: str) -> str | None:
    """Turn the verb after "I"; None where its form is not known."""
    short = short.replace("’", "'")
    if short == "'ve":
        return f"has {adverbs}{verb}"
    if short == "'ll":
        return f"will {adverbs}{verb}"
    if short == "'d":
        return f"would {adverbs}{verb}" if verb in ("like", "love", "prefer", "rather", "want", "say") else None
    present = _present(verb)
    return f"{adverbs}{present}" if present else None


def _present(verb: str) -> str | None:
    """Give the verb as it follows a name; a past form stays."""
    if verb in _CHANGES:
        return _CHANGES[verb]
    if verb in _MODALS or verb in _PAST or (verb.endswith("ed") and verb not in _PRESENT_IN_ED):
        return verb
    adverb = verb.endswith("ly") and verb not in _NOT_ADVERBS
    if adverb or verb in _NO_VERBS or verb.endswith(("ing", "'t")):
        return None
    if verb.endswith(("s", "x", "z", "ch", "sh", "o")):
        return f"{verb}es"
    return f"{verb[:-1]}ies" if re.search(r"[^aeiou]y$", verb) else f"{verb}s"


def _they(text: str) -> str:
    for pattern, word in _PRONOUNS:
        text = pattern.sub(word, text)
    return text
