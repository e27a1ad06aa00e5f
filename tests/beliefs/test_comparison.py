"""What two texts are to each other: acted on only where that is sure, and never at the cost of a true memory."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memcli.beliefs.comparison import LONGEST, Likelihoods, Verdict, are_twins, compare


def told(old: str, new: str) -> tuple[str, bool]:
    verdict = compare(old, new)
    return verdict.kind, verdict.sure


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("User prefers tabs", "user  prefers\nTABS."),
        ("Redis is fast.", "redis is fast"),
        ("The limit is 3.", "the limit is 3"),
        ("用户喜欢猫。", "用户喜欢猫"),
        ("User prefers tabs", "The user prefers tabs."),
    ],
)
def test_form_alone_makes_no_other_memory(old: str, new: str) -> None:
    assert told(old, new) == told(new, old) == ("same", True)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The offset is -5", "The offset is 5"),
        ("The ratio is 1.5", "The ratio is 15"),
        ("Written in C", "Written in C++"),
        ("Alert at < 5", "Alert at 5"),
        ("The rate is 10", "The rate is 10%"),
        ("Is it on?", "Is it on"),
        ("Load .env first", "Load env first"),
        ("Call it with -v", "Call it with -V"),
        ("The link does 5 Mb", "The link does 5 MB"),
        ("Read /etc/Hosts", "Read /etc/hosts"),
        ("Set MAX_SIZE", "Set max_size"),
        ("Alle Maße prüfen", "Alle Masse prüfen"),
    ],
)
def test_a_sign_or_a_case_that_carries_meaning_is_kept_apart(one: str, other: str) -> None:
    assert not are_twins(one, other)
    assert told(one, other) != ("same", True) != told(other, one)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("User drinks coffee", "User no longer drinks coffee"),
        ("Kai is allergic to peanuts", "Kai is no longer allergic to peanuts since May."),
        ("The team uses Slack", "The team doesn't use Slack any more"),
        ("The API has a rate limit", "Since 2026 things changed.\nThe API no longer has a rate limit."),
        ("User smokes", "User quit smoking"),
        ("The project uses npm", "The project switched from npm to pnpm"),
        ("The staging port is 5432", "The staging port was changed from 5432 to 6543"),
        ("The standup is at 9:30", "We moved the standup from 9:30 to 10:00"),
        ("Backups are stored in S3", "Backups were moved from S3 to Glacier"),
        ("Ana lives in Lisbon", "Ana moved to Porto from Lisbon"),
        ("We use Jenkins for CI", "We use GitHub Actions instead of Jenkins for CI"),
        ("The port is 5432", "The port is 5433, no longer 5432"),
        ("The service is called billing-api", "billing-api was renamed to payments-api"),
        ("Our repo is named core", "They renamed core to kernel"),
        ("Deploys run on Fly", "Correction: deploys run on Hetzner"),
        ("Kai is allergic to nuts", "Correction: Kai is not allergic to nuts."),
        ("The market opens at 7.", "Correction: the market opens at 8, not at 7."),
        ("Rehearsals are on Tuesdays.", "Correction: rehearsals are on Wednesdays now, not on Tuesdays."),
        ("The dentist is Dr. Lund.", "Correction: the dentist is Dr. Hansen, not Dr. Lund."),
        ("The dentist is Dr. Lund.", "Correction: Dr. Hansen is the dentist, not Dr. Lund."),
        ("The recipe needs 200 g of butter.", "I was wrong: the recipe needs 250 g of butter, not 200 g."),
        ("The branch is cut on Friday.", "Sorry, correction: the branch is cut on Thursday rather than on Friday."),
        ("Mia gets seasick.", "Scratch that, Leo gets seasick, not Mia."),
        (
            "Pear trees are pruned in February.",
            "Please remember that pear trees are no longer pruned in February, we prune them in March",
        ),
        ("We buy honey from Jakob.", "By the way, we no longer buy honey from Jakob, he retired."),
        ("Note that the team meets in room 12.", "Since May, the team no longer meets in room 12."),
    ],
)
def test_an_explicit_change_of_exactly_what_stands_supersedes_it(old: str, new: str) -> None:
    assert told(old, new) == ("update", True)
    assert told(new, old) != ("update", True), "what is over never ends what came after it"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Rachel Kim is a member of the platform team.", "Daniel Ortiz is a member of the platform team."),
        ("Ana is a citizen of Spain", "Ben is a citizen of Peru"),
        ("Mia reviews the storage code", "Correction: Tom reviews the storage code"),
        ("Kai's brother is allergic to peanuts", "Kai is no longer allergic to peanuts"),
        ("Kai is allergic to peanuts and shellfish", "Kai is no longer allergic to peanuts"),
        ("Uses Unity and C#", "Switched from Unity to Godot"),
        ("Ana was born in Lisbon", "Ana moved from Lisbon to Porto"),
        ("Standup is at 9:30. Rita leads it.", "The standup moved from 9:30 to 10:00"),
        ("Backups are stored in S3", "Backups are moved from S3 to Glacier after 30 days"),
        ("User uses npm", "User is thinking about switching from npm to pnpm"),
        ("We use MySQL", "Should we use Postgres instead of MySQL?"),
        ("We use MySQL", "If it is slow, we use Postgres instead of MySQL"),
        ("User drinks coffee", "User no longer drinks coffee in the evening"),
        ("The team uses npm", "The team of Maria no longer uses npm"),
        ("The billing service uses Redis", "Correction: the billing service runs on Fly"),
        ("The migration is almost done", "The migration is done"),
        ("Maria is the CTO", "Maria is the CTO's sister"),
        ("The retry limit is 3", "The retry limit is 5"),
        ("User works at Netflix", "User works at Spotify"),
        ("Deploys run on Fly", "No, deploys run on Hetzner"),
        ("Kai is allergic to peanuts", "The allergist confirmed that Kai is not allergic to peanuts"),
        ("The gym closes at 21:00.", "Correction: the pool closes at 22:00, not at 21:00."),
        ("The plumber is Mr. Novak.", "Correction: the electrician is Mr. Kral, not Mr. Novak."),
        ("Rehearsals are on Tuesdays.", "Correction: rehearsals are on Wednesdays, not on Mondays."),
        ("The key is with Mrs. Olsen.", "Correction: the parcel is with Mr. Berg, not with Mrs. Olsen."),
        ("The shop opens at 8.", "Correction: the shop opens at 8, not at 9."),
        ("Ana speaks Spanish", "Ana speaks French, not only Spanish"),
        ("Ana speaks Spanish", "Ana speaks French, not just Spanish"),
        ("Leo gets seasick.", "Leo gets seasick, not Mia."),
        ("We use MySQL", "We use Postgres instead of MySQL, I think"),
        ("The team uses Slack", "Tom says: the team moved from Slack to Teams"),
        ("The office is in Linz.", "We moved the desk from Linz to Graz."),
        ("The shop opens at 7", "The shop opens at 8 on Mondays in the winter, not at 7"),
    ],
)
def test_what_may_still_be_true_is_never_superseded(old: str, new: str) -> None:
    assert not compare(old, new).sure


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Kai is allergic to peanuts", "The allergist confirmed that Kai is not allergic to peanuts"),
        ("The cache is on", "The cache is not on"),
        ("Das Büro ist in Köln", "Das Büro ist nicht in Köln"),
        ("The retry limit is 3", "The retry limit is 5"),
        ("User works at Netflix", "User works at Spotify"),
        ("Standup is at 9:30", "Standup has moved to 10:00"),
        ("Deploys run on Fly", "No, deploys run on Hetzner"),
        ("Uses Unity and C#", "Switched from Unity to Godot"),
        ("I am allergic to peanuts.", "I am not allergic to peanuts, the test was negative."),
        ("Budget is 4,200 euros all in.", "Budget is 4,500, not 4,200."),
        ("The meeting is at 9 in the small room.", "The meeting is at 10, not at 9."),
        ("The API needs a token.", "As far as I can see the API does not need a token; I just tried it."),
        (
            "Mum's birthday party is on Saturday the 17th of May.",
            "We moved the party from Saturday to Sunday the 18th, Enzo is closed for a wedding on Saturday.",
        ),
        ("I take methotrexate 15 mg once a week.", "Dr. Brandt switched me from methotrexate to leflunomide."),
        ("I pay 39 euros for the contract with Vodafone.", "He talked me into it: I switched from Vodafone to O2."),
        ("The dog eats chicken kibble twice a day.", "The vet moved him from chicken kibble to lamb."),
    ],
)
def test_what_a_plain_rule_doubts_is_flagged(old: str, new: str) -> None:
    assert compare(old, new).is_against


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Rachel Kim is a member of the team.", "Daniel Ortiz is a member of the team."),
        ("User likes Hiking", "User likes Cooking"),
        ("Ana speaks French", "Ana speaks Spanish"),
        ("Issue 12 is fixed", "Issue 13 is fixed"),
        ("Ran 5 km today", "Ran 7 km today"),
        ("The turtle is green", "The ship is late"),
        ("My sister lives in Berlin", "I moved from Berlin to Rome"),
        ("I was born in Berlin", "I moved from Berlin to Rome"),
        ("The office is in Linz.", "We moved the desk from Linz to Graz."),
    ],
)
def test_strangers_are_left_alone(old: str, new: str) -> None:
    assert compare(old, new).kind == "distinct"


def test_a_learned_comparison_confirms_when_it_is_sure_and_else_only_flags() -> None:
    pair = "Tomás wrote the export", "The export was written by Tomás"
    assert compare(*pair, Likelihoods(0.98, 0.01, 0.01, 0.0, merges=True)) == Verdict(
        "same", True, "the same in other words"
    )
    for likelihoods, kind in (
        (Likelihoods(0.9, 0.05, 0.05, 0.0, flags=True), "same"),
        (Likelihoods(0.0, 0.99, 0.01, 0.0, flags=True), "update"),
        (Likelihoods(0.1, 0.2, 0.5, 0.2, flags=True), "conflict"),
        (Likelihoods(0.3, 0.1, 0.0, 0.6), "distinct"),
    ):
        verdict = compare(*pair, likelihoods)
        assert (verdict.kind, verdict.sure) == (kind, False)
    assert compare("User drinks tea", "User no longer drinks tea", Likelihoods(1.0, 0, 0, 0)).kind == "update"


def test_a_denial_is_flagged_however_alike_a_learned_comparison_finds_the_two() -> None:
    for likelihoods in (Likelihoods(0.1, 0.1, 0.1, 0.7), Likelihoods(0.98, 0.01, 0.01, 0, merges=True, flags=True)):
        verdict = compare("My son eats fish.", "My son does not eat fish, he hates the smell.", likelihoods)
        assert (verdict.kind, verdict.sure) == ("conflict", False)


def test_a_document_is_known_by_its_twin_alone() -> None:
    text = "The limit is 5. " * (LONGEST // 10)
    assert compare(text, f"{text} More.").kind == "distinct"
    assert compare(text, text.upper()).kind == "same"


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_two_texts_have_a_verdict_and_the_same_one_again(old: str, new: str) -> None:
    assert compare(old, new) == compare(old, new)
    assert compare(old, old).kind == "same"


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("The staging port is 8080.", "The staging port is 9090.", "conflict"),
        ("The office is in Berlin", "The office is in Hamburg", "conflict"),
        ("Box 3 holds apples", "Box 4 holds apples", "distinct"),
        ("Ana keeps bees", "The moon is full", "distinct"),
    ],
)
def test_where_the_learned_comparison_is_undecided_another_value_is_flagged_all_the_same(
    old: str, new: str, kind: str
) -> None:
    undecided, decided = Likelihoods(0.1, 0.3, 0.2, 0.4), Likelihoods(0.1, 0.1, 0.1, 0.7)
    verdict = compare(old, new, undecided)
    assert (verdict.kind, verdict.sure) == (kind, False)
    assert compare(old, new, decided).kind == "distinct"
