#!/bin/sh
# Build the wheel and the sdist from the last commit, and run both in empty environments.
# Usage: sh tests/package.sh [PYTHON…]   (default: every python3.11 to python3.14 on PATH)
set -eu
checkout=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
[ $# -gt 0 ] || set -- python3.11 python3.12 python3.13 python3.14
git clone -q "$checkout" "$folder/source"
python3 -m venv "$folder/builder"
"$folder/builder/bin/pip" install -q build
"$folder/builder/bin/python" -m build -q --outdir "$folder/dist" "$folder/source"
version=$(sed -n 's/^__version__ = "\(.*\)"/\1/p' "$checkout/memcli/__init__.py")

run() { # in an empty home, without the checkout
  cd "$folder/home"
  [ "$(mem --version)" = "mem $version" ]
  mem demo | grep -q "Undone .*(forget): Always run make lint before make deploy."
  mem init >/dev/null
  mem write "The heat pump is serviced in October." >/dev/null
  mem search "when is the boiler maintained" -n 1 | grep -q "heat pump"
  mem doctor >/dev/null
  echo '{"hook_event_name": "SessionStart", "session_id": "s", "source": "startup"}' |
    mem hook run claude-code | grep -q "heat pump"
  echo '{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}' | mem mcp | grep -q memory_search
}

for python in "$@"; do
  if ! "$python" -c pass 2>/dev/null; then
    echo "$python: not on this machine"
    continue
  fi
  for package in "$folder"/dist/*; do
    rm -rf "$folder/venv" "$folder/home"
    mkdir "$folder/home"
    "$python" -m venv "$folder/venv"
    "$folder/venv/bin/pip" install -q "$package"
    (
      export PATH="$folder/venv/bin:/usr/bin:/bin" HOME="$folder/home"
      unset PYTHONPATH XDG_STATE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_CACHE_HOME || true
      run
    )
    echo "$("$python" --version): $(basename "$package") works"
  done
done
