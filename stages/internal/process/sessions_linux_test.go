package process

import (
	"os"
	"os/exec"
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
	mine, other := newMark(), newMark()
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
	gone, stays := start(mine), start(other)
	defer other.kill()
	mine.kill()
	for end := time.Now().Add(10 * time.Second); mine.has(gone); {
		if time.Now().After(end) {
			t.Fatal("it survived")
		}
		time.Sleep(time.Millisecond)
	}
	if syscall.Kill(stays, 0) != nil {
		t.Error("another program's child was killed")
	}
}

// BenchmarkKillSessions is what looking through all processes of the machine costs, as
// is done once for each program that ended.
func BenchmarkKillSessions(b *testing.B) {
	m := newMark()
	all, _ := os.ReadDir("/proc")
	b.ReportMetric(float64(len(all)), "entries")
	for b.Loop() {
		m.kill()
	}
}
