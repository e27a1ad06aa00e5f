"""What a person typed falls into sentences and thoughts; what was pasted is passed over."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.lifecycle.extract.sentences import LONGEST, clauses, sentences


def test_sentences_end_where_a_reader_would_end_them() -> None:
    text = "My advisor is Prof. Martinez. We use v1.2.3 of it, e.g. Foo! Is it up? $2M is a lot."
    assert list(sentences(text)) == [
        "My advisor is Prof. Martinez.",
        "We use v1.2.3 of it, e.g. Foo!",
        "Is it up?",
        "$2M is a lot.",
    ]


def test_lines_stand_alone_unless_they_were_only_wrapped() -> None:
    text = "I work on the\nbilling service.\n- uses Postgres\n- never Redis\n## Goal\nfrom now on use tabs"
    assert list(sentences(text)) == [
        "I work on the billing service.",
        "uses Postgres",
        "never Redis",
        "Goal",
        "from now on use tabs",
    ]


@pytest.mark.parametrize(
    "pasted",
    [
        "```python\nI = 'always a string'\n```",
        "~~~\nWe use tabs.\n",
        "> We always used tabs.",
        "$ make test",
        "Traceback (most recent call last):",
        '  File "/a/b.py", line 3, in f',
        "ValueError: bad value",
        "    We use indented code",
        "| We use | tables |",
        "2026-02-27T14:30:00Z INFO We use logs",
        "from os import path",
        "import { a } from 'b';",
        "const a = 3;",
        "def f(x):",
        '"name": "We use JSON",',
        "if (a && b) { return c[0] + d; }",
        "https://example.com/we-use-links",
        "SELECT name FROM users",
        "diff --git a/x b/x",
    ],
)
def test_code_logs_and_quotations_are_passed_over(pasted: str) -> None:
    assert list(sentences(f"We use tabs.\n\n{pasted}\n")) == ["We use tabs."]


def test_a_sentence_without_end_is_no_sentence() -> None:
    assert list(sentences("word " * LONGEST)) == []


@pytest.mark.parametrize(
    ("sentence", "parts"),
    [
        (
            "I work on data pipelines at my company, and I'm on a MacBook Pro",
            ["I work on data pipelines at my company", "I'm on a MacBook Pro"],
        ),
        (
            "I'm the CEO of HealthPulse — we're building a monitoring app",
            ["I'm the CEO of HealthPulse", "we're building a monitoring app"],
        ),
        ("We use it a lot; the tests need it", ["We use it a lot", "the tests need it"]),
        ("Big news — I moved", ["Big news — I moved"]),
        ("If it fails, then I retry and I wait", ["If it fails, then I retry and I wait"]),
        ("We use Swift and Kotlin and C", ["We use Swift and Kotlin and C"]),
        ("They said (quietly, and I heard it) yes", ["They said (quietly, and I heard it) yes"]),
    ],
)
def test_a_sentence_is_split_where_a_new_subject_begins(sentence: str, parts: list[str]) -> None:
    assert clauses(sentence) == parts


@given(st.text(st.sampled_from("aI .!?\n`>—,;-() we use and\u3002A"), max_size=200))
def test_sentences_are_words_of_the_text_in_their_order(text: str) -> None:
    folded, position = " ".join(text.split()), 0
    for sentence in sentences(text):
        assert any(map(str.isalpha, sentence))
        for word in sentence.split():
            position = folded.find(word, position) + len(word)
            assert position >= len(word)
