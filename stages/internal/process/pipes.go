package process

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"syscall"
)

// StartPiped is Start with pipes for standard input and output, for a program
// that answers requests while it runs. The caller closes both ends. size is the
// capacity of each pipe, as far as the system allows it; 0 leaves the default.
func (p Program) StartPiped(ctx context.Context, size int) (_ *Process, in, out *os.File, err error) {
	read, in, err := pipe(size)
	if err != nil {
		return nil, nil, nil, err
	}
	defer read.Close()
	out, write, err := pipe(size)
	if err != nil {
		return nil, nil, nil, errors.Join(err, in.Close())
	}
	defer write.Close()
	p.Stdin, p.Stdout = read, write
	s, err := p.Start(ctx)
	if err != nil {
		in.Close()
		out.Close()
		return nil, nil, nil, err
	}
	return s, in, out, nil
}

func pipe(size int) (read, write *os.File, err error) {
	if read, write, err = os.Pipe(); err != nil || size == 0 || runtime.GOOS != "linux" {
		return read, write, err
	}
	const setSize = 1031 // F_SETPIPE_SZ
	if conn, err := write.SyscallConn(); err == nil {
		_ = conn.Control(func(fd uintptr) { // if refused, the size is unchanged
			_, _, _ = syscall.Syscall(syscall.SYS_FCNTL, fd, setSize, uintptr(size))
		})
	}
	return read, write, nil
}

// Head keeps the beginning of what is written, up to Limit bytes.
type Head struct {
	strings.Builder
	Limit int
	Total int64  // bytes written
	Over  func() // called when more than Limit were written; may be nil
}

// Write never fails.
func (h *Head) Write(p []byte) (int, error) {
	before := h.Total
	h.Total += int64(len(p))
	h.Builder.Write(p[:min(len(p), h.Limit-h.Len())])
	if limit := int64(h.Limit); h.Over != nil && before <= limit && h.Total > limit {
		h.Over()
	}
	return len(p), nil
}

const (
	maxLogged = 1 << 20 // bytes of a program's standard error in the log
	maxLine   = 4 << 10 // a longer line is logged in pieces
)

// lines logs each line that is written to it. It never fails.
type lines struct {
	log  *slog.Logger
	left int // bytes that may still be logged
	rest []byte
}

func (l *lines) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		line, after, ends := bytes.Cut(rest, []byte("\n"))
		if space := maxLine - len(l.rest); len(line) > space {
			line, after, ends = rest[:space], rest[space:], true
		}
		l.rest, rest = append(l.rest, line...), after
		if ends {
			l.flush()
		}
	}
	return len(p), nil
}

func (l *lines) flush() {
	text := strings.TrimRight(strings.ToValidUTF8(string(l.rest), "\uFFFD"), "\r\n")
	l.rest = l.rest[:0]
	if text == "" || l.left <= 0 {
		return
	}
	l.log.Debug("stderr", "line", text)
	if l.left -= len(text); l.left <= 0 {
		l.log.Debug("stderr: the program has written too much; the rest is not logged", "bytes", maxLogged)
	}
}
