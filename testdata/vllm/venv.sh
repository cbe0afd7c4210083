#!/bin/sh
# Makes .venv-vllm at the root: a real vLLM for CPUs from .ci/locks/vllm.txt,
# and a tiny model that it serves. Twice is once. Needs cc and binutils.
set -eu
cd "$(dirname "$0")/../.."
here=testdata/vllm
venv=.venv-vllm
.ci/venv vllm
if ! cmp -s "$here/stubs.py" "$venv/stubbed-by"; then
	"$venv/bin/python" "$here/stubs.py"
	cp "$here/stubs.py" "$venv/stubbed-by"
fi
if ! cmp -s "$here/model.py" "$venv/model/made-from"; then
	"$venv/bin/python" "$here/model.py" "$venv/model"
	cp "$here/model.py" "$venv/model/made-from"
fi
