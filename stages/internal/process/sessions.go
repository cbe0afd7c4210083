package process

import (
	"bytes"
	"crypto/rand"
	"os"
	"strconv"
	"sync"
	"time"
)

// mark is an environment variable that is unique to one program. Children inherit the
// environment, so every process with the variable was started by the program, even if it has a
// session of its own, as after setsid, and left the group.
//
// Processes are searched in /proc, which Linux has; elsewhere only the group can be killed. A
// process that cleared its environment is not found: this is for programs that forget their
// children, not for hostile ones. A cgroup would find those too, but needs rights that a batch
// job often lacks; PR_SET_CHILD_SUBREAPER would make all of them children of this process,
// without showing which program started them.
type mark string

// family begins the marks of programs of which nothing is to outlive this process; see guardian.
var family = "_ROLLMILL_PROCESS_" + rand.Text()

func newMark(keep bool) mark {
	if keep {
		return mark("_ROLLMILL_KEPT_" + rand.Text())
	}
	return mark(family + rand.Text())
}

func (m mark) env() string { return string(m) + "=1" }

// kill kills every process that has the mark. A process may start another one
// in the meantime, so it repeats until there is none, for a second at most.
func (m mark) kill() {
	for end := time.Now().Add(time.Second); time.Now().Before(end) && m.killOnce(); {
	}
}

// killOnce reports whether to look again: there was a process with the mark, or
// one that cannot be told yet.
func (m mark) killOnce() (again bool) {
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
		has, known := m.has(pid)
		again = again || !known || has && m.end(pid)
	}
	return again
}

// end opens the process before it checks the mark again, so that it never ends another one that
// got the same number in the meantime. It reports whether to look again.
func (m mark) end(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer p.Release()
	has, known := m.has(pid)
	return !known || has && p.Kill() == nil
}

// has reports whether a process has the mark, and whether that is known: its
// environment may read as empty while it becomes another program by execve.
// Another user's environment cannot be read, and an ended process has none.
func (m mark) has(pid int) (has, known bool) {
	text := environs.Get().(*bytes.Buffer)
	defer environs.Put(text)
	err := readWhole("/proc/"+strconv.Itoa(pid)+"/environ", text)
	if err != nil || text.Len() > 0 {
		return bytes.Contains(text.Bytes(), []byte(m.env())), true
	}
	return false, noEnviron(pid)
}

// readWhole reads a file of /proc in one call, if it has no more than 32 KiB: in several calls,
// the process may become another program between two of them, and the second one finds an end.
func readWhole(name string, text *bytes.Buffer) error {
	text.Reset()
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = text.ReadFrom(f)
	return err
}

// environs are buffers for readWhole: each program's end reads the environment of every
// process of this machine.
var environs = sync.Pool{New: func() any { return bytes.NewBuffer(make([]byte, 0, 32<<10+bytes.MinRead)) }}

// noEnviron reports whether a process has no environment: it has no memory, as
// one of the kernel or one that has ended, or an empty place for it. In execve
// that place may be empty for a moment, until the new program's code has one.
func noEnviron(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return true
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) // the name in parentheses may hold spaces
	const vsize, code, start, end = 23 - 3, 26 - 3, 50 - 3, 51 - 3  // proc(5) counts from 1; the first here is the third
	if len(fields) <= end || string(fields[vsize]) == "0" {
		return true
	}
	return string(fields[code]) != "0" && bytes.Equal(fields[start], fields[end])
}
