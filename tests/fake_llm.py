"""An LLM that answers from a script, in this process, and remembers what it was asked."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memcli.errors import LlmError
from memcli.llm.client import Completion, LlmRequest

Answer = str | Completion | LlmError | Callable[[Sequence[Mapping[str, str]]], str]


class ScriptedLlm:
    """Give the next answer of the script; an error is raised, a function is asked.

    A question too many is a failure of the test and not of the LLM, so it is an AssertionError.
    """

    def __init__(self, *script: Answer) -> None:
        self.script = list(script)
        self.questions: list[list[Mapping[str, str]]] = []
        self.options: list[dict[str, Any]] = []

    def complete(self, request: LlmRequest) -> Completion:
        """Answer from the script."""
        self.questions.append(list(request.messages))
        self.options.append(
            {name: getattr(request, name) for name in ("schema", "temperature", "max_tokens", "timeout")}
        )
        assert self.script, f"question {len(self.questions)} was not expected"
        answer = self.script.pop(0)
        if isinstance(answer, LlmError):
            raise answer
        if callable(answer):
            answer = answer(request.messages)
        return answer if isinstance(answer, Completion) else Completion(answer, "stop", "scripted")
