#!/bin/sh
# Makes the virtual environment in which the agents of this folder run:
# .venv-agents at the root, from requirements.lock. Twice is once.
set -eu
cd "$(dirname "$0")/../.."
lock=testdata/agents/requirements.lock
if ! cmp -s "$lock" .venv-agents/made-from; then
	rm -rf .venv-agents
	python3 -m venv .venv-agents
	.venv-agents/bin/pip install --quiet --disable-pip-version-check --no-deps -r "$lock"
	cp "$lock" .venv-agents/made-from
fi
