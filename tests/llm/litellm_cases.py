"""Ask the scripted server through litellm in every way that can go wrong, and print what came of each as JSON.

A process of its own: litellm takes seconds to import, warns while it does, and must not keep it alive.
"""

import json
import os
import sys
from typing import Any

from memcli.errors import LlmError
from memcli.llm.client import LitellmLlm, LlmRequest, context_window
from tests import llm_server as server

KEY = "sk-test-0123456789"
SCHEMA = {"type": "object", "properties": {"history_entry": {"type": "string"}}}
HTML = "<html><body>502 Bad Gateway {}</body></html>"
FORMS = "'response_format.type' must be 'json_schema' or 'text'"

CASES: dict[str, tuple[server.Answer, ...]] = {
    "normal": (server.say('{"history_entry": "one"}'),),
    "cut off": (server.say('{"history_en', "length"),),
    "no text": (server.say(None),),
    "largest": (server.say("x" * 5_000_000),),
    "late": (server.slow(0.5, server.say("late")),),
    "no such form": (server.fail(400, FORMS), server.say("plain")),
    "bad request": (server.fail(400, "context too long"),),
    "server error": (server.fail(500, "boom"),),
    "too many": (server.fail(429, "slow down"),),
    "wrong key": (server.fail(401, f"Incorrect API key provided: {KEY}"),),
    "html": (server.plain(HTML, "text/html"),),
    "html error": (server.plain(HTML, "text/html", 502),),
    "no choices": (server.body({**server.completion(""), "choices": []}),),
    "another document": (server.body([1]),),
    "reset": (server.reset("x" * 1000),),
    "too late": (server.slow(3600, server.say("never")),),
    "dribble": (server.dribble("x" * 5000, 0.2),),
}


def asked(llm: LitellmLlm, timeout: float) -> dict[str, Any]:
    """Give what came of a question."""
    try:
        answer = llm.complete(LlmRequest([{"role": "user", "content": "hi"}], schema=SCHEMA, timeout=timeout))
    except LlmError as error:
        return {"error": str(error)}
    return {"text": answer.text[:40], "size": len(answer.text), "finish_reason": answer.finish_reason}


def main() -> None:
    """Run the cases; the last one still dribbles when this process ends, as `mem` does: without waiting for threads."""
    found: dict[str, Any] = {"window": context_window("openai/gpt-4o"), "unread": "litellm" not in sys.modules}
    for name, script in CASES.items():
        with server.LlmServer(*script) as running:
            timeout = 1.0 if name in ("too late", "dribble") else 60.0
            found[name] = asked(LitellmLlm("local-model", running.api_base, KEY), timeout)
            found[name]["questions"] = running.questions
    with server.LlmServer(server.say("ok")) as running:
        asked(LitellmLlm("openai/gpt-4o", running.api_base), 60.0)
        found["known model"] = running.questions[0]
    found["no provider"] = asked(LitellmLlm("nonsense"), 60.0)
    found["dotenv"] = os.environ.get("FROM_DOTENV", "")
    with server.LlmServer(*CASES["dribble"]) as running:
        found["abandoned"] = asked(LitellmLlm("local-model", running.api_base), 0.5)
        json.dump(found, sys.stdout)
        sys.stdout.flush()
        os._exit(0)


if __name__ == "__main__":
    main()
