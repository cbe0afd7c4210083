#!/usr/bin/env bash
# Runs one epoch on Kubernetes: an indexed job for each stage, one after another.
#
#   kubectl create configmap rollmill --from-file=rollmill.yaml
#   kubectl create secret generic rollmill --from-env-file=keys.env
#   export RUN=demo ROOT=s3://bucket/demo IMAGE=registry/rollmill SHARDS=4 VALIDATE_EVERY=5
#   pipelines/kubernetes/epoch.sh 0
#
# If VALIDATE_EVERY divides the epoch, the policy runs the held-out examples first. With
# REFILL=N, an epoch of which too few groups teach is refilled in up to N rounds.
# The report's files are written at the end.
#
# If the script is run again, it waits for the existing jobs. --print prints the
# manifests and applies nothing.
set -euo pipefail
: "${RUN:?}" "${ROOT:?}" "${IMAGE:?}" "${SHARDS:=1}" "${VALIDATE_EVERY:=0}" "${REFILL:=0}" "${TIMEOUT:=24h}"
here=$(cd "$(dirname "$0")" && pwd)
print=
if [ "$1" = --print ]; then print=yes; shift; fi
epoch=$1

manifest() {
  local text
  text=$(<"$here/stage.yaml")
  for name in RUN EPOCH STAGE TASKS IMAGE ROOT REFILL; do text=${text//"\${$name}"/"${!name}"}; done
  printf '%s\n---\n' "$text"
}

stages=(rollout score group curate submit report)
[ "$VALIDATE_EVERY" = 0 ] || [ $((epoch % VALIDATE_EVERY)) != 0 ] || stages=(validation "${stages[@]}")
[ "$epoch" != 0 ] || stages=(prepare "${stages[@]}")
for STAGE in "${stages[@]}"; do
  EPOCH=$epoch TASKS=$SHARDS
  case $STAGE in prepare | validation | submit | report) TASKS=1 ;; esac
  if [ -n "$print" ]; then manifest; continue; fi
  manifest | kubectl apply -f -
  kubectl wait --for=condition=Complete --timeout="$TIMEOUT" "job/$RUN-$EPOCH-$STAGE" &
  complete=$!
  kubectl wait --for=condition=Failed --timeout="$TIMEOUT" "job/$RUN-$EPOCH-$STAGE" && kill $complete &
  failed=$!
  wait $complete || { echo "epoch.sh: job $RUN-$EPOCH-$STAGE failed" >&2; exit 1; }
  kill $failed 2>/dev/null || true
done
