"""What fills a key, and what was believed at a time: the one entry that `read` shows for it."""

from collections.abc import Sequence

from ..errors import AmbiguousError, NotFoundError
from ..index.filters import Filter
from ..index.index import Index, ask
from ..index.names import Value, values
from ..store.address import Place
from ..store.workspace import Workspace
from ..text.entry import same_key


def filling(workspaces: Sequence[Workspace], key: str, project: str, as_of: str) -> tuple[Workspace, list[Value]]:
    """Give what fills a key, or did at a time, the most trusted and newest first; NotFoundError where nothing does.

    Without a project, what belongs to none comes first; AmbiguousError where only several projects have it.
    """
    for workspace in workspaces:
        found = [one for one in history(workspace, key, project) if _holds(one, as_of)]
        if not project and len({one.project for one in found}) > 1:
            found = [one for one in found if not one.project] or found
        projects = sorted({one.project for one in found})
        if len(projects) > 1:
            raise AmbiguousError(f"the key {key!r} is filled in {len(projects)} projects", f"--project {projects[0]}")
        if found:
            return workspace, sorted(found, key=lambda one: (one.trust, one.since, one.id), reverse=True)
    when = f" on {as_of[:10]}" if as_of else ""
    raise NotFoundError(
        f"nothing fills the key {key!r}{when}",
        f"`mem read --key {key} --history` shows what did, `mem ls --key '*'` what is filled",
    )


def history(workspace: Workspace, key: str, project: str) -> list[Value]:
    """List every value of a key, the earliest first."""

    def asked(index: Index) -> list[Value]:
        index.refresh()
        return values(index)

    found = [one for one in ask(workspace, asked) if same_key(one.key) == same_key(key)]
    return [one for one in found if one.project == project] if project else found


def believed(workspace: Workspace, ids: Sequence[str], as_of: str, name: str) -> Place:
    """Find which of the memories that took each other's place was believed at a time."""

    def asked(index: Index) -> list[str]:
        index.refresh()
        rows = index.list_entries(Filter(as_of=as_of), "created_at, id")
        return [row["path"] for row in rows if row["id"] in ids]

    paths = ask(workspace, asked)
    if not paths:
        raise NotFoundError(
            f"nothing of {name} was known on {as_of[:10]}", f"`mem read {name} --history` shows since when"
        )
    return Place(paths[-1])


def _holds(value: Value, as_of: str) -> bool:
    if not as_of:
        return value.status == "active"
    is_over = value.until and value.until <= as_of
    return value.since <= as_of and not is_over and bool(value.until or value.status == "active")
