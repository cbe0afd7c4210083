package systemtest

import (
	"errors"
	"github.com/rollmill/rollmill/storage/storagetest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// flushing is a stage that finishes its work after a signal, and returns its own code. It
// ends with its folder, should the script leave it alone.
const flushing = `#!/usr/bin/env bash
trap 'echo "$1" >> flushing; until [ -e go ] || [ ! -e started ]; do sleep 0.01; done; echo "$1" >> flushed; exit "${CODE:-75}"' TERM
echo "$1" >> started
for i in {1..3000}; do sleep 0.01; done
`

// TestStageFlushes checks that stage.sh waits until the stage has ended, however often
// it is told to stop, and also as process 1 of a container.
func TestStageFlushes(t *testing.T) {
	script, err := filepath.Abs("../../../pipelines/stage.sh")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		stage   string
		signals []syscall.Signal
		first   bool   // as process 1
		code    string // of the stage
		want    int
	}{
		"terminated":                          {stage: "rollout", signals: []syscall.Signal{syscall.SIGTERM}, want: 75},
		"terminated three times":              {stage: "score", signals: []syscall.Signal{syscall.SIGTERM, syscall.SIGTERM, syscall.SIGTERM}, want: 75},
		"interrupted":                         {stage: "rollout", signals: []syscall.Signal{syscall.SIGINT}, want: 75},
		"process 1":                           {stage: "rollout", first: true, signals: []syscall.Signal{syscall.SIGTERM}, want: 75},
		"the stage was done":                  {stage: "rollout", code: "0", signals: []syscall.Signal{syscall.SIGTERM}, want: 0},
		"of two commands, the second is left": {stage: "validation", code: "0", signals: []syscall.Signal{syscall.SIGTERM}, want: 143},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			at := func(name string) string { return filepath.Join(dir, name) }
			storagetest.Program(t, at("rollmill"), flushing)
			cmd := exec.CommandContext(t.Context(), script, test.stage, "0")
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "ROLLMILL="+at("rollmill"), "CONFIG=c", "ROOT=r", "CODE="+test.code)
			cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
			if test.first {
				isolate(cmd)
			}
			if err := cmd.Start(); test.first && errors.Is(err, os.ErrPermission) {
				t.Skip("this user may make no namespace: ", err)
			} else if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			await(t, at("started"))
			for range test.signals {
				if err := cmd.Process.Signal(test.signals[0]); err != nil {
					t.Fatal(err)
				}
			}
			await(t, at("flushing"))
			select {
			case err := <-ended:
				t.Fatalf("it ended before the stage did: %v", err)
			case <-time.After(100 * time.Millisecond):
			}
			if err := os.WriteFile(at("go"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			err := <-ended
			var exit *exec.ExitError
			if code := cmd.ProcessState.ExitCode(); code != test.want || err != nil && !errors.As(err, &exit) {
				t.Errorf("exit code %d, want %d: %v", code, test.want, err)
			}
			if text, err := os.ReadFile(at("flushed")); err != nil || strings.Count(string(text), "\n") != 1 {
				t.Errorf("flushed %q, %v", text, err)
			}
		})
	}
}

// await waits for a file that another process writes.
func await(t *testing.T, name string) {
	t.Helper()
	for begun := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(name); err == nil {
			return
		}
		if time.Since(begun) > time.Minute {
			t.Fatalf("%s does not appear", name)
		}
	}
}
