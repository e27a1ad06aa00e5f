#!/bin/sh
# Installs the agent programs that the tests were written with, below $AGENTS.
set -eu
checkout=$(cd "$(dirname "$0")/../../.." && pwd)
agents=${AGENTS:-$checkout/build/agents}
install() { npm install --no-audit --no-fund --prefix "$agents/$1" "$2"; }
install claude "@anthropic-ai/claude-code@2.1.332"
install codex "@openai/codex@0.171.0"
install gemini "@google/gemini-cli@0.61.0"
install copilot "@github/copilot@1.0.102"
install opencode "opencode-ai@1.18.33"
