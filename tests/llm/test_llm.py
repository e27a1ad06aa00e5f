"""A model reached over HTTP answers in time, or the reason fits in a line; nothing hangs and nothing is asked twice."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memcli.errors import LlmError
from memcli.llm.client import LitellmLlm, LlmRequest, context_window
from tests.llm.litellm_cases import KEY, SCHEMA
from tests.tables import cases

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Run all cases once, in a process whose folder holds a .env file of somebody else."""
    folder = tmp_path_factory.mktemp("cloned")
    (folder / ".env").write_text("FROM_DOTENV=read\nOPENAI_API_BASE=http://127.0.0.1:9/v1\n", encoding="utf-8")
    environ = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    done = subprocess.run(
        # Without a file of its own __main__ is what python-dotenv takes for a person at a prompt.
        [sys.executable, "-c", "from tests.llm.litellm_cases import main; main()"],
        cwd=folder,
        env={**environ, "PYTHONPATH": str(ROOT), "OPENAI_API_KEY": ""},
        capture_output=True,
        check=True,
        timeout=300,
    )
    assert done.stderr == b""
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    ("case", "text", "size", "finish_reason"),
    [
        ("normal", '{"history_entry": "one"}', 24, "stop"),
        ("cut off", '{"history_en', 12, "length"),
        ("no text", "", 0, "stop"),
        ("largest", "x" * 40, 5_000_000, "stop"),
        ("late", "late", 4, "stop"),
    ],
)
def test_an_answer_comes_as_it_was_sent_with_the_reason_it_ended(
    outcomes: dict[str, Any], case: str, text: str, size: int, finish_reason: str
) -> None:
    found = outcomes[case]
    assert (found["text"], found["size"], found["finish_reason"]) == (text, size, finish_reason)


@cases("case", "said")
def test_a_failure_is_one_line_after_one_question(outcomes: dict[str, Any], case: str, said: str) -> None:
    error = outcomes[case]["error"]
    assert error.startswith("local-model: ")
    assert said in error
    assert "\n" not in error
    assert KEY not in error
    assert len(outcomes[case]["questions"]) == 1


def test_a_server_that_refuses_the_form_of_answer_is_asked_without_it(outcomes: dict[str, Any]) -> None:
    first, second = outcomes["no such form"]["questions"]
    assert outcomes["no such form"]["text"] == "plain"
    assert first["response_format"] == {"type": "json_object"}
    assert "response_format" not in second


def test_a_model_that_knows_schemas_is_sent_the_schema(outcomes: dict[str, Any]) -> None:
    assert outcomes["known model"]["response_format"]["json_schema"]["schema"] == SCHEMA


def test_a_model_without_a_provider_is_named_in_the_reason(outcomes: dict[str, Any]) -> None:
    assert "nonsense" in outcomes["no provider"]["error"]
    assert "Provider NOT provided" in outcomes["no provider"]["error"]


def test_a_question_is_abandoned_though_a_server_still_dribbles(outcomes: dict[str, Any]) -> None:
    assert outcomes["abandoned"] == {"error": "local-model: no answer within 0.5 s"}


def test_a_dotenv_file_of_the_folder_is_not_read(outcomes: dict[str, Any]) -> None:
    assert outcomes["dotenv"] == ""


def test_the_window_of_a_model_is_known_without_importing_litellm(outcomes: dict[str, Any]) -> None:
    assert outcomes["window"] == 128_000
    assert outcomes["unread"]
    assert context_window("nobody/knows-this") is None


def test_without_litellm_the_reason_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "litellm", None)
    with pytest.raises(LlmError, match=r"pip install '\.\[llm\]'"):
        LitellmLlm("gpt-4o").complete(LlmRequest([{"role": "user", "content": "hi"}]))


def test_the_key_is_not_shown_with_the_model() -> None:
    assert KEY not in repr(LitellmLlm("gpt-4o", api_key=KEY))
