#!/bin/sh
# serve.sh PORT [FLAG...] becomes a vLLM server that serves the tiny model.
set -eu
cd "$(dirname "$0")/../.."
port=$1
shift
export PATH="$PWD/.venv-vllm/bin:$PATH"
export VLLM_CPU_KVCACHE_SPACE=1 VLLM_NO_USAGE_STATS=1 DO_NOT_TRACK=1 CUDA_VISIBLE_DEVICES= TORCHDYNAMO_DISABLE=1
export HF_HUB_OFFLINE=1 TRANSFORMERS_OFFLINE=1
exec .venv-vllm/bin/python -m vllm.entrypoints.openai.api_server --model .venv-vllm/model --served-model-name tiny \
	--host 127.0.0.1 --port "$port" --dtype float32 --max-model-len 1024 --max-num-seqs 8 --enforce-eager \
	--enable-auto-tool-choice --tool-call-parser hermes "$@"
