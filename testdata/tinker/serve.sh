#!/bin/sh
# serve.sh FOLDER PORT becomes a Tinker server (skyrl) on the CPU that trains and
# samples the model in the folder MODEL, by default FOLDER/model, which it makes, and keeps
# its state in FOLDER. The server starts its engine with `uv run`, as it was started
# itself: in a folder that is in no Python project. It samples saved weights only while
# the model that saved them is loaded: so sessions do not end here, and there is room
# for ADAPTERS models.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
venv=$here/../../.venv-tinker
venv=$(cd "$venv" && pwd)
mkdir -p "$1"
cd "$1"
folder=$PWD
model=${MODEL:-$folder/model}
[ -f "$model/model.safetensors" ] || "$venv/bin/python" "$here/model.py" "$model"
export VIRTUAL_ENV="$venv" PATH="$venv/bin:$PATH" PYTHONPATH="$here/stubs" JAX_PLATFORMS=cpu
export HF_HUB_OFFLINE=1 UV_OFFLINE=1 XLA_FLAGS=--xla_cpu_multi_thread_eigen=false
exec uv run --no-project -m skyrl.tinker.api --backend jax --base-model "$model" --host 127.0.0.1 --port "$2" \
	--session-timeout-sec 1000000 --checkpoints-base "$folder/checkpoints" --database-url "sqlite:///$folder/tinker.db" --backend-config \
	'{"max_lora_adapters": '"${ADAPTERS:-64}"', "max_lora_rank": 8, "train_micro_batch_size": 16, "sample_max_num_sequences": 64}'
