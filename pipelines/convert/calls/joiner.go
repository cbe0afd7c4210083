package calls

import (
	"context"
	"encoding/binary"
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
	Memory int64  // bytes, beyond which they are used; besides, the calls that begin alike are linked in memory
}

// Joiner links calls to conversations. It is for one goroutine, and must be closed.
//
// It sorts four times, in bounded memory: what links the calls by their ids, to find copies and tries, and
// then by what their prompts begin with, to link them; the links by the order of arrival, in which the calls
// wait; and the calls by conversation.
type Joiner struct {
	o      Options
	counts Counts
	rows   *spill.List   // calls, as they came
	own    *spill.Sorter // their metas by Own
	buf    []byte
}

// NewJoiner returns a joiner without calls.
func NewJoiner(o Options) *Joiner {
	return &Joiner{o: o, rows: spill.NewList(o.Dir, o.Memory/4), own: spill.New(o.Dir, o.Memory/4)}
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
	if err := j.rows.Add(spill.Append(j.buf, &c.At)); err != nil {
		return err
	}
	return j.own.Add(number(nil, m.Own.Hi, m.Own.Lo, m.N), spill.Append(nil, &m))
}

// number appends numbers, which sort as they are.
func number(b []byte, all ...uint64) []byte {
	for _, x := range all {
		b = binary.BigEndian.AppendUint64(b, x)
	}
	return b
}

// Conversations yields the conversations in order of their first calls' times. Nothing can be added after it.
func (j *Joiner) Conversations(ctx context.Context) iter.Seq2[*Conversation, error] {
	return func(yield func(*Conversation, error) bool) {
		links, calls := spill.New(j.o.Dir, j.o.Memory/4), spill.New(j.o.Dir, j.o.Memory)
		defer calls.Close() // nothing in it is needed any more
		err := j.link(ctx, links)
		if err == nil {
			err = j.gather(ctx, links, calls)
		}
		_ = links.Close()
		if err == nil {
			err = j.conversations(ctx, calls, yield)
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// link finds the conversation of each call.
func (j *Joiner) link(ctx context.Context, to *spill.Sorter) error {
	alike := spill.New(j.o.Dir, j.o.Memory/2)
	defer alike.Close() // nothing in it is needed any more
	err := runs(ctx, j.own, 16, func(all []*meta) error {
		for _, m := range j.once(all) {
			if err := alike.Add(m.place(), spill.Append(nil, m)); err != nil {
				return err
			}
		}
		return nil
	})
	_ = j.own.Close()
	if err != nil {
		return err
	}
	return runs(ctx, alike, partitionBytes, func(all []*meta) error {
		p := partition{byTime: j.o.ByTime && all[0].By == Digest{}, calls: all}
		p.link()
		return p.emit(func(m *meta, key []byte) error {
			if m.Beside != 0 {
				other := *m
				other.Flags &^= exact
				if err := to.Add(number(nil, m.Beside-1), spill.Append(slices.Clone(key), &other)); err != nil {
					return err
				}
			}
			return to.Add(number(nil, m.N), spill.Append(key, m))
		})
	})
}

// runs calls use with the metas whose keys begin with the same n bytes.
func runs(ctx context.Context, sorted *spill.Sorter, n int, use func([]*meta) error) error {
	var run []*meta
	var key []byte
	for x, err := range sorted.Sorted() {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil && len(run) > 0 && string(key) != string(x.Key[:n]) {
			err = use(run)
			run = nil
		}
		if err != nil {
			return err
		}
		key = append(key[:0], x.Key[:n]...)
		m := new(meta)
		spill.Decode(x.Value, m)
		run = append(run, m)
	}
	if len(run) == 0 {
		return nil
	}
	return use(run)
}

// gather sorts the calls by conversation.
func (j *Joiner) gather(ctx context.Context, links, to *spill.Sorter) error {
	next, stop := iter.Pull2(links.Sorted())
	defer stop()
	x, err, more := next()
	n := uint64(0)
	for row, bad := range j.rows.All() {
		if err != nil {
			return err
		}
		if bad != nil {
			return bad
		}
		if more && binary.BigEndian.Uint64(x.Key) == n {
			key, head := x.Value[:conversationBytes+8], x.Value[conversationBytes+8:]
			j.buf = append(append(j.buf[:0], head...), row...)
			if err := to.Add(key, j.buf); err != nil {
				return err
			}
			x, err, more = next()
		}
		n++
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
	_ = j.rows.Close()
	return err
}

// conversations yields the sorted calls.
func (j *Joiner) conversations(ctx context.Context, calls *spill.Sorter, yield func(*Conversation, error) bool) error {
	var c *Conversation
	var key []byte
	for x, err := range calls.Sorted() {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if c != nil && string(key) != string(x.Key[:conversationBytes]) {
			if !yield(c, nil) {
				return nil
			}
			c = nil
		}
		if c == nil {
			key = append(key[:0], x.Key[:conversationBytes]...)
			c = &Conversation{ID: hex.EncodeToString(key[8:24]), train: j.o.Train}
			j.counts.Conversations++
		}
		var call struct { // as Add and link wrote it
			Meta meta
			Item importers.Item
			By   string
			At   validate.Source
		}
		spill.Decode(x.Value, &call)
		c.Size += len(x.Value)
		next := &Call{Item: call.Item, By: call.By, Own: call.Meta.Own, At: call.At, meta: call.Meta}
		if k := len(c.Calls) - 1; k >= 0 && binary.BigEndian.Uint64(x.Key[conversationBytes:]) == uint64(k) {
			c.Calls[k] = c.Calls[k].both(next)
			continue
		}
		if c.Calls = append(c.Calls, next); call.Meta.Flags&ambiguous != 0 {
			c.Class = outcomes.FailAmbiguousMerge
			j.counts.Ambiguous++
		}
		if call.Meta.Flags&afterGap != 0 {
			c.Gap = true
			j.counts.Gaps++
		}
		if call.Meta.Flags&resampled != 0 {
			c.Resampled = true
			j.counts.Resampled++
		}
	}
	if c != nil {
		yield(c, nil)
	}
	return nil
}
