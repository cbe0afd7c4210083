package watermark

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
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
	Imported Kind = 'i' // what links later calls to a conversation that was imported
)

// A mark in a file, in their order: its kind and digest, when it was noted, and the number of the object that
// had it first.
const (
	keyBytes  = 17
	markBytes = keyBytes + 1 + 4

	earlier, tonight = 0, 1      // when
	nobody           = 1<<32 - 1 // the object of a mark that none has to keep
)

func (m Mark) tonight(object uint32) []byte {
	b := append(make([]byte, 0, markBytes), byte(m.Kind))
	b = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, m.Hi), m.Lo)
	return binary.BigEndian.AppendUint32(append(b, tonight), object)
}

// copyMarks copies the marks of the nights before to a temporary file, and verifies them.
func (w *Watermark) copyMarks(ctx context.Context) (err error) {
	if w.known, err = os.CreateTemp(w.o.Dir, "rollmill-marks-*"); err != nil {
		return err
	}
	_ = os.Remove(w.known.Name()) // an open file needs no name, and nothing is left if the process dies
	if w.Marks == "" {
		return nil
	}
	r, err := w.bucket.Open(ctx, folder+w.Marks)
	if err != nil {
		return w.damaged(w.Marks, err)
	}
	defer r.Close() // read only: nothing is lost
	digest := sha256.New()
	n, err := io.CopyBuffer(io.MultiWriter(w.known, digest), io.NewSectionReader(r, 0, r.Size()), make([]byte, 1<<20))
	if w.n = n / markBytes; err == nil && w.Marks != "marks-"+hex.EncodeToString(digest.Sum(nil)) {
		err = w.damaged(w.Marks, errChanged)
	}
	return err
}

// Known reports whether a night before noted a mark.
func (w *Watermark) Known(m Mark) (found bool, err error) {
	key := m.tonight(nobody)[:keyBytes]
	_, found = sort.Find(int(w.n), func(i int) int {
		at, held := w.held[i]
		if !held {
			_, bad := w.known.ReadAt(at[:], int64(i)*markBytes)
			if err = cmp.Or(err, bad); len(w.held) < 1<<16 {
				w.held[i] = at
			}
		}
		return bytes.Compare(key, at[:])
	})
	return found && err == nil, err
}
