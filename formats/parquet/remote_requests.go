package parquet

import (
	"cmp"
	"io"
	"slices"
	"sync"
)

// pool is what the streams of files that are read one after another share: the
// memory of their pieces, and the requests that fetch them, atOnce at the same
// time and in the order in which the pieces began. Only the requests run in
// other goroutines than the reader's.
type pool struct {
	held, maxHeld int64    // bytes of the pieces that were begun, now and at most
	free          [][]byte // by size
	spare         int64    // bytes of these

	mu      sync.Mutex
	queue   []*piece // begun, and no request for them yet
	workers int
}

// begin fetches a piece from a file. The pool keeps to the limit by giving up
// what is free.
func (o *pool) begin(p *piece, src io.ReaderAt, limit int64) {
	p.begun, p.src = true, src
	p.data = o.buffer(p.end-p.off, limit)
	o.held += int64(cap(p.data))
	o.maxHeld = max(o.maxHeld, o.held)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queue = append(o.queue, p)
	if o.workers < atOnce {
		o.workers++
		go o.work()
	}
}

// buffer returns room for a piece: the smallest that is free and fits, or else
// new memory.
func (o *pool) buffer(size, limit int64) []byte {
	for i, b := range o.free {
		if n := int64(cap(b)); n >= size && n <= size*5/4 {
			o.free, o.spare = slices.Delete(o.free, i, i+1), o.spare-n
			return b[:size]
		}
	}
	for len(o.free) > 0 && o.held+o.spare+size > limit {
		o.spare -= int64(cap(o.free[0]))
		o.free = o.free[1:]
	}
	return make([]byte, size)
}

// recycle takes back the memory of a piece that nobody reads any more.
func (o *pool) recycle(p *piece) {
	o.held -= int64(cap(p.data))
	if !p.fetched() {
		return // a request may still write there
	}
	i, _ := slices.BinarySearchFunc(o.free, cap(p.data), func(b []byte, n int) int { return cmp.Compare(cap(b), n) })
	o.free = slices.Insert(o.free, i, p.data)
	o.spare += int64(cap(p.data))
	p.data = nil
}

// forget ends pieces, whether they are fetched or not. No request begins for
// them any more.
func (o *pool) forget(pieces []*piece) {
	o.mu.Lock()
	o.queue = slices.DeleteFunc(o.queue, func(p *piece) bool { return slices.Contains(pieces, p) })
	o.mu.Unlock()
	for _, p := range pieces {
		if p.begun {
			o.recycle(p)
		}
	}
}

// work fetches until nothing waits.
func (o *pool) work() {
	for p := o.next(); p != nil; p = o.next() {
		p.err = readAt(p.src, p.data, p.off)
		close(p.done)
	}
}

func (o *pool) next() *piece {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.queue) == 0 {
		o.workers--
		return nil
	}
	p := o.queue[0]
	o.queue = o.queue[1:]
	return p
}

// fetched reports whether a piece's request has ended.
func (p *piece) fetched() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}
