"""Remember something, or change an entry: `write(workspace, NewEntry("The staging port is 8443."))`."""

from collections.abc import Callable, Sequence

from ..beliefs.writing import NewEntry as NewEntry
from ..beliefs.writing import Written as Written
from ..beliefs.writing import change_entry, write_entry
from ..errors import UsageError
from ..store.redaction import SECRET_FIX as SECRET_FIX
from ..store.redaction import Redacted, SecretGuard
from .choice import SOURCES, TYPES, require_source, require_types
from .workspace import Workspace, Workspaces, every, locate, open_workspace, recorded


@recorded("write")
def write(
    workspaces: Workspaces,
    entry: NewEntry,
    *,
    by: str = "observed",
    dedup: bool = True,
    judge: bool = False,
    redact: bool = False,
    allow_secret: bool = False,
    routes: bool = False,
    expected: str | None = None,
    progress: Callable[[int, int], object] = lambda done, total: None,
) -> Written:
    """Keep an entry, or change the one it names by its id; return what became of it and of others.

    A new entry goes into the first workspace, or if it `routes` into that which the setting `write.scope.<type>` names;
    `id` and `supersedes` are looked for in all of them. `by` is whose word
    it is where neither the entry nor the settings say: `user` for one who types it. `dedup` compares it with what is
    known, `judge` asks the configured LLM about that and tells `progress` how many of how many answers are there.
    Secrets are refused; `redact` blanks them out instead, `allow_secret` keeps them. `expected` is the digest of the
    file that is changed, as `read` gives it: of another text nothing is changed. Raise UsageError for what is told
    wrong, NotFoundError and AmbiguousError for names, RefusedError for secrets, conflict markers and paths outside,
    BusyError if another process holds the workspace. What was there is unchanged then.
    """
    require_source(by)
    opened = every(workspaces)
    if entry.type:
        require_types([entry.type], opened[:1])
    if judge and (entry.id or entry.path or entry.supersedes):
        raise UsageError(
            "a judge compares a new memory with what is known", "leave out --judge, or --id, --path and --supersedes"
        )
    if entry.id:
        where, address = locate(opened, entry.id, strict=True)
        return change_entry(
            where, address.path, entry, SecretGuard(where, redact, allow_secret), by=by, expected=expected
        )
    where, old = _target(opened, entry) if routes else opened[0], ""
    guard = SecretGuard(where, redact, allow_secret)
    if entry.supersedes:
        there, address = locate(opened, entry.supersedes, strict=True)
        if there.root != where.root:
            raise UsageError(
                f"{entry.supersedes} is in another workspace", "name the workspace with --workspace or --scope"
            )
        old = address.path
    asked = None
    if judge:
        from ..beliefs.llm_judge import llm_judge

        asked = llm_judge(where, progress)
    return write_entry(where, entry, guard, by=by, old=old, dedup=dedup, judge=asked)


def _target(opened: Sequence[Workspace], entry: NewEntry) -> Workspace:
    """Return the workspace that a new entry goes into."""
    first = opened[0]
    kind = entry.type or first.settings["write.type"]
    scope = first.settings.values.get(f"write.scope.{kind}", "")  # a type of another tool's has no setting
    if scope in ("", first.scope):
        return first
    return open_workspace(scope=scope, folder=first.folder, environ=first.environ, now=first.now)
