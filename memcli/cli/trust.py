"""mem trust: trust a workspace that came with a repository."""

from typing import Annotated

from typer import Option

from ..api import open_existing
from ..context import Context
from ..errors import RejectedError
from .render import Result

FIELDS = ("path", "trusted")


def run_trust(
    context: Context,
    remove: Annotated[bool, Option("--remove", help="Stop trusting it.")] = False,
) -> Result:
    """Trust a workspace: its text may count as your word.

    Trusting a shared workspace means trusting everybody who can commit to it.
    """
    workspace = open_existing(context)
    workspace.ensure_machine()
    if not workspace.machine.key:
        raise RejectedError(
            "the trust record cannot be written", f"make {context.state_folder} writable"
        )
    workspace.machine.save_trust(workspace.root, not remove)
    if not remove and workspace.is_shared:
        from .sync import configure_driver

        configure_driver(context, workspace)
    label = "No longer trusted" if remove else "Trusted"
    data = {"path": str(workspace.root), "trusted": not remove}
    return Result(data, [f"{label}: {workspace.root}"])
