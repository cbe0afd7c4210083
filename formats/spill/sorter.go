package spill

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
)

// Record is a record to sort. Records with equal keys come in any order.
type Record struct{ Key, Value []byte }

// Key appends numbers to a key, which sort as they are.
func Key(b []byte, all ...uint64) []byte {
	for _, x := range all {
		b = binary.BigEndian.AppendUint64(b, x)
	}
	return b
}

// Sorter sorts records by key, byte by byte. First everything is added, then
// everything is read; it is for one goroutine.
type Sorter struct {
	memory int64
	file   file
	arena  []byte
	list   []entry
}

// entry is the position of a record in the arena. Most keys differ in the first
// eight bytes, which are compared without a look at the arena.
type entry struct {
	prefix uint64
	at     int
	key    int32
	value  int32
}

const entryBytes = 24

// New returns a sorter that spills to dir ("": the system's) what exceeds
// about so many bytes of memory. It must be closed.
func New(dir string, memory int64) *Sorter {
	return &Sorter{memory: memory, file: file{dir: dir}}
}

// Add copies a record.
func (s *Sorter) Add(key, value []byte) error {
	need := len(key) + len(value)
	if len(s.list) > 0 && int64(len(s.arena)+need)+int64(len(s.list)+1)*entryBytes > s.memory {
		if err := s.spill(); err != nil {
			return err
		}
	}
	e := entry{prefix: prefix(key), at: len(s.arena), key: int32(len(key)), value: int32(len(value))}
	s.arena = append(append(s.grow(need), key...), value...)
	s.list = append(s.list, e)
	return nil
}

// grow grows as append does, but never far beyond the limit.
func (s *Sorter) grow(need int) []byte {
	if cap(s.arena)-len(s.arena) >= need {
		return s.arena
	}
	size := max(min(2*cap(s.arena), int(s.memory)), len(s.arena)+need, 4<<10)
	return append(make([]byte, 0, size), s.arena...)
}

func prefix(key []byte) uint64 {
	var b [8]byte
	copy(b[:], key)
	return binary.BigEndian.Uint64(b[:])
}

func (s *Sorter) record(e entry) Record {
	middle := e.at + int(e.key)
	return Record{s.arena[e.at:middle:middle], s.arena[middle : middle+int(e.value)]}
}

func (s *Sorter) sort() {
	slices.SortFunc(s.list, func(a, b entry) int {
		if a.prefix != b.prefix {
			return cmp.Compare(a.prefix, b.prefix)
		}
		return bytes.Compare(s.record(a).Key, s.record(b).Key)
	})
}

func (s *Sorter) spill() error {
	s.sort()
	err := s.file.append(func(w io.Writer) error {
		var head [2 * binary.MaxVarintLen64]byte
		for _, e := range s.list {
			r := s.record(e)
			n := binary.PutUvarint(head[:], uint64(len(r.Key)))
			n += binary.PutUvarint(head[n:], uint64(len(r.Value)))
			_, _ = w.Write(head[:n])
			_, _ = w.Write(r.Key)
			if _, err := w.Write(r.Value); err != nil {
				return err
			}
		}
		return nil
	})
	s.arena, s.list = s.arena[:0], s.list[:0]
	return err
}

// Runs returns how often memory was full.
func (s *Sorter) Runs() int { return len(s.file.runs) }

// Sorted yields every record in order, as often as it is called; a record is valid until the next.
func (s *Sorter) Sorted() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		if len(s.file.runs) == 0 {
			s.sort()
			for _, e := range s.list {
				if !yield(s.record(e), nil) {
					return
				}
			}
			return
		}
		if err := s.merge(func(r Record) bool { return yield(r, nil) }); err != nil {
			yield(Record{}, err)
		}
	}
}

func (s *Sorter) merge(yield func(Record) bool) error {
	if len(s.list) > 0 {
		if err := s.spill(); err != nil {
			return err
		}
	}
	s.arena, s.list = nil, nil
	var all runs
	for _, r := range s.file.runs {
		all = append(all, &run{from: s.file.reader(r)})
	}
	return all.merge(yield)
}

// Close removes the file.
func (s *Sorter) Close() error {
	s.arena, s.list = nil, nil
	return s.file.Close()
}

// run is one sorted run being read.
type run struct {
	Record
	from interface {
		io.Reader
		io.ByteReader
	}
	buf []byte
}

// next reads a record, or returns io.EOF.
func (r *run) next() error {
	key, err := binary.ReadUvarint(r.from)
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	value, err2 := binary.ReadUvarint(r.from)
	if err = errors.Join(err, err2); err == nil {
		r.buf = slices.Grow(r.buf[:0], int(key+value))[:key+value]
		_, err = io.ReadFull(r.from, r.buf)
	}
	if err != nil {
		return fmt.Errorf("spill: %v", err) // never io.EOF, whatever it wraps
	}
	r.Record = Record{r.buf[:key:key], r.buf[key:]}
	return nil
}
