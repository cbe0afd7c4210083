#!/usr/bin/env bash
# One epoch on Kubernetes: an indexed job for each stage, one after another.
#
#   kubectl create configmap rollmill --from-file=rollmill.yaml
#   kubectl create secret generic rollmill --from-env-file=keys.env
#   export RUN=demo ROOT=s3://bucket/demo IMAGE=registry/rollmill SHARDS=4
#   pipelines/kubernetes/epoch.sh 0
#
# Started again, it waits for the jobs that are there. --print shows the
# manifests and applies nothing.
set -euo pipefail
: "${RUN:?}" "${ROOT:?}" "${IMAGE:?}" "${SHARDS:=1}" "${QUERY:=}" "${TIMEOUT:=24h}"
here=$(cd "$(dirname "$0")" && pwd)
print=
if [ "$1" = --print ]; then print=yes; shift; fi
epoch=$1

manifest() {
  local text
  text=$(<"$here/stage.yaml")
  for name in RUN EPOCH STAGE TASKS IMAGE ROOT QUERY; do text=${text//"\${$name}"/"${!name}"}; done
  printf '%s\n---\n' "$text"
}

stages=(rollout score group curate submit)
[ "$epoch" != 0 ] || stages=(prepare "${stages[@]}")
for STAGE in "${stages[@]}"; do
  EPOCH=$epoch TASKS=$SHARDS
  case $STAGE in prepare | submit) TASKS=1 ;; esac
  if [ -n "$print" ]; then manifest; continue; fi
  manifest | kubectl apply -f -
  kubectl wait --for=condition=Complete --timeout="$TIMEOUT" "job/$RUN-$EPOCH-$STAGE" &
  complete=$!
  kubectl wait --for=condition=Failed --timeout="$TIMEOUT" "job/$RUN-$EPOCH-$STAGE" && kill $complete &
  failed=$!
  wait $complete || { echo "epoch.sh: job $RUN-$EPOCH-$STAGE failed" >&2; exit 1; }
  kill $failed 2>/dev/null || true
done
