package agents

import (
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
	buffer := make([]byte, 32<<10)
	var held []byte // the beginning of what may become a mark
	for {
		n, err := c.read.Read(buffer)
		data := append(held, buffer[:n]...)
		for {
			at := bytes.Index(data, syncMark)
			if at < 0 {
				break
			}
			c.hand(data[:at])
			c.synced <- struct{}{}
			data = data[at+len(syncMark):]
		}
		if err != nil {
			c.hand(data)
			return
		}
		keep := markPrefix(data)
		c.hand(data[:len(data)-keep])
		held = bytes.Clone(data[len(data)-keep:])
	}
}

// markPrefix returns the length of the longest suffix of data that is a prefix
// of the mark.
func markPrefix(data []byte) int {
	for n := min(len(data), len(syncMark)-1); n > 0; n-- {
		if bytes.HasSuffix(data, syncMark[:n]) {
			return n
		}
	}
	return 0
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
