"""Find passwords said in a sentence: words a person chose, which nothing but what is said of them gives away.

Owns how a password is called and announced in several languages, and the words that tell about a password instead of
being one. Names and values as programs write them are read in `names`. Prefers silence: of several plain words none
is taken, nor one that the sentence goes on from.
"""

import re
from collections.abc import Iterator
from functools import cache

from .. import data
from .token_patterns import DEFAULT_PASSWORDS, compiled, word_set
from .value_classifier import (
    is_expression,
    is_jumbled,
    is_mixed,
    is_monotonous,
    is_password,
    is_stand_in,
    is_technical,
    without_end,
)

Place = tuple[int, int, str]  # start, end, rule

_NAMES = sorted(
    word_set(
        "password passwd passphrase passcode passwort passord passordet kennwort wachtwoord lösenord lösenordet "
        "adgangskode kodeord salasana contraseña contrasena contrasenya senha palavra-passe palavra-chave jelszó "
        "lozinka slaptažodis parool пароль пароля паролем 密码 密碼 口令 パスワード 暗証番号 비밀번호 암호 รหัสผ่าน "
        "पासवर्ड סיסמה סיסמא p4ssw0rd passw0rd pasword passowrd paswort"
    )
)
"""Whole or at the end of a longer word, as in WLAN-Passwort."""
_SPACED_NAMES = (
    "pw|pwd|mot de passe|mdp|clave de acceso|palavra passe|código de acesso|codice di accesso|kata sandi|mật khẩu"
    "|hasło|hasłem|heslo|heslem|geslo|şifre|şifresi|парола|κωδικός|κωδικός πρόσβασης|كلمة المرور|كلمة السر"
    "|(?:wi-?fi|wlan|login)[ -]key|clave(?= (?:del?|de la) )|clave (?=wi-?fi)|parola(?= (?:di|del|della|de|wi-?fi))"
    r"|pass phrase|(?:wpa\d?-?)?psk|pre-?shared key|network security key|netzwerkschlüssel"
)
"""Words of their own: those that are part of others, or mean other things as well."""
_FIRST = sorted(
    word_set(
        "pw passe mdp clave código codice sandi khẩu hasł hesl geslo şifre парола κωδικ كلمة key parola "
        "phrase psk netzwerk"
    )
)
_THING = (
    r"(?:[ \t](?:wi-?fi|wlan|router|laptop|e-?mail|g?mail|admin|root|guest|login|account|bank|netflix|portal"
    r"|server)){0,2}"
)
_ABOUT = (
    r"(?:[ \t](?:for|of|to|on|at|in|from|für|fürs|von|vom|zum|zur|im|auf|de|del|della|dello|dell'|di|da|do|dos|du|des|"
    r"para|per|pour|voor|van|til|till|för|dla|pro|od|ke?|u|do|для|от|к|на)[ \t]?[^\s:=|,;.!?]{1,30}"
    r"(?:[ \t][^\s:=|,;.!?]{1,30}){0,4}?)?(?:[ \t]?\([^()\n]{1,40}\))?"
)
_IS = (
    "(?:(?:was|is|has been|got) )?(?:changed|reset|set|switched|rotated|updated) to"
    "|is called|would be|will be|should be"
    "|is|was|remains|becomes|ist|lautet|war|heißt|es|era|est|était|è|é|er|är|on|jest|to|je|este|và|là|είναι|это"
    "|adalah|olan"
)
_FROM = (
    r"(?:(?:was |is |has been |got )?(?:changed|reset|set|switched|rotated|updated) )?from (?P<old>[^\s\"'`]{3,64}) to"
)
_OWN_IS = {
    "on": "(?:salasana|parool)$",
    "je": "(?:heslo|geslo|lozinka)$",
    "to": r"(?:hasło|heslo)$|\b(?:changed|changes?|sets?|reset|updated) ",
}
"""Words that mean something else after a name of another language: the password on GitHub."""
_NOW = (
    r"now|still|currently|again|simply|just|jetzt|nun|ahora|maintenant|nu|ora|agora|теперь"
    r"|from now on|ab heute|ab sofort|seit heute|à présent|desde hoy|da oggi"
)
_AFTER = (
    r"(?P<close>[\\\"'`*_\])]{0,4})(?:" + _THING + r"(?:[ \t]" + _FROM + r"(?=[ \t])|" + _ABOUT + r"(?:"
    r"['’]s(?:[ \t](?:still|now))?(?=[ \t])"
    r"|[ \t]?(?P<assign>[:：=](?![:=/])|->|→|[ \t][-–—](?=[ \t])|[ \t]\|(?=[ \t]))[*_]{0,2}"
    r"|[:?.,][ \t](?P<it>it[’']s|it is|es ist|c[’']est|è|é|es|to)(?=[ \t])"
    rf"|[ \t](?P<is>(?:{_IS})(?:[ \t](?:{_NOW}))?)[ \t]?:?(?=\s)))"
    r"|[ \t]?(?P<particle>是|为|為|は|는|은)"
    r"|(?P<space>(?=[ \t])))"
    r"[ \t]{0,20}(?P<open>[*_]{0,2}[\"'`“‘«„「『]?)(?P<value>[^\s\"'`<>“”‘’«»„「」『』。，、]{3,64})"
)
_ENDS = (
    r"[\"'`”’»“」』*_]{0,3}(?:[ \t]*(?:$|\n|/?>|[|(–—。，、])|[.,;!?)。，、…](?:\s|$)|です|[ \t](?:입니다|이다)"
    r"|[ \t]-[ \t]"
    r"|[ \t](?:and|but|for|because|so|since|until|if|und|aber|für|weil|y|pero|para|porque|et|mais|pour|e|ma|per"
    r"|mas|en|maar|voor|och|og|i|и|но|для)\b)"
)
_CALLS = r"(?:const|let|var|val|self\.|this\.|def|return|=)[^\n]*$|[({\[][^)}\]\n]*$"
_WORD = r"[\"'`“„«]{0,2}(?P<value>[^\s\"'`“”„«»<>]{5,64})[\"'`”“»]{0,2}[ \t]"
_AS = (
    rf"(?i)(?<!\S){_WORD}(?P<as>as|als|comme|como|come|som|jako|kao|olarak|как|作为|for)[ \t](?:[^\s:=|]{{1,16}}[ \t])"
    r"{0,2}[\w-]{0,20}$"
)
_WHEN = (
    r"(?i)\b(?:type|enter|use|give|paste|try|tippe|gib|nimm|verwende|tape|saisis|entre|usa|escribe|digita|gebruik)[ \t]"
    rf"{_WORD}(?P<as>when|if|once|where|wenn|sobald|falls|quand|si|cuando|quando|als|wanneer)[ \t][^\n.!?]{{1,40}}$"
)
_NO_VALUE = (
    r"manager|hash|store|digest|policy|field|generator|vault|reset|provider|prompt|s\b|-|verwalt|hashing|type|kdf"
    r"|\b(?!for|to|in|on|when|if|please|and|or|but|of|at|there|instead|until|with|from|here|now|then|since|because|again"
    r"|so|while|where|once)[a-z]"
)
_PAIR = (
    r"(?i)\b(?:login|credentials?|creds|zugangsdaten|anmeldedaten|identifiants|credenciales|credenziali)\b"
    r"[^\n:=]{0,40}[:=][ \t]{0,4}[\w.@+-]{1,64}[ \t]?[/:|,][ \t]?(?P<value>[^\s\"'`<>=]{6,64})(?!=)"
    r"|(?<!\S)[\w.@+-]{1,64}[:/](?P<first>[^\s\"'`<>/]{6,64})[ \t](?:is|are|ist|sind)[ \t][^\n.:]{0,30}"
    r"\b(?:login|credentials|zugangsdaten)\b"
)
_PHRASE = (
    _ABOUT + r"[ \t]?(?:[:=]|[ \t](?:is|was|will be))[ \t]{1,8}[\"'`“]?"
    r"(?P<words>[^\W_]{2,24}(?:[ \t-][^\W_]{2,24}){2,11})(?=[\"'`”]?[ \t]*(?:$|[\n.,;!?)]))"
)
_EAST_ASIAN = "\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3"
_TELLING_ENDS = (
    r"\w*[aeiouäöü]\w*(?:ed|ing|able|ible|less|lly|iert|bar|lich|[ai]d[ao]|[aiu]t[ao]|é|ée|és|atoire|[óo]ri[ao])"
    r"|ver\w{2,}(?:en|t|d)"
)


def said_passwords(text: str, low: str) -> Iterator[Place]:
    """Yield the place and rule of each; `low` is the text in lower case."""
    for begin, end in announced(low):
        places = [_before(text, begin, end), *_after(text, end), _phrase(text, begin, end)]
        yield from ((*place, "password") for place in places if place)
    yield from ((*place, "password") for place in _pairs(text, low))


def announced(low: str) -> Iterator[tuple[int, int]]:
    """Yield where each word for a password lies."""
    for name in _NAMES:
        at = low.find(name)
        while at >= 0:
            end = at + len(name)
            if not compiled(r"[a-zäöüß]").match(low, end):
                yield at, end
            at = low.find(name, end)
    if any(first in low for first in _FIRST):
        for match in compiled(rf"(?<![\w.$-])(?:{_SPACED_NAMES})(?![\w-])").finditer(low):
            yield match.span()


def _before(text: str, begin: int, end: int) -> tuple[int, int] | None:
    """Find a value that stands before the word: `use … as the password`."""
    start = max(0, begin - 140)
    match = compiled(_AS).search(text[start:begin]) or compiled(_WHEN).search(text[start:begin])
    if match is None:
        return None
    is_english = match["as"].lower() in ("as", "for")
    if is_english and compiled(rf"(?i)[ \t]?(?:{_NO_VALUE})").match(text, end):
        return None
    value = match["value"]
    if len(value) < 5 or not is_mixed(value) or _names_password(value):
        return None
    return start + match.start("value"), start + match.end("value")


def _pairs(text: str, low: str) -> Iterator[tuple[int, int]]:
    """Yield the second half of `login: anna / …`, where it is mixed more than a name."""
    if "login" in low or "cred" in low or "daten" in low or "identifiants" in low:
        for match in compiled(_PAIR).finditer(text):
            name = "value" if match["value"] else "first"
            value = without_end(match[name])
            is_cased = any(map(str.isupper, value)) and any(map(str.islower, value)) and is_password(value)
            if is_jumbled(value) or (is_cased and is_mixed(value)):
                yield match.start(name), match.start(name) + len(value)


def _after(text: str, end: int) -> Iterator[tuple[int, int]]:
    """Yield the value that stands after the word, and the one it replaced."""
    match = compiled(f"(?i){_AFTER}").match(text, end)
    if match is None:
        return
    value = without_end(_of_own_script(match["value"].rstrip("?…")))
    start = match.start("value")
    stop = start + len(value)
    before = text[max(0, end - 120) : end].rpartition("\n")[2]
    if _is_said(value, match, compiled(_ENDS).match(text, stop) is not None, before):
        yield start, stop
        if match["old"] and is_mixed(match["old"]):
            yield match.span("old")


def _phrase(text: str, begin: int, end: int) -> tuple[int, int] | None:
    """Find a passphrase of several words, one of them mixed, which no sentence has."""
    if not compiled("(?i)pass ?phrase").match(text, begin):
        return None
    match = compiled(f"(?i){_PHRASE}").match(text, end)
    if match is None:
        return None
    words = match["words"].split()
    telling = [word for word in words if is_telling(word)]
    if len(telling) > 1 or not any(len(word) > 3 and word not in telling and is_mixed(word) for word in words):
        return None
    return match.span("words")


def _of_own_script(value: str) -> str:
    """Return a value without the East Asian words that follow it, which stand there without a blank."""
    match = compiled(rf"[!-~]{{3,}}(?=[{_EAST_ASIAN}])").match(value)
    return match[0] if match else value


def _is_said(value: str, match: re.Match[str], is_last: bool, before: str) -> bool:
    """Judge a value by itself and by what the sentence does with it."""
    if value.isdigit():
        return is_last and match["space"] is None and 6 <= len(value) <= 12 and not is_monotonous(value)
    if is_stand_in(value) or is_expression(value) or value.lower() in DEFAULT_PASSWORDS or _names_password(value):
        return False
    said = (match["is"] or "").lower()
    if not compiled(rf"(?i){_OWN_IS.get(said, '')}").search(before):
        return False
    parts = [part for part in re.split(r"[-_.+/@#!?*&,;:]+", value) if part]
    if not parts or any(is_telling(part) for part in parts) or compiled(f"[{_EAST_ASIAN}]").match(value):
        return False
    is_code = (match["assign"] or "").strip() == "=" and compiled(_CALLS).search(before) is not None
    if is_jumbled(value) or (compiled(r"\w[!#$%^?&*]+\w").search(value) and is_password(value)):
        return not is_code
    if any(char.isdigit() for char in value):
        return len(value) >= 5 and not compiled(r"[A-Z]{1,10}-\d+|\d+[-–.,:/\d]*[A-Za-z%°]{0,12}").fullmatch(value)
    if match["space"] is not None or not is_last or (match["assign"] or "").strip() in ("|", "-", "–", "—"):
        return False
    if is_code or match["it"] or match["old"] or said in ("should be", "will be", "would be"):
        return False
    return len(value) >= 5 and value.replace("-", "").isalpha() and not compiled("[a-z][A-Z]").search(value)


def _names_password(value: str) -> bool:
    return next(announced(value.lower()), None) is not None


def is_telling(word: str) -> bool:
    """Tell a word that says something about a password, as those listed in `telling_words.txt`."""
    low = word.lower()
    if low in _telling() or is_technical(word):
        return True
    return len(low) > 4 and compiled(_TELLING_ENDS).fullmatch(low) is not None


@cache
def _telling() -> frozenset[str]:
    return word_set(data.path("telling_words.txt").read_text(encoding="utf-8"))
