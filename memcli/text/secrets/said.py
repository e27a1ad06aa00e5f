"""Find passwords said in a sentence: words a person chose, which nothing but what is said of them gives away.

Owns how a password is called and announced in several languages, and the words that tell about a password instead of
being one. Names and values as programs write them are read in `names`. Prefers silence: of several plain words none
is taken, nor one that the sentence goes on from.
"""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from .rules import DEFAULT_PASSWORDS, compiled, word_set
from .values import is_expression, is_monotonous, is_stand_in, is_technical, without_end

Place = tuple[int, int, str]  # start, end, rule

_NAMES = sorted(
    word_set(
        "password passwd passphrase passcode passwort passord passordet kennwort wachtwoord lösenord lösenordet "
        "adgangskode kodeord salasana contraseña contrasena contrasenya senha palavra-passe palavra-chave jelszó "
        "lozinka slaptažodis parool пароль пароля паролем 密码 密碼 口令 パスワード 暗証番号 비밀번호 암호 รหัสผ่าน "
        "पासवर्ड סיסמה סיסמא"
    )
)
"""Whole or at the end of a longer word, as in WLAN-Passwort."""
_SPACED_NAMES = (
    "pw|pwd|mot de passe|mdp|clave de acceso|palavra passe|código de acesso|codice di accesso|kata sandi|mật khẩu"
    "|hasło|hasłem|heslo|heslem|geslo|şifre|şifresi|парола|κωδικός|κωδικός πρόσβασης|كلمة المرور|كلمة السر"
    "|(?:wi-?fi|wlan|login)[ -]key|clave(?= (?:del?|de la) )|clave (?=wi-?fi)|parola(?= (?:di|del|della|wi-?fi))"
)
"""Words of their own: those that are part of others, or mean other things as well."""
_FIRST = sorted(
    word_set("pw passe mdp clave código codice sandi khẩu hasł hesl geslo şifre парола κωδικ كلمة key parola")
)
_THING = (
    r"(?:[ \t](?:wi-?fi|wlan|router|laptop|e-?mail|g?mail|admin|root|guest|login|account|bank|netflix|portal"
    r"|server)){0,2}"
)
_ABOUT = (
    r"(?:[ \t](?:for|of|to|on|at|in|from|für|fürs|von|vom|zum|zur|im|auf|de|del|della|dello|dell'|di|da|do|dos|du|des|"
    r"para|per|pour|voor|van|til|till|för|dla|pro|od|для|от|к|на)[ \t]?[^\s:=|,;.!?]{1,30}"
    r"(?:[ \t][^\s:=|,;.!?]{1,30}){0,4}?)?(?:[ \t]?\([^()\n]{1,40}\))?"
)
_IS = (
    "is|was|remains|becomes|ist|lautet|war|heißt|es|era|est|était|è|é|er|är|on|jest|to|je|este|và|là|είναι|это"
    "|was changed to|is set to|was set to|has been changed to|has been set to|changed to|set to|reset to"
    "|is called|adalah|olan"
)
_OWN_IS = {
    "on": "(?:salasana|parool)$",
    "je": "(?:heslo|geslo|lozinka)$",
    "to": r"(?:hasło|heslo)$|\b(?:changed|changes?|sets?|reset|updated) ",
}
"""Words that mean something else after a name of another language: the password on GitHub."""
_NOW = "now|still|currently|again|simply|just|jetzt|nun|ahora|maintenant|nu|ora|agora|теперь"
_AFTER = (
    r"(?P<close>[\\\"'`*_\])]{0,4})(?:" + _THING + _ABOUT + r"(?:"
    r"[ \t]?(?P<assign>[:：=](?![:=/])|->|→|[ \t][-–—](?=[ \t])|[ \t]\|(?=[ \t]))[*_]{0,2}"
    rf"|[ \t](?P<is>(?:{_IS})(?:[ \t](?:{_NOW}))?)[ \t]?:?(?=\s))"
    r"|[ \t]?(?P<particle>是|为|為|は|는|은)"
    r"|(?P<space>(?=[ \t])))"
    r"[ \t]{0,20}(?P<open>[*_]{0,2}[\"'`“‘«„「『]?)(?P<value>[^\s\"'`<>“”‘’«»„「」『』。，、]{3,64})"
)
_ENDS = (
    r"[\"'`”’»“」』*_]{0,3}(?:[ \t]*(?:$|\n|[|(–—。，、])|[.,;!?)。，、…](?:\s|$)|です|[ \t](?:입니다|이다)|[ \t]-[ \t]"
    r"|[ \t](?:and|but|for|because|so|since|until|if|und|aber|für|weil|y|pero|para|porque|et|mais|pour|e|ma|per"
    r"|mas|en|maar|voor|och|og|i|и|но|для)\b)"
)
_CALLS = r"(?:const|let|var|val|self\.|this\.|def|return|=)[^\n]*$|[({\[][^)}\]\n]*$"
_TELLING_ENDS = r"\w*[aeiouäöü]\w*(?:ed|ing|able|ible|less|lly|iert|bar|lich|[ai]d[ao]|[aiu]t[ao]|é|ée|és|atoire)"


def said_passwords(text: str, low: str) -> Iterator[Place]:
    """Yield the place and rule of each; `low` is the text in lower case."""
    for end in _announced(low):
        match = compiled(f"(?i){_AFTER}").match(text, end)
        if match is None:
            continue
        value = without_end(match["value"].rstrip("?…"))
        start = match.start("value")
        stop = start + len(value)
        before = text[max(0, end - 120) : end].rpartition("\n")[2]
        if _is_said(value, match, compiled(_ENDS).match(text, stop) is not None, before):
            yield start, stop, "password"


def _announced(low: str) -> Iterator[int]:
    """Yield where each word for a password ends."""
    for name in _NAMES:
        at = low.find(name)
        while at >= 0:
            end = at + len(name)
            if not compiled(r"[a-zäöüß]").match(low, end):
                yield end
            at = low.find(name, end)
    if any(first in low for first in _FIRST):
        for match in compiled(rf"(?<![\w.$-])(?:{_SPACED_NAMES})(?![\w-])").finditer(low):
            yield match.end()


def _is_said(value: str, match: re.Match[str], is_last: bool, before: str) -> bool:
    """Judge a value by itself and by what the sentence does with it."""
    if value.isdigit():
        return is_last and match["space"] is None and 6 <= len(value) <= 12 and not is_monotonous(value)
    if is_stand_in(value) or is_expression(value) or value.lower() in DEFAULT_PASSWORDS:
        return False
    if not compiled(rf"(?i){_OWN_IS.get((match['is'] or '').lower(), '')}").search(before):
        return False
    if next(_announced(value.lower()), None) is not None:
        return False
    parts = [part for part in re.split(r"[-_.+/@#!?*&,;:]+", value) if part]
    if not parts or any(_tells(part) for part in parts):
        return False
    if any(char.isdigit() for char in value):
        return len(value) >= 5 and not compiled(r"[A-Z]{1,10}-\d+|\d+[-–.,:/\d]*[A-Za-z%°]{0,12}").fullmatch(value)
    if match["space"] is not None or not is_last or (match["assign"] or "").strip() in ("|", "-", "–", "—"):
        return False
    is_code = (match["assign"] or "").strip() == "=" and compiled(_CALLS).search(before) is not None
    return (
        not is_code
        and len(value) >= 5
        and value.replace("-", "").isalpha()
        and not compiled("[a-z][A-Z]").search(value)
    )


def _tells(word: str) -> bool:
    """Tell a word that says something about a password, as those listed in `telling_words.txt`."""
    low = word.lower()
    if low in _telling() or is_technical(word):
        return True
    return len(low) > 4 and compiled(_TELLING_ENDS).fullmatch(low) is not None


@cache
def _telling() -> frozenset[str]:
    return word_set(Path(__file__).with_name("telling_words.txt").read_text(encoding="utf-8"))
