"""A sentence that holds on is told from talk that passes."""

import pytest

from memcli.lifecycle.extract.statements import corrects, judge


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("I prefer dark roast coffee", "preference"),
        ("I don't need long preambles", "preference"),
        ("Keep explanations short and direct", "preference"),
        ("One concept at a time", "preference"),
        ("I never schedule meetings before 10am", "constraint"),
        ("Always run the linter before a commit", "constraint"),
        ("You must not touch the vendor folder", "constraint"),
        ("Use pnpm, not npm", "constraint"),
        ("From now on write tests first", "constraint"),
        ("Actually the port is 8081", "correction"),
        ("I meant the staging database", "correction"),
        ("That's wrong, the limit is 50", "correction"),
        ("I'm a software engineer", "fact"),
        ("I live in Oslo", "fact"),
        ("I'm allergic to peanuts", "fact"),
        ("We use DeepSpeed with PyTorch", "fact"),
        ("Our retention rate is 85%", "fact"),
        ("I just accepted an offer in San Francisco", "fact"),
        ("My sister's wedding is May 6", "fact"),
        ("I'll email Doreth the schedule", "fact"),
    ],
)
def test_what_a_user_states_is_kept_as_what_it_claims(sentence: str, kind: str) -> None:
    found = judge(sentence)
    assert found is not None
    assert found.type == kind


@pytest.mark.parametrize(
    "sentence", ["Let's go with plotly", "We decided to use Redis", "We're switching from DeepSpeed to FSDP"]
)
def test_a_decision_is_a_fact_with_a_tag(sentence: str) -> None:
    found = judge(sentence)
    assert found is not None
    assert (found.type, found.tags) == ("fact", ("decision",))


@pytest.mark.parametrize(
    "sentence",
    [
        "",
        "ok",
        "Thanks!",
        "Perfect, that's exactly what I needed",
        "Good morning",
        "Can you fix the login bug",
        "What database do we use?",
        "Do you always use tabs?",
        "Please run the tests",
        "Add a button to src/App.tsx",
        "Show me the Django settings",
        "Let's start with the parser",
        "I need help with Rust",
        "I'm getting a TypeError in App.tsx again",
        "It doesn't work on Windows",
        "The build is broken on CI",
        "I ran the tests and 3 failed",
        "That looks right",
        "I think so",
        "I'm so excited",
        "The weather is great in Lisbon today",
        "I need to check it",
        "I love to",
    ],
)
def test_requests_chatter_and_passing_troubles_are_dropped(sentence: str) -> None:
    assert judge(sentence) is None


def test_an_opening_no_corrects_only_what_was_not_a_question() -> None:
    assert corrects("No, the port is 8081", answers=False)
    assert not corrects("No, the port is free", answers=True)
    assert corrects("Actually, the port is 8081", answers=True)
    assert not corrects("No thanks", answers=False)
    assert not corrects("No problem, I can wait", answers=False)
    found = judge("the port is 8081", corrects=True)
    assert found is not None
    assert found.type == "correction"


def test_of_a_pasted_page_only_what_binds_counts() -> None:
    assert judge("Our retention rate is 85%", lasting=True) is None
    assert judge("Always run the linter", lasting=True) is not None
