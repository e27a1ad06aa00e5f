"""The server answers only the page of this run: not other sites, names, tokens or paths."""

import re
from pathlib import Path
from urllib.parse import urlencode

import pytest

from memcli.api import write
from memcli.store.workspace import Workspace
from memcli.ui import server
from tests.helpers import put
from tests.ui.conftest import Client


def test_refuses_other_tokens(client: Client) -> None:
    for path in ("/", "/memories", "/x/memories", f"/{client.server.token[:-1]}/memories", "//"):
        status, text, _ = client.send(path)
        assert status == 403
        assert "mem ui" in text


def test_browser_address_works_once(client: Client) -> None:
    path = f"/open/{client.server.ticket}"
    assert client.server.url_for_browser.endswith(path)
    assert client.server.token not in path
    status, _, headers = client.send(path)
    assert (status, headers["Location"]) == (303, f"{client.base}memories")
    assert client.send(path)[0] == 403
    assert client.send("/open/")[0] == 403


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "", None])
def test_refuses_other_names(client: Client, host: str | None) -> None:
    # A name that was made to lead to this machine.
    assert client.send(client.base + "memories", Host=host or "none.example")[0] == 421


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:1"}, 403),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Sec_Fetch_Site": "same-site"}, 403),
        ({"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}, 200),
        ({"Sec_Fetch_Site": "none"}, 200),
    ],
)
def test_refuses_other_sites(client: Client, headers: dict[str, str], status: int) -> None:
    assert client.send(client.base + "memories", **headers)[0] == status


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": None},
        {"Origin": "null"},
        {"Origin": "http://evil.example"},
        {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"},
        {"Host": "evil.example"},
    ],
)
def test_refuses_forms_of_other_sites(
    client: Client, workspace: Workspace, headers: dict[str, str | None]
) -> None:
    status, _, _ = client.send(client.base + "write", {"text": "Planted."}, **headers)
    assert status in (403, 421)
    assert not list(workspace.root.rglob("planted*"))


def test_refuses_long_forms_and_changes_by_get(client: Client, workspace: Workspace) -> None:
    assert client.send(client.base + "write", {"text": "a"}, Content_Length="9999999")[0] == 413
    assert client.send(client.base + "write?text=Planted.")[0] == 404
    assert not list(workspace.root.rglob("planted*"))


def test_policy_forbids_foreign_and_inline_scripts(client: Client, workspace: Workspace) -> None:
    outcome = write(workspace, "<script>alert(1)</script> <b onclick=x>", source="user")
    for view in ("memories", f"memory?{urlencode({'id': outcome.path})}", "days", "changes"):
        status, text, headers = client.send(client.base + view)
        assert status == 200
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert "<script>" not in text
        assert "onclick=x>" not in text
        assert "&lt;script&gt;" in text
        assert "style=" not in text
        assert client.server.token not in text


@pytest.mark.parametrize(
    "path",
    [
        "../outside.png",
        "entries/../../outside.png",
        "/etc/passwd",
        "mem.yaml",
        ".mem/secret.png",
        "link.png",
        "folder.png",
        "missing.png",
        "a\0.png",
        f"{'a' * 300}.png",
    ],
)
def test_serves_only_images_of_the_workspace(
    client: Client, workspace: Workspace, path: str
) -> None:
    put(workspace, "../outside.png", "outside")
    put(workspace, ".mem/secret.png", "secret")
    (workspace.root / "folder.png").mkdir()
    (workspace.root / "link.png").symlink_to("../outside.png")
    status, text, _ = client.send(f"{client.base}file?{urlencode({'path': path})}")
    assert status in (404, 409)
    assert "outside" not in text.replace("is outside the workspace", "").replace(path, "")
    assert "secret" not in text.replace(path, "")


def test_serves_static_files_only(client: Client) -> None:
    assert client.send(client.base + "page.js")[0] == 200
    for name in (
        "document.html",
        "../server.py",
        "static/page.js",
        "%2e%2e/server.py",
        "page.js/../../server.py",
    ):
        assert client.send(client.base + name)[0] == 404


def test_fonts_come_with_the_page(client: Client) -> None:
    style = client.get("page.css")
    names = re.findall(r"url\(([^)]*)\)", style)
    assert len(names) == 5
    for name in names:
        status, text, headers = client.send(client.base + name)
        assert (status, headers["Content-Type"]) == (200, "font/woff2")
        assert text.startswith("wOF2")
        assert "max-age=31536000" in headers["Cache-Control"]
    for name in ("inter", "source-serif"):
        licence = Path(server.__file__).with_name("static") / f"{name}-OFL.txt"
        assert "SIL OPEN FONT LICENSE" in licence.read_text()


def test_images_do_nothing_alone(client: Client, workspace: Workspace) -> None:
    put(workspace, "pictures/logo.svg", "<svg xmlns='http://www.w3.org/2000/svg'/>")
    for path in ("pictures/logo.svg", "logo.svg"):
        status, text, headers = client.send(f"{client.base}file?path={path}")
        assert (status, headers["Content-Type"]) == (200, "image/svg+xml")
        assert text.startswith("<svg")
        assert "sandbox" in headers["Content-Security-Policy"]
    put(workspace, "papers/contract.pdf", "%PDF-1.4")
    _, text, headers = client.send(f"{client.base}file?path=entries/contract.pdf")
    assert (text, headers["Content-Type"]) == ("%PDF-1.4", "application/pdf")


def test_page_survives_its_workspace(client: Client, workspace: Workspace) -> None:
    (workspace.root / "mem.yaml").rename(workspace.root / "gone.yaml")
    status, text, _ = client.send(client.base + "memories")
    assert status == 404
    assert "no workspace" in text
    (workspace.root / "gone.yaml").rename(workspace.root / "mem.yaml")
    assert "No memories." in client.get("memories")
