#!/usr/bin/env bash
# Runs epochs on a Slurm cluster: an array of SHARDS tasks for each stage of each
# epoch. Each job starts after the previous one has succeeded. Run the script once:
# it queues all jobs and prints their ids.
#
#   export CONFIG=rollmill.yaml ROOT=s3://bucket/run EPOCHS=15 SHARDS=4
#   pipelines/slurm/epochs.sh --partition=cpu --time=4:00:00
#
# Arguments are passed to every sbatch. VALIDATE_EVERY=N runs the held-out examples
# before every N-th epoch; REFILL=N refills epochs of which too few groups teach, in up
# to N rounds. The report's files are written after each epoch. If the script is run
# again, it queues all jobs again; finished ones are up to date.
set -euo pipefail
: "${CONFIG:?}" "${ROOT:?}" "${EPOCHS:=1}" "${SHARDS:=1}" "${VALIDATE_EVERY:=0}" "${LOGS:=$PWD/logs}"
export CONFIG ROOT SHARDS
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$LOGS"
args=("$@")

# queue STAGE EPOCH AFTER [--array=...] prints the job's id.
queue() {
  sbatch --parsable --requeue --open-mode=append --signal=B:TERM@60 --kill-on-invalid-dep=yes --job-name "rollmill-$1-$2" \
    --output "$LOGS/%x-%A-%a.log" ${3:+--dependency=afterok:$3} "${@:4}" "${args[@]}" "$here/../stage.sh" "$1" "$2"
}

array=--array=0-$((SHARDS - 1))
after=$(queue prepare 0 '')
echo "prepare $after"
for epoch in $(seq 0 $((EPOCHS - 1))); do
  if [ "$VALIDATE_EVERY" != 0 ] && [ $((epoch % VALIDATE_EVERY)) = 0 ]; then
    after=$(queue validation "$epoch" "$after")
  fi
  for stage in rollout score group curate; do
    after=$(queue $stage "$epoch" "$after" "$array")
  done
  after=$(queue submit "$epoch" "$after")
  report=$(queue report "$epoch" "$after")
  echo "epoch $epoch $after"
done
if [ "$VALIDATE_EVERY" != 0 ] && [ $((EPOCHS % VALIDATE_EVERY)) = 0 ]; then
  after=$(queue validation "$EPOCHS" "$after")
  report=$(queue report "$EPOCHS" "$after")
  echo "validation $after"
fi
echo "report $report"
