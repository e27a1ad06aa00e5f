"""What is stored of a conversation without a language model. All sentences are made up."""

import pytest

from memcli.consolidate.rules import Statement, find_requests, find_statements
from memcli.formats.records import Message


def build_talk(*lines: str) -> list[Message]:
    """Return messages of lines such as `user: text` and `assistant: text`."""
    messages = []
    for number, line in enumerate(lines, 1):
        speaker, _, text = line.partition(": ")
        messages.append(Message(number, f"m{number}", speaker, text, f"2026-11-{number:02}"))
    return messages


def read(*lines: str) -> list[Statement]:
    return find_statements(build_talk(*lines))


@pytest.mark.parametrize(
    ("prompt", "kind", "memory_type", "text"),
    [
        ("Remember: the canary is Acme.", "request", "fact", "The canary is Acme."),
        ("ok so please remember that I prefer tabs", "request", "preference", "I prefer tabs."),
        ("Can you remember that the lab is in Bergen?", "request", "fact", "The lab is in Bergen."),
        (
            "Save this: the branch is called harbor",
            "request",
            "fact",
            "The branch is called harbor.",
        ),
        ("keep in mind that Ana's bus leaves at 7", "request", "fact", "Ana's bus leaves at 7."),
        ("don't forget to always pull first", "request", "constraint", "Always pull first."),
        ("Tea is in the blue tin, remember that", "request", "fact", "Tea is in the blue tin."),
        ("The keys hang at hook 2. Remember that.", "request", "fact", "The keys hang at hook 2."),
        (
            "my pass ends in may, so remember I need photos",
            "request",
            "fact",
            "My pass ends in may, I need photos.",
        ),
        (
            "Remember this:\n- port is 80\n- host is db1",
            "request",
            "fact",
            "Port is 80. Host is db1.",
        ),
        ("Remember that alpha uses tea.", "request", "fact", "Alpha uses tea."),
        ("Remember that releases need tea", "request", "fact", "Releases need tea."),
        ("Merk dir, dass der Server Falke heißt", "request", "fact", "Der Server Falke heißt."),
        ("Forget that I like jazz.", "forget", "", "I like jazz."),
        ("forget what I said about the piano", "forget", "", "The piano."),
        ("Forget about the on-call rotation", "forget", "", "The on-call rotation."),
        ("forget that it always fails on my laptop", "forget", "", "Always fails on my laptop."),
        ("remember for all my projects: I use fish", "request", "fact", "I use fish."),
        ("For all my projects, remember: use tabs.", "request", "constraint", "Use tabs."),
        ("For all my projects: use tabs.", "request", "constraint", "Use tabs."),
        ("Remember for every repo that I use fish", "request", "fact", "I use fish."),
    ],
)
def test_a_prompt_asks_to_remember_or_forget(
    prompt: str, kind: str, memory_type: str, text: str
) -> None:
    (found,) = find_requests(prompt)
    assert (found.kind, found.type, found.text) == (kind, memory_type, text)
    assert read(f"user: {prompt}")[0].text == text


@pytest.mark.parametrize(
    "prompt",
    [
        "remember the leak in the parser?",
        "Remember that pump from last week? It leaks again.",
        "do you remember that I use tabs?",
        "remember that thing you can do with tabs",
        "remember when we lost the boat",
        "remember for this session only: use port 9999",
        "For this session only, remember that the port is 9999.",
        "just for today, keep in mind that I'm in Lisbon",
        "project: harbor",
        "save",
        "forget everything",
        "forget it",
        "Forget about it, I'll ask Mira.",
        "forget about styling, just make it work",
        "Forget about the failing test for now",
        "remember my pin is, no actually don't, delete that",
        "> remember that I like tea",
        "```\nremember that the port is 80\n```",
        'The poster says "Remember that all doors must always be closed at night."',
        "Dear tenants,\nremember that bins go out on Mondays.\nKind regards, the office",
        "<memory-context>remember that I like tea</memory-context>",
        "&lt;memory-context&gt;Never use tabs.&lt;/memory-context&gt; fix the test",
        "why does it always fail?",
        "if I ever sold it I would never use Stripe",
        "maybe we should never deploy on Fridays",
        "never deploy on Mondays, oh nvm, that was a joke",
        "no bullet points this time",
        "only use the first rows for now",
        "it only fails on Windows",
        "2026-11-20T09:01 ERROR never retry",
        "I like the second one",
        "please write a letter to my landlord",
        "always the same error",
        "I always want to live there one day",
        "never gonna give you up",
        "remember to run the tests",
        "hello from the office",
        "why is the build so slow? always fails on my machine when the cache is cold",
        "the deploy script always fails when the VPN is off",
        "the tests always crash on a full disk",
        "docker always eats all my memory",
        "npm install always takes forever here",
        "the tests are always red after a merge",
        "whenever I open the page it crashes",
        "I prefer the blue one",
        "let's go with option 2",
        "no need to remember that",
        "I prefer option B",
        "I'd rather have the second one",
        "I'd rather go with the second one",
        "no, I meant the other function",
        "Always send one.",
        "don't touch the parser, just fix the test",
        "don't add tests, just fix the bug",
        "do not delete the files in src",
        "don't look at other files",
        "stop the server",
        "stop running the tests",
        "keep the second version",
        "make sure it compiles",
        "read the file before you edit it",
        "show me the diff before you push it",
        "run the migration before you restart the server",
        "I want all tests to pass",
        "I want all files moved to src",
        "In our team there are five people.",
        "the tests need mocks",
        "add a function that computes the monthly balance",
        "add a button that exports the report every Friday",
        "fix the daily backup job",
        "write a script that only runs on CI",
        "I'd like you to refactor db.ts",
        "actually, use a map instead of a list here",
        "actually use a set, not a list",
        "don't use a map here",
        "please don't touch that file",
        "don't use the cache for this request",
        "no more errors",
        "next time I'll check first",
    ],
)
def test_nothing_is_stored(prompt: str) -> None:
    assert find_requests(prompt) == []
    assert read("assistant: Hello.", f"user: {prompt}") == []


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("for the record: never push to the release branch", "rule"),
        ("from now on dates are written as 2026-11-28", "rule"),
        ("No deploys on Fridays without Mira's consent", "rule"),
        ("Every parcel gets a label with the weight", "rule"),
        ("Merge only when both reviewers agree", "rule"),
        ("whenever you touch the schema, bump the version", "rule"),
        ("invoices need a second signature above 500 euro", "rule"),
        ("raw files are never edited", "rule"),
        ("Always leave one day between two releases", "rule"),
        ("Never take more than one day to answer", "rule"),
        ("don't use moment, use date-fns", "rule"),
        ("stop adding comments to every function", "rule"),
        ("Do not use default exports.", "rule"),
        ("No default exports in this project.", "rule"),
        ("Stop adding emojis to commit messages.", "rule"),
        ("stop adding a summary at the end of your answers", "rule"),
        ("Don't mock the database in tests.", "rule"),
        ("don't catch exceptions in handlers, let them bubble up", "rule"),
        ("You should ask me before you install a new dependency.", "rule"),
        ("ask me before deleting files", "rule"),
        ("Keep PR descriptions under 10 lines please.", "rule"),
        ("make sure you run npm run lint before you say you're done", "rule"),
        ("I want all errors logged with the request id.", "rule"),
        ("I want every endpoint to have a test.", "rule"),
        ("In our team, reviews need two approvals.", "rule"),
        ("Please don't use semicolons.", "rule"),
        ("Name branches after the ticket.", "rule"),
        ("whenever a backup fails, page me", "rule"),
        ("please don't add comments to the code", "rule"),
        ("Don't use lodash", "rule"),
        ("stop using semicolons in the TS code", "rule"),
        ("no more default exports", "rule"),
        ("use snake_case for file names", "rule"),
        ("next time run the linter first", "rule"),
        ("I'd like you to always ask first", "rule"),
        ("In src/server.ts every new route needs a schema.", "rule"),
        ("backups run daily", "rule"),
        ("use the new logger instead of console.log", "preference"),
        ("drafts are always private", "rule"),
        ("run `make fmt` after every edit of a .go file", "rule"),
        ("I told you: use date-fns, not moment", "preference"),
        ("we decided to keep the monorepo because the split cost too much", "rule"),
        ("Ab jetzt gehen Rechnungen an Sabine", "rule"),
        ("I prefer short answers", "preference"),
        ("my sister hates coriander", "preference"),
        ("I'd rather see the diff first", "preference"),
        ("don't call me sir", "preference"),
        ("write to me in Italian", "preference"),
    ],
)
def test_rules_and_preferences_are_stored(text: str, kind: str) -> None:
    (found,) = read(f"user: {text}")
    assert found.kind == kind
    assert read(f"assistant: {text}") == []


@pytest.mark.parametrize(
    ("before", "correction", "text", "corrects"),
    [
        ("assistant: The port is 6543.", "no, the port is 7654, not 6543", "The port is 7654, not 6543.", "6543"),
        ("assistant: The limit is 30 seconds.", "no, it's 60", "The limit is 60 seconds.", "The limit is 30 seconds."),
        ("user: shipping is free from 79 euro", "sorry!! 89, since may", "Shipping is free from 89 euro, since may.", "shipping is free from 79 euro"),
        ("assistant: The flag is called --dry.", "it's --dry-run not --dry", "The flag is called --dry-run.", "--dry"),
        ("assistant: The backend is in Go.", "wrong, the backend is in Rust", "The backend is in Rust.", "The backend is in Go."),
        ("user: the choir meets at 9", "the choir moved to 10:30", "The choir moved to 10:30.", "the choir meets at 9"),
        ("assistant: I addressed Katherine.", "her name is Katharina, not Katherine", "Her name is Katharina, not Katherine.", "Katherine"),
    ],
)  # fmt: skip
def test_a_correction_names_what_it_corrects(
    before: str, correction: str, text: str, corrects: str
) -> None:
    found = read(before, f"user: {correction}")[-1]
    assert (found.kind, found.type, found.text) == ("correction", "correction", text)
    assert found.corrects == corrects


@pytest.mark.parametrize(
    ("before", "answer"),
    [
        ("Shall I run the tests?", "no, I do that on Monday"),
        ("It works on Linux.", "not on my machine"),
        ("Done.", "sorry for the late reply, the kid was sick"),
        # The old value that it names is not in the sentence with another number.
        ("Run pytest with --timeout=120.", "wrong port, it's 9001, not 9000"),
        ("It is 2025 in the footer.", "no, it's 2026, not 2025"),
    ],
)
def test_an_answer_is_no_correction(before: str, answer: str) -> None:
    assert [item.kind for item in read(f"assistant: {before}", f"user: {answer}")] == []


def test_a_pronoun_takes_the_sentence_before_along() -> None:
    (found,) = read("user: The bell rings at noon. It must never be muted.")
    assert found.text == "The bell rings at noon. It must never be muted."
    assert read("user: It must never be muted.") == []


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("Never accept them blindly.", []),
        ("I really should never have hidden that.", []),
        ("By the 3rd of each month.", []),
        ("next: always read the log on my machine", []),
        (
            "Snapshots only go through review. Never accept them blindly.",
            ["Snapshots only go through review. Never accept them blindly."],
        ),
        (
            "Retries made two invoices without an idempotency key. Always send one.",
            ["Retries made two invoices without an idempotency key. Always send one."],
        ),
        ("We never use them in tests.", ["We never use them in tests."]),
    ],
)
def test_a_sentence_that_means_nothing_alone(text: str, stored: list[str]) -> None:
    assert [item.text for item in read(f"user: {text}")] == stored


def test_a_denial_takes_the_right_value_along() -> None:
    (found,) = read(
        "assistant: The invoice is built with LaTeX.",
        "user: no, we don't use LaTeX. the PDF comes from Typst, see invoice.typ",
    )
    assert found.text == "We don't use LaTeX. The PDF comes from Typst, see invoice.typ."


@pytest.mark.parametrize(
    ("correction", "text"),
    [
        ("no, the port is 6544", "The db listens on port 6544 and restarts every Monday."),
        ("sorry, it's 6544, not 6543", "The db listens on port 6544 and restarts every Monday."),
        ("actually it is on Tuesday", "The db listens on port 6543 and restarts every Tuesday."),
    ],
)  # fmt: skip
def test_a_corrected_detail_keeps_the_rest(correction: str, text: str) -> None:
    said = "user: Remember: the db listens on port 6543 and restarts every Monday."
    assert [item.text for item in read(said, "assistant: Ok.", f"user: {correction}")] == [text]


@pytest.mark.parametrize(
    ("rule", "answer", "reply", "text"),
    [
        ("Always use npm.", "I'll use npm from now on.", "No, use pnpm.", "Always use pnpm."),
        ("We only use npm here.", "Ok.", "sorry, use pnpm, not npm", "We only use pnpm here."),
        ("Always use npm.", "I changed the button to blue.", "No, use green.", "Always use npm."),
        ("Always use npm.", "Should I use yarn to test?", "No, use jest.", "Always use npm."),
        ("Always use npm.", "Ok.", "No, use the other one.", "Always use npm."),
    ],
)
def test_another_tool_replaces_the_one_of_a_rule(
    rule: str, answer: str, reply: str, text: str
) -> None:
    found = read(f"user: {rule}", f"assistant: {answer}", f"user: {reply}")
    assert [item.text for item in found] == [text]


@pytest.mark.parametrize(
    ("second", "text"),
    [
        ("no, it is on Tuesday", "The db listens on port 6544 and restarts every Tuesday."),
        ("no, the port is 6545", "The db listens on port 6545 and restarts every Monday."),
    ],
)
def test_a_second_correction_starts_from_the_corrected_text(second: str, text: str) -> None:
    said = "user: Remember: the db listens on port 6543 and restarts every Monday."
    first = "user: no, the port is 6544"
    found = read(said, "assistant: Ok.", first, "assistant: Ok.", f"user: {second}")
    assert [(item.text, "6543" in item.corrects) for item in found] == [(text, True)]


def test_a_correction_that_names_the_subject_keeps_its_own_words() -> None:
    (found,) = read(
        "assistant: The warehouse runs on Postgres 16, which has MERGE with RETURNING.",
        "user: no, the warehouse is postgres 15, not 16. so no RETURNING",
    )
    assert found.text == "The warehouse is postgres 15, not 16."


@pytest.mark.parametrize(
    ("before", "said", "kept"),
    [
        ("I like tabs more than spaces.", "We use tabs, not spaces.", True),
        ("I like coffee more than tea.", "Ana drinks coffee, not tea.", True),
        ("Never edit src/gen by hand.", "The folder is src/generated, not src/gen.", True),
        ("We use npm.", "Our scripts use pnpm, not npm.", False),
    ],
)
def test_a_sentence_with_another_subject_stays_as_it_is(before: str, said: str, kept: bool) -> None:
    found = [item.text for item in read(f"user: {before}", "assistant: OK.", f"user: {said}")]
    assert found == [before] * kept + [said]


def test_a_later_statement_withdraws_an_earlier_one() -> None:
    assert read("user: never paint the blue door", "assistant: Ok.", "user: forget that") == []
    asked = read("user: remember that the lamp is blue", "assistant: Ok.", "user: forget that")
    assert [(item.kind, item.text) for item in asked] == [("forget", "The lamp is blue.")]
    corrected = read(
        "user: remember that the staging port is 80",
        "assistant: Ok.",
        "user: sorry, the staging port is 81, not 80",
    )
    assert [item.text for item in corrected] == ["The staging port is 81, not 80."]
    for change in ("we no longer use npm5, it is pnpm", "we moved from npm5 to pnpm"):
        kept = read(
            f"user: remember that {change}", "assistant: Ok.", "user: forget that we use npm5"
        )
        assert [item.kind for item in kept] == ["request", "forget"]


@pytest.mark.parametrize(
    ("said", "is_forgotten"),
    [
        ("forget that again", True),
        ("Forget it! That was wrong.", True),
        ("never mind", True),
        ("Forget it, let's do something else. Can you list the routes?", False),
        ("forget that, let's look at the routes", False),
        ("Never mind, I found it.", False),
        ("forget it, sorry", True),
        ("Never mind, forget that.", True),
        ("nvm, can you list the routes?", False),
    ],
)
def test_a_change_of_subject_takes_nothing_back(said: str, is_forgotten: bool) -> None:
    found = read("user: Remember that the lamp is blue.", "assistant: Saved.", f"user: {said}")
    assert [item.kind for item in found] == ["forget" if is_forgotten else "request"]


def test_remember_that_means_the_message_before() -> None:
    found = read("assistant: The pump needs oil 5W-30.", "user: remember that")
    assert [item.text for item in found] == ["The pump needs oil 5W-30."]


def test_a_statement_knows_its_message_and_project() -> None:
    first, second = read(
        "user: Never use tabs.",
        "assistant: Ok.",
        "user: project: harbor\nNever use floats for money.",
    )
    assert (first.message_id, first.timestamp, first.project) == ("m1", "2026-11-01", "")
    assert (second.message_id, second.project) == ("m3", "harbor")


@pytest.mark.parametrize(
    ("before", "said", "stored", "wrong"),
    [
        ("The backup runs at 3:30.", "das Backup ist um 4:30, nicht 3:30", "4:30", "3:30"),
        ("", "Book three seats, oh no wait, make it 4 seats", "Make it 4 seats.", "Book three"),
        ("", "nous sommes trois euh non on est quatre dans la salle B", "On est", "nous"),
        ("It keeps 3 backups.", "5 backups please, there is space", "5 backups", "3 backups"),
    ],
)
def test_a_value_is_corrected_in_many_forms(
    before: str, said: str, stored: str, wrong: str
) -> None:
    (found,) = read(f"assistant: {before}", f"user: {said}")
    assert found.kind == "correction"
    assert stored in found.text
    assert wrong in found.corrects


def test_a_withdrawal_concerns_the_sentence_before_it() -> None:
    found = read("user: Never paint the blue door. They sent a mail about it. Ignore that one.")
    assert [item.text for item in found] == ["Never paint the blue door."]


def test_a_withdrawal_of_what_the_agent_said_keeps_a_correction() -> None:
    found = read(
        "assistant: The port is 80.",
        "user: no, the port is 81",
        "assistant: There is a comment in main.rs.",
        "user: that comment is from the eval board, ignore it",
    )
    assert [item.text for item in found] == ["The port is 81."]


def test_a_corrected_name_brings_no_second_article() -> None:
    said = read(
        "assistant: The study site is at the Torne river near the border.",
        "user: It's the Kalix river, not the Torne.",
    )
    assert [item.text for item in said] == ["The study site is at the Kalix river near the border."]


def test_a_corrected_value_brings_no_words_twice() -> None:
    (found,) = read(
        "user: The wiki is saved at 02:30 and the copy is kept for 30 days, remember that.",
        "assistant: Saved.",
        "user: No, it's kept for 60 days, not 30",
    )
    assert found.text == "The wiki is saved at 02:30 and the copy is kept for 60 days."
    found = read("user: Remember that the port is 80.", "assistant: Ok.", "user: no, it's 81")[-1]
    assert (found.text, found.corrects) == ("The port is 81.", "the port is 80.")


def test_a_task_before_a_request_is_not_remembered() -> None:
    said = read("user: Rename the scans, and remember that negatives are never deleted.")
    assert [item.text for item in said] == ["Negatives are never deleted."]


@pytest.mark.parametrize(
    ("before", "said", "text"),
    [
        # A value alone takes the sentence it corrects.
        ("Your database listens on port 5432.", "the port is wrong, 5433", "My database listens on port 5433."),
        ("I've entered the dentist on Monday at 9.", "sorry, Tuesday", "The dentist on Tuesday at 9."),
        ("You take 5 mg in the morning.", "10 mg. The doctor doubled it.", "I take 10 mg in the morning."),
        ("Der Termin ist am Montag um 10 Uhr.", "nicht Montag, Dienstag", "Der Termin ist am Dienstag um 10 Uhr."),
        ("Added Sofia Brandt as a member.", "it's Brand without a t", "Added Sofia Brand as a member."),
        # "It" takes the subject.
        ("Your flight leaves from Terminal 1.", "it leaves from Terminal 2, I looked at another ticket", "My flight leaves from Terminal 2, I looked at another ticket."),
        ("The base branch is master.", "renamed to main last year", "The base branch was renamed to main last year."),
        # What is wrong, and what is right.
        ("Added with Alembic.", "We don't use Alembic. Migrations are plain SQL files.", "We don't use Alembic. Migrations are plain SQL files."),
        ("Gebaut mit Maven.", "wir bauen nicht mit Maven, sondern mit Gradle", "Wir bauen nicht mit Maven, sondern mit Gradle."),
        ("I restarted nginx.", "nginx is gone, caddy does TLS since March", "Nginx is gone, caddy does TLS since March."),
        # A statement that differs from what the agent has said or done.
        ("Your limit is 15 km.", "my limit is 10 km since the knee", "My limit is 10 km since the knee."),
        ("Exported with quality 80.", "Quality 92 is for couples, 80 is for the web only", "Quality 92 is for couples, 80 is for the web only."),
        ("I greet Kim with 'he'.", "Kim is a she", "Kim is a she."),
        ("Revenue is plotted by calendar year.", "we report by fiscal year", "We report by fiscal year."),
        # What is over, and what holds instead, often in the next sentence.
        ("I tagged @ui for the review.", "@ui got dissolved in May. Reviews go to @web.", "@ui got dissolved in May. Reviews go to @web."),
        ("The README requires nightly.", "that README is ancient. We've been on stable since March", "The README is ancient. We've been on stable since March."),
        ("The tests can't run. It looks like staging is down.", "its not down, staging moved. db is on quillon now", "Staging moved. Db is on quillon now."),
        ("The ferry is at 7.", "you read the wrong page. The ferry is at 8.", "The ferry is at 8."),
        ("Das Backup liegt auf drossel.", "da hab ich mich vertan. Das Backup liegt auf amsel.", "Das Backup liegt auf amsel."),
        ("Am Mittwoch ist bis 12 Uhr offen.", "Mittwochs haben wir doch seit Oktober zu", "Mittwochs haben wir doch seit Oktober zu."),
        ("I ran black.", "black's been gone since we brought in ruff", "Black's been gone since we brought in ruff."),
        ("I used du in the letter.", "our readers are over seventy, we say Sie", "Our readers are over seventy, we say Sie."),
        ("The sign has 9 to 6 as hours.", "we close at 5 in winter", "We close at 5 in winter."),
        ("I used a VAT rate of 20 %.", "food has none, only the drinks get the 20", "Food has none, only the drinks get the 20."),
        ("Negative ages are typing errors.", "no, -1 in the age column means not asked", "-1 in the age column means not asked."),
        ("Rent is 940 euros.", "went up to 985 in April", "Rent went up to 985 in April."),
        ("Renamed to 1974.tif.", "box 7 is from 1976. I misread my own handwriting!", "Box 7 is from 1976."),
    ],
)  # fmt: skip
def test_a_correction_becomes_a_whole_sentence(before: str, said: str, text: str) -> None:
    found = read("user: go on", f"assistant: {before}", f"user: {said}")
    assert [(item.kind, item.text) for item in found] == [("correction", text)]


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("I made the button red.", "no, make it blue"),
        ("I sorted by name.", "no, sort by date please"),
        ("The tests pass.", "no, the test still fails on line 12"),
        ("I moved the file to src.", "not src, tools. move it please"),
        ("I've added the header to the page.", "the header is too big"),
        ("I recommend the 8 GB model.", "16 GB, I do video editing"),
        ("I've sent the mail to all 12.", "great, 11 of the 12 have answered already"),
        ("14 tests fail.", "12 now, after the last commit"),
        ("The version has to be 2.4 or newer.", "the version is 2.9 on that box"),
        ("Fertig, 12 Seiten.", "12 Seiten waren mal das Ziel, aber schau mal ob's auf 10 geht"),
        ("The canary is up.", "for the next hour don't touch the canary"),
        ("The meeting is on Monday.", "make it Tuesday this week only"),
        ("The suite takes 4 minutes.", "it took 9 minutes since lunch, weird"),
        ("Here are naan recipes.", "Sure I'll bake it, like I've got nothing else to do"),
        ("Ich habe nach Name sortiert.", "nein, nach Datum bitte"),
        # The version is not the humidity that the sensor reads.
        ("The sensor reads 48 %.", "no wait, 2.3.2"),
    ],
)
def test_a_wish_about_the_work_at_hand_is_no_correction(before: str, said: str) -> None:
    assert read("user: go on", f"assistant: {before}", f"user: {said}") == []


def test_a_correction_may_take_two_messages() -> None:
    found = read(
        "assistant: The Volvo needs the service in March.",
        "user: that's wrong.",
        "assistant: Sorry, which one then?",
        "user: the Skoda needs the service in March",
    )
    assert [(item.kind, item.text) for item in found] == [
        ("correction", "The Skoda needs the service in March.")
    ]


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("forget that the jar costs 9 euros, it is 11 now", "The jar costs 11 euros."),
        (
            "Forget that the rota is on Opsgenie, it moved to PagerDuty.",
            "The rota moved to PagerDuty.",
        ),
        ("forget that I live in Bonn, I live in Cologne now", "I live in Cologne now."),
    ],
)
def test_a_new_value_after_forget_makes_a_correction(said: str, text: str) -> None:
    assert find_requests(said) == []
    (statement,) = read(f"user: {said}")
    assert (statement.kind, statement.text) == ("correction", text)
    assert statement.corrects.rstrip(".").casefold() in said.casefold()


def test_a_misspelled_request_is_one_and_a_new_value_needs_a_subject() -> None:
    (request,) = find_requests("Pls remeber that the db is on port 5433")
    assert request.text == "The db is on port 5433."
    assert read("user: forget that it costs 9 euros, it is 11 now") == []


@pytest.mark.parametrize(
    "said", ["forget that the fair is in May, it is cancelled", "forget that we use Jira, I left"]
)
def test_a_reason_after_forget_does_not_change_the_request(said: str) -> None:
    assert [item.kind for item in find_requests(said)] == ["forget"]
