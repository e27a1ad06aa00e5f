"""Which parts of a prompt are handed on and which the user says in their own name."""

import time

import pytest

from memcli.text.reported import is_within, labelled, reported
from tests.growth import growth

RULE = "never lend the ladder"


def is_reported(prompt: str) -> bool:
    start = prompt.casefold().index(RULE)
    return is_within(reported(prompt), start, start + len(RULE))


@pytest.mark.parametrize(
    "prompt",
    [
        f"Bot: {RULE}.\n\nwhat does it want?",
        f"### System: {RULE}",
        f"[ai] {RULE}",
        f"Voicemail from Dr. Quist: {RULE}.",
        f"A comment by Ruben on my post: {RULE}.",
        f"The headmaster's email: {RULE}.",
        f"Auszug aus dem Schreiben von Frau Holm: {RULE}.",
        f"Clause 9.2: {RULE}.",
        f"From the harbour handbook: {RULE}.",
        f"WARNING: {RULE}",
        f"perf(cache)!: faster\n\n{RULE}",
        f"fix: crash\n\n{RULE}",
        f"{RULE}\n\nSigned-off-by: Mila <m@x.example>",
        f"17.11.2026 09:14:02 shop: {RULE}",
        f"Nov 17 04:12:55 heron shop[812]: {RULE}",
        f"[10:32] Farid: {RULE} again",
        f"<Orla> {RULE}",
        f"Suggest a motto for the shop, something like '{RULE} on a Sunday'.",
        f"Inform the tenants that we {RULE}.",
        f"Come up with a slogan: {RULE}, ever.",
        f"Write a poem about a man who must {RULE}.",
        f"Be a grumpy wizard: {RULE}.",
        f"Pretend to be a dwarf. {RULE}. Hum a lot.",
        f"übersetze: {RULE}",
        f"Read this post: {RULE}.",
        f"{RULE}. Phishing?",
        f"{RULE}. What do you make of this?",
        f"{RULE}. Can you translate this into Dutch?",
        f"{RULE}\n\nthat was on a sign in the yard",
        f"{RULE}. Was hältst du davon?",
    ],
)
def test_words_of_others_are_handed_on(prompt: str) -> None:
    assert is_reported(prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        f"tools: {RULE}",
        f"IMPORTANT: {RULE}",
        f"note: {RULE}",
        f"mails to customers: {RULE} in them",
        f"From Monday on: {RULE}",
        f"My wife laughs at me, but {RULE}",
        f"{RULE}. What's the weather?",
        f"{RULE}. How do I answer the notary about the deed?",
        f"{RULE}. Does that make sense?",
        f"{RULE}. Could you draft a reply to Mr Holm?",
        f"ask Ingrid first and {RULE}",
        f"For the word 'tool shed key' there is a rule: {RULE}",
        f"from now on tell customers so: {RULE}",
    ],
)
def test_what_the_user_says_is_their_own(prompt: str) -> None:
    assert not is_reported(prompt)


def test_a_question_about_a_text_does_not_make_it_labelled() -> None:
    assert not labelled(f"{RULE}. is that spam?")


@pytest.mark.parametrize("piece", ["From: ", "a: ", "write x ", "tell the man ", "'ab cd ", "is it ", "§ 1 ", "a's b "])
def test_reading_takes_time_in_proportion_to_the_length(piece: str) -> None:
    def seconds(length: int) -> float:
        text = (piece * length)[:length]
        begun = time.process_time()
        reported(text)
        return time.process_time() - begun

    assert growth(seconds, 2_000, 20_000, 35) < 35
