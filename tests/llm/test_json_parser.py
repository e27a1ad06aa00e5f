"""Replies of language models: malformed, wrapped and cut off."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.llm.json_parser import LARGEST, read_fields

WANTED = ("history_entry", "memories")
REPLY = {
    "history_entry": 'We said: "tabs", not spaces. Path C:\\tmp {x}, and 50 % of [it].',
    "memories": [{"text": "The user likes tabs."}, {"text": "Größe: 5 × 3"}],
}
PLAIN = json.dumps(REPLY, ensure_ascii=False)
ITEM = {"text": "Tea at 4."}


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        (PLAIN, REPLY),
        ("{}", {}),
        ("Nothing to save:\n```json\n{}\n```", {}),
        (f"```json\n{PLAIN}\n```", REPLY),
        (f"Sure, {{name}}! Here it is:\n{PLAIN}\nAnything else?", REPLY),
        (f"<think>maybe {{'history_entry': 'no'}}</think>\n{PLAIN}", REPLY),
        ("{'history_entry': 'it''s'}", {"history_entry": "it''s"}),
        (
            '{history_entry: "a", /* two */ memories: [],} // end',
            {"history_entry": "a", "memories": []},
        ),
        (
            '{"history_entry": "He said "hi", then left"}',
            {"history_entry": 'He said "hi", then left'},
        ),
        (
            '{"history_entry": "line\nline", "memories": None}',
            {"history_entry": "line\nline", "memories": None},
        ),
        (
            '{"history_entry": "C:\\dir \\u00e9 \\\' \\ud83d\\ude00"}',
            {"history_entry": "C:\\dir é ' 😀"},
        ),
        (
            '{"history_entry": "a"\n "memories": [{"text": "Tea at 4."}]}',
            {"history_entry": "a", "memories": [ITEM]},
        ),
        ('{"history_entry": "a,\n"memories": []}', {"history_entry": "a", "memories": []}),
        (
            '{"history_entry": "a"}\n{"memories": [{"text": "Tea at 4."}]}',
            {"history_entry": "a", "memories": [ITEM]},
        ),
        ('{"name": "save", "arguments": "{\\"history_entry\\": \\"a\\"}"}', {"history_entry": "a"}),
        ('[{"text": "Tea at 4."}]', {"memories": [ITEM]}),
        (
            '{"history_entry": "a", "memories": [{"text": "Tea at 4."}, {"text": "Cof',
            {"history_entry": "a", "memories": [ITEM]},
        ),
        (
            'history_entry: "a"\nmemories: ["Tea at 4."]',
            {"history_entry": "a", "memories": ["Tea at 4."]},
        ),
        (
            '{"history_entry": "a", oops, "memories": ["Tea at 4."]}',
            {"history_entry": "a", "memories": ["Tea at 4."]},
        ),
    ],
)
def test_a_malformed_reply_is_read(text: str, fields: dict[str, Any]) -> None:
    assert read_fields(text, WANTED, "memories").fields == fields


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I cannot help with that.",
        "<!DOCTYPE html><html><body>502 Bad Gateway</body></html>",
        '{"error": {"message": "overloaded"}}',
        "{" * 5000,
        '{"a":' * 5000,
        "[" * 100_000,
        "x" * (LARGEST + 1),
    ],
)
def test_a_text_without_a_reply_is_an_error(text: str) -> None:
    with pytest.raises(ValueError):
        read_fields(text, WANTED, "memories")


@pytest.mark.parametrize("cut", range(1, 10))
def test_a_reply_that_was_cut_yields_its_complete_fields(cut: int) -> None:
    text = json.dumps({f"f{number}": f"text {number}" for number in range(10)})
    text = text[: len(text) * cut // 10]
    try:
        fields = read_fields(text, [f"f{number}" for number in range(10)]).fields
    except ValueError:
        fields = {}
    complete = [number for number in range(10) if f'"text {number}"' in text]
    assert fields == {f"f{number}": f"text {number}" for number in complete}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.text(), VALUES)
def test_every_valid_reply_survives_a_fence(entry: str, value: Any) -> None:
    reply = {"history_entry": entry, "memories": value}
    for text in (json.dumps(reply), f"```json\n{json.dumps(reply, indent=1)}\n```"):
        assert read_fields(text, WANTED).fields == json.loads(json.dumps(reply))


@given(st.text(st.characters(codec="utf-8")), st.lists(st.text(), max_size=4), st.integers(0, 400))
def test_a_cut_reply_never_yields_a_changed_text(entry: str, memories: list[str], end: int) -> None:
    text = json.dumps({"history_entry": entry, "memories": memories})[:end]
    try:
        fields = read_fields(text, WANTED).fields
    except ValueError:
        return
    assert fields.get("history_entry", entry) == entry
    found = fields.get("memories", [])
    assert found == memories[: len(found)]


@given(st.text(alphabet="{}[]\":,\\'`ahistory_entry0 \n#/*", max_size=200))
def test_any_text_ends_in_fields_or_in_one_kind_of_error(text: str) -> None:
    try:
        assert set(read_fields(text, WANTED, "memories").fields) <= set(WANTED)
    except ValueError:
        pass
