#!/usr/bin/env bash
# One task of one stage of one epoch, for engines that start such tasks: a Slurm
# array, a Kubernetes indexed job, an Argo workflow, Airflow.
#
#   stage.sh prepare|validation|rollout|score|group|curate|submit|report EPOCH
#
# CONFIG is the run's rollmill.yaml, ROOT its URI, SHARDS the number of tasks of a
# stage; SHARD says i/n where the engine does not number its tasks by a variable
# that rollmill knows.
#
# Code 75 (temporary) puts a Slurm task back into the queue, at most RETRIES
# times; other engines see the code. A task that is started again, or twice
# because its node was lost, is no harm: the first to finish counts.
set -euo pipefail
stage=$1 epoch=$2
: "${CONFIG:?}" "${ROOT:?}" "${SHARDS:=1}" "${RETRIES:=3}" "${ROLLMILL:=rollmill}"

# run executes rollmill, hands on a signal to end, and ends with its code.
run() {
  local code=0
  "$ROLLMILL" "$@" --config "$CONFIG" --root "$ROOT" &
  trap "kill -TERM $!" TERM
  wait $! || code=$?
  if [ $code = 75 ] && [ "${SLURM_RESTART_COUNT:-0}" -lt "$RETRIES" ] && [ -n "${SLURM_JOB_ID:-}" ]; then
    scontrol requeue "$SLURM_JOB_ID" && sleep 60 # until Slurm ends it
  fi
  return $code
}

case $stage in
prepare) run submit --prepare ;;
validation) run rollout --validation --epoch "$epoch" && run score --validation --epoch "$epoch" ;;
submit) run submit --epoch "$epoch" --wait ;;
report) run report ;;
*) run "$stage" --epoch "$epoch" --shard "${SHARD:-auto/$SHARDS}" ;;
esac
