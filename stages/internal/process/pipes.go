package process

import (
	"context"
	"errors"
	"os"
	"runtime"
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
