"""`mem check --keys`: keys for entries that look like one slot, written where a person agrees."""

from collections.abc import Mapping

from ..beliefs.keys import Proposal, proposals
from ..lifecycle.check import Checked
from ..lifecycle.plan import Plan, applied
from ..store.entries import revised
from ..store.journal import Change
from ..store.workspace import Workspace
from ..text.summary import shorten
from . import output, world


def show_keys(where: Workspace, checked: Checked, *, fix: bool, yes: bool, as_json: bool) -> None:
    """Print the keys proposed and their entries; with `fix` write those a person agrees with, with `yes` all."""
    readings = {one.entry.id: one for one in checked.readings if one.entry is not None and not one.problems}
    found = proposals([one.entry for one in readings.values() if one.entry is not None])
    texts = {identifier: one.text for identifier, one in readings.items()}
    places = {identifier: one.path for identifier, one in readings.items()}
    says = {identifier: shorten(one.entry.body, 100) for identifier, one in readings.items() if one.entry}
    taken = []
    for proposal in found:
        if not as_json:
            for identifier in proposal.ids:
                output.say_row((proposal.key, identifier, world.here(where, places[identifier]), says[identifier]))
        if fix and (yes or _agrees(proposal)):
            applied(where, _plan(where, proposal, places, texts), "mem check --keys")
            taken.append(proposal.key)
    if as_json:
        rows = [{"key": one.key, "ids": list(one.ids), "fixed": one.key in taken} for one in found]
        output.say_json({"keys": rows})
    elif output.is_heard():
        hint = "" if fix or not found else ": `mem check --keys --fix` writes them"
        output.note(f"{len(found):,} keys proposed{hint}" if found else "no entries look like one slot")


def _agrees(proposal: Proposal) -> bool:
    """Ask at a terminal; elsewhere nobody agrees."""
    return (
        world.at_terminal() and input(f"give these {len(proposal.ids)} the key {proposal.key}? [y/N] ").lower() == "y"
    )


def _plan(where: Workspace, proposal: Proposal, places: Mapping[str, str], texts: Mapping[str, str]) -> Plan:
    steps = []
    for identifier in proposal.ids:
        path, text = places[identifier], texts[identifier]
        steps.append(Change(path, text, revised(where, path, text, {"key": proposal.key}, touch=False)))
    return Plan(tuple(steps), (f"{proposal.key}: {', '.join(proposal.ids)}",))
