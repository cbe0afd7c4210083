package rollout

import (
	"bytes"
	"crypto/rand"
	"os"
	"strconv"
	"time"
)

// mark is a variable of a program's environment that everything it starts
// inherits. A process that left the program's group, as setsid does, is found
// by it where there is a /proc; elsewhere only the group ends.
type mark string

const markName = "_ROLLMILL_PROCESS_"

func newMark() mark { return mark(markName + rand.Text()) }

func (m mark) env() string { return string(m) + "=1" }

// kill ends every process that has the mark. A process may start another while
// this looks, so it looks until it finds none, for a second at most.
func (m mark) kill() {
	for end := time.Now().Add(time.Second); time.Now().Before(end) && m.killOnce(); {
	}
}

// killOnce reports whether there was any.
func (m mark) killOnce() (found bool) {
	all, err := os.Open("/proc")
	if err != nil {
		return false
	}
	defer all.Close()
	names, _ := all.Readdirnames(-1)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid == os.Getpid() {
			continue
		}
		if m.of(name) {
			found = killProcess(pid, m) || found
		}
	}
	return found
}

// killProcess holds on to the process before it looks again, so that it never
// ends another one that was given the number meanwhile.
func killProcess(pid int, m mark) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer p.Release()
	return m.of(strconv.Itoa(pid)) && p.Kill() == nil
}

// of reports whether a process has the mark. That of another user's cannot be
// read, and a process that has ended has no environment.
func (m mark) of(pid string) bool {
	environ, err := os.ReadFile("/proc/" + pid + "/environ")
	return err == nil && bytes.Contains(environ, []byte(m.env()))
}
