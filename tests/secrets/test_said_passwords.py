"""A password that a person chose is found in the sentence that tells it; what is said about passwords is none."""

import pytest

from memcli.secrets.scanner import redact, scan
from tests.tables import cases


@cases("told")
def test_a_password_told_in_a_sentence_is_taken_out_of_it(told: str) -> None:
    before, _, rest = told.partition("{")
    secret, _, after = rest.partition("}")
    before, after = before.replace("⏎", "\n"), after.replace("⏎", "\n")
    text = before + secret + after
    assert redact(text, scan(text)) == f"{before}[REDACTED:password]{after}"


@cases("text")
def test_a_sentence_about_a_password_is_kept(text: str) -> None:
    assert scan(text.replace("⏎", "\n")) == []


def test_the_password_that_was_replaced_is_taken_out_too() -> None:
    text = "the vpn password was changed from Alt2-Uhu to Quark9ZtWb! last week"
    kept = "the vpn password was changed from [REDACTED:password] to [REDACTED:password] last week"
    assert redact(text, scan(text)) == kept


@pytest.mark.parametrize(
    "name", ["userPassword", "HttpBasicAuthProvider", "formValuesHtml", "PostgreSQL", "OAuthTokens"]
)
def test_a_name_of_a_program_is_no_password(name: str) -> None:
    assert scan(f"password: {name}") == scan(f"The password is {name} in the form.") == []
