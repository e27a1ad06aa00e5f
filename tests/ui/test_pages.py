"""The views show what the memory says, and the actions change it."""

import os
import re
import signal
import subprocess
import sys
import urllib.request
from html import unescape
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest

from memcli.api import list_memories, write
from memcli.context import CommonOptions
from memcli.formats.text import build_digest
from memcli.index import open_index
from memcli.reconcile.edit import replace_passage
from memcli.reconcile.forgetting import forget
from memcli.store.workspace import Workspace
from memcli.ui import edit
from memcli.ui.html import Html, Request, fill, fill_file, render_markdown
from tests.helpers import get_process_environment, make_context, open_again, put, run_mem
from tests.ui.conftest import Client, serve

TEXT = "Staging listens on port 6543."
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


FOOTNOTES = "a[^1][^two]\n\n[^1]: https://a.example\n[^two]: See **b**.\n    Twice.\n"


def find_value(page: str, name: str) -> str:
    """Return the value of a hidden field."""
    match = re.search(rf'name="{name}" value="([^"]*)"', page)
    assert match
    return match[1]


def save(client: Client, path: str, **fields: str) -> tuple[int, str, dict[str, str]]:
    digest = find_value(client.get(f"edit?id={path}"), "digest")
    form = {"id": path, "digest": digest, "title": "", "type": "fact", "tags": "", **fields}
    return client.send(f"{client.base}save", form)


def test_templates_escape_their_values() -> None:
    shown = fill('<a href="{}">{}{}</a>', '"x"', ["<b>", "&", None, 3], Html("<i>{}</i>"))
    assert shown == '<a href="&quot;x&quot;">&lt;b&gt;&amp;3<i>{}</i></a>'
    row = fill_file("row", address='"', title=None, text="<script>", about=["'"], place="", day="")
    assert 'href="&quot;"' in row
    assert "<script" not in row


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("# Plan", '<h2 id="text-plan">Plan</h2>'),
        ("- [x] done", 'class="task"'),
        ("- [x] done", 'aria-label="done" data-line="0" disabled checked>'),
        ("a <!-- mem:keep --> b", "<p>a  b</p>"),
        ("a\nb", "a<br />\nb"),
        ("`x`", "<code>x</code>"),
        ("[site](https://a.example)", 'target="_blank" rel="noreferrer noopener"'),
        ("[b](../b%20c.md#Two words)", None),
        ("[b](<../b c.md#two-words>)", 'href="memory?id=b+c#text-two-words" class="missing"'),
        ("[[Oak#Leaves|the oak]]", '<a href="memory?id=entries%2FOak.md#text-leaves">the oak</a>'),
        ("[oak](Oak.md)", '<a href="memory?id=entries%2FOak.md">oak</a>'),
        ("[[no: oak]]", '<a href="memory?id=notes%2Fno%3A+oak" class="missing" title='),
        ("[[#Plan]]", '<a href="#text-plan"> › Plan</a>'),
        ("[[contract.pdf]]", '<a href="file?path=notes%2Fcontract.pdf">contract.pdf</a>'),
        ("![[tree.png]]", 'src="file?path=notes%2Ftree.png" alt="tree.png"'),
        ("![a tree](tree.png)", 'src="file?path=notes%2Ftree.png" alt="a tree"'),
        ("![x](http://a.example/t.png)", '<a href="http://a.example/t.png"'),
        ("[x](javascript:alert(1))", "<p>[x](javascript:alert(1))</p>"),
        ("[[javascript:alert(1)]]", 'href="memory?id=notes%2Fjavascript%3Aalert%281%29"'),
        ("a ==**b** c== %% mine %%", "<p>a <mark><strong>b</strong> c</mark> </p>"),
        ("if a==b or c==d: 5%% and 6%%", "<p>if a==b or c==d: 5%% and 6%%</p>"),
        ("> [!warning]- Two *words*\n> text", "<p><b>Two <em>words</em></b><br />\ntext"),
        ("> [!tip]\n> text", '<blockquote data-callout="tip">\n<p><b>Tip</b>'),
        ("<img src=x onerror=y>", "&lt;img src=x onerror=y&gt;"),
        ("|a|\n|-|\n|b|", "<td>b</td>"),
        ("|a|\n|-:|\n|b|", '<td class="text-align:right">b</td>'),
        ("5 %. ^penalties\n\n- 2 ^16\n- x ^a-1\n", "<li>2 ^16</li>\n<li>x <span"),
        ("x ^a-1\n\n[[#^a-1]]", '<span id="text-a-1"></span></p>\n<p><a href="#text-a-1">'),
        (
            FOOTNOTES,
            'a<a href="#text-footnote-1"><sup>1</sup></a>\u2009<a href="#text-footnote-2">',
        ),
        (FOOTNOTES, '<li id="text-footnote-2">See <strong>b</strong>.<br />\nTwice.</li></ol>'),
        ("[^1] `[^1]: x`\n\n    [^1]: y", "<p>[^1] <code>[^1]: x</code></p>"),
    ],
)
def test_markdown(workspace: Workspace, text: str, html: str | None) -> None:
    put(workspace, "entries/Oak.md", "Oaks are old.\n")
    open_index(workspace)
    rendered = render_markdown(Request("memory", {}, [workspace]), text, "notes/a.md")
    assert html is None or html in rendered
    assert "<img" not in rendered or 'src="file?' in rendered


def test_search_and_filters(client: Client, workspace: Workspace) -> None:
    write(workspace, TEXT, source="user", tags=("infra",))
    write(workspace, "The choir meets on Mondays.", source="user", type="preference")
    shown = client.get("memories?q=staging")
    assert "<mark>Staging</mark>" in shown
    assert "<html" not in client.get("memories?q=staging&part=1")
    assert "choir" not in client.get("memories?tag=infra")
    assert "choir" in client.get("memories?type=preference")
    put(workspace, "entries/idea.md", "---\ntype: Projekt Idee\n---\nBuild a raft.\n")
    shown = client.get("memories?type=Projekt+Idee")
    assert "raft" in shown and '<option value="projekt idee" selected>' in shown
    assert "No memories." in client.get("memories?status=forgotten")
    assert client.send(f"{client.base}memories?status=x")[0] == 400


def test_marks_words_that_carry_meaning(client: Client, workspace: Workspace) -> None:
    put(workspace, "entries/a.md", "The inn is to open <soon>. Inner doors, inns and Schlüters.\n")
    shown = client.get("memories?q=is+the+inn+to+open+schluter")
    assert (
        "The <mark>inn</mark> is to <mark>open</mark> &lt;soon&gt;."
        " Inner doors, <mark>inns</mark> and <mark>Schlüters</mark>."
    ) in shown


def test_weak_hits_are_shown_after_a_click(client: Client, workspace: Workspace) -> None:
    for number in range(20):
        put(workspace, f"entries/{number}.md", f"Oak number {number} is tall.\n")
    put(workspace, "entries/House rules.md", "# House\n\nNo shoes inside.\n")
    for query, hits in (("xqzzz", 0), ("shoes", 1)):
        shown = client.get(f"memories?q={query}&type=fact")
        assert shown.count('class="row"') == hits
        assert ("No good match." in shown) is (hits == 0)
        link = re.search(r'href="([^"]*)">Show (\d+) weak hits<', shown)
        assert link and "type=fact" in link[1]
        shown = client.get(unescape(link[1]))
        assert shown.count('class="row"') == hits + int(link[2]) == 21
        assert "weak hit" not in shown
    assert "Nothing found." in client.get("memories?q=shoes&type=episode")


def test_lists_show_the_file(client: Client, workspace: Workspace) -> None:
    put(workspace, "entries/House rules.md", "# House\n\nNo shoes inside.\n")
    put(workspace, "MEMORY.md", "# Memory\n\n- Rita lives in Lisbon.\n")
    for view in ("memories", "memories?q=shoes"):
        assert ">entries/House rules.md</span>" in client.get(view)
    assert re.search(r">MEMORY.md:\d+</span>", client.get("memories?q=lisbon"))


def test_leads_to_the_long_term_memory(client: Client, workspace: Workspace) -> None:
    assert "Long-term memory" not in client.get("memories")
    put(
        workspace,
        "MEMORY.md",
        "# Memory\n\n<!-- mem:keep -->\n- Rita lives in Lisbon.\n<!-- /mem:keep -->\n",
    )
    assert 'href="memory?id=MEMORY.md">Long-term memory<' in client.get("memories")
    page = client.get("memory?id=MEMORY.md")
    assert "Rita lives in Lisbon." in page
    assert "mem:keep" not in page


def test_list_has_pages(client: Client, workspace: Workspace) -> None:
    for number in range(60):
        put(
            workspace,
            f"entries/{number:02}.md",
            f"---\ncreated_at: 2026-01-01\n---\nOak {number:02}.\n",
        )
    first = client.get("memories")
    assert "1 to 50 of 60 memories" in first
    assert "51 to 60 of 60" in client.get("memories?offset=50")
    assert first.count('class="row"') == 50


def test_edit_changes_only_what_was_typed(client: Client, workspace: Workspace) -> None:
    file = put(workspace, "entries/a.md", f"---\nrating: 4 # stars\ntags: [a]\n---\n\n{TEXT}\n")
    status, _, headers = save(client, "entries/a.md", text="Port 7654.\r\n\r\nNow.", tags="a, b")
    assert status == 303
    text = file.read_text()
    assert text.startswith("---\nrating: 4 # stars\n")
    assert text.endswith("---\n\nPort 7654.\n\nNow.\n")
    assert "- b" in text or "[a, b]" in text
    page = client.get(headers["Location"])
    assert "Saved: Port 7654." in page
    client.post(
        "undo", {"number": find_value(page, "number"), "view": "memory", "id": "entries/a.md"}
    )
    assert TEXT in file.read_text()


def test_edit_keeps_the_style_of_the_file(client: Client, workspace: Workspace) -> None:
    head = "---\ntags:\n  - 'oak'  # tall\n  - ash\ntitle: \"Trees\"\n---\n"
    file = put(workspace, "entries/a.md", f"{head}{TEXT}\n\n\n")
    form = {"title": "Trees", "tags": "oak, ash"}
    assert save(client, "entries/a.md", text="Port 7654.", **form)[0] == 303
    stamp = find_updated_line(file)
    assert file.read_text() == f"{head[:-4]}{stamp}---\nPort 7654.\n\n\n"
    form["tags"] = "oak, elm, ash"
    assert save(client, "entries/a.md", text="Port 7654.", **form)[0] == 303
    head = head.replace("  - ash", "  - elm\n  - ash")
    assert file.read_text() == f"{head[:-4]}{stamp}---\nPort 7654.\n\n\n"


def test_notes_of_a_vault(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    note = vault / "Pears.md"
    (vault / ".obsidian").mkdir(parents=True)
    note.write_text("---\ntags: ['a']\n---\n#trees\nPrune.\n")
    diary = "---\ntype: diary\nabout: '[[Pears]]'\nurl: https://a.example/x_y_\n---\n# 2026-11-24\n\n## Log\n\n- Frost.\n"
    (vault / "2026-11-24.md").write_text(diary)
    assert run_mem(vault, "init", ".")[0] == 0
    context = make_context(vault)._replace(common=CommonOptions())
    with serve(context) as client:
        page = client.get("edit?id=Pears.md")
        assert 'name="tags" value="a"' in page
        form = {"title": "Pears", "text": "#trees\nPrune.", "tags": "a, b"}
        assert save(client, "Pears.md", **form)[0] == 303
        assert "<li>Frost.</li>" in client.get("days") and "type: diary" not in client.get("days")
        link = '<dt>about</dt><dd><p><a href="memory?id=Pears.md">Pears</a>'
        page = client.get("memory?id=2026-11-24.md")
        assert link in page and '<a href="https://a.example/x_y_" target="_blank"' in page
        assert '<option value="diary">Diary' in client.get("memories")
    assert note.read_text() == "---\ntags: ['a', b]\n---\n#trees\nPrune.\n"


def test_a_vault_has_notes_and_canvases(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    (vault / ".obsidian").mkdir(parents=True)
    (vault / "Boards").mkdir()
    (vault / "Boards/Project map.canvas").write_text('{"nodes": [{"text": "Pears first"}]}')
    note = "> [!tip] Prune ![[Project map.canvas]]\n> Soon.[^1] ^soon\n\n[^1]: In May.\n"
    (vault / "Pears.md").write_text(note)
    assert run_mem(vault, "init", ".")[0] == 0
    assert run_mem(vault, "write", "Tea is at 4.", "--key", "tea")[0] == 0
    assert run_mem(vault, "write", "Tea is at 5.", "--key", "tea")[0] == 0
    with serve(make_context(vault)._replace(common=CommonOptions())) as client:
        assert '<a href="memory?id=Boards%2FProject+map.canvas">Pro' in client.get(
            "memory?id=Pears"
        )
        found = client.get("memories?q=prune")
        assert '<span class="kind">note</span>' in found
        assert "[!tip]" not in found and "[^1]" not in found and "^soon" not in found
        assert "<h1>Edit note</h1>" in client.get("edit?id=Pears.md")
        days = client.get("days")
        assert '<a href="memory?id=Pears.md">note</a>' in days
        assert "Tea is at 5." in days and "Tea is at 4." not in days


def find_updated_line(file: Path) -> str:
    return re.search("updated_at: .*\n", file.read_text())[0]


def test_edit_keeps_line_ends(client: Client, workspace: Workspace) -> None:
    note = put(workspace, "notes/2026-11-26.md", "[14:15] Ana.\r\n[15:00] Rain.\r\n")
    form = {"text": "[14:15] Ana.\r\n[15:00] Sun.\r\n"}
    assert save(client, "notes/2026-11-26.md", **form)[0] == 303
    assert note.read_bytes() == b"[14:15] Ana.\r\n[15:00] Sun.\r\n"
    plain = put(workspace, "entries/plain.md", "Oak.\n")
    assert save(client, "entries/plain.md", text="Ash.", type="fact")[0] == 303
    assert plain.read_bytes() == b"Ash.\n"
    before = put(workspace, "entries/same.md", "Oak.  \n\n").read_bytes()
    assert save(client, "entries/same.md", text="Oak.")[0] == 303
    assert (workspace.root / "entries/same.md").read_bytes() == before


def test_edit_shows_broken_frontmatter_as_text(client: Client, workspace: Workspace) -> None:
    file = put(workspace, "entries/bad.md", "---\ntags: [a\n---\n\nOak.\n")
    assert "tags: [a" in client.get("edit?id=entries/bad.md")
    status, page, _ = save(client, "entries/bad.md", text="---\ntags: [b\n---\n\nAsh.\n")
    assert status == 409
    assert 'role="alert"' in page
    assert "Ash." in page
    assert file.read_text() == "---\ntags: [a\n---\n\nOak.\n"
    assert save(client, "entries/bad.md", text="---\ntags: [a]\n---\n\nAsh.\n")[0] == 303
    assert file.read_text().endswith("---\n\nAsh.\n")


def test_a_file_with_a_conflict_is_named(client: Client, workspace: Workspace) -> None:
    put(workspace, "entries/a.md", "<<<<<<< HEAD\nOak.\n=======\nAsh.\n>>>>>>> theirs\n")
    assert "not searched: entries/a.md (a git conflict" in client.get("memories")
    page = client.get("memory?id=entries/a.md")
    assert "a git conflict marker: resolve the conflict first" in page
    assert "hides a secret" not in page


def test_checkboxes_change_one_line(client: Client, workspace: Workspace) -> None:
    text = "---\r\ntags: [a] # mine\r\n---\r\n\r\n# Plan\r\n\r\n- [x] oak\r\n  1. [ ] `ash`\r\n\r\n[ ] no\r\n"
    file = put(workspace, "entries/plan.md", text)
    page = client.get("memory?id=entries/plan.md")
    assert re.findall(r'data-line="(\d+)"', page) == ["2", "3"]
    form = {"id": "entries/plan.md", "digest": find_value(page, "digest"), "line": "3"}
    shown = client.post("task", form)
    assert shown.endswith("#line-3")
    after = file.read_bytes().decode()
    assert "\r\n- [x] oak\r\n  1. [x] `ash`\r\n\r\n[ ] no\r\n" in after
    assert after.startswith("---\r\ntags: [a] # mine\r\n")
    page = client.get(shown)
    assert ">Undo<" in page
    # The digest is that of the file before.
    assert client.send(f"{client.base}task", form)[0] == 409
    for line in ("0", "99"):
        form = {"id": "entries/plan.md", "digest": find_value(page, "digest"), "line": line}
        assert client.send(f"{client.base}task", form)[0] == 409
    assert file.read_bytes().decode() == after


def test_a_checkbox_of_a_changed_file_shows_the_file_again(
    client: Client, workspace: Workspace
) -> None:
    file = put(workspace, "entries/plan.md", "- [ ] oak\n")
    page = client.get("memory?id=entries/plan.md")
    form = {"id": "entries/plan.md", "digest": find_value(page, "digest"), "line": "0"}
    file.write_text("- [ ] oak\n- [ ] ash\n")
    status, page, _ = client.send(f"{client.base}task", form)
    assert status == 409
    assert "This file has changed, so your click was not saved." in page
    assert "save again" not in page
    assert re.findall(r'data-line="(\d+)"', page) == ["0", "1"]
    assert file.read_text() == "- [ ] oak\n- [ ] ash\n"
    # The page is as usable as before.
    client.post("task", {**form, "digest": find_value(page, "digest"), "line": "1"})
    assert file.read_text() == "- [ ] oak\n- [x] ash\n"


def test_a_checkbox_after_a_lone_carriage_return_changes_its_own_line(
    client: Client, workspace: Workspace
) -> None:
    file = put(workspace, "notes/2026-11-26.md", "")
    file.write_bytes(b"Plan\rof today\n- [ ] oak\n- [ ] ash\n")
    page = client.get("memory?id=notes/2026-11-26.md")
    first, _ = re.findall(r'data-line="(\d+)"', page)
    digest = find_value(page, "digest")
    client.post("task", {"id": "notes/2026-11-26.md", "digest": digest, "line": first})
    assert file.read_bytes() == b"Plan\rof today\n- [x] oak\n- [ ] ash\n"


def test_checkboxes_of_a_masked_file_stay(client: Client, workspace: Workspace) -> None:
    file = put(workspace, "notes/2026-11-26.md", f"- [ ] send {TOKEN}\n")
    page = client.get("memory?id=notes/2026-11-26.md")
    assert 'data-line="0"' in page
    assert 'action="task"' not in page
    digest = build_digest(file.read_bytes())
    form = {"id": "notes/2026-11-26.md", "digest": digest, "line": "0"}
    assert client.send(f"{client.base}task", form)[0] == 400
    assert file.read_text() == f"- [ ] send {TOKEN}\n"


def test_shows_two_workspaces(workspace: Workspace) -> None:
    folder = workspace.root.parent
    write(workspace, TEXT, source="user")
    assert run_mem(folder, "write", "The user likes oak.", "--scope", "user")[0] == 0
    context = make_context(folder)._replace(common=CommonOptions())
    with serve(context) as client:
        project, own = client.get("memories"), client.get("memories?w=1")
        assert TEXT in project
        assert "oak" not in project
        assert 'href="memories?w=1">Your own<' in project
        assert TEXT not in own
        assert "likes <mark>oak<" in client.get("memories?q=oak&w=1")
        path = re.search(r'href="(memory[^"]*)"', own)
        assert path
        shown = client.get(path[1].replace("&amp;", "&"))
        assert 'action="forget?w=1"' in shown
        done = client.post("forget?w=1", {"id": find_value(shown, "id")})
        assert "Forgotten: The user likes oak." in client.get(done)


def test_edit_refuses_a_memory_that_changed(client: Client, workspace: Workspace) -> None:
    path = write(workspace, TEXT, source="user").path
    digest = find_value(client.get(f"edit?id={path}"), "digest")
    replace_passage(open_again(workspace), path, "6543", "7000", is_said_by_user=True)
    form = {"id": path, "digest": digest, "text": "Mine.", "title": "", "type": "fact", "tags": ""}
    status, page, _ = client.send(f"{client.base}save", form)
    assert status == 409
    assert "Mine." in page
    assert "port 7000" in page
    assert "7000" in (workspace.root / path).read_text()
    client.post("save", {**form, "digest": find_value(page, "digest")})
    assert "Mine." in (workspace.root / path).read_text()


def test_secrets_are_masked_and_not_overwritten(client: Client, workspace: Workspace) -> None:
    file = put(workspace, "entries/s.md", f"The token is {TOKEN}.\n")
    before = file.read_text()
    for view in ("memories", "memory?id=entries/s.md", "memories?q=token", "days", "insights"):
        assert TOKEN not in client.get(view)
    assert ">Edit<" not in client.get("memory?id=entries/s.md")
    status, page, _ = client.send(f"{client.base}edit?id=entries/s.md")
    assert (status, TOKEN in page) == (409, False)
    form = {"id": "entries/s.md", "digest": "", "text": "x", "title": "", "type": "", "tags": ""}
    assert client.send(f"{client.base}save", form)[0] == 409
    assert file.read_text() == before
    status, page, _ = client.send(f"{client.base}write", {"text": f"It is {TOKEN}."})
    assert status == 409
    assert 'role="alert"' in page


def test_write_forget_restore_and_undo(client: Client, workspace: Workspace) -> None:
    shown = client.post("write", {"text": TEXT, "title": "", "type": "", "tags": "#infra"})
    page = client.get(shown)
    assert f"Saved: {TEXT}" in page
    assert "source: user" in page
    assert 'href="memories?tag=infra"' in page
    path = find_value(page, "id")
    page = client.get(client.post("forget", {"id": path}))
    assert f"Forgotten: {TEXT}" in page
    assert 'class="row"' not in page
    assert TEXT not in client.get("days")
    assert ">Restore<" in client.get(f"memory?id={quote(path)}")
    client.post("restore", {"id": path})
    assert 'class="row"' in client.get("memories")
    changes = client.get("changes")
    assert changes.count(">Undo<") == 3
    assert f">Restored: {TEXT}</a>" in changes
    number = {"number": find_value(changes, "number"), "view": find_value(changes, "view")}
    assert ">Redo<" in client.get(client.post("undo", number))
    assert 'class="row"' not in client.get("memories")
    for wrong in ("", "x", "999", "9" * 12):
        assert client.send(f"{client.base}undo", {"number": wrong})[0] in (400, 404)


def test_undo_leads_only_to_the_page(client: Client, workspace: Workspace) -> None:
    for view in ("https://evil.example", "//evil.example", "memory?id=nothing", "open/x", ""):
        number = write(open_again(workspace), f"Text {view}", source="user").undo
        shown = client.post("undo", {"number": str(number), "view": view, "id": view})
        assert shown.startswith("memories?done=")


def test_review(client: Client, workspace: Workspace) -> None:
    write(workspace, "We ship on Mondays.", key="ship/day", source="user")
    write(workspace, "We ship on Fridays.", key="ship/day", source="inferred")
    _, count, headers = client.send(f"{client.base}pending")
    assert (count, headers["Cache-Control"]) == ("1", "private, max-age=60")
    page = client.get("review")
    assert "1 open question" in page
    assert "Keep the older memory" in page
    form = {"question": find_value(page, "question"), "kind": "conflict", "answer": "both"}
    done = client.get(client.post("answer", form))
    assert [entry.source for entry in list_memories(workspace)] == ["user", "user"]
    client.post("undo", {"number": find_value(done, "number"), "view": "review"})
    form["answer"] = "older"
    page = client.get(client.post("answer", form))
    assert "Nothing to decide." in page
    assert "Kept the older memory: We ship on " in page
    assert client.get("pending") == ""
    assert client.send(f"{client.base}answer", form)[0] == 409


def test_empty_views_say_so(client: Client) -> None:
    for view, text in (
        ("memories", "No memories."),
        ("days", "No history yet."),
        ("changes", "No changes yet on this machine."),
        ("insights", "No memories yet."),
    ):
        assert f'<p class="empty">{text}</p>' in client.get(view)


def test_names_a_workspace_that_is_not_trusted(client: Client, workspace: Workspace) -> None:
    assert "not trusted" not in client.get("memories")
    workspace.machine.save_trust(workspace.root, False)
    assert ">not trusted</span>" in client.get("memories")


def find_diffs(page: str) -> list[str]:
    """Return the texts of the changed lines of a page."""
    return [unescape(line) for line in re.findall(r"<(?:ins|del)>(.*?)</(?:ins|del)>", page)]


def test_changes_and_history_show_the_texts(client: Client, workspace: Workspace) -> None:
    path = write(workspace, f"{TEXT}\n\nAsk <Ana>.", source="user").path
    replace_passage(open_again(workspace), path, "6543", "7654", is_said_by_user=True)
    edited = ["-Staging listens on port 6543.", "+Staging listens on port 7654."]
    for view in ("changes", f"history?id={path}"):
        page = client.get(view)
        latest, first = re.findall(r"<details.*?</details>", page, re.DOTALL)
        assert find_diffs(latest) == edited, view
        assert f"<details open><summary>{path} · 2 changed lines<" in latest
        assert "updated_at" not in latest
        assert {"+" + TEXT, "+Ask <Ana>."} <= set(find_diffs(first))
        # A new file has more lines.
        assert first.startswith("<details><summary>")
    replace_passage(open_again(workspace), path, "Ana", "Bea", is_said_by_user=True)
    copy = put(workspace, "notes/2026-11-26.md", "[14:15] Call Bea.\n")
    client.post("forget", {"id": path})
    note = f"[14:15] Call Bea.\n\n{TEXT.replace('6543', '7654')}\n\nAsk <Bea>.\n"
    digest = find_value(client.get("edit?id=notes/2026-11-26.md"), "digest")
    client.post("save", {"id": "notes/2026-11-26.md", "digest": digest, "text": note})
    assert "7654" in copy.read_text()
    diffs = find_diffs(client.get("changes"))
    assert "+[forgotten]" in diffs
    assert "port" not in " ".join(diffs)
    # Its earlier versions are other texts, which the gate does not know.
    assert find_diffs(client.get(f"history?id={path}")) == []
    client.post("restore", {"id": path})
    assert "+" + TEXT in find_diffs(client.get(f"history?id={path}"))


def test_changes_show_no_secret_and_no_purged_text(client: Client, workspace: Workspace) -> None:
    file = put(workspace, "entries/s.md", f"Send {TOKEN}\nto Ana.\n")
    replace_passage(open_again(workspace), "entries/s.md", "Ana", "Bea", is_said_by_user=True)
    escaped = "".join(rf"\x{ord(character):02x}" for character in TOKEN)
    put(workspace, "entries/e.md", f'---\nnote: "{escaped}"\n---\nOak.\n')
    replace_passage(open_again(workspace), "entries/e.md", "Oak", "Ash", is_said_by_user=True)
    diffs = " ".join(find_diffs(client.get("changes")))
    assert "to Bea." in diffs
    assert "Ash." in diffs
    assert TOKEN in file.read_text()
    outcome = write(open_again(workspace), "The boiler code is a secret of ours.", source="user")
    assert "boiler" in " ".join(find_diffs(client.get("changes")))
    # Another machine purged it, and this one has not deleted its texts yet.
    put(workspace, "purged.txt", f"{outcome.id} 2026-11-28T10:00:00Z\n")
    for view in ("changes", "history?id=entries/s.md", "history?id=entries/e.md"):
        page = client.get(view)
        assert TOKEN not in page
        assert escaped not in page
        assert "boiler" not in " ".join(find_diffs(page))
    gone = write(open_again(workspace), "The old boiler leaks.", source="user")
    forget(open_again(workspace), [gone.id], purge=True)
    assert "Deleted: purged text" in client.get("changes")


def test_long_texts_of_changes(client: Client, workspace: Workspace) -> None:
    write(workspace, "oak " * 30_000, source="user")
    assert "too long for the page" in client.get("changes")
    for number in range(30):
        write(workspace, f"Tree number {number} is an oak in the park.", source="user")
    first = client.get("changes")
    assert "too long" not in first
    link = re.search(r'href="([^"]*)">Earlier changes<', first)
    assert link
    second = client.get(unescape(link[1]))
    assert first.count(">Undo<") + second.count(">Undo<") == 31
    assert "too long" in second


def test_other_views(client: Client, workspace: Workspace) -> None:
    put(workspace, "HISTORY-2026-11.md", "## 2026-11-27T10:00:00Z\n\nMoved the *shop*.\n")
    put(workspace, "notes/2026-11-26.md", "[14:15] Ana called.\n[15:00] Rain.\n")
    path = write(workspace, TEXT, source="user").path
    days = client.get("days")
    assert days.index(TEXT) < days.index("<em>shop</em>") < days.index("Ana called.")
    assert "Ana called" not in client.get("days?before=2026-11-26")
    insights = client.get("insights")
    assert "New memories by month" in insights
    assert '<th scope="row">2026-11</th>' in insights
    history = client.get(f"history?id={path}")
    assert "<b>created</b>" in history
    assert "Properties" in client.get("memory?id=HISTORY-2026-11.md")
    status, text, _ = client.send(f"{client.base}memory?id=nothing-like-it")
    assert status == 404
    assert 'href="memories?q=nothing-like-it"' in text
    assert client.send(f"{client.base}unknown")[0] == 404


def test_messages_of_a_conversation(client: Client, workspace: Workspace) -> None:
    line = '{"type": "message", "role": "user", "content": "We use <b>oak</b>."}\n'
    put(workspace, "sessions/one/session.jsonl", line)
    page = client.get("memory?id=sessions/one/session.jsonl")
    assert "We use &lt;b&gt;oak&lt;/b&gt;." in page


def test_command(workspace: Workspace) -> None:
    folder = workspace.root.parent
    write(workspace, TEXT, source="user")
    command = [sys.executable, "-m", "memcli", "ui", "--workspace", "memory"]
    environment = get_process_environment(folder / "home")
    with subprocess.Popen(command, env=environment, cwd=folder, stdout=-1, stderr=-1) as process:
        assert process.stdout is not None
        url = process.stdout.readline().decode().strip()
        with urllib.request.urlopen(url, timeout=20) as answer:
            assert TEXT in answer.read().decode()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
    code, _, problem = run_mem(folder, "ui", "--workspace", "nowhere")
    assert code == 4
    assert "no workspace" in problem


def test_open_in_editor(
    client: Client, workspace: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = write(workspace, TEXT, source="user").path
    opened = tmp_path / "opened"
    program = put(
        workspace,
        "../opener",
        f'#!/bin/sh\nprintf %s "$1" > "{opened}.new" && mv "{opened}.new" "{opened}"\n',
    )
    program.chmod(0o755)
    monkeypatch.setattr(edit.shutil, "which", lambda name: str(program))
    client.post("open", {"id": path})
    for _ in range(200):
        if opened.exists():
            break
        client.get("changes")
    assert opened.read_text() == str(workspace.root / path)
    # The page waits for the program, so no zombie stays.
    for _ in range(200):
        states = subprocess.run(
            ["ps", "-A", "-o", "ppid=,stat=,comm="], stdout=-1, text=True
        ).stdout
        if not re.search(rf"(?m)^ *{os.getpid()} Z\S* +opener", states):
            break
        client.get("changes")
    else:
        raise AssertionError(states)
    monkeypatch.setattr(edit.shutil, "which", lambda name: None)
    assert client.send(f"{client.base}open", {"id": path})[0] == 404
    assert client.send(f"{client.base}open", {"id": "../../etc/passwd"})[0] == 404
    assert urlencode({"id": path}) in client.get("memories")
