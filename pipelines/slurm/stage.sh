#!/usr/bin/env bash
# One task of one stage of one epoch, as epochs.sh submits it:
#
#   stage.sh prepare|validation|rollout|score|group|curate|submit EPOCH
#
# Code 75 (temporary) puts the task back into the queue, at most RETRIES times.
# A task that Slurm requeues, or runs twice because it lost a node, is no harm:
# the first of the two to finish is the one that counts.
set -euo pipefail
stage=$1 epoch=$2
: "${CONFIG:?}" "${ROOT:?}" "${SHARDS:=1}" "${QUERY:=}" "${RETRIES:=3}" "${ROLLMILL:=rollmill}"

at() { printf '%s/epoch-%s/%s%s' "$ROOT" "$1" "$2" "${QUERY:+?$QUERY}"; }
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
prepare) run submit --prepare --out "$(epoch=0 policy)" ;;
validation)
  run rollout --validation --epoch "$epoch" --policy "$(policy)" --out "$(at "$epoch" validation/rollout)"
  run score --validation --in "$(at "$epoch" validation/rollout)" --out "$(at "$epoch" validation/score)"
  ;;
rollout) run rollout --epoch "$epoch" --policy "$(policy)" --shard "auto/$SHARDS" --out "$(at "$epoch" rollout)" ;;
score) run score --in "$(at "$epoch" rollout)" --shard "auto/$SHARDS" --out "$(at "$epoch" score)" ;;
group) run group --in "$(at "$epoch" score)" --shard "auto/$SHARDS" --out "$(at "$epoch" group)" ;;
curate)
  previous=()
  [ "$epoch" = 0 ] || previous=(--previous "$(at $((epoch - 1)) curate)")
  run curate --in "$(at "$epoch" group)" --epoch "$epoch" "${previous[@]}" --shard "auto/$SHARDS" --out "$(at "$epoch" curate)"
  ;;
submit) run submit --in "$(at "$epoch" curate)" --wait --out "$(at "$epoch" submit)" ;;
*) echo "stage.sh: there is no stage \"$stage\"" >&2; exit 2 ;;
esac
