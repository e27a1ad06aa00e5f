"""The page finds and shows the memories of colleagues, as `mem search` and `mem read` do."""

import re

from memcli.context import CommonOptions
from tests.helpers import make_context
from tests.team.conftest import database, team_server
from tests.team.server import Database
from tests.team.test_team import Member, team
from tests.ui.conftest import serve

__all__ = ["database", "team", "team_server"]


def test_shows_memories_of_colleagues(team: tuple[Database, Member, Member]) -> None:
    _, ana, bea = team
    ana.write("The staging database is called stork.", "--tag", "ops")
    bea.write("Kai feeds the stork.")
    ana.push()
    context = make_context(bea.folder, MEM_TEAM_DSN=bea.dsn)._replace(common=CommonOptions())
    with serve(context) as client:
        assert "staging database" not in client.get("memories?q=stork&part=hits")
        hits = client.get("memories?q=stork")
        assert hits.count('class="row"') == 2
        assert "from ana" in hits
        address = re.search(r'href="(memory\?id=mem_\w+)"', hits)
        assert address
        shown = client.get(address[1])
        assert "The staging database is called stork." in shown
        assert "from your team&#x27;s server" in shown
        for button in ("Edit", "Forget", "Open in editor"):
            assert f">{button}<" not in shown
        own = re.search(r'href="(memory\?id=entries[^"]*)"', hits)
        assert own
        assert ">Forget<" in client.get(own[1])
