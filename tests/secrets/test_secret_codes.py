"""PINs, recovery codes and seeds of one-time passwords are found by their names; other numbers and codes are kept."""

from memcli.secrets.scanner import redact, scan
from tests.tables import cases


@cases("told")
def test_a_code_that_stands_for_a_person_is_taken_out(told: str) -> None:
    text, _, rule = told.replace("⏎", "\n").rpartition(" ")
    pieces = text.replace("}", "{").split("{")
    expected = "".join(f"[REDACTED:{rule}]" if number % 2 else piece for number, piece in enumerate(pieces))
    text = "".join(pieces)
    assert redact(text, scan(text)) == expected


@cases("text")
def test_other_numbers_and_codes_are_kept(text: str) -> None:
    assert scan(text) == []


def test_a_bot_token_with_a_number_in_order_is_no_placeholder() -> None:
    token = "A" + "AGq7ZtWkLmReVbNcXyAsDfGhJkLpOiUyT1"
    assert [one.rule for one in scan(f"telegram bot 7312345678:{token}")] == ["telegram-bot-token"]
