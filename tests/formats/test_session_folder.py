"""Any id a session may have is a folder's name on any file system, and can be read back."""

import re

from hypothesis import given
from hypothesis import strategies as st

from memcli.formats.session_event import LONGEST, folder_name, session_id
from tests.tables import cases


@cases("identifier", "name")
def test_an_id_is_written_as_a_safe_name(identifier: str, name: str) -> None:
    assert folder_name(identifier) == name
    assert session_id(name) == identifier


@given(st.text(max_size=12))
def test_any_id_is_read_back_from_its_name(identifier: str) -> None:
    name = folder_name(identifier)
    assert re.fullmatch(r"[a-z0-9._@+=%A-F-]+", name)
    assert not name.startswith((".", "-"))
    assert not name.endswith((".", " "))
    assert session_id(name) == identifier


@given(st.text(max_size=12))
def test_two_ids_never_share_a_folder_even_where_capitals_do_not_count(one: str) -> None:
    other = one.swapcase()
    assert (folder_name(one).lower() == folder_name(other).lower()) == (one == other)


def test_a_very_long_id_keeps_its_beginning_and_a_digest() -> None:
    one, other = folder_name("é" * 500 + "1"), folder_name("é" * 500 + "2")
    assert one != other
    assert max(len(one), len(other)) <= LONGEST
    assert one.startswith("%C3%A9%C3")
    assert session_id(one) is None


def test_a_folder_made_by_hand_stands_for_its_own_name() -> None:
    assert session_id("My Session") == "My Session"
    assert session_id("50%zz") == "50%zz"
    assert session_id("bad%FF") == "bad%FF"
