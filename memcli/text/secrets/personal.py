"""Find personal data that has a checkable shape: addresses, telephone numbers, cards, bank accounts and
national ids.

Names, birthdays and postal addresses are out of reach of patterns and are not attempted.
"""

from collections.abc import Iterator

from .national_ids import national_ids
from .rules import compiled, word_set

Place = tuple[int, int, str]  # start, end, rule

_EMAIL = r"(?<![\w.+%-])[A-Za-z0-9][\w.+%-]{0,63}@(?:[A-Za-z0-9-]{1,63}\.){1,5}([A-Za-z]{2,24})(?![\w-])(?!:[\w~/])"
_NO_DOMAIN = word_set(
    "png jpg jpeg gif svg webp avif service socket timer target mount scope slice path device swap test "
    "example invalid localhost local lan internal git js ts json yml yaml html css txt"
)
_NOBODY = word_set("git noreply no-reply donotreply")
_PHONE = r"(?<![\w+.])(?<!\d )(?:\+|00)[1-9][\d ()./-]{6,22}\d(?!\w)"
_CARD = (
    r"(?<![\w.-])(?<!\d )(?:[2-6]\d{3}(?:[ -]?\d{4}){2}[ -]?\d{1,4}(?:[ -]?\d{3})?"
    r"|3[47]\d{2}[ -]?\d{6}[ -]?\d{5}|3[0689]\d{2}[ -]?\d{6}[ -]?\d{4})(?![\w-]|\.\d| \d)"
)
# Visa, Mastercard, American Express, Diners, Discover, JCB, UnionPay, Maestro: what their numbers begin with.
_ISSUED = (
    r"4\d{12}(?:\d{3})?|(?:5[1-5]\d\d|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}|3[47]\d{13}"
    r"|3(?:0[0-5]|[689]\d)\d{11}|(?:6011|65\d\d|64[4-9]\d)\d{12}|35(?:2[89]|[3-8]\d)\d{12}|62\d{14,17}"
    r"|(?:5018|5020|5038|5893|6304|6759|676[1-3])\d{8,15}"
)
_IBAN = r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?(?![A-Za-z0-9])"


def personal_data(text: str, low: str) -> Iterator[Place]:
    """Yield the place and rule of each piece of personal data; `low` is the text in lower case."""
    if "@" in text:
        yield from _addresses(text)
    if not compiled(r"\d").search(text):
        return
    for match in compiled(_IBAN).finditer(text):
        if _is_iban(match[0].replace(" ", "")):
            yield match.start(), match.end(), "iban"
    for match in compiled(_CARD).finditer(text):
        digits = [int(char) for char in match[0] if char.isdigit()]
        if compiled(_ISSUED).fullmatch("".join(map(str, digits))) and len(set(digits)) > 1 and _is_luhn(digits):
            yield match.start(), match.end(), "card-number"
    yield from national_ids(text, low)
    if "+" in text or "00" in text:
        for match in compiled(_PHONE).finditer(text):
            size = sum(char.isdigit() for char in match[0]) - 2 * match[0].startswith("00")
            spaced = match[0][0] == "+" or any(char in " -/(" for char in match[0])
            if 8 <= size <= 15 and spaced and not compiled(r"[ ()./-]{3}|\.\.|--|//").search(match[0]):
                yield match.start(), match.end(), "phone"


def _addresses(text: str) -> Iterator[Place]:
    for match in compiled(_EMAIL).finditer(text):
        name, _, domain = match[0].lower().partition("@")
        reserved = domain in ("example.com", "example.org", "example.net") or domain.startswith("users.noreply.")
        if match[1].lower() not in _NO_DOMAIN and name not in _NOBODY and not reserved:
            yield match.start(), match.end(), "email"


def _is_luhn(digits: list[int]) -> bool:
    """Check the last digit of a card number, ISO/IEC 7812."""
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _is_iban(account: str) -> bool:
    """Check an account number by the remainder of 97, ISO 13616."""
    if not 15 <= len(account) <= 34:
        return False
    return int("".join(str(int(char, 36)) for char in account[4:] + account[:4])) % 97 == 1
