"""What a plain word means, and the spelling every YAML reader takes back."""

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from memcli.errors import RefusedError
from memcli.formats.frontmatter.document import load_mapping
from memcli.formats.frontmatter.yaml_tree import double_quoted, is_plain, read_plain, single_quoted, write
from tests.tables import cases

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.text(
    st.sampled_from("-?:,[]{}#&*!|>'\"%@` \t\n0159._+eExoTZ:aé\xa0\u2028\ufeff"), max_size=8
)
DATA = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**15), 10**15)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)


@cases("text", "value")
def test_what_looks_the_same_after_a_round_trip_is_a_value(text: str, value: object) -> None:
    assert read_plain(text) == value
    assert type(read_plain(text)) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        "007", "-0", "1.10", "0x1F", "0o17", "1_000", "12:30", "12345678901234567", "1e5", ".5", "5.", "+1", "-", "٣",
        "2026-11-21", "2026-13-40", "2026-11-21T20:15:03Z", "yes", "no", "on", "off", "y", ".inf", ".nan", "tRUE",
        "1٣5", "1²5",
    ],
)  # fmt: skip
def test_everything_else_stays_the_text_it_is(text: str) -> None:
    assert read_plain(text) == text


@cases("value", "spelled")
def test_a_value_is_quoted_only_where_it_must_be(value: object, spelled: str) -> None:
    assert write(value) == spelled


@pytest.mark.parametrize("sign", list("*&!|>%@`-?,[]{}#'\""))
def test_a_sign_that_means_something_to_yaml_is_quoted_at_the_beginning(sign: str) -> None:
    assert write(f"{sign}x")[0] == '"'


@given(DATA)
def test_what_is_written_is_read_back(value: object) -> None:
    if value is None:
        return
    assert load_mapping(f"key: {write(value)}\n") == ({"key": value}, None)


@given(TEXTS)
def test_a_text_reads_the_same_to_yaml_1_1_and_1_2(text: str) -> None:
    block = f"key: {write(text)}\nlist: {write([text])}\nmap: {write({text: 1})}\n"
    expected: dict[str, Any] = {"key": text, "list": [text], "map": {text: 1}}
    assert yaml.load(block, Loader=yaml.CSafeLoader) == expected
    assert YAML(typ="safe", pure=True).load(block) == expected


@given(TEXTS)
def test_quotes_of_either_kind_are_read_back(text: str) -> None:
    assert load_mapping(f"key: {double_quoted(text)}\n") == ({"key": text}, None)
    single = single_quoted(text)
    if single is not None:
        assert load_mapping(f"key: {single}\n") == ({"key": text}, None)


def test_single_quotes_decline_what_needs_an_escape() -> None:
    assert single_quoted("it's") == "'it''s'"
    assert single_quoted("two\nlines") is None


@pytest.mark.parametrize("value", [10**16, float("inf"), float("nan"), ["\ud800"], {1: "a"}])
def test_a_value_that_would_not_come_back_is_refused(value: object) -> None:
    with pytest.raises(RefusedError):
        write(value)


def test_a_python_object_is_a_bug_and_no_refusal() -> None:
    with pytest.raises(TypeError, match="not object"):
        write(object())


def test_between_brackets_more_is_quoted() -> None:
    assert is_plain("a, b")
    assert not is_plain("a, b", flow=True)
    assert is_plain("2026-11-21T20:15:03Z", flow=True)
