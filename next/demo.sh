#!/bin/sh
# The main job of mem on a copy of fixtures/workspace, a vault of 300 notes, and a repository with
# two linked worktrees. Usage: sh next/demo.sh [FOLDER OF A PYTHON ENVIRONMENT]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
python=${1:-$here/../.venv}/bin/python
if [ ! -t 1 ]; then
  # A file or a pipe gets the text that a terminal would show.
  export NO_COLOR=1 COLUMNS="${COLUMNS:-80}"
  exec "$python" "$here/fixtures/as_terminal.py" sh "$0" "$@" </dev/null
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export HOME="$folder/home" PYTHONPATH="$here" MEM_TIMEZONE=Europe/Lisbon
export GIT_AUTHOR_NAME=Rita GIT_AUTHOR_EMAIL=rita@example.org
export GIT_COMMITTER_NAME=Rita GIT_COMMITTER_EMAIL=rita@example.org
unset XDG_STATE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_CACHE_HOME MEM_WORKSPACE || true
mkdir -p "$HOME"
# -P: a folder named memcli in the working folder must not be imported.
mem() { "$python" -P -m memcli "$@"; }
run() {
  printf '$ %s\n' "$*"
  eval "$*" || printf 'exit %s\n' "$?"
  echo
}

printf '#!/bin/sh\nsed -i.bak s/6543/7654/ "$1"\n' >"$folder/editor" && chmod +x "$folder/editor"
# The main job. $1 is the folder that a purge must have cleaned.
main_job() {
  run "mem write 'The staging database listens on port 6543.' --key staging/port --source user"
  run "mem search 'which port is staging on' -n 1"
  run "EDITOR=$folder/editor mem edit \"\$(mem search 'which port is staging on' -n 1 --json id | grep -o 'mem_[0-9a-z]*')\""
  run "mem search 'which port is staging on' -n 1"
  run "mem write 'The staging database listens on port 8765.' --key staging/port --source user"
  run "mem search 'which port is staging on' -n 2"
  run "mem search 'which port is staging on' -n 2 --status superseded"
  run "mem forget --about 'port 8765'"
  run "mem search 'staging database port 8765' --mode keyword -n 1"
  run "mem undo"
  run "mem search 'which port is staging on' -n 1"
  run "mem write 'The spare key is under the third flower pot.' --path spare-key --source user"
  run "mem note 'told Jonas: the spare key is under the third flower pot'"
  run "mem forget spare-key --purge --yes"
  run "grep -rl 'third flower pot' $1 || echo 'no file has it'"
  run "mem grep 'port 8765'"
  run "mem status"
}

echo "== 1. A year of memories: init, write, search, edit, supersede, forget, undo, purge"
echo
mkdir "$folder/work"
cp -R "$here/fixtures/workspace" "$folder/work/memory"
cd "$folder/work"
run mem init
run mem trust
run mem index
run "mem search 'what editor theme does the user like' -n 1"
main_job memory
run "mem grep 'penicillin allergy'"
run "mem write 'The deploy key is ghp_9fJ2kLmQ8rT5vXyZ1aB3cD4eF6gH7iJ8kL0m'"
run "mem status --all"
run "mem check"

echo "== 2. A vault of 300 notes, read where it is"
echo
mkdir -p "$folder/vault/.obsidian" "$folder/vault/daily" "$folder/vault/people"
"$python" - "$folder/vault" <<'END'
import random, sys
from pathlib import Path
vault, noise = Path(sys.argv[1]), random.Random(1)
people = "Ana Bruno Clara Davi Elsa Filipe Gloria Hugo".split()
topics = "the kiln|the choir|the harbour crane|invoices|the greenhouse|sailing|the bakery|the archive".split("|")
for number in range(292):
    person, topic = noise.choice(people), noise.choice(topics)
    text = f"# Note {number}\n\nTalked with [[{person}]] about {topic}. #meeting\n"
    (vault / "daily" / f"2026-{1 + number % 11:02}-{1 + number % 28:02} {number}.md").write_text(text)
for person in people:
    head = f"---\nAliases: [{person} from the harbour]\nrating: {len(person)}\n---\n\n"
    (vault / "people" / f"{person}.md").write_text(f"{head}{person} answers letters on Thursdays.\n")
END
cd "$folder/vault"
run mem init
run "mem search 'who talked about the harbour crane' -n 2"
run "mem read 'Elsa from the harbour' | head -8"
run "mem ls --where 'rating>=6' --json path"
run "mem write 'Elsa prefers phone calls.' --source user"
main_job .
run "find mem -type f | grep -v .mem/"
run "find . -newer mem.yaml -name '*.md' -not -path './mem/*' | wc -l   # notes that mem changed"

echo "== 3. A repository with two linked worktrees"
echo
git clone -q "$here/.." "$folder/repo"
cd "$folder/repo"
git worktree add -q "$folder/one" -b one
git worktree add -q "$folder/two" -b two
run mem init
cd "$folder/one"
run "mem write 'Learned in worktree one: the parser needs Python 3.11.' --source user"
cd "$folder/two"
run "mem search 'what does the parser need' -n 1"
cd "$folder/repo"
run "git worktree remove --force $folder/one"
run "mem search 'what does the parser need' -n 1"
cd "$folder/two"
main_job "$folder/repo/memory"
cd "$folder/repo"
run "git status --short"
