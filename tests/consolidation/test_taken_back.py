"""What the same conversation takes back is not kept, and what was merely said beside it is."""

import pytest

from memcli.consolidation.candidates import candidates
from memcli.consolidation.withdrawals import taken_back
from memcli.formats.session_event import Event


def left(*said: str) -> list[str]:
    """Return the statements of a user that stand at the end, said message by message."""
    events = [
        event
        for number, text in enumerate(said)
        for event in (Event(f"u{number}", text=text), Event(f"a{number}", role="assistant", text="Okay."))
    ]
    found = candidates(events)
    gone = taken_back(found, {event.id: event.text for event in events})
    return [one.text for place, one in enumerate(found) if one.role == "user" and place not in gone]


@pytest.mark.parametrize(
    ("said", "gone"),
    [
        (("the demo is on 3 June in room 12", "sorry, 5 June"), "the demo is on 3 June in room 12"),
        (("heron runs Postgres 15", "oh no wait, heron runs Postgres 16"), "heron runs Postgres 15"),
        (
            ("the heating is set to 48 degrees", "ines says the heating is at 52, not 48"),
            "the heating is set to 48 degrees",
        ),
        (("piano is thursday 17:15", "i mixed that up. piano is tuesday 16:45"), "piano is thursday 17:15"),
        (("we deploy from box eu-1", "scratch that"), "we deploy from box eu-1"),
        (
            ("the backup runs at 3:30", "wobei moment, das backup läuft um 4:30, nicht 3:30. the backup"),
            "the backup runs at 3:30",
        ),
        (("the release is in october", "correction: the release moves to december"), "the release is in october"),
    ],
)
def test_a_corrected_statement_does_not_stand(said: tuple[str, ...], gone: str) -> None:
    assert gone in left(said[0])
    assert gone not in left(*said)


@pytest.mark.parametrize(
    "said",
    [
        ("the demo is on 3 June", "lunch is on 5 June"),
        ("we have 12 servers", "we have 3 offices, not in Rome"),
        ("sorry for the wait. the box has 64 GB", "the disk has 2 TB"),
        ("the backup runs at 3:30", "never say never mind to a customer"),
        ("heron runs Postgres 15", "is 16 out? never mind that"),
    ],
)
def test_what_was_not_corrected_stands(said: tuple[str, ...]) -> None:
    assert left(said[0])[-1] in left(*said)
