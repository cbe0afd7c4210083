package watermark

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"sort"
)

// Mark is what is known of a digest.
type Mark struct {
	Kind   Kind
	Hi, Lo uint64
}

// Kind is what a mark says.
type Kind byte

// The kinds of marks.
const (
	Answered Kind = 'a' // a call that was read and has an answer
	Failed   Kind = 'f' // a call that was read and has none; a later try may have one
	Answer   Kind = 'm' // the messages up to an answer that was imported
	Group    Kind = 'g' // the field's value that names a conversation that was imported
)

const (
	keyBytes  = 17           // the kind and the digest
	markBytes = keyBytes + 4 // and the number of the object that had it first
	every     = 256          // marks between two of the index
	nobody    = 1<<32 - 1    // the object of a mark that none has to keep
)

func (m Mark) key() []byte {
	b := append(make([]byte, 0, markBytes+1), byte(m.Kind))
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, m.Hi), m.Lo)
}

// set is a sorted file of marks. nil is an empty one.
type set struct {
	f     *os.File
	n     int64
	index []byte // every 256th key
	buf   [every * markBytes]byte
}

// openSet copies the marks of the nights before to a temporary file, and verifies them.
func (w *Watermark) openSet(ctx context.Context) (*set, error) {
	if w.Marks == "" {
		return nil, nil
	}
	r, err := w.bucket.Open(ctx, folder+w.Marks)
	if err != nil {
		return nil, w.damaged(w.Marks, err)
	}
	defer r.Close() // read only: nothing is lost
	f, err := os.CreateTemp(w.o.Dir, "rollmill-marks-*")
	if err != nil {
		return nil, err
	}
	_ = os.Remove(f.Name()) // an open file needs no name, and nothing is left if the process dies
	s, digest := &set{f: f, n: r.Size() / markBytes}, sha256.New()
	_, err = io.CopyBuffer(io.MultiWriter(f, digest), io.NewSectionReader(r, 0, r.Size()), make([]byte, 1<<20))
	if err == nil && w.Marks != "marks-"+hex.EncodeToString(digest.Sum(nil)) {
		err = w.damaged(w.Marks, errChanged)
	}
	for at := int64(0); err == nil && at < s.n; at += every {
		var key [keyBytes]byte
		_, err = f.ReadAt(key[:], at*markBytes)
		s.index = append(s.index, key[:]...)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return s, nil
}

func (s *set) close() error {
	if s == nil {
		return nil
	}
	return s.f.Close()
}

// has reports whether a mark is in the set.
func (s *set) has(m Mark) (bool, error) {
	if s == nil {
		return false, nil
	}
	key := m.key()
	block := int64(sort.Search(len(s.index)/keyBytes, func(i int) bool {
		return bytes.Compare(s.index[i*keyBytes:(i+1)*keyBytes], key) > 0
	})) - 1
	if block < 0 {
		return false, nil
	}
	marks := s.buf[:min(every, s.n-block*every)*markBytes]
	_, err := s.f.ReadAt(marks, block*every*markBytes)
	_, found := sort.Find(len(marks)/markBytes, func(i int) int {
		return bytes.Compare(key, marks[i*markBytes:i*markBytes+keyBytes])
	})
	return found && err == nil, err
}
