"""mem doctor: check the setup."""

from ..agents.connections import ERROR, Check
from ..agents.doctor import diagnose
from ..agents.places import find_project
from ..context import Context
from .hook_install import find_program
from .render import Result

FIELDS = (*Check.__dataclass_fields__, "checks")


def run_doctor(context: Context) -> Result:
    """Check the setup: this program, the workspace, the model, and the connected agents.

    mem runs the hook of each connected agent as the agent would, with a session that does not
    exist. Nothing is saved.
    """
    checks = diagnose(context, find_program(context), find_project(context))
    lines = []
    for check in checks:
        lines.append(f"{check.state:8} {check.name:10} {check.text}")
        if check.hint:
            lines.append(f"{'':20}{check.hint}")
    rows = [[check.state, check.name, check.text, check.hint] for check in checks]
    has_error = any(check.state == ERROR for check in checks)
    return Result({"checks": checks}, lines, rows, exit_code=int(has_error))
