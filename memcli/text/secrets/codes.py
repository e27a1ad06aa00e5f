"""Find the codes that stand for a person: PINs, door codes, recovery and backup codes, the seeds of one-time passwords.

Owns what they are called in several languages and their forms. A number alone is no code: it takes its name, and a word
or sign that says what it is.
"""

from collections.abc import Iterator

from .rules import compiled
from .values import is_hex, is_monotonous, is_stand_in

Place = tuple[int, int, str]  # start, end, rule

_SPARE = (
    r"(?:recovery|back-?up|emergency|rescue|scratch|one-?time|2fa|mfa)[ -](?:codes?|keys?)"
    r"|(?:wiederherstellungs|notfall|ersatz|backup-?)(?:codes?|schlüssel)|herstelcodes?|back-?upcodes?|noodcodes?"
    r"|codes? de (?:récupération|secours|sauvegarde)|códigos? de (?:recuperación|respaldo|recuperação|backup|segurança)"
    r"|codic[ei] di (?:recupero|backup|emergenza)|kody (?:zapasowe|odzyskiwania)|återställningskod(?:er)?"
    r"|(?:резервные коды|коды восстановления)|(?:恢复|恢復|备用|備用|备份)(?:代码|代碼|码|碼)"
    r"|(?:バックアップ|リカバリー?)コード|(?:백업|복구) ?코드"
)
_CODE = r"[a-z0-9]{4,12}(?:-[a-z0-9]{4,12}){0,8}"
_NEXT = r"(?:[\s,;|/•*·、，]{1,8}(?:(?:and|und|y|et|e|en|i|и)[ \t])?(?:[-*][ \t])?(?:\d{1,2}[.)][ \t]{0,4})?)"
_ARE = (
    r"[^\n.!?:：=]{0,60}?(?:[ \t](?:are|is|were|sind|ist|lauten|lautet|son|es|sont|est|sono|è|são|é|zijn|to|är)\b:?"
    r"|[:：=]|是|は|는)[\s*`\"'-]{0,8}(?:\d{1,2}[.)][ \t]{1,4})?"
)
_CODES = rf"(?P<codes>{_CODE}(?:{_NEXT}{_CODE}){{0,40}})(?![\w-])"
_STEMS = ("pin", "puk", "code", "cvv", "cvc", "geheimzahl", "暗証番号")
_CALLED = {
    "pin": r"(?:sim|bank|card|phone|alarm|door|screen|unlock|voicemail|visa|debit|credit)[ -]$",
    "code": r"(?:door|gate|alarm|entry|access|lock|safe|garage|lockbox|voicemail|unlock|building|box|pin|security)[ -]$"
    r"|(?:tür|tor|alarm|safe|zugangs|pin)-?$|(?:opens?|unlocks?|disarms?)[ ](?:with|by|on)[ ](?:the[ ])?$",
}
_CALLED["puk"] = _CALLED["pin"]
"""What stands before a word that means other things as well; PIN and PUK in capitals need none of it."""
_OWNED = r"(?:(?<![a-z])(?:my|our|with|mit)[ ](?:(?:sim|card|bank|debit|phone|door)[ ])?|with[ ])$"
"""What stands before a word that only a blank separates from its number."""
_FOR = r"[ \t](?:for|of|to|on|at|from|für|vom|von|der|des|zum|zur|del|de|du|della|van|do|da)[ \t][^\n.!?:=]{1,40}?"
_SAID = r"(?:[ \t](?:is|was|ist|lautet|es|est|è|é|are|to|är)|['’]s)(?:[ \t](?:now|still|jetzt|noch))?:?|は"
_NUMBER = r"\d{4,8}\#?|\d(?:[ -]\d){3,7}"
_PIN = (
    rf"(?:[ -]?(?:code|nummer|number))?[12]?(?![\w-])(?:(?:{_FOR})?(?:[ \t]?[:：=]|[ \t][–—]|{_SAID})"
    r"[ \t]{0,4}[\"'`*]{0,2}"
    rf"|(?P<blank>[ \t]))(?P<pin>{_NUMBER})(?=[\"'`*]{{0,2}}(?:[ \t]*(?:$|\n|[)(/–—])|[.,;!?](?:\s|$)|です"
    r"|[ \t](?:and|but|btw|by|for|und|aber|für|y|et|e|en|i)\b))"
)
_ON_CARD = _PIN.replace(_NUMBER, r"\d{3,4}")
_SEED = (
    r"(?i:\b(?:totp|h?otp|2fa|mfa|authenticator|one-time[ -]password)[ _-](?:secret|seed|key|setup key|secret key)s?"
    r"(?:[ \t](?:for|of|on)[ \t][^\n.:=]{1,40}?)?[\"'`]{0,2}(?:[ \t]?[:=]|[ \t](?:is|was)))[ \t]{0,4}[\"'`]?"
    r"(?P<seed>(?-i:[A-Z2-7]{16,128}|[A-Z2-7]{4}(?: [A-Z2-7]{4}){3,15}|[a-z2-7]{4}(?: [a-z2-7]{4}){3,15}))(?!\w)"
)


_OPENS = (
    r"[ \t](?:for|of|to|für|von|zu|de|del|pour|per|voor)[ \t](?:[^\s:=]{1,12}[ \t]){0,2}"
    r"(?:door|gate|alarm|safe|garage|locker|lockbox|building|(?:haus)?tür|tor\b|tresor|puerta|porte|porta|portone|alarme?|cancello"
    r"|deur|poort|kluis|card|(?:i?phone|i?pad|tablet)\b|sim\b|karte|handy)"
)
_GROUPS = rf"(?<![a-z])(?:{_SPARE})[ \t]+(?P<groups>[a-z0-9]{{2,8}}(?:-[a-z0-9]{{4,8}}){{3,9}})(?![\w-])"
_APP = (
    r"\bapp(?:lication)?(?:[ -]specific)?[ -]password\b[^\n.:=]{0,40}?(?:[ \t]?[:=]|[ \t]is)[ \t]{0,4}[\"'`*]{0,2}"
    r"(?P<app>[a-z]{4}(?:[ -][a-z]{4}){3})(?![\w-])"
)
_URI = r"otpauth://[^\s\"'<>]{1,300}?[?&]secret=([a-z2-7]{16,128})"


def codes(text: str, low: str) -> Iterator[Place]:
    """Yield the place and rule of each; `low` is the text in lower case."""
    if any(
        sign in low
        for sign in ("code", "código", "codic", "kod", "код", "码", "碼", "コード", "코드", "key", "schlüssel")
    ):
        for name in compiled(rf"(?<![a-z])(?:{_SPARE})(?![a-z])").finditer(low):
            match = compiled(f"{_ARE}{_CODES}").match(low, name.end())
            if match:
                yield from _spare(low, *match.span("codes"))
        for match in compiled(_GROUPS).finditer(low):
            if any(map(str.isdigit, match["groups"])):
                yield *match.span("groups"), "recovery-code"
    for match in compiled(_APP).finditer(low) if "app" in low and "password" in low else ():
        if compiled("(?<![a-z])[^aeiouy -]{4}(?![a-z])").search(match["app"]):  # drawn by a machine, not four words
            yield *match.span("app"), "password"
    yield from _pins(text, low)
    for match in compiled(_URI).finditer(low) if "otpauth://" in low else ():
        yield *match.span(1), "otp-seed"
    if any(sign in low for sign in ("otp", "2fa", "mfa", "authenticator", "one-time")):
        for match in compiled(_SEED).finditer(text):
            if not is_stand_in(match["seed"]):
                yield *match.span("seed"), "otp-seed"


def _pins(text: str, low: str) -> Iterator[Place]:
    for stem in _STEMS:
        at = low.find(stem)
        while at >= 0:
            end = at + len(stem)
            match = compiled(_ON_CARD if stem.startswith("cv") else _PIN).match(low, end)
            is_own = match and (not match["blank"] or match["pin"][-1] == "#" or _is_owned(low, at, stem))
            if match and is_own and len(set(match["pin"])) > 1 and _is_called(text, low, at, stem):
                yield *match.span("pin"), "pin"
            at = low.find(stem, end)


def _is_owned(low: str, at: int, stem: str) -> bool:
    """Tell `my pin 4417`, and all that only a card has, from `pin 4417` of a program."""
    return stem in ("puk", "cvv", "cvc") or compiled(_OWNED).search(low[max(0, at - 24) : at]) is not None


def _is_called(text: str, low: str, at: int, stem: str) -> bool:
    """Tell a personal number from the pin of a connector and the code of a program."""
    before = low[max(0, at - 24) : at]
    is_word = not compiled(r"[a-z0-9_.]$").search(before)
    if stem not in _CALLED or (stem != "code" and is_word and text[at : at + 3].isupper()):
        return is_word
    if compiled(rf"(?<![a-z])(?:{_CALLED[stem]})").search(before):
        return True
    if stem == "pin" and is_word and compiled(_OWNED).search(before):
        return True
    return is_word and compiled(_OPENS).match(low, at + len(stem)) is not None


def _spare(low: str, start: int, stop: int) -> Iterator[Place]:
    """Yield the codes at the beginning of a list; the words that follow them are none."""
    found = []
    for match in compiled(_CODE).finditer(low, start, stop):
        if not _is_code(match[0]):
            break
        found.append(match.span())
    if len(found) > 1 or (found and len(low[slice(*found[0])].replace("-", "")) >= 8):
        yield from ((*place, "recovery-code") for place in found)


def _is_code(word: str) -> bool:
    """Tell a code, which has digits, from a word and from a year or a date."""
    plain = word.replace("-", "")
    if len(plain) < 5 or not any(char.isdigit() for char in plain) or is_stand_in(word):
        return False
    if compiled(r"\d{4}-\d\d-\d\d|\d+[a-z]{1,8}|[a-z]{3,}-\d+").fullmatch(word) or is_monotonous(plain):
        return False
    return "-" in word or len(plain) < 40 or not is_hex(plain)
