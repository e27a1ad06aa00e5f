"""Tell what a user said so that it stands alone: openers and asides dropped, "I" made "User" where that is sure.

Owns: the smallest rewriting. A sentence that cannot be turned with certainty stays as it was said, with its speaker.
"""

import re

from .third_person import is_personal, third_person

USER = "User"

_INTERJECTIONS = (
    "hi|hey|hello|oh|oh and|well|yeah|yes|yep|no|nope|ok|okay|so|and|but|also|plus|anyway|actually|honestly"
    "|basically|besides|meanwhile|wait|correction|sure|thanks|thank you|great|perfect|exactly|right|by the way|btw"
    "|fyi|for the record|just so you know|in fact|as I said|to be honest|to be clear|please note|note"
)
_NEWS = r"(?:(?:big|great|good|quick|bad|small|some|major) )?(?:updates?|news|decision|upgrade|change|question)"
_OPENER = re.compile(
    rf"(?:(?:{_INTERJECTIONS})\s*(?:[,:;.!…—–-]+\s*|\s(?=(?:I|I['’]\w+|we|we['’]\w+|my|our|the)\b))"
    rf"|{_NEWS}\s*[:,!—–-]+\s*"
    r"|(?:oh )?(?:and|but|also|so|plus)\s|(?:now|currently|then)\s(?=I\b|we\b)"
    r"|I (?:should|just wanted to|want to|wanted to|forgot to) (?:also )?"
    r"(?:mention|say|add|note|tell you) (?:that )?)++",
    re.IGNORECASE,
)
_TAIL = re.compile(
    r"(?:,?\s+(?:by the way|btw|too|as well|though|obviously|actually|please|lol|haha))?\s*[.!…,;:—–-]*\s*$",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"(?:\s+[—–-]{1,2}\s+(?:it|that|this|which)\b|,\s+which\s+(?:is|was|makes|means)\b)[^A-Z\d]*$")
_DID = re.compile(
    r"(?:just |already |finally |recently )?(?:promised|decided|committed|agreed|accepted|joined|switched|moved|got"
    r"|started|finished|hired|bought|sold|quit|stopped|signed|chose|tried|learned|gave up|picked up)\s\w",
    re.IGNORECASE,
)
_DOING = re.compile(
    r"(?:currently |now |still |also )?(?:working on|using|learning|planning|building|talking to|moving"
    r"|committing to)\s",
    re.IGNORECASE,
)
_NAME = re.compile(
    r"I(?:['’]m|\sam) ([A-Z][\w'’-]+(?: [A-Z][\w'’-]+)?)|My name(?:['’]s|\sis) ([A-Z][\w .'’-]+)", re.IGNORECASE
)
_PRESENTED = re.compile(r"(I(?:['’]m|\sam)) ([A-Z][\w'’-]+), (an? .+)")
_MERGED = re.compile(
    r"(I(?:['’]m|\sam)) (an? [^,;:]{3,60}?) "
    r"((?:based|living|working|located|studying|speciali[sz]ing|focused|focusing) (?:in|at|on|for|as|with)\b.+)"
)


def bare(sentence: str) -> str:
    """Drop what opens and ends a sentence without saying anything, and give it the subject it left out."""
    said = sentence.strip()
    opener = _OPENER.match(said)
    short = said[opener.end() :] if opener else said
    short = _ASIDE.sub("", _TAIL.sub("", short if len(short.split()) >= 2 else said)).strip()
    subject = "I " if _DID.match(short) else "I'm " if _DOING.match(short) else ""
    return f"{subject}{short[0].lower()}{short[1:]}" if subject else short


def single(sentence: str) -> list[str]:
    """Split what a speaker says of himself in one breath: who he is, and where or on what he works."""
    if found := _PRESENTED.fullmatch(sentence):
        return [f"{found[1]} {found[2]}", *single(f"{found[1]} {found[3]}")]
    if found := _MERGED.fullmatch(sentence):
        return [f"{found[1]} {found[2]}", f"{found[1]} {found[3]}"]
    return [sentence]


def retold(sentence: str, who: str = USER) -> str:
    """Give the sentence in the third person where every word of it can be turned, else with its speaker."""
    found = _NAME.fullmatch(sentence)
    name = (found[1] or found[2]) if found else ""
    if name and name == name.title():
        return f"{who}'s name is {name}."
    if not is_personal(sentence):
        return _ended(sentence)
    turned = third_person(sentence, who)
    return _ended(turned) if turned else f"{who}: {_ended(sentence)}"


def _ended(sentence: str) -> str:
    if re.match(r"[a-z]+\b(?![-_./])", sentence):
        sentence = sentence[0].upper() + sentence[1:]
    return sentence if sentence.endswith((".", "!", "?", "。", '"')) else f"{sentence}."
