#!/usr/bin/env bash
# Runs the containers of Harbor tasks as pods. Rollmill calls it as it calls podman, and it calls kubectl:
#
#   rollmill rollout --examples harbor:tasks --agent harbor --runtime 'command: ./pods.sh' ...
#
# It takes the cluster and the namespace from kubectl's current context. task.toml names an image with sh and tar. Only the harness
# shell works: a pod mounts no socket of this machine. A pod has its own /logs, which is copied here after each program. A task
# without a network needs this policy in the namespace, and a cluster that enforces it:
#
#   {apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: rollmill-no-network},
#    spec: {podSelector: {matchLabels: {rollmill.network: none}}, policyTypes: [Ingress, Egress]}}
set -eu
die() { echo "pods.sh: $*" >&2; exit 125; }
json() { local s=${1//\\/\\\\}; s=${s//\"/\\\"}; s=${s//$'\n'/\\n}; s=${s//$'\r'/\\r}; printf '"%s", ' "${s//$'\t'/\\t}"; }
quoted() { local word quote="'\\''"; for word; do printf "'%s' " "${word//\'/$quote}"; done; }
pod() { name=$1 state=${TMPDIR:-/tmp}/rollmill-pods-$UID/$1; }
in_pod() { kubectl exec -i "$name" -c main -- "$@"; }

# collect replaces the folders of this machine with the pod's. It does not trust the pod: it drops links and devices.
collect() {
  local new=$state/new path host
  rm -rf "$new" && mkdir "$new"
  in_pod tar -C / -cf - logs </dev/null 2>"$state/err" | head -c $((256 << 20)) | tar -C "$new" -xf - --no-same-owner 2>>"$state/err" ||
    { rm -rf "$new/logs"; echo "pods.sh: /logs was not copied (at most 256 MB are): $(tail -n 3 "$state/err")" >&2; }
  find "$new" ! -type f ! -type d -delete && chmod -R u+rwX "$new"
  while read -r path host; do rm -rf "$host" && mkdir -p "$new$path" && mv "$new$path" "$host"; done <"$state/logs"
}

command=$1; shift
case $command in
--version) kubectl version ;;
image) exit 1 ;; # the image is not here: Rollmill pulls it, or builds it if the task has a Dockerfile
pull) ;;         # the cluster does
build) die "push the image of ${*: -1} to a registry that the cluster reaches, and write its name as docker_image into task.toml" ;;
run)
  labels='' notes='' env='' limits='' mounts='' volumes='' dir='' logs=''
  while [[ $1 == -* ]]; do
    case $1 in
    --detach) shift; continue ;;
    --name) pod "$2" ;;
    --network) labels+='rollmill.network: none, ' ;;
    --cpus) limits+="cpu: $(json "$2")" ;;
    --memory) limits+="memory: ${2%m}Mi, " ;;
    --ulimit) limits+="ephemeral-storage: ${2##*:}, " ;; # fsize; --pids-limit is the cluster's matter
    --workdir) dir="workingDir: $(json "$2")" ;;
    --label) labels+="${2%%=*}: '', " notes+=$'\n'" ${2%%=*}: $(json "${2#*=}")" ;; # few values can be a label's
    --env-file) # NAME=VALUE in each line; $$ stands for $
      while IFS= read -r line; do value=${line#*=} env+=$'\n'" {name: \"${line%%=*}\", value: $(json "${value//\$/\$\$}")},"; done <"$2" ;;
    --volume)
      IFS=: read -r host path _ <<<"$2"
      if [[ $path == /logs/* ]]; then
        logs+="$path $host"$'\n' mounts+=$'\n'" {name: ${path##*/}, mountPath: $path}," volumes+="{name: ${path##*/}, emptyDir: {}}, "
      fi ;;
    esac
    shift 2
  done
  [[ $labels != *network:* ]] || kubectl get networkpolicy rollmill-no-network >/dev/null || die "make the policy that $0 shows"
  mkdir -p "$state" && printf %s "$logs" >"$state/logs"
  kubectl create -f - >/dev/null <<END
apiVersion: v1
kind: Pod
metadata: {name: $name, labels: {$labels}, annotations: {$notes}}
spec: {restartPolicy: Never, automountServiceAccountToken: false, enableServiceLinks: false, volumes: [$volumes], containers: [{name: main,
  image: $(json "$1")
  args: [$(for word in "${@:2}"; do json "$word"; done)], $dir resources: {limits: {$limits}}, env: [$env], volumeMounts: [$mounts]}]}
END
  is='{.status.phase} {.status.containerStatuses[*].state.*.reason} {.status.containerStatuses[*].state.*.message} {.status.conditions[*].message}'
  for _ in {1..600}; do # seconds, for a cluster that first adds a node
    status=$(kubectl get pod "$name" -o jsonpath="$is")
    case $status in
    Running*) exit ;;
    Failed* | Succeeded* | *BackOff* | *InvalidImageName* | *ErrImageNeverPull* | *CreateContainer*Error*) break ;;
    esac
    sleep 1
  done
  die "the pod does not run: $status" ;;
exec)
  script='' user='' code=0 # the pod's shell reads the script: no list of processes shows the values
  while [[ $1 == -* ]]; do
    case $1 in
    --user) user=$(quoted "$2") ;;
    --workdir) script+="cd $(quoted "$2") || exit 125"$'\n' ;;
    --env-file) while IFS= read -r line; do script+="export ${line%%=*}; ${line%%=*}=$(quoted "${line#*=}")"$'\n'; done <"$2" ;;
    esac
    shift 2
  done
  pod "$1"; shift
  [[ $1 != /run/rollmill/* ]] || die "a program in a pod cannot reach the recorder: use --harness shell"
  program="exec $(quoted "$@")"
  [ -z "$user" ] || script+="[ \$(id -u) = $user ] || [ \$(id -un) = $user ] || exec su -s /bin/sh $user -c $(quoted "$program") </dev/null 2>&1"$'\n'
  in_pod sh <<<"$script$program </dev/null 2>&1" 2>"$state/err" || code=$?
  ended='^command terminated with exit code' # what kubectl adds
  [ $code = 0 ] || grep -q "$ended" "$state/err" || code=125
  grep -v "$ended" "$state/err" >&2 || true
  collect
  exit $code ;;
cp)
  if [ "$2" = - ]; then
    pod "${1%%:*}" && in_pod tar -C "$(dirname "${1#*:}")" -cf - "$(basename "$1")" </dev/null
  else
    pod "${2%%:*}" && tar -C "$1" -cf - . | in_pod sh -c 'mkdir "$1" && tar -C "$1" -xof -' sh "${2#*:}"
  fi ;;
stop) pod "$1" && in_pod sh -c 'kill -KILL -1 || :' </dev/null 2>/dev/null ;; # all but the pod's first program, if the agent did not change sh
start) ;;
inspect | diff) die "it cannot tell what changed in a pod" ;;
ps) # --all --filter label=NAME --format ...
  label=${3#label=}
  kubectl get pods -l "$label" -o go-template="{{range .items}}{{.metadata.name}} $label={{index .metadata.annotations \"$label\"}}{{\"\\n\"}}{{end}}" ;;
rm) # --force --volumes NAMES
  kubectl delete pod --now --ignore-not-found "${@:3}" >/dev/null
  for name in "${@:3}"; do pod "$name"; rm -rf "$state"; done ;;
*) die "it has no command $command" ;;
esac
