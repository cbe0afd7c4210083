package curate

import (
	"encoding/binary"
	"iter"

	"github.com/rollmill/rollmill/formats/spill"
	"github.com/rollmill/rollmill/stages"
)

const (
	requestFailed = iota // indexes in decision.PlanReasons
	requestFew
	requestFlat
	requestVaried
	requestDrawn
	requestFork
)

// requestList is a list of requests, in the order of their groups.
type requestList struct {
	list  *spill.List
	spill stages.Spill
	buf   []byte
}

func newRequestList(s stages.Spill) *requestList {
	return &requestList{list: spill.NewList(s.Dir, s.Memory), spill: s}
}

func (l *requestList) add(w *request) error {
	l.buf = spill.Append(l.buf[:0], w)
	return l.list.Add(l.buf)
}

// each yields every request; one is valid until the next.
func (l *requestList) each() iter.Seq2[*request, error] {
	return func(yield func(*request, error) bool) {
		var w request
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

func (l *requestList) close() { _ = l.list.Close() }

// afford returns the requests that a budget pays for, the most urgent first,
// the last of them perhaps in part. It closes the list.
func (l *requestList) afford(left int64) (*requestList, error) {
	defer l.close()
	out := newRequestList(l.spill)
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
		var w request
		spill.Decode(r.Value, &w)
		w.N = int(min(int64(w.N), left))
		left -= int64(w.N)
		if err := paid.Add(place(nil, &w), spill.Append(nil, &w)); err != nil {
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

// urgency returns a key that orders requests: see PlanTable.
func urgency(w *request) []byte {
	r := Rank{Value: float64(w.N), Lot: w.Lot}
	if w.Reason == requestVaried {
		r.Value = -w.Std
	}
	return place(appendRank([]byte{byte(w.Reason)}, r), w)
}

// place appends a key that orders requests by group; that of each is its own.
func place(b []byte, w *request) []byte {
	b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(b, uint64(w.Group)), uint32(w.Call))
	return append(b, w.From...)
}

// request is a request for more members of one group.
type request struct {
	Group  int   // index
	Row    int64 // the group's first
	N      int
	Reason int // index in decision.PlanReasons
	Std    float64
	Lot    int64 // decides between equals, by the seed

	From  string // of forks: the trajectory
	Call  int32
	First int32 // generation
}
