#!/bin/sh
# Makes .venv-vllm at the root: a real vLLM for CPUs from requirements.lock,
# and a tiny model that it serves. Twice is once. Needs cc and binutils.
set -eu
cd "$(dirname "$0")/../.."
here=testdata/vllm
venv=.venv-vllm
if ! cat "$here/requirements.lock" "$here/stubs.py" | cmp -s - "$venv/made-from"; then
	rm -rf "$venv"
	python3 -m venv "$venv"
	"$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps -r "$here/requirements.lock"
	"$venv/bin/python" "$here/stubs.py"
	cat "$here/requirements.lock" "$here/stubs.py" >"$venv/made-from"
fi
if ! cmp -s "$here/model.py" "$venv/model/made-from"; then
	"$venv/bin/python" "$here/model.py" "$venv/model"
	cp "$here/model.py" "$venv/model/made-from"
fi
