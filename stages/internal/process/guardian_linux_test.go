package process

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if script := os.Getenv("PROCESS_TEST_RUNNER"); script != "" {
		runner(script)
	}
	os.Exit(m.Run())
}

// runner starts a program for each line, and is killed.
func runner(scripts string) {
	for script := range strings.Lines(scripts) {
		s, err := shell(script).Start(context.Background())
		if err != nil {
			panic(err)
		}
		if strings.HasPrefix(script, ":") { // ends before the next begins
			_ = s.Wait()
		}
	}
	os.Stdout.WriteString("up\n")
	select {}
}

// held returns a pipe that ends with the last process that has it open as descriptor 3.
func held(t *testing.T) (path string, lines func() *bufio.Reader) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, func() *bufio.Reader {
		r, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close() })
		r.SetReadDeadline(time.Now().Add(30 * time.Second))
		return bufio.NewReader(r)
	}
}

// killed starts a runner, waits until each program has said a line, and kills it.
func killed(t *testing.T, lines func() *bufio.Reader, says int, scripts ...string) *bufio.Reader {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), "PROCESS_TEST_RUNNER="+strings.Join(scripts, "\n"))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := lines()
	for range says {
		if _, err := r.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	if up, err := bufio.NewReader(out).ReadString('\n'); err != nil || up != "up\n" {
		t.Fatal(up, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	return r
}

// TestNothingOutlivesAKill: neither programs that ignore SIGTERM nor what they started, in their groups or in sessions of
// their own.
func TestNothingOutlivesAKill(t *testing.T) {
	pipe, lines := held(t)
	stubborn := "trap '' TERM; exec 3>" + pipe + "; echo here >&3; while :; do sleep 1000; done"
	left := "exec 3>" + pipe + "; sh -c \"trap '' TERM; echo here >&3; while :; do sleep 1000; done\" & exec sleep 1000"
	away := "exec 3>" + pipe + "; setsid sh -c \"trap '' TERM; echo here >&3; while :; do sleep 1000; done\" & exec sleep 1000"
	r := killed(t, lines, 4, ": ended before", stubborn, left, away, stubborn)
	if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
		t.Errorf("%q, %v", rest, err)
	}
}

// TestAProgramThatWasNotNotedIsFound, as one that began a moment before the kill.
func TestAProgramThatWasNotNotedIsFound(t *testing.T) {
	var g guardian
	g.start()
	cmd := exec.Command("sh", "-c", "trap '' TERM; while :; do sleep 1000; done")
	cmd.Env = append(os.Environ(), newMark(false).env())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	g.pipe.Close()
	if err := cmd.Wait(); err == nil || err.Error() != "signal: killed" {
		t.Error(err)
	}
}

// TestAProgramThatEndsItselfAfterAKillMay: it has SIGTERM, and the time to end in order.
func TestAProgramThatEndsItselfAfterAKillMay(t *testing.T) {
	pipe, lines := held(t)
	r := killed(t, lines, 1, "exec 3>"+pipe+"; trap 'sleep 0.2; echo end >&3; exit' TERM; echo here >&3; while :; do sleep 0.05; done")
	if rest, err := io.ReadAll(r); err != nil || string(rest) != "end\n" {
		t.Errorf("%q, %v", rest, err)
	}
}

// TestGroupsThatEndedAreLeftAlone: their numbers may belong to others.
func TestGroupsThatEndedAreLeftAlone(t *testing.T) {
	var g guardian
	g.start()
	begin := func() *exec.Cmd {
		cmd := exec.Command("sleep", "1000")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		return cmd
	}
	removed, again, kept := begin(), begin(), begin()
	for _, pid := range []int{removed.Process.Pid, again.Process.Pid, kept.Process.Pid} {
		g.note('+', pid)
	}
	g.note('-', removed.Process.Pid)
	g.note('-', removed.Process.Pid) // twice is once
	g.note('-', again.Process.Pid)
	g.note('+', again.Process.Pid)
	g.pipe.Close()
	for _, c := range []*exec.Cmd{again, kept} {
		if err := c.Wait(); err == nil || err.Error() != "signal: terminated" {
			t.Errorf("a group that there is ended as %v", err)
		}
	}
	if err := removed.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("a removed group: %v", err)
	}
}

// TestAKilledGuardianIsReplaced by the next program.
func TestAKilledGuardianIsReplaced(t *testing.T) {
	var g guardian
	g.start()
	g.pipe.Close() // as if its reader had gone
	g.note('+', 1<<30)
	if g.pipe != nil {
		t.Error("it has a pipe that nobody reads")
	}
	if g.start(); g.pipe == nil {
		t.Error("there is none")
	}
	g.pipe.Close()
}
