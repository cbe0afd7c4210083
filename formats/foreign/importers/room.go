package importers

import "github.com/rollmill/rollmill/formats"

// Room is memory for the lists of many small rows, which takes less time than an
// allocation for each. It is not safe for concurrent use. A nil Room allocates
// each list.
type Room struct {
	items    room[Item]
	messages room[formats.Message]
	calls    room[formats.Call]
}

// Reset takes all lists back: the rows that have them must not be used any more.
func (r *Room) Reset() {
	r.items.reset()
	r.messages.reset()
	r.calls.reset()
}

func (r *Room) Items(n int) []Item {
	if r == nil {
		return make([]Item, n)
	}
	return r.items.take(n)
}

// Messages returns an empty list with room for n messages.
func (r *Room) Messages(n int) []formats.Message {
	if r == nil {
		return make([]formats.Message, 0, n)
	}
	return r.messages.take(n)[:0]
}

// Calls returns an empty list with room for n calls.
func (r *Room) Calls(n int) []formats.Call {
	if r == nil {
		return make([]formats.Call, 0, n)
	}
	return r.calls.take(n)[:0]
}

// room is pieces of memory, of which the first ones are in use.
type room[T any] struct {
	pieces [][]T
	next   int // piece
	rest   []T // of the piece before
}

const pieceLen = 128

func (r *room[T]) take(n int) []T {
	if n > pieceLen/4 {
		return make([]T, n)
	}
	if n > len(r.rest) {
		if r.next == len(r.pieces) {
			r.pieces = append(r.pieces, make([]T, pieceLen))
		}
		r.rest = r.pieces[r.next]
		r.next++
	}
	out := r.rest[:n:n]
	r.rest = r.rest[n:]
	return out
}

func (r *room[T]) reset() {
	for _, piece := range r.pieces[:r.next] {
		clear(piece)
	}
	r.next, r.rest = 0, nil
}
