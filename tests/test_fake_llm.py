"""The scripted LLM keeps to its script."""

import pytest

from memcli.errors import LlmError
from memcli.llm.client import Completion, Llm, LlmRequest
from tests.fake_llm import ScriptedLlm

QUESTION = [{"role": "user", "content": "hi"}]


def test_the_scripted_llm_answers_in_order_and_remembers_what_it_was_asked() -> None:
    cut = Completion("b", "length")
    fake = ScriptedLlm("a", cut, lambda messages: messages[0]["content"] * 2)
    llm: Llm = fake
    assert llm.complete(LlmRequest(QUESTION)) == Completion("a", "stop", "scripted")
    assert llm.complete(LlmRequest(QUESTION, schema={"type": "object"}, timeout=1)) is cut
    assert llm.complete(LlmRequest(QUESTION)).text == "hihi"
    assert fake.questions == [QUESTION] * 3
    assert [options["timeout"] for options in fake.options] == [0.0, 1, 0.0]
    assert fake.options[1]["schema"] == {"type": "object"}


def test_the_scripted_llm_raises_what_it_is_given_and_notices_a_question_too_many() -> None:
    fake = ScriptedLlm(LlmError("down"))
    with pytest.raises(LlmError, match="down"):
        fake.complete(LlmRequest(QUESTION))
    with pytest.raises(AssertionError, match="question 2"):
        fake.complete(LlmRequest(QUESTION))
