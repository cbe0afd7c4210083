package process

import (
	"bytes"
	"crypto/rand"
	"os"
	"strconv"
	"time"
)

// mark is an environment variable that is unique to one program. Children
// inherit the environment, so every process with the variable was started by
// the program, even if it has a session of its own, as after setsid, and left
// the group.
//
// Processes are searched in /proc, which Linux has; elsewhere only the group
// can be killed. A process that cleared its environment is not found: this is
// for programs that forget their children, not for hostile ones. A cgroup would
// find those too, but needs rights that a batch job often lacks;
// PR_SET_CHILD_SUBREAPER would make all of them children of this process,
// without showing which program started them.
type mark string

func newMark() mark { return mark("_ROLLMILL_PROCESS_" + rand.Text()) }

// env returns the variable for the program's environment.
func (m mark) env() string { return string(m) + "=1" }

// kill kills every process that has the mark. A process may start another one
// in the meantime, so it repeats until there is none, for a second at most.
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
		if err != nil || pid == os.Getpid() || !m.has(pid) {
			continue
		}
		found = m.end(pid) || found
	}
	return found
}

// end opens the process before it checks the mark again, so that it never ends
// another one that got the same number in the meantime.
func (m mark) end(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer p.Release()
	return m.has(pid) && p.Kill() == nil
}

// has reports whether a process has the mark. Another user's environment cannot
// be read, and an ended process has none.
func (m mark) has(pid int) bool {
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && bytes.Contains(environ, []byte(m.env()))
}
