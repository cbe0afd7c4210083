package convert

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/validate"
)

var errNoID = errors.New("the row has no id to look up in the id file")

// identify sets the example of a row, and what its id is made from.
func (o *ImportOptions) identify(r *row, h *hasher, record []byte) error {
	t := &r.Row
	o.epoch(r)
	if r.own = t.TrajectoryID; r.own == "" && o.Merge == MergeNone {
		r.own = h.digest(t, len(t.Messages), "")
	}
	switch by := o.GroupBy; {
	case o.Groups != nil:
		id, ok := o.Groups[t.TrajectoryID]
		switch {
		case t.TrajectoryID == "":
			return errNoID
		case !ok:
			return fmt.Errorf("its id %q is not in the file of ids", t.TrajectoryID)
		}
		t.ExampleID = id
	case by == GroupByID && t.ExampleID != "":
	case by == GroupByID || by == GroupByPrompt:
		if t.ExampleID = ""; o.Merge == MergeNone { // of calls it is that of the first prompt
			t.ExampleID = h.digest(t, prompt(t), "")
		}
	default:
		v := find(r.Item, record, by)
		if v == nil {
			return noField(by, "--group-by")
		}
		t.ExampleID, r.NumberID = jsontext.Compact(v), v[0] != '"'
		if v[0] == '"' {
			t.ExampleID = jsontext.Unquote(v)
		}
	}
	return nil
}

// prompt returns the number of messages before the first that is trained; all of
// them when none is.
func prompt(t *formats.Trajectory) int {
	for i := range t.Messages {
		if t.Trained(i) {
			return i
		}
	}
	return len(t.Messages)
}

// find returns a field of the example, or else of the metadata, or else of the
// record, of which some members became columns, or else of what was left out of
// the metadata; dots lead into objects, or are part of a name.
func find(x *importers.Item, record []byte, path string) []byte {
	for _, v := range [][]byte{[]byte(x.Row.Example), []byte(x.Row.Metadata), record, []byte(x.Whole)} {
		if whole := jsontext.ParseObject(v).Get(path); len(whole) > 0 && string(whole) != "null" {
			return whole
		}
		for _, name := range strings.Split(path, ".") {
			v = jsontext.ParseObject(v).Get(name)
		}
		if len(v) > 0 && string(v) != "null" {
			return v
		}
	}
	return nil
}

func noField(name, flag string) error {
	return fmt.Errorf("neither its example nor its metadata nor the record itself has the field %q of %s", name, flag)
}

// epoch sets the epoch of a row.
func (o *ImportOptions) epoch(r *row) {
	if r.Epoch != nil {
		r.Row.Epoch = *r.Epoch
	} else if o.Epoch != nil {
		r.Row.Epoch = int32(*o.Epoch)
	}
}

// digest returns 24 hex digits of a hash over the first n messages and tools, as a model would see them; in a row
// without any text, over their tokens and those of the next prompt.
func (h *hasher) digest(t *formats.Trajectory, n int, tools string) string {
	if h.buf = h.buf[:0]; validate.OnlyTokens(t) {
		h.tokens(t, n)
	}
	for i := range t.Messages[:n] {
		m := &t.Messages[i]
		h.add(m.Role)
		h.add(m.Content)
		h.add(m.ContentParts)
		h.add(m.Name)
		h.add(m.Reasoning)
		for _, c := range m.ToolCalls {
			h.add(c.Name)
			h.add(c.Arguments)
		}
		h.buf = append(h.buf, byte(len(m.ToolCalls)), byte(m.Parent), byte(m.Parent>>8))
	}
	h.buf = append(h.buf, tools...)
	sum := xxh3.Hash128(h.buf).Bytes()
	return string(hex.AppendEncode(make([]byte, 0, 24), sum[:12]))
}

// tokens adds the tokens of the first n messages, and of the prompt of the next.
func (h *hasher) tokens(t *formats.Trajectory, n int) {
	for i := range t.Messages[:min(n+1, len(t.Messages))] {
		for _, ids := range [][]int32{t.Messages[i].PromptDeltaIDs, t.Messages[i].TokenIDs}[:1+min(n-i, 1)] {
			h.buf = binary.LittleEndian.AppendUint32(h.buf, uint32(len(ids)))
			h.buf, _ = binary.Append(h.buf, binary.LittleEndian, ids) // numbers always have a form
		}
	}
}

// hasher is the memory of a worker for digests.
type hasher struct{ buf []byte }

func (h *hasher) add(text string) {
	n := len(text)
	h.buf = append(h.buf, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
	h.buf = append(h.buf, text...)
}

// key identifies a group.
type key struct{ hi, lo uint64 }

func (r *row) key() key {
	sum := xxh3.HashString128(r.Row.ExampleID)
	return key{sum.Hi, sum.Lo + uint64(uint32(r.Row.Epoch))*0x9e3779b97f4a7c15}
}

// inShard reports whether an example belongs to the shard.
func (o *ImportOptions) inShard(r *row) bool {
	s := o.Out.Shard.Of()
	if r.call != nil { // what is counted of all calls, one shard counts
		return s.Index == 0
	}
	return s.Count == 1 || xxh3.HashString(r.Row.ExampleID)%uint64(s.Count) == uint64(s.Index)
}

// kept returns 1 more than the generation of a row that can keep its id; 0 for one that cannot.
func (o *ImportOptions) kept(r *row) uint64 {
	if !r.Final || o.GroupBy != GroupByID || o.Groups != nil {
		return 0
	}
	return 1 + uint64(uint32(r.Row.Generation))
}

// final reports whether all rows of a group keep their ids.
func final(kept []uint64) bool {
	slices.Sort(kept)
	return kept[0] != 0 && len(slices.Compact(kept)) == len(kept)
}

// name sets the ids of a row, the generation-th of its group. copy counts the
// rows of the group with the same id or content before it.
func name(o *ImportOptions, r *row, generation, copy int) {
	t := &r.Row
	t.Run, t.Generation = o.Run, int32(generation)
	if r.Final {
		withSource(t)
	}
	t.TrajectoryID = formats.StoredID(t.ExampleID, int(t.Epoch), r.own, copy)
}

// withSource adds the source's id to the metadata, unless they have one.
func withSource(t *formats.Trajectory) {
	if t.TrajectoryID == "" {
		return
	}
	const key = `{"source_id":`
	b := append(make([]byte, 0, len(key)+len(t.TrajectoryID)+len(`"",`)+len(t.Metadata)), key...)
	b = jsontext.AppendString(b, t.TrajectoryID)
	for k, v := range jsontext.Members([]byte(t.Metadata)) {
		if string(k) == "source_id" {
			if string(v) != "null" {
				return
			}
			continue
		}
		b = append(append(jsontext.AppendString(append(b, ','), string(k)), ':'), v...)
	}
	t.Metadata = string(append(b, '}'))
}
