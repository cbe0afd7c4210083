#!/usr/bin/env bash
# Runs one task of one stage of one epoch. Workflow engines start it: a Slurm array,
# a Kubernetes indexed job, an Argo workflow, Airflow.
#
#   stage.sh prepare|validation|rollout|score|group|curate|submit|report EPOCH
#
# CONFIG is the run's rollmill.yaml, ROOT its URI, SHARDS the number of tasks of a
# stage. Set SHARD to i/n if the engine does not number its tasks in a variable that
# rollmill knows. With REFILL=N, submit samples more first while too few groups teach, in up
# to N rounds (rollmill refill; the section refill of CONFIG has target-groups).
#
# Exit code 75 (temporary) requeues a Slurm task, at most RETRIES times; other
# engines get the code. A task may be started again, or run twice because its node
# was lost: the first to finish counts. SIGTERM and SIGINT end rollmill, whose code
# the script returns when it has written what it has finished.
set -euo pipefail
stage=$1 epoch=$2
: "${CONFIG:?}" "${ROOT:?}" "${SHARDS:=1}" "${RETRIES:=3}" "${REFILL:=0}" "${ROLLMILL:=rollmill}"

child= signals=0
stop() { signals=$((signals + 1)); [ -z "$child" ] || kill -TERM "$child" 2>/dev/null || true; }
trap stop TERM INT

# run runs rollmill, and returns its exit code when it has ended.
run() {
  local code=0 before
  [ $signals = 0 ] || return 143
  "$ROLLMILL" "$@" --config "$CONFIG" --root "$ROOT" &
  child=$!
  [ $signals = 0 ] || stop # it came before child was set
  while kill -0 "$child" 2>/dev/null; do wait "$child" || :; done # a signal ends wait, not the child
  while before=$signals code=0; wait "$child" || code=$?; [ "$before" != "$signals" ]; do :; done
  if [ $code = 75 ] && [ "${SLURM_RESTART_COUNT:-0}" -lt "$RETRIES" ] && [ -n "${SLURM_JOB_ID:-}" ]; then
    scontrol requeue "$SLURM_JOB_ID" && sleep 60 # until Slurm ends it
  fi
  return $code
}

case $stage in
prepare) run submit --prepare ;;
validation) run rollout --validation --epoch "$epoch" && run score --validation --epoch "$epoch" ;;
submit)
  [ "$REFILL" = 0 ] || run refill --epoch "$epoch" --refill-rounds "$REFILL"
  run submit --epoch "$epoch" --wait
  ;;
report) run report ;;
*) run "$stage" --epoch "$epoch" --shard "${SHARD:-auto/$SHARDS}" ;;
esac
