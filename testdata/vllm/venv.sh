#!/bin/sh
# Makes .venv-vllm at the root: a real vLLM for CPUs from .ci/locks/vllm.txt,
# and tiny models that it serves. Twice is once. Needs cc and binutils.
set -eu
cd "$(dirname "$0")/../.."
here=testdata/vllm
venv=.venv-vllm
.ci/venv vllm
if ! cmp -s "$here/stubs.py" "$venv/stubbed-by"; then
	"$venv/bin/python" "$here/stubs.py"
	cp "$here/stubs.py" "$venv/stubbed-by"
fi
for model in model:3 other:4; do # other is a teacher of the first
	folder=$venv/${model%:*}
	if ! cmp -s "$here/model.py" "$folder/made-from"; then
		"$venv/bin/python" "$here/model.py" "$folder" "${model#*:}"
		cp "$here/model.py" "$folder/made-from"
	fi
done
