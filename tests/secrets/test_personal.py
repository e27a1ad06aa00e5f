"""Personal data is found by its shape, or by the name beside it, and only when asked for."""

import pytest

from memcli.secrets.scanner import PERSONAL, redact, scan
from tests.tables import cases

FOUND = [
    ("email", "jane.doe+notes@acme.io"),
    ("email", "m.muster@mail.uni-bonn.de"),
    ("phone", "+49 151 2345 6789"),
    ("phone", "+1 (415) 555-2671"),
    ("phone", "+351912345678"),
    ("phone", "0044 20 7946 0958"),
    ("card-number", "4111 1111 1111 " + "1111"),
    ("card-number", "5500-0055-5555-" + "5559"),
    ("card-number", "37828224631" + "0005"),
    ("iban", "DE89 3704 0044 0532 " + "0130 00"),
    ("iban", "GB82WEST1234569876" + "5432"),
    ("national-id", "123-45-" + "6789"),
    ("national-id", "RSSMRA85" + "T10A562S"),
    ("national-id", "529.982." + "247-25"),
    ("national-id", "110101199003" + "078312"),
    ("national-id", "AB 12 34 " + "56 C"),
    ("national-id", "1 85 05 78 " + "006 084 91"),
]


@pytest.mark.parametrize(("rule", "text"), FOUND)
def test_personal_data_is_found_when_asked_for(rule: str, text: str) -> None:
    sentence = f"Reach her under {text}, please."
    [finding] = scan(sentence, personal=PERSONAL)
    assert (finding.rule, finding.group) == (rule, "personal")
    assert redact(sentence, [finding]) == f"Reach her under [REDACTED:{rule}], please."


@pytest.mark.parametrize(("rule", "text"), FOUND)
def test_personal_data_is_nobodys_business_otherwise(rule: str, text: str) -> None:
    assert scan(f"Reach her under {text}, please.") == []


@cases("text")
def test_a_number_that_its_name_gives_away_is_found(text: str) -> None:
    assert [one.rule for one in scan(text, personal=PERSONAL)] == ["national-id"]
    assert scan(text.replace(text.split()[0], "Order").translate({ord("-"): None}), personal=("national-id",)) == []


@cases("text")
def test_numbers_and_names_of_other_things_pass(text: str) -> None:
    assert scan(text, personal=PERSONAL) == []
