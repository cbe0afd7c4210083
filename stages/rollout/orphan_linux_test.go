package rollout_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// TestNoOrphans: a program does not outlive a runner that is killed and can
// say nothing to it. It holds a pipe open, which ends with it.
func TestNoOrphans(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	runner := exec.Command(self, "-test.run=^$")
	runner.Env = append(os.Environ(), "ROLLOUT_TEST_PROGRAM=exec 3>"+pipe+"; echo here >&3; exec sleep 1000")
	if err := runner.Start(); err != nil {
		t.Fatal(err)
	}
	r, err := os.Open(pipe) // until the program opens its end
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	lines := bufio.NewReader(r)
	if line, err := lines.ReadString('\n'); err != nil || line != "here\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if err := runner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = runner.Wait() // killed
	if rest, err := io.ReadAll(lines); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
}
