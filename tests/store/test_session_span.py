"""Names of parts of a conversation: what is written is read back, whatever the ids are."""

import pytest

from memcli.store.sessions.reading import parse_name, session_source


@pytest.mark.parametrize("session", ["s", "telegram:12345", "slack#general", "a#b:c", "5b1c0d9e-0c1a-4a7e-9a51"])
@pytest.mark.parametrize(
    ("first", "last"),
    [("m1", "m2"), ("msg_01k", ""), ("5b1c0d9e-0c1a", "6f-1"), ("a:1", "m2"), ("12", "13"), ("x#1", ""), ("a 1", "b")],
)
def test_a_memorys_source_names_its_session_and_where_it_can_its_messages(session: str, first: str, last: str) -> None:
    found = parse_name(session_source(session, first, last))
    assert found is not None
    assert found[0] == session
    assert found[1] in ("", f"{first}:{last}", first)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("session:s", ("s", "")),
        ("session:s#12", ("s", "12")),
        ("session:s#10:20", ("s", "10:20")),
        ("session:s#10:", ("s", "10:")),
        ("session:s#u1:u7", ("s", "u1:u7")),
        ("session:slack#general", ("slack#general", "")),
        ("mem_1", None),
    ],
)
def test_a_name_is_taken_apart(name: str, expected: tuple[str, str] | None) -> None:
    assert parse_name(name) == expected
