package agents

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"sync"
	"time"
)

// errorStream is the standard error of a process that serves one trajectory
// after another: each part is written to the log of the trajectory that it
// belongs to.
type errorStream struct {
	read, write *os.File
	done        chan struct{} // closed when nothing more will come
	synced      chan struct{}

	mu    sync.Mutex
	w     io.Writer // nil discards, but for what comes before the first
	used  bool      // there was a first
	early []byte    // what came before it, for it: a program may fail before it is asked
}

// maxEarly is how many bytes are kept for the first writer.
const maxEarly = 64 << 10

// syncMark is written into the pipe by this process. When it arrives,
// everything that the program wrote before has arrived.
var syncMark = []byte("\x00\x00rollmill: so far\x00\x00")

func newErrorStream() (*errorStream, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	c := &errorStream{read: r, write: w, done: make(chan struct{}), synced: make(chan struct{}, 1)}
	go c.copy()
	return c, nil
}

func (c *errorStream) to(w io.Writer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.w = w; w != nil && !c.used {
		c.used = true
		_, _ = w.Write(c.early) // as in hand
		c.early = nil
	}
}

// sync waits until everything that the process wrote so far has been copied.
func (c *errorStream) sync() {
	if _, err := c.write.Write(syncMark); err != nil {
		<-c.done // the process has ended
		return
	}
	select {
	case <-c.synced:
	case <-c.done:
	}
}

// close is called when the process has ended. It waits no longer than grace for
// other processes that hold the pipe.
func (c *errorStream) close(grace time.Duration) {
	c.write.Close()
	c.read.SetReadDeadline(time.Now().Add(grace))
	<-c.done
	c.read.Close()
}

func (c *errorStream) copy() {
	defer close(c.done)
	in := bufio.NewReaderSize(c.read, 32<<10)
	for {
		if _, err := in.Peek(1); err != nil {
			return
		}
		data, _ := in.Peek(in.Buffered())
		if at := bytes.IndexByte(data, syncMark[0]); at > 0 {
			data = data[:at]
		} else if at == 0 {
			if mark, _ := in.Peek(len(syncMark)); bytes.Equal(mark, syncMark) {
				_, _ = in.Discard(len(mark)) // it is there
				c.synced <- struct{}{}
				continue
			}
			data = data[:1]
		}
		c.hand(data)
		_, _ = in.Discard(len(data))
	}
}

func (c *errorStream) hand(p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.w != nil && len(p) > 0:
		c.w.Write(p)
	case !c.used:
		c.early = append(c.early, p[:min(len(p), maxEarly-len(c.early))]...)
	}
}
