#!/usr/bin/env bash
# Runs one step of a nightly run over a log of calls. make and Airflow start it:
#
#   night.sh import           import what is new in the log; that there is nothing is no error
#   night.sh epochs FROM      print the epochs from FROM on that were imported
#   night.sh files EPOCH      score, group and curate an epoch, and write its files for TRL:
#                             epoch-N/submit/trl-sft.jsonl and epoch-N/submit-pairs/trl-preference.jsonl
#
# LOGS is the URI of the log's folder, FROM its format, and ROOT the URI of the run. SESSION
# is the field that the calls of one conversation share ("": there is none), THUMBS the one with
# a user's feedback from 0 to 1, SETTLE how long a conversation has been over before it is
# imported, IMPORT more flags of import. CONFIG has the rest.
# Each step may be killed and run again. Its exit codes are those of rollmill.
set -euo pipefail
: "${LOGS:?}" "${ROOT:?}" "${FROM:=litellm}" "${SETTLE:=1h}" "${ROLLMILL:=rollmill}"
: "${SESSION=}" "${THUMBS:=metadata.requester_metadata.thumbs}" "${CONFIG:=$(dirname "$0")/rollmill.yaml}"
export LOGS ROOT FROM SETTLE SESSION THUMBS

run() { "$ROLLMILL" "$@" --config "$CONFIG"; }

# some runs curate, and reports whether it kept anything.
some() {
  local code=0
  run curate --empty-exit-code 99 "$@" || code=$?
  [ $code = 0 ] || [ $code = 99 ] || exit $code
  [ $code = 0 ]
}

files() {
  local epoch=$1 folder=${ROOT%%\?*} query pairs
  query=${ROOT#"$folder"}
  run score --epoch "$epoch" && run group --epoch "$epoch"
  if some --epoch "$epoch" --min-valid 1 --keep-flat --filter 'trajectory.reward >= 1' --best-of 1; then # no pairs are needed
    run submit --epoch "$epoch" --kinds trl-sft
  fi
  pairs=$folder/epoch-$epoch/pairs$query
  if some --epoch "$epoch" --out "$pairs"; then
    run submit --epoch "$epoch" --in "$pairs" --kinds trl-preference --out "$folder/epoch-$epoch/submit-pairs$query"
  fi
}

case $1 in
import) run import --new ${IMPORT:-} ;; # words
files) files "$2" ;;
epochs)
  for ((epoch = $2; ; epoch++)); do
    code=0
    run seal --epoch "$epoch" --stage rollout --quiet >/dev/null 2>&1 || code=$?
    [ $code != 4 ] || break # there is none
    [ $code = 0 ] || { run seal --epoch "$epoch" --stage rollout >&2; exit; }
    echo "$epoch"
  done
  ;;
esac
