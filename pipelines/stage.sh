#!/usr/bin/env bash
# Runs one task of one stage of one epoch. Workflow engines start it: a Slurm array,
# a Kubernetes indexed job, an Argo workflow, Airflow.
#
#   stage.sh prepare|validation|rollout|score|group|curate|submit|report EPOCH
#
# CONFIG is the run's rollmill.yaml, ROOT its URI, SHARDS the number of tasks of a
# stage. Set SHARD to i/n if the engine does not number its tasks in a variable that
# rollmill knows.
#
# Exit code 75 (temporary) requeues a Slurm task, at most RETRIES times; other
# engines get the code. A task may be started again, or run twice because its node
# was lost: the first to finish counts.
set -euo pipefail
stage=$1 epoch=$2
: "${CONFIG:?}" "${ROOT:?}" "${SHARDS:=1}" "${RETRIES:=3}" "${ROLLMILL:=rollmill}"

# run runs rollmill, forwards SIGTERM, and returns its exit code.
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
