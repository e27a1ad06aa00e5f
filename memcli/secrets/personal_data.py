"""Find personal data with a checkable shape: addresses, phone numbers, cards, accounts, national ids.

Patterns cannot find names, birthdays and postal addresses, so this module does not try.
"""

from collections.abc import Iterator
from functools import cache, partial

from .. import data
from ..data import compiled
from .value_classifier import Span, find_places, has_digit, is_hex, is_monotonous, is_stand_in

_pattern = partial(data.pattern, "personal_codes.toml")
_words_of = partial(data.words, "harmless_values.toml")
_STEMS = ("pin", "puk", "code", "cvv", "cvc", "geheimzahl", "暗証番号")
# Words before a name that also means other things. PIN and PUK in capitals need none of them.
_CODE_CONTEXTS = {
    "pin": r"(?:sim|bank|card|phone|alarm|door|screen|unlock|voicemail|visa|debit|credit)[ -]$",
    "code": r"(?:door|gate|alarm|entry|access|lock|safe|garage|lockbox|voicemail|unlock|building|box|pin|security)[ -]$"
    r"|(?:tür|tor|alarm|safe|zugangs|pin)-?$|(?:opens?|unlocks?|disarms?)[ ](?:with|by|on)[ ](?:the[ ])?$",
}
_CODE_CONTEXTS["puk"] = _CODE_CONTEXTS["pin"]
# Words before a name that only a blank separates from its number.
_OWNED = r"(?:(?<![a-z])(?:my|our|with|mit)[ ](?:(?:sim|card|bank|debit|phone|door)[ ])?|with[ ])$"
# otpauth://totp/Pond:ana?secret=…&issuer=Pond, the content of a QR code
_URI = r"otpauth://[^\s\"'<>]{1,300}?[?&]secret=([a-z2-7]{16,128})"
# Words of a seed phrase (BIP-39).
_SIZES = (24, 21, 18, 15, 12)
# Between the words: blanks, commas, or the numbers of a list
_GAP = r"[\s,;|*_`\"'\[\]-]{1,12}(?:\d{1,2}[.):]?[ \t]{0,4})?"
_NAMES = ("mnemonic", "seed", "wallet", "recovery")
_NAMED = (
    rf"(?:[ _-](?:phrase|words?|seed|key|mnemonic|passphrase))?(?:[ ](?:is|was|for|of)\b[^\n:=]{{0,30}})?[ ]?"
    rf"(?:[:=]\s{{0,4}}|(?<= is )|(?<=phrase )|(?<=words ))(?:\d{{1,2}}[.):]?[ \t]{{0,4}})?[\"'`]?"
    rf"((?:[a-z]{{3,12}}+{_GAP}){{11,24}}[a-z]{{3,12}}+)"
)
_WORD = r"[a-z]{3,12}"
# Not git@github.com:acme/app.git
_EMAIL = r"(?<![\w.+%-])[A-Za-z0-9][\w.+%-]{0,63}@(?:[A-Za-z0-9-]{1,63}\.){1,5}([A-Za-z]{2,24})(?![\w-])(?!:[\w~/])"
# +49 151 2345 6789, +1 (415) 555-2671, 0044 20 7946 0958
_PHONE = r"(?<![\w+.])(?<!\d )(?:\+|00)[1-9][\d ()./-]{6,22}\d(?!\w)"
# 4111 1111 1111 1111 and, of American Express, 3782 822463 10005
_CARD = (
    r"(?<![\w.-])(?<!\d )(?:[2-6]\d{3}(?:[ -]?\d{4}){2}[ -]?\d{1,4}(?:[ -]?\d{3})?"
    r"|3[47]\d{2}[ -]?\d{6}[ -]?\d{5}|3[0689]\d{2}[ -]?\d{6}[ -]?\d{4})(?![\w-]|\.\d| \d)"
)
# The first digits of Visa, Mastercard, American Express, Diners, Discover, JCB, UnionPay, Maestro.
_ISSUED = (
    r"4\d{12}(?:\d{3})?|(?:5[1-5]\d\d|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}|3[47]\d{13}"
    r"|3(?:0[0-5]|[689]\d)\d{11}|(?:6011|65\d\d|64[4-9]\d)\d{12}|35(?:2[89]|[3-8]\d)\d{12}|62\d{14,17}"
    r"|(?:5018|5020|5038|5893|6304|6759|676[1-3])\d{8,15}"
)
# DE89 3704 0044 0532 0130 00
_IBAN = r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])"
_BEGIN, _END = r"(?<![\w.+-])", r"(?![\w-]|\.\d)"
# Every number of _SHAPES contains this. A search for each shape takes far longer.
_ENOUGH = r"(?:\d[ .+-]?[A-Z]?){5}\d"
# These shapes count without a name next to them.
_SHAPES = "|".join(
    (
        r"(?!000|666|9\d\d)\d{3}-(?!00)\d{2}-(?!0000)\d{4}",  # United States
        r"[A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z]",  # Italy
        r"\d{3}\.\d{3}\.\d{3}-\d{2}",  # Brazil
        r"[1-9]\d{5}(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}[\dX]",  # China
        r"(?!BG|GB|NK|KN|TN|NT|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z] ?\d{2} ?\d{2} ?\d{2} ?[A-D]",  # United Kingdom
        r"[12] \d{2} (?:0[1-9]|1[0-2]|[2-9]\d) (?:\d{2}|2[AB]) \d{3} \d{3} \d{2}",  # France, as its cards have it
    )
)


def find_codes(text: str, low: str) -> Iterator[Span]:
    """Yield backup codes, PINs and seeds. `low` is the text in lower case."""
    if any(sign in low for sign in data.words("personal_codes.toml", "code_signs")):
        for name in _pattern("spare_name").finditer(low):
            match = _pattern("are_codes").match(low, name.end())
            if match:
                yield from find_backup_codes(low, *match.span("codes"))
        for match in _pattern("groups").finditer(low):
            if has_digit(match["groups"]):
                yield *match.span("groups"), "recovery-code"
    for match in _pattern("app").finditer(low) if "app" in low and "password" in low else ():
        # Generated: hvzk qmra tfyl nbco. A sentence would have four words.
        if compiled("(?<![a-z])[^aeiouy -]{4}(?![a-z])").search(match["app"]):
            yield *match.span("app"), "password"
    yield from find_pins(text, low)
    for match in compiled(_URI).finditer(low) if "otpauth://" in low else ():
        yield *match.span(1), "otp-seed"
    if any(sign in low for sign in ("otp", "2fa", "mfa", "authenticator", "one-time")):
        for match in _pattern("seed").finditer(text):
            if not is_stand_in(match["seed"]):
                yield *match.span("seed"), "otp-seed"


def find_seed_phrases(text: str, low: str) -> Iterator[Span]:
    """Yield the seed phrases of wallets. `low` is the text in lower case."""
    # Twelve words of three letters have 47 characters.
    if len(text) < 47:
        return
    for name in _NAMES:
        for match in compiled(name + _NAMED).finditer(low) if name in low else ():
            if data.words("harmless_values.toml", "sentence_words").isdisjoint(
                compiled(_WORD).findall(match[1])
            ):
                yield *match.span(1), "seed-phrase"
    yield from find_checked_phrases(low)


def find_personal_data(text: str, low: str) -> Iterator[Span]:
    """Yield each piece of personal data. `low` is the text in lower case."""
    if "@" in text:
        yield from find_addresses(text)
    if not compiled(r"\d").search(text):
        return
    for match in compiled(_IBAN).finditer(text):
        if is_iban(match[0].replace(" ", "")):
            yield *match.span(), "iban"
    for match in compiled(_CARD).finditer(text):
        digits = [int(char) for char in match[0] if char.isdigit()]
        if (
            compiled(_ISSUED).fullmatch("".join(map(str, digits)))
            and len(set(digits)) > 1
            and has_valid_card_digit(digits)
        ):
            yield *match.span(), "card-number"
    yield from find_national_ids(text, low)
    if "+" in text or "00" in text:
        for match in compiled(_PHONE).finditer(text):
            # A number has 8 to 15 digits (E.164), without the 00 before the country.
            size = sum(char.isdigit() for char in match[0]) - 2 * match[0].startswith("00")
            spaced = match[0][0] == "+" or any(char in " -/(" for char in match[0])
            if (
                8 <= size <= 15
                and spaced
                and not compiled(r"[ ()./-]{3}|\.\.|--|//").search(match[0])
            ):
                yield *match.span(), "phone"


def find_pins(text: str, low: str) -> Iterator[Span]:
    for stem in _STEMS:
        for position, end in find_places(low, stem):
            match = _pattern("card_number" if stem.startswith("cv") else "pin").match(low, end)
            is_own = match and (
                not match["blank"]
                or match["pin"][-1] == "#"
                or is_personal_pin(low, position, stem)
            )
            if (
                match
                and is_own
                and len(set(match["pin"])) > 1
                and is_personal_code(text, low, position, stem)
            ):
                yield *match.span("pin"), "pin"


def is_personal_pin(low: str, position: int, stem: str) -> bool:
    """Return whether a code belongs to a person, as in `my pin 4417`, or to a card."""
    return (
        stem in ("puk", "cvv", "cvc")
        or compiled(_OWNED).search(low[max(0, position - 24) : position]) is not None
    )


def is_personal_code(text: str, low: str, position: int, stem: str) -> bool:
    """Return whether the word means a personal code, not the pin of a connector."""
    before = low[max(0, position - 24) : position]
    is_word = not compiled(r"[a-z0-9_.]$").search(before)
    # PIN in capitals is a number of a person. A pin may be one of a connector.
    if stem not in _CODE_CONTEXTS or (
        stem != "code" and is_word and text[position : position + 3].isupper()
    ):
        return is_word
    if compiled(rf"(?<![a-z])(?:{_CODE_CONTEXTS[stem]})").search(before):
        return True
    if stem == "pin" and is_word and compiled(_OWNED).search(before):
        return True
    return is_word and _pattern("opens").match(low, position + len(stem)) is not None


def find_backup_codes(low: str, start: int, stop: int) -> Iterator[Span]:
    """Yield the codes at the beginning of a list, up to the first ordinary word."""
    spans = []
    for match in _pattern("code").finditer(low, start, stop):
        if not is_code_word(match[0]):
            break
        spans.append(match.span())
    # A single short word with digits may be anything: backup code 503.
    if len(spans) > 1 or (spans and len(low[slice(*spans[0])].replace("-", "")) >= 8):
        yield from ((*span, "recovery-code") for span in spans)


def is_code_word(word: str) -> bool:
    """Return whether a word is a code: it has digits and is not a year or a date."""
    plain = word.replace("-", "")
    if len(plain) < 5 or not has_digit(plain) or is_stand_in(word):
        return False
    if compiled(r"\d{4}-\d\d-\d\d|\d+[a-z]{1,8}|[a-z]{3,}-\d+").fullmatch(word) or is_monotonous(
        plain
    ):
        return False
    # Commit ids have 40 hexadecimal digits.
    return "-" in word or len(plain) < 40 or not is_hex(plain)


def find_checked_phrases(low: str) -> Iterator[Span]:
    """Yield runs of words from the BIP-39 list that have a valid checksum."""
    words = compiled("[a-z]+").findall(low)
    # Twelve words of the list in a row. Most texts have none, and this test takes no loop.
    if bytes(_SIZES[-1] * [1]) not in bytes(map(number_seed_words().__contains__, words)):
        return
    spans = [word.span() for word in compiled("[a-z]+").finditer(low)]
    numbers = [number_seed_words().get(word, -1) for word in words]
    position = 0
    while position + _SIZES[-1] <= len(words):
        fitting = (size for size in _SIZES if position + size <= len(words))
        size = next(
            (size for size in fitting if has_valid_checksum(numbers[position : position + size])), 0
        )
        if size:
            yield spans[position][0], spans[position + size - 1][1], "seed-phrase"
        position += size or 1


def has_valid_checksum(numbers: list[int]) -> bool:
    """Check the last bits of a phrase against the SHA-256 of the others (BIP-39)."""
    # Eleven times "abandon" and "about" is the phrase of every manual.
    if -1 in numbers or len(set(numbers)) < 8:
        return False
    from hashlib import sha256  # slow to import, and few texts need it

    bits = "".join(f"{number:011b}" for number in numbers)
    size = len(bits) // 33
    entropy = int(bits[:-size], 2).to_bytes(size * 4, "big")
    return f"{sha256(entropy).digest()[0]:08b}"[:size] == bits[-size:]


@cache
def number_seed_words() -> dict[str, int]:
    text = data.path("seed_words.txt").read_text(encoding="ascii")
    return {word: number for number, word in enumerate(text.split())}


def find_addresses(text: str) -> Iterator[Span]:
    for match in compiled(_EMAIL).finditer(text):
        name, _, domain = match[0].lower().partition("@")
        # GitHub writes commits with addresses such as ana@users.noreply.github.com.
        reserved = domain in ("example.com", "example.org", "example.net") or domain.startswith(
            "users.noreply."
        )
        if (
            match[1].lower() not in _words_of("no_domains")
            and name not in _words_of("nobody")
            and not reserved
        ):
            yield *match.span(), "email"


def has_valid_card_digit(digits: list[int]) -> bool:
    """Check the last digit of a card number (ISO/IEC 7812)."""
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def is_iban(account: str) -> bool:
    """Check an account number by its remainder modulo 97 (ISO 13616)."""
    if not 15 <= len(account) <= 34:
        return False
    return int("".join(str(int(char, 36)) for char in account[4:] + account[:4])) % 97 == 1


def find_national_ids(text: str, low: str) -> Iterator[Span]:
    """Yield the national ids in a text with digits. `low` is the text in lower case."""
    if compiled(_ENOUGH).search(text):
        for match in compiled(f"{_BEGIN}(?:{_SHAPES}){_END}").finditer(text):
            yield *match.span(), "national-id"
    for row in data.table("personal_codes.toml")["national_ids"]:
        if any(map(low.__contains__, row["names"])):
            name = rf"\b(?:{'|'.join(row['names'])})\b"
            number = f"{_BEGIN}(?P<number>{row['pattern']}){_END}"
            expressions = [rf"{name}[^\n\d]{{0,30}}?{number}"]
            if row.get("may_follow"):
                expressions.append(rf"{number}[^\n\d]{{1,12}}?{name}")
            for expression in expressions:
                for match in compiled(expression).finditer(low):
                    if len(set(match["number"])) > 1:
                        yield *match.span("number"), "national-id"
