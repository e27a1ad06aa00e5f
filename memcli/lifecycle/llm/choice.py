"""Which LLM to ask: named only in the user's own settings, never by a workspace."""

from ...errors import UsageError
from ...store.settings import Settings
from . import Llm


def chosen_llm(settings: Settings) -> Llm | None:
    """Give the LLM the user configured; None where there is none."""
    command, model = settings["llm.command"], settings["llm.model"]
    if command:
        import shlex

        from .command import CommandLlm

        try:
            return CommandLlm(tuple(shlex.split(command)))
        except ValueError as error:
            raise UsageError(f"llm.command is {command!r} ({error})", "quote it as in a shell") from None
    if model:
        from . import LitellmLlm

        return LitellmLlm(model, settings["llm.api_base"], settings["llm.api_key"])
    return None
