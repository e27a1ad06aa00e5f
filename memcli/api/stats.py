"""Count what is in memory, and bring the index up to date."""

from collections.abc import Callable

from ..errors import RefusedError, UsageError
from ..maintenance.stats import TOP, survey
from ..maintenance.stats import IndexReport as IndexReport
from ..maintenance.stats import Stats as Stats
from ..maintenance.stats import index as update
from ..store import access_log
from ..store.settings import load_settings
from .workspace import Surroundings, Workspace, Workspaces, every, recorded, surroundings


def stats(workspace: Workspace) -> Stats:
    """Count what is in a workspace, how it grows, what is used and what fades; the index is brought up to date."""
    return survey(workspace)


def growth_by_type(workspace: Workspace) -> list[tuple[str, str, int]]:
    """Return how many entries of each type were made at each time there was one, whatever became of them."""
    from ..index.index import ask
    from ..index.lookups import made_by_time

    return ask(workspace, made_by_time)


def tokens_by_day(workspace: Workspace) -> dict[str, int]:
    """Return how many tokens of memory agents were told, by the day: at starts, and with prompts."""
    return access_log.tokens_by_day(workspace)


@recorded("index")
def share(workspace: Workspace) -> None:
    """Share a workspace on the server that the user's settings name: its `mem.yaml` says so from then on.

    Raise RefusedError where the settings have another backend or the workspace is not trusted, UnavailableError where
    the server cannot be had or the user is no owner there.
    """
    if workspace.settings["index.backend"] != "postgres":
        raise RefusedError("index.backend names no server", "`mem config set index.backend postgres`")
    if not workspace.is_trusted:
        raise RefusedError(f"{workspace.root} is not trusted", "`mem trust` believes what it says")
    from ..index.postgres.push import share as put_on_server

    put_on_server(workspace)


def migrate(around: Surroundings | None = None) -> list[str]:
    """Bring the tables on the server of the user's settings up to date, as their administrator; return what was done.

    No workspace is needed.

    Raise UnavailableError where the server cannot be had, or it or the role is not fit for them.
    """
    from ..index.postgres.connection import server_of

    world = around or surroundings()
    return server_of(load_settings(world.config_file, None, world.environ)).migrate()


def team_sql(workspace: Workspace | None, whom: str) -> str:
    """Return the SQL by which an administrator makes `owner:NAME`, `proxy:NAME` or `members:NAME,NAME` of a workspace.

    Raise UsageError for what is none of these, and for members of a workspace that is not on a server.
    """
    from ..index.postgres.schema import administration_sql

    identity = str(workspace.settings["index.workspace"]) if workspace else ""
    return administration_sql(whom, identity, workspace.root.name if workspace else "")


def index(
    workspaces: Workspaces,
    *,
    rebuild: bool = False,
    status: bool = False,
    reading: Callable[[int, int], None] | None = None,
    embedding: Callable[[int, int], None] | None = None,
) -> IndexReport:
    """Bring the index of each workspace up to date and embed every text; with `status` embed nothing.

    `rebuild` throws the index away first. `reading` and `embedding` are told how many of how many files are read and
    texts embedded. What could not be embedded is in the report. Raise UsageError for `rebuild` with `status`,
    BusyError if another process writes the index.
    """
    if rebuild and status:
        raise UsageError("an index is rebuilt, or only looked at", "give --rebuild or --status")
    rows = [
        update(workspace, embed=not status, rebuild=rebuild, reading=reading, embedding=embedding)
        for workspace in every(workspaces)
    ]
    return IndexReport(**vars(rows[0]), workspaces=tuple(rows))
