package curate

import (
	"encoding/binary"
	"iter"

	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/internal/spill"
)

// wishList is a list of wishes, in the order of their groups.
type wishList struct {
	list  *spill.List
	spill stages.Spill
	buf   []byte
}

func newWishList(s stages.Spill) *wishList {
	return &wishList{list: spill.NewList(s.Dir, s.Memory), spill: s}
}

func (l *wishList) add(w *wish) error {
	l.buf = spill.Append(l.buf[:0], w)
	return l.list.Add(l.buf)
}

// each yields every wish; one is valid until the next.
func (l *wishList) each() iter.Seq2[*wish, error] {
	return func(yield func(*wish, error) bool) {
		var w wish
		for b, err := range l.list.All() {
			if err != nil {
				yield(nil, err)
				return
			}
			if spill.Decode(b, &w); !yield(&w, nil) {
				return
			}
		}
	}
}

func (l *wishList) close() { _ = l.list.Close() }

// afford is the wishes that a budget pays for, the most urgent first, the last
// of them perhaps in part. The list is closed.
func (l *wishList) afford(left int64) (*wishList, error) {
	defer l.close()
	out := newWishList(l.spill)
	urgent, paid := spill.New(l.spill.Dir, l.spill.Memory), spill.New(l.spill.Dir, l.spill.Memory)
	defer urgent.Close()
	defer paid.Close()
	for w, err := range l.each() {
		if err == nil {
			err = urgent.Add(urgency(w), spill.Append(nil, w))
		}
		if err != nil {
			return out, err
		}
	}
	for r, err := range urgent.Sorted() {
		if err != nil {
			return out, err
		}
		if left == 0 {
			break
		}
		var w wish
		spill.Decode(r.Value, &w)
		w.N = int(min(int64(w.N), left))
		left -= int64(w.N)
		if err := paid.Add(binary.BigEndian.AppendUint64(nil, uint64(w.Group)), spill.Append(nil, &w)); err != nil {
			return out, err
		}
	}
	for r, err := range paid.Sorted() {
		if err == nil {
			err = out.list.Add(r.Value)
		}
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// urgency orders wishes: see Next.
func urgency(w *wish) []byte {
	r := Rank{Value: float64(w.N), Lot: w.Lot}
	if w.Reason == wishVaried {
		r.Value = -w.Std
	}
	return binary.BigEndian.AppendUint64(appendRank([]byte{byte(w.Reason)}, r), uint64(w.Group))
}
