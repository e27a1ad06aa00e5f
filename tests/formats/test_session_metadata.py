"""A session's metadata is rewritten without losing what mem does not know."""

import json
from dataclasses import replace

import pytest

from memcli.formats.session_event import SessionMetadata, read_metadata, render_metadata

FILE = """{
  "chatId": "12345", "id": "telegram:12345", "channelType": "telegram",
  "createdAt": 1795270500, "mood": {"is": "good"}, "state": "PAUSED",
  "messageCount": "many", "consolidatedTo": "msg_7", "metadata": {"topic": "café"}
}"""


def test_what_a_file_says_is_read() -> None:
    session = read_metadata(FILE)
    assert session == SessionMetadata(
        "telegram:12345",
        "12345",
        "telegram",
        state="PAUSED",
        created_at="2026-11-21T14:15:00Z",
        consolidated_to="msg_7",
        metadata={"topic": "café"},
    )


def test_only_what_changed_is_written_anew() -> None:
    session = read_metadata(FILE)
    assert session is not None
    changed = json.loads(render_metadata(replace(session, message_count=3, updated_at="2026-11-22T00:00:00Z")))
    assert list(changed)[:6] == ["chatId", "id", "channelType", "createdAt", "mood", "state"]
    assert changed["createdAt"] == 1795270500
    assert changed["mood"] == {"is": "good"}
    assert changed["messageCount"] == 3
    assert changed["updatedAt"] == "2026-11-22T00:00:00Z"
    assert "channelId" not in changed


def test_the_time_of_creation_survives_every_rewrite() -> None:
    session = SessionMetadata("s", created_at="2026-11-21T14:15:00Z")
    for count in range(3):
        again = read_metadata(render_metadata(replace(session, message_count=count)))
        assert again is not None
        session = again
    assert session.created_at == "2026-11-21T14:15:00Z"
    assert session.message_count == 2


def test_a_new_file_has_every_key_in_one_order() -> None:
    assert list(json.loads(render_metadata(SessionMetadata("s")))) == [
        "id",
        "channelId",
        "channelType",
        "userId",
        "state",
        "messageCount",
        "tokenCount",
        "messageTokens",
        "toolsUsed",
        "createdAt",
        "updatedAt",
        "consolidatedTo",
        "metadata",
    ]


@pytest.mark.parametrize("text", ["", "{torn", "[]", "null", '"x"'])
def test_a_file_that_is_no_object_gives_none(text: str) -> None:
    assert read_metadata(text) is None


def test_wrong_values_are_their_defaults() -> None:
    session = read_metadata('{"id": 7, "state": "ASLEEP", "messageCount": -1, "tokenCount": true, "metadata": []}')
    assert session == SessionMetadata("7")
