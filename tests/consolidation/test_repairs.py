"""What made a failing command work becomes a lesson; edits, luck and looking around do not."""

import json

from memcli.consolidation.repairs import changed_files, repairs
from memcli.formats.session_event import Event


def ran(*steps: tuple[str, str, bool]) -> list[Event]:
    """Make the calls and answers of a shell: command, output, failed."""
    events = []
    for number, (command, output, failed) in enumerate(steps):
        extra = {"call_id": f"c{number}"}
        events.append(Event(f"e{number}", "tool_call", "assistant", command, name="Bash", extra=extra))
        events.append(Event(f"r{number}", "tool_result", "system", output, is_error=failed, extra=extra))
    return events


MISSING = "Traceback (most recent call last):\n  File x\nModuleNotFoundError: No module named 'yaml'\n"


def lessons(*steps: tuple[str, str, bool]) -> list[str]:
    """Give the texts of the lessons."""
    return [repair.text for repair in repairs(ran(*steps))]


def test_a_command_that_fixed_an_error_is_a_lesson() -> None:
    steps = (("pytest -q", MISSING, True), ("pip install pyyaml", "ok", False), ("pytest -q", "3 passed", False))
    found = repairs(ran(*steps))
    assert [repair.text for repair in found] == [
        "`pytest -q` failed with “ModuleNotFoundError: No module named 'yaml'”; it worked after `pip install pyyaml`."
    ]
    assert found[0].event_id == "e2"


def test_other_arguments_or_another_program_that_worked_are_a_lesson() -> None:
    assert lessons(("npm test", "out of memory error", True), ("npm test -- --runInBand", "ok", False)) == [
        "`npm test` failed with “out of memory error”; `npm test -- --runInBand` worked."
    ]
    assert lessons(("python a.py", "python: command not found", False), ("python3 a.py", "", False)) == [
        "`python a.py` failed with “python: command not found”; `python3 a.py` worked."
    ]


def test_the_last_failure_before_the_success_tells_the_story_once() -> None:
    assert lessons(
        ("make", "error: one", True),
        ("make", "error: two", True),
        ("apt-get install libfoo", "", False),
        ("make", "", False),
    ) == ["`make` failed with “error: two”; it worked after `apt-get install libfoo`."]


def test_luck_looking_around_and_what_never_worked_teach_nothing() -> None:
    assert lessons(("make", "error", True), ("make", "", False)) == []
    assert lessons(("grep -r foo", "", True), ("pip install x", "", False), ("grep -r foo .", "", False)) == []
    assert lessons(("make", "error", True), ("ls -la", "", False), ("make", "", False)) == []
    assert lessons(("make", "error", True), ("pip install x", "", False)) == []
    far = [("sleep 1", "", False)] * 30
    assert lessons(("make", "error", True), *far, ("make -B", "", False)) == []


def test_calls_without_ids_are_answered_by_what_follows_and_unanswered_ones_are_passed_over() -> None:
    events = [
        Event("1", "tool_call", "assistant", "make", name="shell"),
        Event("2", "tool_result", "system", "exited with code 2"),
        Event("3", "tool_call", "assistant", "make -B", name="shell"),
        Event("4", "tool_result", "system", "done"),
        Event("5", "tool_call", "assistant", "make -B", name="shell"),
    ]
    assert [repair.text for repair in repairs(events)] == ["`make` failed with “exited with code 2”; `make -B` worked."]


def test_files_that_tools_wrote_are_named_once() -> None:
    patch = "*** Begin Patch\n*** Update File: b.go\n*** Add File: c.go\n*** End Patch"
    events = [
        Event("1", "tool_call", "assistant", json.dumps({"file_path": "a.py", "old_string": "x"}), name="Edit"),
        Event("2", "tool_call", "assistant", json.dumps({"file_path": "a.py"}), name="Write"),
        Event("3", "tool_call", "assistant", json.dumps({"file_path": "seen.py"}), name="Read"),
        Event("4", "tool_call", "assistant", json.dumps({"patch": patch}), name="apply_patch"),
        Event("5", "tool_call", "assistant", "[1]", name="edit"),
        Event("6", "tool_call", "assistant", "not json", name="edit"),
    ]
    assert changed_files(events) == ("a.py", "b.go", "c.go")
