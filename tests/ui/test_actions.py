"""What is changed at the page is changed by the rules of the commands, and taken back by its number."""

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from memcli.api import edit
from memcli.api.workspace import open_workspace
from memcli.store.access_log import note_disputed
from tests.cli.test_review import flagged
from tests.conftest import Mem
from tests.ui.conftest import Page

Keep = Callable[..., str]
FileOf = Callable[[str], Path]


def digest_in(html: str) -> str:
    return html.split('name="digest" value="')[1].split('"')[0]


def article_digest(html: str) -> str:
    return html.split('data-digest="')[1].split('"')[0]


def contents(workspace: Path) -> dict[str, bytes]:
    """Return every file that is memory."""
    return {
        path.relative_to(workspace).as_posix(): path.read_bytes()
        for path in workspace.rglob("*")
        if path.is_file() and ".mem" not in path.parts
    }


def test_a_new_memory_is_the_users_word(page: Page, mem: Mem) -> None:
    done = page.act("save", text="Staging listens on 8443.", type="fact", key="staging/port", tags="infra, web")
    entry = mem("read", done["id"], "--json").json["fields"]
    assert (entry["source"], entry["key"], entry["tags"]) == ("user", "staging/port", ["infra", "web"])
    assert page.act("undo", number=str(done["undo"]))["message"].startswith("Taken back: write")
    assert mem("read", done["id"]).code == 4


@pytest.mark.parametrize(
    ("change", "field", "value"),
    [
        ({"text": "The port is 9443.\n"}, "content", "The port is 9443.\n"),
        ({"pinned": True}, "pinned", True),
        ({"type": "constraint"}, "type", "constraint"),
        ({"key": "prod/port"}, "key", "prod/port"),
        ({"title": "Ports"}, "title", "Ports"),
        ({"project": "shop"}, "project", "shop"),
        ({"tags": "a,b"}, "tags", ["a", "b"]),
    ],
)
def test_each_change_of_a_memory_is_made_alone_and_taken_back(
    page: Page, keep: Keep, mem: Mem, workspace: Path, change: dict[str, Any], field: str, value: Any
) -> None:
    identifier = keep("The port is 8443.", "--key", "staging/port")
    stood = contents(workspace)
    done = page.act("save", id=identifier, digest=digest_in(page.view("memory", id=identifier)), **change)
    shown = mem("read", identifier, "--json").json
    assert {**shown["fields"], "content": shown["content"]}[field] == value
    page.act("undo", number=str(done["undo"]))
    assert contents(workspace) == stood


def test_what_a_person_did_not_touch_stays_byte_for_byte(page: Page, keep: Keep, file_of: FileOf) -> None:
    identifier = keep("The port is 8443.")
    file = file_of("The port is 8443.")
    raw = (
        file.read_bytes().replace(b"type: fact", b"type:   fact  # as I like it\nmine: 'kept'").replace(b"\n", b"\r\n")
    )
    file.write_bytes(raw)
    page.act("save", id=identifier, digest=digest_in(page.view("memory", id=identifier)), text="The port is 9443.\n")
    after = file.read_bytes()
    assert b"type:   fact  # as I like it\r\nmine: 'kept'\r\n" in after
    assert b"\r\nThe port is 9443.\r\n" in after
    assert after.count(b"\n") == after.count(b"\r\n")


def test_an_edit_of_what_changed_underneath_shows_both_and_loses_nothing(
    page: Page, keep: Keep, file_of: FileOf, mem: Mem
) -> None:
    identifier = keep("The port is 8443.")
    digest = digest_in(page.view("memory", id=identifier))
    file = file_of("The port is 8443.")
    file.write_text(file.read_text().replace("8443", "7777"))
    shown = page.act("save", 409, id=identifier, digest=digest, text="The port is 9443.", title="Port", typed="yes")
    assert "It changed underneath" in shown
    assert "The port is 7777." in shown
    assert ">The port is 9443.</textarea>" in shown
    assert 'name="title" value="Port"' in shown
    assert "7777" in file.read_text()
    page.act("save", id=identifier, digest=digest_in(shown), text="The port is 9443.", title="Port")
    assert mem("read", identifier).out == "The port is 9443.\n"
    assert "7777" in page.view("origins", id=identifier), "the text that went stays in the archive"


def test_what_is_forgotten_stays_forgotten_until_it_is_restored(page: Page, keep: Keep, mem: Mem) -> None:
    identifier = keep("The port is 8443.")
    done = page.act("forget", ids=[identifier], reason="moved")
    assert done["message"] == "Forgotten: The port is 8443."
    assert done["undo"]
    listed = mem("ls", "--forgotten", "--json").json["entries"]
    assert [entry["id"] for entry in listed] == [identifier]
    html = page.view("memory", id=listed[0]["path"])
    assert "by user: moved" in html
    assert 'data-do="restore"' in html
    assert 'data-do="forget"' not in html
    assert "The port is 8443." in page.view("memories", status="forgotten")
    assert "The port is 8443." not in page.view("memories")
    assert "The port is 8443." in page.view("memories", status="forgotten", q="PORT 8443")
    assert "The port is 8443." not in page.view("memories", status="forgotten", q="9443")
    page.act("restore", ids=[listed[0]["path"]])
    assert "The port is 8443." in page.view("memories")
    page.act("forget", 404, ids=["mem_nobody"])
    assert done["undo"] > 0


def test_what_a_command_would_say_beside_its_work_is_told(page: Page, keep: Keep, mem: Mem) -> None:
    identifier = keep("The port of staging is 8443.")
    mem("history", "add", "The port of staging is 8443.")
    assert "is also in HISTORY-" in page.act("forget", ids=[identifier])["notices"][0]
    assert "was forgotten on" in page.act("save", text="The port of staging is 8443.")["notices"][0]


def test_what_a_memory_may_contradict_is_named_by_its_text(page: Page, keep: Keep, mem: Mem, workspace: Path) -> None:
    text = f"Staging listens on 8443 <b>{'and so on ' * 20}</b>."
    old = mem("write", text, "--key", "staging/port", "--source", "user", "--json").json["id"]
    file = workspace / "entries" / "new.md"
    file.write_text(f"---\nid: mem_01kb000000000001\nconflicts_with: [{old}, mem_gone]\n---\n\nIt is 9443.\n")
    html = page.view("memory", id="mem_01kb000000000001")
    linked = html.split(f'May contradict <a href="#/memories?id={old}">')[1].split("</a>")[0]
    assert linked.startswith("Staging listens on 8443 &lt;b&gt;and so on")
    assert linked.endswith(" …")
    assert '<a href="#/memories?id=mem_gone">mem_gone</a>' in html
    guess = keep("I guess 7777.", "--source", "inferred")
    (notice,) = page.act("save", id=guess, key="staging/port")["notices"]
    assert notice.startswith("may contradict “Staging listens on 8443 <b>and so on")


def test_a_batch_is_one_command_and_taken_back_as_one(page: Page, keep: Keep, workspace: Path) -> None:
    ids = [keep(f"The port of host {number} is {number}.") for number in range(12)]
    stood = contents(workspace)
    done = page.act("forget", ids=ids)
    assert done["message"] == "Forgotten 12 memories"
    assert "0 memories" in page.view("memories")
    page.act("undo", number=str(done["undo"]))
    assert contents(workspace) == stood


def test_one_takes_the_place_of_another(page: Page, keep: Keep, workspace: Path) -> None:
    old, new = keep("The port is 8443."), keep("Staging moved to 9443.")
    stood = contents(workspace)
    done = page.act("supersede", id=old, by=new)
    assert (done["message"], done["id"]) == ("Superseded", new)
    link = f'<a href="#/memories?id={new}">Staging moved to 9443.</a>'
    assert f"Superseded 21 Nov 2026 by {link}" in page.view("memory", id=old)
    page.act("undo", number=str(done["undo"]))
    assert contents(workspace) == stood
    written = page.act("save", text="It is 7000 now.", supersedes=old)
    assert "in the place of 1" in written["message"]
    page.act("restore", ids=[old])
    assert "superseded" not in page.view("memories", q="8443")


def test_two_become_one_and_both_wordings_stay(page: Page, keep: Keep, mem: Mem, workspace: Path) -> None:
    first, second = keep("User likes dark mode."), keep("The user prefers a dark theme.")
    stood = contents(workspace)
    done = page.act("merge", **{"id": first, "with": second})
    assert done["message"] == "Merged, both wordings kept"
    assert len(mem("ls", "--json").json["entries"]) == 1
    text = mem("read", done["id"], "--raw").out
    assert "dark mode" in text
    assert "dark theme" in text
    page.act("undo", number=str(done["undo"]))
    assert contents(workspace) == stood


@pytest.mark.parametrize(("action", "other"), [("merge", "with"), ("supersede", "by")])
def test_two_are_not_made_one_once_a_text_of_them_is_another_than_was_shown(
    page: Page, keep: Keep, file_of: FileOf, workspace: Path, action: str, other: str
) -> None:
    first, second = keep("User likes dark mode."), keep("The user prefers a dark theme.")
    shown = article_digest(page.view("memory", id=first))
    picked = page.view("pick", but=first).split('data-digest="')[1].split('"')[0]
    file = file_of("dark theme")
    file.write_text(file.read_text().replace("dark", "light"))
    stood = contents(workspace)
    body = {"id": first, other: second, "digest": shown, "other_digest": picked}
    assert "changed since it was shown" in page.act(action, 409, **body)["error"]
    assert contents(workspace) == stood
    page.act(action, **body | {"other_digest": page.view("pick", but=first).split('data-digest="')[1].split('"')[0]})


@pytest.mark.parametrize(
    ("action", "body"),
    [
        ("forget", {"reason": "over"}),
        ("save", {"pinned": True}),
        ("save", {"key": "staging/port"}),
        ("merge", {"with": "other"}),
        ("supersede", {"by": "other"}),
        ("save", {"supersedes": "id", "text": "It is 9443."}),
    ],
    ids=str,
)
@pytest.mark.parametrize("change", ["edited", "forgotten"])
def test_nothing_is_done_to_a_text_that_is_another_than_was_shown(
    page: Page, keep: Keep, file_of: FileOf, mem: Mem, workspace: Path, action: str, body: dict[str, Any], change: str
) -> None:
    names = {"id": keep("The port is 8443."), "other": keep("The harbour has a crane.")}
    body = {"id": names["id"], **{name: names.get(value, value) for name, value in body.items()}}
    if "supersedes" in body:
        del body["id"]
    digest = article_digest(page.view("memory", id=names["id"]))
    file = file_of("The port is 8443.")
    if change == "edited":
        file.write_text(file.read_text().replace("8443", "7777"))
    else:
        mem("forget", names["id"])
    stood = contents(workspace)
    shown = page.act(action, 409, digest=digest, **body)
    assert "It changed underneath" in shown
    assert ("The port is 7777." if change == "edited" else "Forgotten 21 Nov 2026") in shown
    assert contents(workspace) == stood
    if change == "edited":
        page.act(action, digest=article_digest(shown), **body)
        assert contents(workspace) != stood


def test_what_is_restored_is_what_was_shown(page: Page, keep: Keep, file_of: FileOf, mem: Mem) -> None:
    mem("forget", keep("The port is 8443."))
    file = file_of("The port is 8443.")
    name = mem("ls", "--forgotten", "--json").json["entries"][0]["path"]
    digest = article_digest(page.view("memory", id=name))
    file.write_text(file.read_text().replace("8443", "7777"))
    shown = page.act("restore", 409, id=name, digest=digest)
    assert "The port is 7777." in shown
    assert file.is_file()
    page.act("restore", id=name, digest=article_digest(shown))
    assert "The port is 7777." in mem("ls").out


def test_words_typed_for_what_was_forgotten_meanwhile_do_not_change_the_archive(
    page: Page, keep: Keep, mem: Mem, workspace: Path
) -> None:
    identifier = keep("The port is 8443.")
    digest = digest_in(page.view("memory", id=identifier))
    mem("forget", identifier)
    stood = contents(workspace)
    shown = page.act("save", 409, id=identifier, digest=digest, text="The port is 9443.", typed="yes")
    assert contents(workspace) == stood
    assert "The port is 9443." in shown
    assert 'data-do="restore"' in shown
    assert 'data-form="save"' not in shown, "no words are put into the archive"


def test_of_a_batch_what_changed_meanwhile_stays_and_is_told(page: Page, keep: Keep, file_of: FileOf, mem: Mem) -> None:
    for number in range(4):
        keep(f"Host {number} is known.")
    added = page.view("inbox").split('name="chosen" value="')[1:]
    ids, digests = [part.split('"')[0] for part in added], [article_digest(part) for part in added]
    file = file_of("Host 1")
    file.write_text(file.read_text().replace("Host 1", "Host 9"))
    mem("forget", file_of("Host 2").relative_to(Path.cwd() / "memory").as_posix())
    done = page.act("forget", ids=ids, digests=digests)
    assert done["message"] == "Forgotten 2 memories"
    assert done["notices"][0].startswith("2 memories changed meanwhile")
    assert [entry["summary"] for entry in mem("ls", "--json").json["entries"]] == ["Host 9 is known."]
    assert "changed since" in page.act("forget", 409, ids=ids[1:2], digests=["0"])["error"]


def test_a_likely_repeat_is_answered_by_the_texts_that_were_shown(
    page: Page, keep: Keep, file_of: FileOf, mem: Mem
) -> None:
    keep("The database password rotates every 90 days.")
    keep("Database passwords are rotated every 90 days.")
    body = json.loads(unescape(page.view("repeats").split("data-body='")[1].split("'")[0]))
    file = file_of("Database passwords")
    stood = file.read_text()
    file.write_text(stood.replace("every 90", "every 30"))
    assert "changed since it was asked" in page.act("repeat", 404, **body)["error"]
    file.write_text(stood)
    done = page.act("repeat", **body)
    assert len(mem("ls", "--json").json["entries"]) == 1
    assert page.act("undo", number=str(done["undo"]))["message"].startswith("Taken back: dedup")
    page.act("repeat", **body | {"decision": "keep"})
    assert "No two memories look alike." in page.view("repeats")


def test_a_memory_whose_id_is_the_path_of_another_one_is_called_by_its_own_path(page: Page, workspace: Path) -> None:
    folder = workspace / "entries"
    folder.mkdir()
    (folder / "victim.md").write_text("The victim.\n")
    (folder / "hostile.md").write_text("---\nid: entries/victim.md\n---\n\nThe hostile one.\n")
    assert 'data-id="entries/hostile.md"' in page.view("memories")
    html = page.view("memory", id="entries/hostile.md")
    body = json.loads(unescape(html.split('data-do="forget"')[1].split("data-body='")[1].split("'")[0]))
    page.act("forget", **body)
    assert (folder / "victim.md").is_file()
    assert not (folder / "hostile.md").exists()


def test_the_inbox_opens_what_it_asks_about_by_its_path(page: Page, workspace: Path) -> None:
    folder = workspace / "entries"
    folder.mkdir()
    (folder / "victim.md").write_text("The victim.\n")
    for name, identifier in (("hostile", "entries/victim.md"), ("other", "mem_01kb000000000001")):
        (folder / f"{name}.md").write_text(f"---\nid: {identifier}\nkey: staging/port\n---\n\nThe {name} one.\n")
    html = page.view("inbox")
    assert "The hostile one." in html
    assert "id=entries/hostile.md" in html
    assert "id=entries/victim.md" not in html.partition("New since you looked")[0]


def questions_in(html: str) -> list[str]:
    return list(dict.fromkeys(part.split("&#34;")[0].split('"')[0] for part in html.split('"q_')[1:]))


def test_only_what_was_shown_is_marked_as_seen(
    page: Page, mem: Mem, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = workspace / "entries" / "2026-11"
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(45):
        fields = f"id: mem_01kb00000000{number:04}\ncreated_at: 2026-11-20T10:00:00Z"
        (folder / f"{number}.md").write_text(f"---\n{fields}\n---\n\nHost {number:02} is known.\n")
    html = page.view("inbox")
    assert "Host 39 is known." in html
    assert "Host 40 is known." not in html
    page.act("seen", until=html.split('"until": "')[1].split('"')[0])
    html = page.view("inbox")
    assert "Host 39 is known." not in html
    assert "Host 44 is known." in html
    page.act("seen", until="9999")
    monkeypatch.setenv("MEM_NOW", "2026-11-22T10:00:00Z")
    mem("write", "Host 45 is known.")
    html = page.view("inbox")
    assert "Host 44 is known." not in html
    assert "Host 45 is known." in html, "nothing is marked that is to come"


def test_what_arrives_later_with_an_older_date_is_new_once(
    page: Page, mem: Mem, keep: Keep, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep("Host 1 is known.")
    page.act("seen", until=page.view("inbox").split('"until": "')[1].split('"')[0])
    monkeypatch.setenv("MEM_NOW", "2026-11-22T10:00:00Z")
    file = workspace / "entries" / "pulled.md"
    file.write_text("---\nid: mem_01kb000000000001\ncreated_at: 2020-01-01T10:00:00Z\n---\n\nHost 2 is known.\n")
    page.view("inbox")
    assert mem("index", "--rebuild").code == 0
    html = page.view("inbox")
    assert "Host 1 is known." not in html
    assert "Host 2 is known." in html
    page.act("seen", until=html.split('"until": "')[1].split('"')[0])
    monkeypatch.setenv("MEM_NOW", "2026-11-23T10:00:00Z")
    file.write_text(file.read_text().replace("Host 2", "Host 3"))
    file.rename(file.with_name("renamed.md"))
    assert "Host 3 is known." not in page.view("inbox")


def test_what_was_there_before_the_first_look_is_as_new_as_it_says(page: Page, workspace: Path) -> None:
    folder = workspace / "entries"
    folder.mkdir(exist_ok=True)
    (folder / "old.md").write_text("---\ncreated_at: 2020-01-01T10:00:00Z\n---\n\nHost 1 is known.\n")
    assert "Host 1 is known." not in page.view("inbox")


def test_a_question_of_the_inbox_is_answered_and_asked_again_after_an_undo(page: Page, mem: Mem) -> None:
    for port, source in (("8443", "user"), ("9443", "observed")):
        mem("write", f"Staging listens on {port}.", "--key", "staging/port", "--source", source)
    (name,) = {question["id"] for question in mem("review", "--json").json["questions"]}
    assert "Which of these holds?" in page.view("inbox")
    assert page.view("waiting") == "<span>1</span>"
    assert page.act("answer", ids=[name], decision="later")["message"] == "1 question put off"
    done = page.act("answer", ids=[name], decision="newer")
    assert done["message"] == "1 question answered"
    assert mem("ls", "--json").json["entries"][0]["summary"] == "Staging listens on 9443."
    assert "Nothing waits for you." in page.view("inbox")
    page.act("undo", number=str(done["undo"]))
    assert "1 question waits" in page.view("inbox")
    page.act("answer", 400, ids=[name], decision="nonsense")
    page.act("answer", 404, ids=["q_other"], decision="newer")


def test_a_group_is_answered_as_it_was_shown_and_not_once_it_changed(page: Page, workspace: Path) -> None:
    inbox = workspace / "inbox"
    inbox.mkdir()
    for number in range(3):
        (inbox / f"{number}.md").write_text(f"---\nid: mem_01kb00000000000{number}\nheld: new\n---\n\nHost {number}.\n")
    mark = unescape(page.view("inbox", words="host")).split('"group": "')[1].split('"')[0]
    stood = (inbox / "0.md").read_text()
    (inbox / "0.md").write_text(stood.replace("Host 0", "Host 9"))
    page.act("answer", 404, group=mark, words="host", decision="keep")
    (inbox / "0.md").write_text(stood)
    assert page.act("answer", group=mark, words="host", decision="keep")["message"] == "3 questions answered"
    assert "Nothing waits for you." in page.view("inbox")


def test_the_badge_counts_what_the_inbox_asks(page: Page, mem: Mem, keep: Keep, workspace: Path) -> None:
    for port, source in (("8443", "user"), ("9443", "observed")):
        mem("write", f"Staging listens on {port}.", "--key", "staging/port", "--source", source)
    flagged(mem, "Lunch is in room Aspen.", "Lunch is in room Birch.")
    keep("Never deploy on a Friday.", "--type", "constraint", "--created-at", "2020-01-01")
    note_disputed(open_workspace(), [keep("The coupon still works."), "mem_01kb000000000001"])
    keep("Neither rule nor question.")
    assert "4 questions wait" in page.view("inbox")
    assert page.view("waiting") == "<span>4</span>"


def test_a_secret_and_a_conflict_marker_are_refused_as_the_commands_refuse_them(page: Page, keep: Keep) -> None:
    identifier = keep("The port is 8443.")
    for text in ("The token is ghp_A7bX9kQ2mZ4tR8vW1nC5dE3fG6hJ0pLsYu2B.", "<<<<<<< ours\na\n=======\nb\n>>>>>>> x\n"):
        digest = digest_in(page.view("memory", id=identifier))
        refusal = page.act("save", 409, id=identifier, digest=digest, text=text)
        assert refusal["error"]
        assert "--" not in refusal["fix"]
        page.act("save", 409, text=text)
    for body in ({"text": "  "}, {}, {"text": "", "id": identifier}):
        assert page.act("save", 400, **body)["fix"] == "write a sentence first"
    assert "--" not in "".join(
        page.act("save", 409, text="Hm.", key="ghp_A7bX9kQ2mZ4tR8vW1nC5dE3fG6hJ0pLsYu2B").values()
    )
    assert page.act("save", 400, text="\ud800")["error"]


def test_a_read_only_workspace_is_shown_and_says_why_nothing_is_changed(
    page: Page, keep: Keep, monkeypatch: pytest.MonkeyPatch
) -> None:
    identifier = keep("The port is 8443.")

    opened = os.open

    def read_only(path: Any, flags: int, *given: Any, **named: Any) -> int:
        if flags & os.O_ACCMODE != os.O_RDONLY and "memory" in str(path):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        return opened(path, flags, *given, **named)

    monkeypatch.setattr(os, "open", read_only)
    digest = digest_in(page.view("memory", id=identifier))
    assert "ead-only" in page.act("save", 409, id=identifier, digest=digest, text="Another.")["error"]
    assert "The port is 8443." in page.view("memories")


def test_undo_takes_back_the_action_and_not_what_another_process_wrote_meanwhile(
    page: Page, keep: Keep, mem: Mem, monkeypatch: pytest.MonkeyPatch
) -> None:
    identifier = keep("The port is 8443.")
    forget = edit.forget

    def forget_while_another_writes(*given: Any, **named: Any) -> Any:
        done = forget(*given, **named)
        subprocess.run([sys.executable, "-m", "memcli", "write", "Said in a shell."], check=True, capture_output=True)
        return done

    monkeypatch.setattr(edit, "forget", forget_while_another_writes)
    done = page.act("forget", ids=[identifier])
    page.act("undo", number=str(done["undo"]))
    assert {entry["summary"] for entry in mem("ls", "--json").json["entries"]} == {
        "The port is 8443.",
        "Said in a shell.",
    }
    assert page.act("save", id=identifier, type="fact")["undo"] == 0, "nothing changed"
