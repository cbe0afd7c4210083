package process

import (
	"bytes"
	"crypto/rand"
	"os"
	"strconv"
	"time"
)

// mark is an environment variable that one program has. Every child inherits
// the environment, so whatever has the variable was started by the program,
// also when it took a session of its own, as setsid does, and left the group.
//
// Processes are looked for in /proc, which Linux has; elsewhere only the group
// can be killed. A process that cleared its environment is not found: this is
// for programs that forget their children, not for hostile ones. A cgroup would
// find those too, but needs rights that a batch job often lacks;
// PR_SET_CHILD_SUBREAPER would make all of them children of this process, and
// not say whose they were.
type mark string

func newMark() mark { return mark("_ROLLMILL_PROCESS_" + rand.Text()) }

// env is the variable for the program's environment.
func (m mark) env() string { return string(m) + "=1" }

// kill kills every process that has the mark. One may start another meanwhile,
// so it looks again until there is none, for a second at most.
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

// end holds on to the process before it looks again, so that it never ends
// another one that was given the number meanwhile.
func (m mark) end(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer p.Release()
	return m.has(pid) && p.Kill() == nil
}

// has reports whether a process has the mark. Another user's cannot be read,
// and one that has ended has no environment.
func (m mark) has(pid int) bool {
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && bytes.Contains(environ, []byte(m.env()))
}
