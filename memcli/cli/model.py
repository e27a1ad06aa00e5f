"""`mem model`."""

from typing import Annotated

import typer

from ..api import models
from ..api.workspace import Workspace
from ..errors import NotFoundError
from . import context, output
from .app import STYLE
from .options import AsJson, InScope, InWorkspace

model_app = typer.Typer(help="List, choose and watch over embedding models.", no_args_is_help=True, **STYLE)


@model_app.command("list")
def list_(workspace: InWorkspace = "", as_json: AsJson = False) -> None:
    """Print the models that can be used: the built-in one, the one of the extra, and the folders that settings name.

    The model in use is marked with *. A folder is added by `mem model use FOLDER`, and stays listed when another model
    is used.
    """
    found = models.list_all(workspace)
    if as_json:
        output.say_json(found.as_dict())
        return
    is_table = output.is_watched()  # it is as wide as the terminal, and would cut what mends a problem
    cells = [
        (
            "*" if one.is_chosen else "",
            one.choice,
            one.licence or "not stated",
            f"{one.size / 1e6:.0f} MB",
            f"{one.dimension or '?'}",
            one.calibrated,
            one.name or (is_table and one.problem and "cannot be used") or one.problem or "installed",
        )
        for one in found.models
    ]
    if is_table:
        output.table(("", "model", "licence", "size", "numbers", "calibrated", "name"), cells, flexible=6)
        for problem in filter(None, (one.problem for one in found.models)):
            output.note(problem)
    else:
        for row in cells:
            output.say_row(row)


@model_app.command("use")
def use(
    name: Annotated[str, typer.Argument(metavar="NAME", help="built-in, multilingual, or the folder of a model.")],
    wait: Annotated[bool, typer.Option("--wait", help="Embed everything before it returns.")] = False,
    workspace: InWorkspace = "",
    scope: InScope = "",
    as_json: AsJson = False,
) -> None:
    """Use another embedding model from now on, in all workspaces.

    The model is tried first; one that is incomplete, of an unknown kind or too large for this machine is refused, and
    nothing changes. Then `mem index` runs in the background for the workspaces of this folder, and where you run it, or
    `mem tend`, for others. Until all texts of a workspace are embedded anew, its searches go on with the old vectors:
    no search compares vectors of two models. Those of the model that was left are kept for 30 days, so that going back
    takes moments. The choice goes into your own settings (embedding.model).
    """
    done = models.use(name)
    for notice in done.notices:
        output.note(notice)
    if as_json:
        output.say_json(done.as_dict())
    else:
        output.say_row((done.name, str(done.file)))
    try:
        found_in = context.reading(workspace, scope)
    except NotFoundError:
        if workspace:
            raise
        return
    _embed(found_in, wait=wait)


def _embed(found_in: list[Workspace], *, wait: bool) -> None:
    """Bring workspaces over to the model that was chosen, now or in the background."""
    if all(switch.is_done and switch.embedded == switch.texts for _, switch in models.status(found_in).found):
        return
    if not wait:
        from ..integrations.hooks.background import detach

        for one in found_in:
            detach(one, ("index",), rest=0)
        output.note("embedding in the background, the old vectors answer until it is done: see `mem model status`")
        return
    from ..api.stats import index

    bar = output.Bar("embedding texts")
    try:
        found = index(found_in, embedding=bar)
    finally:
        bar.clear()
    if found.error is not None:
        raise found.error


@model_app.command("status")
def status(workspace: InWorkspace = "", scope: InScope = "", as_json: AsJson = False) -> None:
    """Print which model answers in each workspace, and how far it is with the one that the settings name."""
    found = models.status(context.reading(workspace, scope))
    if as_json:
        output.say_json(found.as_dict())
        return
    for where, one in found.found:
        state = f"{one.embedded:,} of {one.texts:,} texts embedded with {one.wanted}"
        if one.is_done:
            state = f"{one.wanted} answers, {one.embedded:,} of {one.texts:,} texts embedded"
        elif one.answering:
            state = f"{one.answering} answers; {state if not one.problem else one.problem}"
        if found.calibrated != "yes":
            state += f" (calibrated: {found.calibrated})"
        output.say_row((str(where.root), one.problem if one.problem and not one.answering else state))


@model_app.command("calibrate")
def calibrate(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The folder of a model, or multilingual.")],
    as_json: AsJson = False,
) -> None:
    """Measure where the cosines of a model lie, so that relevance and thresholds hold for it.

    It embeds 360 short texts and compares what it gives with what the built-in model does; that takes seconds, and the
    answer is written into the model's folder. No text is embedded anew. The comparison of memories, which finds
    repetitions and contradictions when one is written, is trained in a checkout (docs/models.md); without it what says
    the same in the same words is recognised, and what fills the same key.
    """
    done = models.calibrate(name)
    if as_json:
        output.say_json(done.as_dict())
        return
    output.say_row((done.model, f"{done.floor:.3f} to {done.top:.3f}", str(done.file)))
    if not done.comparison:
        output.note("no comparison of memories is trained for it: see docs/models.md")
