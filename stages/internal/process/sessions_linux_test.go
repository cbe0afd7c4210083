package process

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestAChildInASessionOfItsOwnIsFound(t *testing.T) {
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip(err)
	}
	own, other := newMark(false), newMark(false)
	start := func(m mark) int {
		cmd := exec.Command("sh", "-c", "setsid sleep 600 >/dev/null 2>&1 & echo $!")
		cmd.Env = append(os.Environ(), m.env())
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
		if err != nil {
			t.Fatal(err)
		}
		return pid
	}
	gone, stays := start(own), start(other)
	defer other.kill()
	own.kill()
	for end := time.Now().Add(10 * time.Second); marked(own, gone); {
		if time.Now().After(end) {
			t.Fatal("it survived")
		}
		time.Sleep(time.Millisecond)
	}
	if syscall.Kill(stays, 0) != nil {
		t.Error("another program's child was killed")
	}
}

func marked(m mark, pid int) bool {
	has, known := m.has(pid)
	return has || !known
}

// TestAProcessInExecveIsFound: while a process becomes another program, its
// environment reads as empty. This one does nothing else.
func TestAProcessInExecveIsFound(t *testing.T) {
	again := filepath.Join(t.TempDir(), "again.sh")
	if err := os.WriteFile(again, []byte("exec sh "+again+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 50 {
		m := newMark(false)
		cmd := exec.Command("sh", again)
		cmd.Env = append(os.Environ(), m.env())
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.IntN(5_000)) * time.Microsecond) // any moment of its life
		m.kill()
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			cmd.Process.Kill()
			t.Fatal("it survived")
		}
	}
}

// BenchmarkKillSessions is what looking through all processes of the machine costs, as
// is done once for each program that ended.
func BenchmarkKillSessions(b *testing.B) {
	m := newMark(false)
	all, _ := os.ReadDir("/proc")
	b.ReportMetric(float64(len(all)), "entries")
	for b.Loop() {
		m.kill()
	}
}
