package harbor

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/harbor"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/internal/containers"
	"github.com/rollmill/rollmill/storage/storagetest"
)

// kubectl is a cluster whose pods are podman's containers, without a folder of this
// machine. It takes what testdata/harbor/pods.sh says, and answers as kubectl does.
const kubectl = `#!/bin/bash
set -eu
here=$(dirname "$0") command=$1
shift
case $command in
version) echo Server Version: v1.32.0 ;;
create)
  words=() image='' name='' value='' first=''
  read -r first && [ "$first" = "apiVersion: v1" ] || exit 64
  while IFS= read -r line; do
    [[ ! $line =~ ^metadata:\ \{name:\ ([^,]*), ]] || name=${BASH_REMATCH[1]}
    [[ ! $line =~ ^\ \ image:\ \"(.*)\",\ $ ]] || image=${BASH_REMATCH[1]}
    [[ ! $line =~ rollmill.network:\ none ]] || words+=(--network none)
    [[ ! $line =~ memory:\ ([0-9]+)Mi ]] || words+=(--memory "${BASH_REMATCH[1]}m")
    [[ ! $line =~ ^\ (rollmill[^:]*):\ \"([^\"]*)\", ]] || words+=(--label "${BASH_REMATCH[1]}=${BASH_REMATCH[2]}")
    [[ ! $line =~ mountPath:\ ([^}]*) ]] || words+=(--tmpfs "${BASH_REMATCH[1]}:mode=0777")
    if [[ $line =~ ^\ \{name:\ \"(.*)\",\ value:\ \"(.*)\",\ \}, ]]; then
      value=${BASH_REMATCH[2]//\\\"/\"}
      words+=(--env "${BASH_REMATCH[1]}=$(printf %b "${value//\$\$/\$}")")
    fi
  done
  podman run --detach --pull never --name "$name" "${words[@]}" "$image" sh -c 'sleep infinity' 2>"$here/$name" || exit 0 ;;
get)
  case "$*" in
  "networkpolicy rollmill-no-network") test -e "$here/policy" ;;
  "pods -l "*) podman ps --all --filter "label=$3" --format "{{.Names}} $3={{index .Labels \"$3\"}}" ;;
  "pod "*) if [ -s "$here/$2" ]; then echo "Pending ImagePullBackOff $(cat "$here/$2")"; else echo Running; fi ;;
  *) exit 64 ;;
  esac ;;
exec)
  [ "$1 $3 $4 $5" = "-i -c main --" ] || exit 64
  podman container exists "$2" || { echo "Error from server (NotFound): pods \"$2\" not found" >&2; exit 1; }
  podman exec -i "$2" "${@:6}" || { code=$?; echo "command terminated with exit code $code" >&2; exit $code; } ;;
delete)
  [ "$1 $2 $3" = "pod --now --ignore-not-found" ] || exit 64
  podman rm --force --ignore --time 0 "${@:4}" ;;
*) exit 64 ;;
esac
`

// cluster puts kubectl first in PATH, and returns its folder and the runtime of pods.sh.
func cluster(t *testing.T) (dir, runtime string) {
	t.Helper()
	manyContainers(t)
	dir = t.TempDir()
	storagetest.Program(t, filepath.Join(dir, "kubectl"), kubectl)
	if err := os.WriteFile(filepath.Join(dir, "policy"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("TMPDIR", t.TempDir())
	return dir, "command: " + root("pods.sh")
}

// pushed copies a test task; the cluster has its image. More lines belong to its environment.
func pushed(t *testing.T, task, image, more string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), task)
	if err := os.CopyFS(dir, os.DirFS(root("tasks", task))); err != nil {
		t.Fatal(err)
	}
	read, err := harbor.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if image == "" {
		if image, err = made(t, nil).(*agent).TaskImage(t.Context(), read); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.OpenFile(filepath.Join(dir, "task.toml"), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString("docker_image = \"" + image + "\"\n" + more)
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestPods solves tasks in pods, and by nothing.
func TestPods(t *testing.T) {
	dir, pods := cluster(t)
	const greeting = "it's \"$(HOME)\" $$ \\ é 2"
	a := made(t, func(s *Settings) { s.Runtime, s.TaskEnv = pods, []string{"GREETING=" + greeting} }).(*agent)
	for task, c := range map[string]struct{ solved, undone map[string]float64 }{
		"write-file": {map[string]float64{"reward": 1}, map[string]float64{"reward": 0}},
		"fix-test":   {map[string]float64{"reward": 1, "others": 1}, map[string]float64{"reward": 0, "others": 0.75}},
	} {
		folder := pushed(t, task, "", "env = { GREETING = \"${GREETING}\" }\n[solution]\nenv = {}\n")
		solution, err := os.ReadFile(filepath.Join(folder, "solution", "solve.sh"))
		if err != nil {
			t.Fatal(err)
		}
		result, rec, err := attempt(t, a, folder, says("ls /tests; printf '[%s]' \"$GREETING\"; exit 3",
			string(solution), "echo kept >/logs/agent/kept; ln -s /etc /logs/agent/away; mkfifo /logs/agent/pipe"))
		if err != nil || cmp.Diff(c.solved, result.Rewards) != "" {
			t.Fatalf("%s solved: %v: %v", task, err, result.Rewards)
		}
		if said := rec.Messages[3].Content; !strings.HasSuffix(said, "["+greeting+"]\nexit code 3") || !strings.Contains(said, "No such file") {
			t.Errorf("%s: it read %q", task, said)
		}
		if n := len(result.Artifacts); n != 2 || result.Artifacts[1] != (formats.Artifact{Name: "/logs/agent/kept", Bytes: 5, Content: "kept\n"}) {
			t.Errorf("%s: artifacts %+v", task, result.Artifacts)
		}
		if result, _, err = attempt(t, a, folder, says()); err != nil || cmp.Diff(c.undone, result.Rewards) != "" {
			t.Errorf("%s undone: %v: %v", task, err, result.Rewards)
		}
	}
	forger := forgers["text"] + " sleep 0.2"
	if result, _, err := attempt(t, a, pushed(t, "write-file", "", ""), says(forger)); err == nil || !strings.Contains(err.Error(), "processes running (s") {
		t.Errorf("a process wrote the reward: %v: %v", err, result.Rewards)
	}
	for name, c := range map[string]struct{ folder, harness, class, says string }{
		"no image":   {pushed(t, "write-file", "localhost/rollmill-test:none", ""), Shell, outcomes.FailStart, "ImagePullBackOff"},
		"Dockerfile": {root("tasks", "write-file"), Shell, outcomes.FailImage, "docker_image"},
		"inside":     {pushed(t, "write-file", "", ""), "true", outcomes.FailAgentExit, "use --harness shell"},
		"lines":      {pushed(t, "write-file", "", "env = { LINES = \"1\\n2\" }\n"), Shell, outcomes.FailStart, "variable LINES has several lines"},
		"network":    {pushed(t, "write-file", "", ""), Shell, outcomes.FailStart, "make the policy"},
	} {
		if name == "network" {
			os.Rename(filepath.Join(dir, "policy"), filepath.Join(dir, "kept"))
		}
		a := made(t, func(s *Settings) { s.Runtime, s.Harness = pods, c.harness })
		if _, _, err := attempt(t, a, c.folder, says()); class(err) != c.class || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: class %s, not %s: %v", name, class(err), c.class, err)
		}
		os.Rename(filepath.Join(dir, "kept"), filepath.Join(dir, "policy"))
	}
	all, err := made(t, nil).(*agent).Labelled(t.Context(), containers.OwnerLabel)
	for name, owner := range all {
		if owner == a.Owner() {
			t.Errorf("container %s is left", name)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "rollmill-pods-*", "*")); err != nil || len(left) > 0 {
		t.Errorf("%v: %v", err, left)
	}
}

// TestPodsCommands: users, exit codes and copies are those of podman.
func TestPodsCommands(t *testing.T) {
	_, pods := cluster(t)
	logs := filepath.Join(t.TempDir(), "verifier")
	if err := os.Mkdir(logs, 0o777); err != nil {
		t.Fatal(err)
	}
	r, err := containers.New(pods)
	if err != nil {
		t.Fatal(err)
	}
	const name = "rollmill-test-pod"
	t.Cleanup(func() { r.Remove(context.Background(), name) })
	if err := r.Start(t.Context(), containers.Container{Name: name, Image: testImage, Labels: map[string]string{"rollmill.test": "a%2Fb"}, Processes: 1,
		CPUs: 0.5, MemoryMB: 64, Mounts: []containers.Mount{{From: logs, To: "/logs/verifier"}}}); err != nil {
		t.Fatal(err)
	}
	if found, err := r.Labelled(t.Context(), "rollmill.test"); err != nil || cmp.Diff(map[string]string{name: "a%2Fb"}, found) != "" {
		t.Errorf("%v: %v", err, found)
	}
	for _, c := range []struct {
		user, script, out string
		code              int
	}{
		{"", "id -un", "root\n", 0},
		{"0", "id -un; exit 1", "root\n", 1},
		{"worker", "id -un; pwd; echo \"$A\" >/logs/verifier/a; exit 255", "worker\n/tmp\n", 255},
		{"", "kill -9 $$", "", killed},
		{"", "cat; echo out; echo err >&2; rm /logs/verifier/a", "out\nerr\n", 0},
	} {
		var out bytes.Buffer
		code, err := r.Exec(t.Context(), name, containers.Exec{Words: []string{"sh", "-c", c.script}, User: c.user, Workdir: "/tmp", Env: []string{"A=it's"}, Output: &out})
		if err != nil || code != c.code || out.String() != c.out {
			t.Errorf("%s: exit code %d, %v: %q", c.script, code, err, out.String())
		}
		if data, _ := os.ReadFile(filepath.Join(logs, "a")); string(data) != map[bool]string{true: "it's\n"}[c.user == "worker" || c.code == killed] {
			t.Errorf("%s: %q", c.script, data)
		}
	}
	from := root("tasks", "write-file", "tests")
	if err := r.CopyIn(t.Context(), name, from, "/tests"); err != nil {
		t.Fatal(err)
	}
	if err := r.CopyIn(t.Context(), name, from, "/tests"); err == nil {
		t.Error("a copy replaced a folder of the container")
	}
	var archive bytes.Buffer
	if err := r.CopyOut(t.Context(), name, "/tests", &archive); err != nil {
		t.Fatal(err)
	}
	list := exec.Command("tar", "-tf", "-")
	list.Stdin = &archive
	if out, err := list.CombinedOutput(); err != nil || string(out) != "tests/\ntests/test.sh\n" {
		t.Errorf("%v: %s", err, out)
	}
	if err := r.CopyOut(t.Context(), name, "/none", &archive); err == nil {
		t.Error("it copied what is not there")
	}
	if err := r.Remove(t.Context(), name, "rollmill-test-gone"); err != nil {
		t.Error(err)
	}
	if code, err := r.Exec(t.Context(), name, containers.Exec{Words: []string{"true"}, Output: &archive}); err == nil && code == 0 {
		t.Error("a pod that is gone ran a program")
	}
}
