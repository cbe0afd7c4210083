#!/usr/bin/env bash
# One task of one stage of one epoch, for engines that start such tasks: a Slurm
# array, a Kubernetes indexed job, an Argo workflow.
#
#   stage.sh prepare|validation|rollout|score|group|curate|submit EPOCH
#
# CONFIG is the run's rollmill.yaml, ROOT its URI (QUERY what follows a question
# mark), SHARDS the number of tasks of a stage; SHARD says i/n where the engine
# does not number its tasks by a variable that rollmill knows.
#
# Code 75 (temporary) puts a Slurm task back into the queue, at most RETRIES
# times; other engines see the code. A task that is started again, or twice
# because its node was lost, is no harm: the first to finish counts.
set -euo pipefail
stage=$1 epoch=$2
: "${CONFIG:?}" "${ROOT:?}" "${SHARDS:=1}" "${QUERY:=}" "${RETRIES:=3}" "${ROLLMILL:=rollmill}"

shard=${SHARD:-auto/$SHARDS}
at() { printf '%s/epoch-%s/%s%s' "$ROOT" "$1" "$2" "${QUERY:+?$QUERY}"; }
root=$ROOT${QUERY:+?$QUERY} # which holds the run's id, and the ledger, whatever root CONFIG names
policy() { if [ "$epoch" = 0 ]; then printf '%s/policy%s' "$ROOT" "${QUERY:+?$QUERY}"; else at $((epoch - 1)) submit; fi; }

# run executes rollmill, hands on a signal to end, and ends with its code.
run() {
  local code=0
  "$ROLLMILL" "$1" --config "$CONFIG" "${@:2}" &
  trap "kill -TERM $!" TERM
  wait $! || code=$?
  if [ $code = 75 ] && [ "${SLURM_RESTART_COUNT:-0}" -lt "$RETRIES" ] && [ -n "${SLURM_JOB_ID:-}" ]; then
    scontrol requeue "$SLURM_JOB_ID" && sleep 60 # until Slurm ends it
  fi
  return $code
}

case $stage in
prepare) run submit --prepare --root "$root" --out "$(epoch=0 policy)" ;;
validation)
  run rollout --validation --root "$root" --epoch "$epoch" --policy "$(policy)" --out "$(at "$epoch" validation/rollout)"
  run score --validation --in "$(at "$epoch" validation/rollout)" --out "$(at "$epoch" validation/score)"
  ;;
rollout) run rollout --root "$root" --epoch "$epoch" --policy "$(policy)" --shard "$shard" --out "$(at "$epoch" rollout)" ;;
score) run score --in "$(at "$epoch" rollout)" --shard "$shard" --out "$(at "$epoch" score)" ;;
group) run group --in "$(at "$epoch" score)" --shard "$shard" --out "$(at "$epoch" group)" ;;
curate)
  previous=()
  [ "$epoch" = 0 ] || previous=(--previous "$(at $((epoch - 1)) curate)")
  run curate --in "$(at "$epoch" group)" --epoch "$epoch" "${previous[@]}" --shard "$shard" --out "$(at "$epoch" curate)"
  ;;
submit) run submit --in "$(at "$epoch" curate)" --wait --out "$(at "$epoch" submit)" ;;
*) echo "stage.sh: there is no stage \"$stage\"" >&2; exit 2 ;;
esac
