"""`python -m bench NAME …` measures one subject; without a name it lists them."""

import sys
from importlib import import_module
from importlib.util import find_spec

NAMES = {
    "agents": "what an agent waits for: hooks and MCP",
    "beliefs": "what becomes of new memories",
    "consolidation": "what is kept of conversations without an LLM",
    "first_index": "the first index beside a bare loop over the same model",
    "gate": "whether a turn of a conversation gets memories",
    "imports": "a home with a thousand transcripts, imported and consolidated",
    "packs": "what recall gives a turn, and how much of it is right",
    "page": "what a person waits for at the page of `mem ui`",
    "retrieval": "search on labelled sets, beside plain references",
    "retrieval.kinds": "search on kinds of talk, each left out of tuning",
    "retrieval.strangers": "times and other names as people say them",
    "rules": "standing rules that come with the prompts they bind",
    "scorecard": "mem beside other tools of agent memory",
    "secrets": "secrets found and false alarms, beside other scanners",
    "sessions": "long conversations",
    "speed": "commands as ratios to what they cannot do without",
    "team": "a team's index on PostgreSQL: the nearest under row security, and leaks",
    "tending": "decay, check and statistics of a large workspace",
    "transfer": "an export and its import, whole and after a kill",
    "warm": "commands and hooks beside a warm process, and trials of it",
    "truth": "what users get who write memories one by one",
    "training.attribution": "train the model of who said a passage",
    "training.common_words": "make the table of common words",
    "training.pair_model": "train the comparison of two memories",
    "training.worth": "train the score of what is worth keeping",
}


def main() -> None:
    """Run the subject with what follows its name."""
    if len(sys.argv) < 2 or sys.argv[1] not in NAMES:
        width = max(map(len, NAMES))
        known = "\n".join(f"  {name:{width}}  {told}" for name, told in NAMES.items())
        raise SystemExit(f"python -m bench NAME …\n\n{known}")
    name = sys.argv.pop(1)
    sys.argv[0] = f"python -m bench {name}"
    import_module(module_of(name)).main()


def module_of(name: str) -> str:
    """Return the module whose `main` measures a subject; of a package that is its `__main__`."""
    found = find_spec(f"bench.{name}")
    return f"bench.{name}.__main__" if found and found.submodule_search_locations else f"bench.{name}"


if __name__ == "__main__":
    main()
