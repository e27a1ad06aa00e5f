"""Which sentences of a prompt are handed on and which the user says in their own name."""

import time

import pytest

from memcli.consolidation.attribution import (
    FILE,
    HANDED_ON,
    built_in,
    handed_on,
    is_handed_on,
    is_standing_rule,
    places,
)
from memcli.consolidation.candidates import candidates
from memcli.formats.session_event import Event
from memcli.language.foreign_text import Prompt
from memcli.language.linear_model import parsed
from memcli.language.sentences import sentences
from tests.growth import growth
from tests.tables import cases

RULE = "never lend the ladder"


def is_reported(text: str) -> bool:
    """Tell whether no sentence with the rule is taken for the user's own."""
    prompt, whole = Prompt(text), sentences(text)
    told = zip(whole, is_handed_on(prompt, whole), strict=True)
    return all(
        is_told or prompt.is_foreign(one.start, one.stop) for one, is_told in told if RULE in one.text.casefold()
    )


HANDED_ON_BY_SOMEBODY = (
    f"Bot: {RULE}.\n\nwhat does it want?",
    f"### System: {RULE}",
    f"[ai] {RULE}",
    f"Voicemail from Dr. Quist: {RULE}.",
    f"From Ben: {RULE}",
    f"ok good.\n\nfrom Ida in the office: {RULE}, last time it broke",
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
)
OWN = (
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
    f"Please {RULE} unless I say so. Can you fix the header now?",
    f"ok thanks, that was quick\n\nbtw {RULE}, my neighbour broke the last one",
    f"I want you to {RULE}. It is my father's.",
    f"From now on {RULE} to anybody but Sofia.",
    f"great, that works. thx!!\n\nfor later: {RULE}, last time a rung broke and Piet had to mend it",
    f"- decision for us: {RULE}",
    f"Please note for the future: {RULE}",
    f"Ab Montag: {RULE}",
    f"perfect.\n\nanother general thing: {RULE} unless it rains and my brother is there",
)
PASTED = (
    "Slack export:\n\nIda Berg  10:02 AM\nI'm in Oslo until Friday. Always ring twice.\n\nmake a task list",
    "she answered this\n\nI only work mornings now. Never send me drafts as PDF.\n\nwhat do you think?",
    "CONTRIBUTING of that repo:\n\n- Always run `just lint`\n- Never touch vendor/\n\ndoes that fit ours?",
    "// I always use tabs here, never spaces. - Gus\nfunction f(n) { return n }\n\nwhat does this return?",
    "Mein Nachbar schreibt mir: Bitte nie das Treppenhaus nass wischen. Meine neue Nummer endet auf 88.",
    "forum post I found: I have been a welder for 20 years and I always wear double gloves. Never buy the X3.",
)
"""Every sentence with "always", "never" or "nie" in them is somebody else's."""


def test_words_of_others_are_handed_on() -> None:
    missed = [prompt for prompt in HANDED_ON_BY_SOMEBODY if not is_reported(prompt)]
    assert len(missed) <= 8, missed  # .87 of a stranger's sentences are found; these prompts are terser


def test_what_the_user_says_is_their_own() -> None:
    taken = [prompt for prompt in OWN if is_reported(prompt)]
    assert len(taken) <= 3, taken


@cases("text")
def test_a_rule_that_is_all_a_prompt_says_is_the_users_own(text: str) -> None:
    own = [one.text for one in candidates([Event("1", "message", "user", text)]) if not one.is_told]
    assert any(map(is_standing_rule, own)), own


@pytest.mark.parametrize("text", PASTED)
def test_what_was_pasted_makes_no_rule_of_the_users(text: str) -> None:
    said = candidates([Event("1", "message", "user", text)])
    assert not [one.text for one in said if not one.is_told and is_standing_rule(one.text)]


@pytest.mark.parametrize("text", ["", "?", "🙂", "x" * 20_000, "a\0b", "\ud800", ":\n:\n:", "港口是 4417。从不"])
def test_every_score_is_a_probability_whatever_the_text(text: str) -> None:
    assert all(0 <= handed_on(place) <= 1 for place in places(Prompt(text), sentences(text)))


def test_a_damaged_model_is_refused() -> None:
    data = FILE.read_bytes()
    width = len(built_in().plain[0])
    assert parsed(data, HANDED_ON, width) == built_in()
    for damaged, reason in ((data[:-1], "damaged"), (data, "other features")):
        with pytest.raises(ValueError, match=reason):
            parsed(damaged, HANDED_ON, width + (reason == "other features"))


@pytest.mark.parametrize("piece", ["From: ", "a: ", "write x ", "'ab cd ", "is it. ", "a's b\n", "// x;\n", "\n\n a"])
def test_reading_takes_time_in_proportion_to_the_length(piece: str) -> None:
    def seconds(length: int) -> float:
        text = (piece * length)[:length]
        begun = time.process_time()
        list(map(handed_on, places(Prompt(text), sentences(text))))
        return time.process_time() - begun

    assert growth(seconds, 1_000, 10_000, 35) < 35
