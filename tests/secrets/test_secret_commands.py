"""Passwords in command lines, cookies and wallet phrases are found; sentences about them are left alone."""

import pytest

from memcli.secrets.scanner import redact, scan
from tests.tables import cases

PASSWORD = "Tr0ub" + "4dor"
COOKIES = [
    "Cookie: sessionid={}; theme=dark",
    "-H 'Cookie: lang=en; auth_token={}'",
    "Set-Cookie: JSESSIONID={}; Path=/; HttpOnly",
    'curl -b "connect.sid=s%3A{}" https://acme.io',
    'document.cookie = "PHPSESSID={}"',
    '{{"Cookie": "remember_me={}"}}',
]
PHRASE = "legal winner thank year wave sausage worth useful legal winner thank " + "yellow"
OTHER = "gloves ambush apology zodiac pebble lodge onward vessel dime pelican tucks ugly"


@cases("command")
def test_a_password_in_a_command_does_not_stay(command: str) -> None:
    text = f"Yesterday:\n{command.format(PASSWORD)}\nand it worked."
    kept = redact(text, scan(text))
    assert PASSWORD not in kept
    assert "[REDACTED:" in kept
    assert kept.startswith("Yesterday:\n")
    assert kept.endswith("\nand it worked.")


@pytest.mark.parametrize("command", ["sshpass -p {} ssh db1", "mysql -uroot -p{}", "curl -u jane:{} https://acme.io"])
def test_a_password_that_is_a_word_is_found_where_it_is_given(command: str) -> None:
    text = f"`{command.format('rosebud')}`"
    assert "rosebud" not in redact(text, scan(text))


@cases("text")
def test_a_sentence_about_an_option_keeps_its_words(text: str) -> None:
    assert scan(text) == []


@pytest.mark.parametrize("cookie", COOKIES)
def test_the_cookie_that_signs_somebody_in_does_not_stay(cookie: str) -> None:
    text = cookie.format("38afes7a8")
    assert "38afes7a8" not in redact(text, scan(text))


@pytest.mark.parametrize(
    "text",
    [
        PHRASE,
        PHRASE.upper(),
        PHRASE.replace(" ", "\n"),
        PHRASE.replace(" ", ", "),
        "\n".join(f"{number}. {word}" for number, word in enumerate(PHRASE.split(), 1)),
        f"we wrote down {PHRASE} on paper",
        f"seed phrase: {OTHER}",
        f"The wallet seed for main: `{OTHER}`",
        f'mnemonic="{OTHER}"',
        f"my recovery phrase is {OTHER}",
    ],
)
def test_the_words_that_restore_a_wallet_do_not_stay(text: str) -> None:
    kept = redact(text, scan(text)).lower()
    assert "[redacted:seed-phrase]" in kept
    for word in ("winner", "sausage", "yellow", "gloves", "ugly"):
        assert word not in kept
