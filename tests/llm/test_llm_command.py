"""A command of the user's own answers as a model does, and is gone at the deadline with all it started."""

import os
import sys
import time
from pathlib import Path

import pytest

from memcli.errors import LlmError
from memcli.llm.client import CommandLlm, Completion, Llm, LlmRequest
from tests.tables import cases

MESSAGES = [{"role": "system", "content": "Be brief – très bref."}, {"role": "user", "content": "Hi 😀"}]


def script(code: str) -> CommandLlm:
    """Make a model of a few lines of Python."""
    return CommandLlm((sys.executable, "-c", f"import os, sys, subprocess, time\n{code}"))


def gone(pid: int) -> bool:
    """Wait until a process that was killed is reaped."""
    for _ in range(500):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        state = Path(f"/proc/{pid}/stat")
        if state.exists() and ") Z " in state.read_text():
            return True
        time.sleep(0.01)
    return False


def test_the_prompt_goes_in_and_the_answer_comes_out() -> None:
    llm: Llm = script("sys.stdout.buffer.write(sys.stdin.buffer.read())")
    answer = llm.complete(LlmRequest(MESSAGES))
    assert answer == Completion("[asked by mem]\n\nBe brief – très bref.\n\nHi 😀", None, sys.executable)


def test_a_prompt_the_command_never_reads_does_no_harm() -> None:
    prompt = [{"role": "user", "content": "x" * 1_000_000}]
    assert script("print('done')").complete(LlmRequest(prompt)).text == "done\n"


def test_the_command_knows_that_it_runs_for_mem() -> None:
    assert script("print(os.environ['MEM_INSIDE_LLM'])").complete(LlmRequest(MESSAGES)).text == "1\n"


@cases("code", "said")
def test_a_command_that_fails_says_its_last_line(code: str, said: str) -> None:
    with pytest.raises(LlmError) as caught:
        script(code).complete(LlmRequest(MESSAGES))
    assert str(caught.value) == f"{sys.executable} {said}"


@pytest.mark.parametrize("argv", [("/nowhere/llm",), ("/",), (), ("a\0b",)])
def test_a_command_that_cannot_run_is_named(argv: tuple[str, ...]) -> None:
    with pytest.raises(LlmError, match=r"cannot run .*check llm\.command") as caught:
        CommandLlm(argv).complete(LlmRequest(MESSAGES))
    assert "\n" not in str(caught.value)


def test_at_the_deadline_the_command_dies_with_all_it_started(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    child = "import time; time.sleep(3600)"
    code = f"""
child = subprocess.Popen([sys.executable, "-c", {child!r}])
with open({str(note)!r}, "w") as file:
    file.write(f"{{os.getpid()}} {{child.pid}}")
print("half", flush=True)
time.sleep(3600)
"""
    for seconds in (3, 30, 300):  # a busy machine may take longer to start the two
        with pytest.raises(LlmError, match=f"no answer within {seconds} s"):
            script(code).complete(LlmRequest(MESSAGES, timeout=seconds))
        if note.exists() and note.read_text():
            break
    command, started = map(int, note.read_text().split())
    assert gone(command)
    assert gone(started)


def test_a_child_left_behind_does_not_hold_the_answer_up() -> None:
    code = "subprocess.Popen(['sleep', '90'], start_new_session=True); print('done')"
    assert script(code).complete(LlmRequest(MESSAGES, timeout=80)).text == "done\n"


def test_an_endless_answer_is_stopped() -> None:
    with pytest.raises(LlmError, match="more than 8 MB"):
        script("while True: print('x' * 100_000)").complete(LlmRequest(MESSAGES, timeout=600))


def test_bytes_that_are_no_text_are_read_as_well_as_can_be() -> None:
    assert script(r"sys.stdout.buffer.write(b'a\xffb')").complete(LlmRequest(MESSAGES)).text == "a\ufffdb"
