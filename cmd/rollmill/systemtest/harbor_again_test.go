package systemtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/workspaces"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
	"github.com/rollmill/rollmill/storage/storagetest"
)

// againTask is a task with what its attempts do, of which there are three kinds.
type againTask struct {
	work  func(kind uint64) string
	tests string // a condition for bash
	more  string // of its Dockerfile
	keeps bool   // its metadata has keep_processes
	null  string // what the reason says, where the attempt cannot be verified again
}

func always(command string) func(uint64) string { return func(uint64) string { return command } }

// againTasks are one task for each way in which a workspace may be hard to keep or to restore.
func againTasks(unique string) map[string]againTask {
	const hello = `[ "$(cat hello.txt)" = hello ]`
	return map[string]againTask{
		"lax": {work: func(kind uint64) string {
			return []string{"touch hello.txt", "echo hello > hello.txt", "true"}[kind]
		}, tests: `[ -e hello.txt ]`},
		"times": {work: always("echo hello > hello.txt; touch -d '1970-01-02 00:00' hello.txt seed /app /etc/passwd"), tests: hello},
		"bin":   {work: always("rm -rf /usr/bin; echo hello > hello.txt"), tests: hello + ` && [ ! -e /usr/bin ]`, more: "RUN mkdir -p /usr/bin; cp /bin/busybox /usr/bin/tool\n"},
		"big": {work: func(kind uint64) string {
			return fmt.Sprintf("head -c %d /dev/urandom > big; sha256sum big > sum", []int{60_000_000, 1000, 0}[kind])
		}, tests: "sha256sum -c sum"},
		"many": {work: func(kind uint64) string {
			return fmt.Sprintf("mkdir d; for ((i = 0; i < %d; i++)); do echo $i > d/$i; done", []int{50_000, 100, 0}[kind])
		}, tests: `n=$(find d -type f | wc -l); [ $n -ge 100 ] && [ "$(cat d/$((n - 1)))" = $((n - 1)) ]`},
		"server": {work: always("mkdir www; echo hello > www/index.html; httpd -p 127.0.0.1:8083 -h /app/www"),
			tests: "wget -qO- http://127.0.0.1:8083/index.html | grep -q hello", keeps: true, null: "left processes running ("},
		"shm":  {work: always("echo hello > /dev/shm/hello.txt"), tests: "[ -e /dev/shm/hello.txt ]", keeps: true, null: "/dev/shm: "},
		"gone": {work: always("echo hello > hello.txt"), tests: hello, more: "RUN echo " + unique + " > /unique\n", null: "is not on this machine"},
	}
}

// writeAgain writes the tasks to a folder; all print the seed of the attempt.
func writeAgain(t *testing.T, tasks map[string]againTask) string {
	t.Helper()
	dir := t.TempDir()
	for name, a := range tasks {
		for file, text := range map[string]string{
			"task.toml": fmt.Sprintf("[task]\nname = \"again/%s\"\n[metadata]\nkeep_processes = %v\n[environment]\nmemory_mb = 512\n"+
				"network_mode = \"no-network\"\n", name, a.keeps),
			"instruction.md":         "Do " + name + "\n",
			"environment/Dockerfile": "FROM localhost/rollmill-test:base\nWORKDIR /app\n" + a.more,
			"tests/test.sh":          "#!/bin/bash\ncd /app; cat seed\n" + a.tests + "\necho $((1 - ($? != 0))) > /logs/verifier/reward.txt\n",
		} {
			at := filepath.Join(dir, name, file)
			if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
				t.Fatal(err)
			}
			storagetest.Program(t, at, text)
		}
	}
	return dir
}

var seedOf = regexp.MustCompile(`echo seed-(\d+) `)

// againEngine is a model whose attempts work at these tasks as their seeds decide.
func againEngine(t *testing.T, tasks map[string]againTask) *chaosEngine {
	t.Helper()
	e := newChaosEngine(t, 1, 0)
	e.Script = func(q recordertest.Request) recordertest.Reply {
		if len(q.Messages) < 2 || q.Messages[len(q.Messages)-1].Role == "tool" {
			return recordertest.Reply{Content: "It is done."}
		}
		words := strings.Fields(q.Messages[1].Content)
		seed, _ := strconv.ParseUint(string(q.Fields["seed"]), 10, 64)
		command := fmt.Sprintf("echo seed-%d > seed; ", seed) + tasks[words[len(words)-1]].work(seed%3)
		arguments, _ := json.Marshal(map[string]string{"command": "bash -c \"$(cat <<'END'\n" + command + "\nEND\n)\""})
		return recordertest.Reply{ToolCalls: []formats.ToolCall{{ID: "call-0", Name: "shell", Arguments: string(arguments)}}}
	}
	return e
}

// TestHarborAgain verifies attempts again: by the same tests, by stricter ones, and killed KILLS times.
func TestHarborAgain(t *testing.T) {
	containers(t)
	root := t.TempDir()
	tasks := againTasks(filepath.Base(filepath.Dir(root)) + strconv.FormatInt(time.Now().UnixNano(), 36))
	dir := writeAgain(t, tasks)
	e := againEngine(t, tasks)
	made := filepath.Join(root, "rollout")
	finish(t, []string{"rollout", "--examples", "harbor:" + dir, "--agent", "harbor", "--keep-workspace", "--generations", "3", "--url", e.URL(),
		"--model", "policy", "--run", "r", "--sampling-seed", "1", "--concurrency", "4", "--out", made})
	d, rows := trajectoriesAt(t, made)
	kept, err := workspaces.Open(t.Context(), d)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if w, ok := kept.Of(r.TrajectoryID); ok && r.ExampleID == "again/gone" {
			if out, err := exec.Command("podman", "rmi", "--force", w.ImageDigest).CombinedOutput(); err != nil && !strings.Contains(string(out), "not known") {
				t.Fatalf("%v: %s", err, out)
			}
		}
	}
	strict := writeAgain(t, map[string]againTask{"lax": {tests: `[ "$(cat hello.txt)" = hello ]`}})
	few := writeAgain(t, map[string]againTask{"lax": tasks["lax"], "times": tasks["times"]})
	args := func(out string, rewards ...string) []string {
		return append([]string{"score", "--in", made, "--max-failure-rate", "1", "--concurrency", "2", "--judge-cache", out + "-cache", "--out", out}, rewards...)
	}
	whole, killed := filepath.Join(root, "whole"), filepath.Join(root, "killed")
	finish(t, args(whole, "--reward", "same=harbor:"+dir, "--reward", "strict*0=harbor:"+strict+",repeat=2"))
	checkAgain(t, tasks, rows, whole)
	killAgain(t, rows, args(killed, "--reward", "v=harbor:"+few), killed)
}

// TestHarborGuide runs what the guide says of verifying again, on an engine and tasks of the test.
func TestHarborGuide(t *testing.T) {
	containers(t)
	page, err := os.ReadFile("../doc/guides/environments.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(page), "\n### Verified again\n")
	_, block, _ = strings.Cut(block, "```text\n")
	block, _, _ = strings.Cut(block, "```")
	lax := againTasks("")["lax"]
	e, dir := againEngine(t, map[string]againTask{"lax": lax}), t.TempDir()
	for name, tests := range map[string]string{"tasks": lax.tests, "stricter": `[ "$(cat hello.txt)" = hello ]`} {
		if err := os.Rename(writeAgain(t, map[string]againTask{"lax": {tests: tests}}), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	script := strings.NewReplacer("http://127.0.0.1:8000/v1", e.URL()+" --generations 3 --sampling-seed 1", "my-model", "policy").Replace(block)
	cmd := exec.Command("bash", "-euxc", script)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil || strings.Count(script, "rollmill") < 4 || !strings.Contains(string(out), "flip") {
		t.Errorf("%v:\n%s", err, out)
	}
}

// checkAgain compares the rewards with those of the attempts.
func checkAgain(t *testing.T, tasks map[string]againTask, rows []formats.Trajectory, at string) {
	t.Helper()
	scores, err := dataset.Open(t.Context(), at, dataset.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	scored, err := dataset.ReadAll[formats.Score](t.Context(), scores, "", scores.All())
	if err != nil || len(scored) != len(rows) {
		t.Fatalf("%d scores of %d rows: %v", len(scored), len(rows), err)
	}
	known, flips := map[string]int{}, 0
	for i, s := range scored {
		r, task := rows[i], tasks[strings.TrimPrefix(rows[i].ExampleID, "again/")]
		if r.Reward == nil {
			t.Errorf("%s: %s: %s", r.ExampleID, r.FailureClass, r.Error)
			continue
		}
		same, strict, flaky := s.Rewards[0], s.Rewards[1], s.Rewards[2]
		if lax := r.ExampleID == "again/lax"; flaky.Name != "strict_flaky" || lax != (strict.Value != nil) || lax != (flaky.Value != nil && *flaky.Value == 0) {
			t.Errorf("%s: %+v", r.ExampleID, s.Rewards)
			continue
		}
		if task.null != "" {
			if *r.Reward != 1 || same.Value != nil || !strings.Contains(same.Error, task.null) {
				t.Errorf("%s: %+v is not null with %q", r.ExampleID, same, task.null)
			}
			known[r.ExampleID]++
			continue
		}
		if same.Value == nil || *same.Value != *r.Reward {
			t.Errorf("%s: %+v, and the attempt's reward is %v", r.ExampleID, s.Rewards, *r.Reward)
			continue
		}
		if *same.Value == 1 {
			known[r.ExampleID]++
		}
		seed := seedOf.FindStringSubmatch(r.Messages[2].ToolCalls[0].Arguments)[1]
		if !strings.Contains(same.Reason, "seed-"+seed+"\n") {
			t.Errorf("%s: the tests of another attempt printed %q", r.ExampleID, same.Reason)
		}
		n, _ := strconv.ParseUint(seed, 10, 64)
		if r.ExampleID != "again/lax" {
			continue
		}
		if flipped := *strict.Value != *same.Value; flipped != (n%3 == 0) {
			t.Errorf("%s: work %d: the stricter tests give %v, and the others %v", r.ExampleID, n%3, *strict.Value, *same.Value)
		} else if flipped {
			flips++
		}
	}
	if flips == 0 || len(known) != len(tasks) {
		t.Errorf("%d rewards flipped; by task, %v are as they should be", flips, known)
	}
}

// killAgain kills score KILLS times. What was stored is not verified again.
func killAgain(t *testing.T, rows []formats.Trajectory, args []string, out string) {
	t.Helper()
	kills := 2
	if n, err := strconv.Atoi(os.Getenv("KILLS")); err == nil {
		kills = n
	}
	podman, err := exec.LookPath("podman")
	if err != nil {
		t.Fatal(err)
	}
	seen := filepath.Join(t.TempDir(), "seen")
	storagetest.Program(t, filepath.Join(filepath.Dir(seen), "podman"), fmt.Sprintf("#!/bin/sh\necho \"$@\" >>%s\nexec %s \"$@\"\n", seen, podman))
	t.Setenv("PATH", filepath.Dir(seen)+":"+os.Getenv("PATH"))
	ids := map[string]string{} // by seed
	for _, r := range rows {
		if r.Reward != nil {
			ids[seedOf.FindStringSubmatch(r.Messages[2].ToolCalls[0].Arguments)[1]] = r.TrajectoryID
		}
	}
	for kill := 0; ; kill++ {
		before := stored(t, out+"-cache", ids)
		if err := os.WriteFile(seen, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("rollmill", args...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		for over := false; !over; {
			select {
			case err := <-ended:
				if over = true; kill < kills || err != nil {
					t.Fatalf("kill %d: score ended before: %v", kill, err)
				}
			case <-time.After(10 * time.Millisecond):
				// The first two after another reward is stored, the others as soon as tests begin.
				grown := len(stored(t, out+"-cache", ids)) > len(before)
				if said, _ := os.ReadFile(seen); kill < kills && (grown || kill >= 2 && bytes.Contains(said, []byte("run "))) {
					syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
					<-ended
					over = true
				}
			}
		}
		for id := range judged(t, seen) {
			if before[id] {
				t.Errorf("kill %d: %s was verified again", kill, id)
			}
		}
		if kill == kills {
			return
		}
	}
}

// stored returns the trajectories whose rewards are stored.
func stored(t *testing.T, cache string, ids map[string]string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	filepath.WalkDir(cache, func(path string, _ os.DirEntry, err error) error {
		text, _ := os.ReadFile(path)
		if m := regexp.MustCompile(`seed-(\d+)\\n`).FindSubmatch(text); m != nil {
			found[ids[string(m[1])]] = true
		}
		return nil
	})
	return found
}

// judged returns the trajectories whose tests ran, as the words of podman tell.
func judged(t *testing.T, seen string) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(seen)
	if err != nil {
		t.Fatal(err)
	}
	of, found := map[string]string{}, map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if m := regexp.MustCompile(`^run .*--name (\S+) .*--label rollmill.trajectory=(\S+) `).FindStringSubmatch(line); m != nil {
			of[m[1]] = m[2]
		} else if m := regexp.MustCompile(`^exec .* (\S+) sh -c /tests/test.sh$`).FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			found[of[m[1]]] = true
		}
	}
	return found
}
