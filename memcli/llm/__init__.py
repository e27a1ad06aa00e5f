"""Ask a language model, through an API or a command, and read its JSON."""

from typing import TYPE_CHECKING

from ..errors import UsageError

if TYPE_CHECKING:
    from ..store.settings import Settings
    from .client import Llm


def chosen_llm(settings: "Settings") -> "Llm | None":
    """Return the LLM the user configured; None if there is none, and then nothing that asks one is loaded."""
    command, model = settings["llm.command"], settings["llm.model"]
    if command:
        import shlex

        from .client import CommandLlm

        try:
            return CommandLlm(tuple(shlex.split(command)))
        except ValueError as error:
            raise UsageError(f"llm.command is {command!r} ({error})", "quote it as in a shell") from None
    if model:
        from .client import LitellmLlm

        return LitellmLlm(model, settings["llm.api_base"], settings["llm.api_key"])
    return None
