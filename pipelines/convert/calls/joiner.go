package calls

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"iter"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/spill"
	"github.com/rollmill/rollmill/formats/validate"
)

// Options decide how calls are joined.
type Options struct {
	ByTime bool   // decide by time which of several equal answers a call continues
	Train  bool   // auxiliary calls too
	Dir    string // of temporary files; "": the system's
	Memory int64  // bytes, beyond which they are used; calls with one first prompt and answer are linked in memory
}

// Joiner links calls to conversations. It is for one goroutine, and must be closed.
//
// It sorts four times, in bounded memory: what links the calls by their ids, to find copies and tries, and
// then by what their prompts begin with, to link them; the links by the order of arrival, in which the calls
// wait; and the calls by conversation.
type Joiner struct {
	o      Options
	counts Counts
	rows   *spill.List       // calls, as they came
	own    *spill.Sorter     // their metas by Own
	alike  map[uint64]uint64 // of calls with several choices and no answer in the prompt: keys to lesser ones
	buf    []byte
}

// NewJoiner returns a joiner without calls.
func NewJoiner(o Options) *Joiner {
	return &Joiner{o: o, rows: spill.NewList(o.Dir, o.Memory/4), own: spill.New(o.Dir, o.Memory/4),
		alike: map[uint64]uint64{}}
}

// Counts are numbers of calls and conversations.
type Counts struct {
	Calls         int64 `json:"calls"`         // as they came
	Copies        int64 `json:"copies"`        // of calls that came before
	Tries         int64 `json:"tries"`         // failed ones of calls that were tried again under the same id
	Conversations int64 `json:"conversations"` // with the ambiguous calls
	Ambiguous     int64 `json:"ambiguous"`     // calls
	Gaps          int64 `json:"gaps"`          // conversations that begin after a call that is missing
	Resampled     int64 `json:"resampled"`     // values of the field: several answers to one first prompt went on
}

// Counts says what was joined; it is complete when Conversations has ended.
func (j *Joiner) Counts() Counts { return j.counts }

// Close removes what was spilled.
func (j *Joiner) Close() error {
	_ = j.own.Close()
	return j.rows.Close()
}

// Add adds a call, and keeps a copy.
func (j *Joiner) Add(c *Call) error {
	j.buf = spill.Append(spill.Append(j.buf[:0], &c.Item), &c.By)
	m := c.meta
	m.N, m.Whole, m.Size = uint64(j.counts.Calls), xxh3.Hash(j.buf), uint64(len(j.buf))
	j.counts.Calls++
	for i := range m.Alike {
		if a, b := j.standsFor(m.Alike[0]), j.standsFor(m.Alike[i]); a != b {
			j.alike[max(a, b)] = min(a, b)
		}
	}
	if err := j.rows.Add(spill.Append(j.buf, &c.At)); err != nil {
		return err
	}
	return j.own.Add(spill.Key(nil, m.Own.Hi, m.Own.Lo, m.N), spill.Append(nil, &m))
}

// Conversations yields the conversations in order of their first calls' times. Nothing can be added after it.
func (j *Joiner) Conversations(ctx context.Context) iter.Seq2[*Conversation, error] {
	return func(yield func(*Conversation, error) bool) {
		links, calls := spill.New(j.o.Dir, j.o.Memory/4), spill.New(j.o.Dir, j.o.Memory)
		defer calls.Close() // nothing in it is needed any more
		err := j.link(ctx, links)
		if err == nil {
			err = j.rows.SortBy(ctx, links, conversationBytes+8, calls)
		}
		_, _ = links.Close(), j.rows.Close()
		if err != nil {
			yield(nil, err)
			return
		}
		for r, err := range runs[sortedCall](ctx, calls, conversationBytes) {
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(j.conversation(r), nil) {
				return
			}
		}
	}
}

// link finds the conversation of each call.
func (j *Joiner) link(ctx context.Context, to *spill.Sorter) error {
	alike := spill.New(j.o.Dir, j.o.Memory/2)
	defer alike.Close() // nothing in it is needed any more
	for r, err := range runs[meta](ctx, j.own, 16) {
		if err != nil {
			return err
		}
		for _, m := range j.once(r.all) {
			if err := alike.Add(j.place(m), spill.Append(nil, m)); err != nil {
				return err
			}
		}
	}
	_ = j.own.Close()
	for r, err := range runs[meta](ctx, alike, partitionBytes) {
		if err != nil {
			return err
		}
		p := partition{byTime: j.o.ByTime && r.all[0].By == Digest{}, calls: r.all}
		p.link()
		err = p.emit(func(m *meta, key []byte) error {
			if m.Beside != 0 {
				other := *m
				other.Flags &^= exact
				if err := to.Add(spill.Key(nil, m.Beside-1), spill.Append(slices.Clone(key), &other)); err != nil {
					return err
				}
			}
			return to.Add(spill.Key(nil, m.N), spill.Append(key, m))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// run is the records whose keys begin alike.
type run[T any] struct {
	key []byte // of the first
	all []*T
}

// runs yields the records whose keys begin with the same n bytes.
func runs[T any](ctx context.Context, sorted *spill.Sorter, n int) iter.Seq2[run[T], error] {
	return func(yield func(run[T], error) bool) {
		var r run[T]
		for x, err := range sorted.Sorted() {
			if err = cmp.Or(err, ctx.Err()); err != nil {
				yield(r, err)
				return
			}
			if len(r.all) > 0 && string(r.key[:n]) != string(x.Key[:n]) {
				if !yield(r, nil) {
					return
				}
				r.all = nil
			}
			if len(r.all) == 0 {
				r.key = bytes.Clone(x.Key)
			}
			r.all = append(r.all, new(T))
			spill.Decode(x.Value, r.all[len(r.all)-1])
		}
		if len(r.all) > 0 {
			yield(r, nil)
		}
	}
}

// sortedCall is a call as Add and link wrote it.
type sortedCall struct {
	Meta meta
	Item importers.Item
	By   string
	At   validate.Source
}

// conversation makes a conversation of its calls.
func (j *Joiner) conversation(r run[sortedCall]) *Conversation {
	c := &Conversation{ID: hex.EncodeToString(r.key[8:24]), train: j.o.Train}
	j.counts.Conversations++
	for _, x := range r.all {
		next := &Call{Item: x.Item, By: x.By, Own: x.Meta.Own, At: x.At, meta: x.Meta}
		c.Size += int(x.Meta.Size)
		if k := len(c.Calls) - 1; k >= 0 && c.Calls[k].meta.N == x.Meta.N {
			c.Calls[k] = c.Calls[k].both(next)
			continue
		}
		if c.Calls = append(c.Calls, next); x.Meta.Flags&ambiguous != 0 {
			c.Class = outcomes.FailAmbiguousMerge
			j.counts.Ambiguous++
		}
		if x.Meta.Flags&afterGap != 0 {
			c.Gap = true
			j.counts.Gaps++
		}
		if x.Meta.Flags&resampled != 0 {
			c.Resampled = true
			j.counts.Resampled++
		}
	}
	return c
}
