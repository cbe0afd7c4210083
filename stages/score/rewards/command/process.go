package command

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/stages/internal/offspring"
)

const (
	stderrEnd = 1024 // bytes of stderr kept for errors
)

// process is one running program; one goroutine talks to it at a time.
type process struct {
	cmd     *exec.Cmd
	mark    offspring.Mark
	in      io.WriteCloser
	out     *os.File
	wire    wire
	replies chan reply
	stderr  tail
	asked   int // rows it was asked about
	killed  bool
	done    chan struct{}   // closed when it has ended
	seen    map[string]bool // ids of the batch before: a second answer is no news
}

// start runs the program in a process group of its own, which ends with this
// process, and so does what left the group; pass names the
// variables that it gets although they are called as secrets are.
func start(w wire, words, pass []string, env ...string) (*process, error) {
	p := &process{wire: w, mark: offspring.New(), cmd: exec.Command(words[0], words[1:]...), replies: make(chan reply, 64), done: make(chan struct{})}
	if errors.Is(p.cmd.Err, exec.ErrDot) {
		p.cmd.Err = nil
	}
	p.cmd.Env = append(append(secret.Environ(pass...), env...), p.mark.Env())
	p.cmd.SysProcAttr = offspring.Leader()
	p.cmd.Stderr = &p.stderr
	p.cmd.WaitDelay = grace // for children that hold stderr open
	read, in, err := pipe()
	if err != nil {
		return nil, err
	}
	out, write, err := pipe()
	if err != nil {
		return nil, errors.Join(err, read.Close(), in.Close())
	}
	p.in, p.cmd.Stdin, p.out, p.cmd.Stdout = in, read, out, write
	if err := errors.Join(p.cmd.Start(), read.Close(), write.Close()); err != nil {
		in.Close()
		out.Close()
		return nil, err
	}
	go p.read()
	go p.wait()
	return p, nil
}

// pipe is one that holds as much as the system lets it: with the usual 64 KiB a
// batch of wide rows takes dozens of turns.
func pipe() (read, write *os.File, err error) {
	const setSize, size = 1031, 1 << 20 // F_SETPIPE_SZ
	if read, write, err = os.Pipe(); err != nil || runtime.GOOS != "linux" {
		return read, write, err
	}
	if conn, err := write.SyscallConn(); err == nil {
		_ = conn.Control(func(fd uintptr) { // refused, it stays as it was
			_, _, _ = syscall.Syscall(syscall.SYS_FCNTL, fd, setSize, size)
		})
	}
	return read, write, nil
}

// read passes the program's answers on until its output ends or is closed.
func (p *process) read() {
	defer close(p.replies)
	p.wire.read(p.out, func(r reply) { p.replies <- r })
}

// wait notices the program's end, and ends what it left running.
func (p *process) wait() {
	p.cmd.Wait()
	p.signal()
	p.mark.Kill()
	close(p.done)
}

func (p *process) signal() { syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }

// kill ends the program and all it started, after the time it is given to end
// by itself. It may be called twice.
func (p *process) kill(grace time.Duration) {
	if p.killed {
		return
	}
	p.killed = true
	p.in.Close()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	for replies, ended := p.replies, false; !ended; {
		select {
		case <-p.done:
			ended = true
		case <-timer.C:
			p.signal()
		case _, more := <-replies: // so that it does not wait for us
			if !more {
				replies = nil
			}
		}
	}
	p.out.Close()
	for range p.replies { // the reader ends
	}
}

// explain says what went wrong, with the end of what the program wrote to
// stderr. Only after kill.
func (p *process) explain(f *failure) error {
	text := f.Error()
	if f.ended {
		text += ": " + p.cmd.ProcessState.String()
	}
	if said := p.stderr.String(); said != "" {
		text += "; stderr ends: " + said
	}
	return errors.New(text)
}

// tail keeps the end of what is written to it.
type tail struct {
	mu  sync.Mutex
	end []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.end = append(t.end, b...); len(t.end) > 2*stderrEnd {
		t.end = append([]byte(nil), t.end[len(t.end)-stderrEnd:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	end := t.end
	if len(end) > stderrEnd {
		end = end[len(end)-stderrEnd:]
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(end), "\uFFFD"))
}
