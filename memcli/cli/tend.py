"""`mem tend`."""

import typer

from ..errors import SwitchedOffError
from ..maintenance.session_tasks import SESSION_TASKS
from ..maintenance.tend import TASKS
from ..maintenance.tend import tend as tended
from . import context, output
from .options import AsJson, InScope, InWorkspace, Quiet


def tend(
    quiet: Quiet = False,
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Do what is due: for cron.

    Consolidates sessions with more than consolidate.window messages waiting, compacts those past their soft limit,
    sums up projects with new episodes, archives what has faded and promotes what is confirmed, where decay.auto and
    promote.auto say so, and brings the index up to date. Exits with 75 while another one runs, and with 3 when a
    task failed and others did not.
    A line for crontab: 17 3 * * * mem tend --quiet --workspace ~/memory
    """
    try:
        where = context.writing(workspace, scope)
    except SwitchedOffError as error:  # cron would mail it every night
        if as_json:
            output.say_json({"done": []})
        elif not quiet:
            output.note(error.message)
        return
    done = tended(where, lambda seed: context.noise(seed)(0), (*SESSION_TASKS, *TASKS))
    failed = [one.error for one in done if one.error]
    for one in done:
        if one.error:
            output.failure(one.error, as_json=as_json)
    if as_json:
        output.say_json({"done": [{"task": one.name, "said": one.said} for one in done if not one.error]})
    elif not quiet:
        for one in done:
            if one.said:
                output.say_row((one.name, one.said))
    if failed:
        raise typer.Exit(3 if len(failed) < len(done) else failed[0].exit_code)
