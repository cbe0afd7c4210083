// Package offspring ends what a program started and left behind. A process
// group is not enough: a child that took a session of its own, as setsid does,
// has left the group. Every child inherits the environment, so the program is
// started with a variable that nothing else has, and whoever has it is killed.
//
// It looks in /proc, which Linux has; elsewhere only the group can be killed,
// which is for the caller. A process that cleared its environment is not found:
// this is for programs that forget their children, not for hostile ones. A
// cgroup would find those too, but needs rights that a batch job often lacks;
// PR_SET_CHILD_SUBREAPER would make all of them children of this process, and
// not say whose they were.
package offspring

import (
	"bytes"
	"crypto/rand"
	"os"
	"strconv"
	"time"
)

// Mark is the variable of one program.
type Mark string

// New returns a mark that no other program has.
func New() Mark { return Mark("_ROLLMILL_PROCESS_" + rand.Text()) }

// Env is the variable for the program's environment.
func (m Mark) Env() string { return string(m) + "=1" }

// Kill kills every process that has the mark. One may start another while it
// looks, so it looks again until there is none, for a second at most.
func (m Mark) Kill() {
	for end := time.Now().Add(time.Second); time.Now().Before(end) && m.killOnce(); {
	}
}

// killOnce reports whether there was any.
func (m Mark) killOnce() (found bool) {
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
func (m Mark) end(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer p.Release()
	return m.has(pid) && p.Kill() == nil
}

// has reports whether a process has the mark. Another user's cannot be read,
// and one that has ended has no environment.
func (m Mark) has(pid int) bool {
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && bytes.Contains(environ, []byte(m.Env()))
}
