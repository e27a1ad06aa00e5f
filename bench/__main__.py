"""`python -m bench NAME …` measures one subject; without a name it lists them."""

import sys
from importlib import import_module
from importlib.util import find_spec

NAMES = {
    "agents": "what an agent waits for: hooks and MCP",
    "beliefs": "what becomes of new memories",
    "consolidation": "what is kept of conversations without an LLM",
    "gate": "whether a turn of a conversation gets memories",
    "imports": "a home with a thousand transcripts, imported and consolidated",
    "packs": "what recall gives a turn, and how much of it is right",
    "retrieval": "search on labelled sets, beside plain references",
    "retrieval.kinds": "search on kinds of talk, each left out of tuning",
    "rules": "standing rules that come with the prompts they bind",
