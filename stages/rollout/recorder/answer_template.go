package recorder

import (
	"github.com/rollmill/rollmill/formats/jsontext"
)

// alike reads a chunk of a stream that differs from the last one read in full
// only in its text and its token, as nearly all do. The rest is compared, not
// read: read again, the same bytes would change nothing.
type alike struct {
	known  bool   // a chunk was learned
	chunk  []byte // the one that was read in full
	cuts   []cut  // what the agent does not see of it
	values []value
	choice *choice
	deltas int  // that are not empty
	token  bool // it has logprobs, of one token

	unused int // chunks learned in vain, since the last that was of use
}

const (
	mostUnused     = 8       // chunks are learned in vain before no more are
	largestLearned = 8 << 10 // the first of a stream may have the whole prompt in it
)

// value is what may differ, from:to in the chunk that was learned and
// begins:ends in the chunk that is read.
type value struct {
	kind         valueKind
	from, to     int
	begins, ends int
	number       float32 // its size, if it is a logprob less than 0
}

type valueKind int

const (
	contentValue valueKind = iota
	reasoningValue
	refusalValue
	tokenValue   // its text
	idValue      // of the token, beside its text
	logprobValue // a number
	idsValue     // token ids of the choice
	listValue    // which nothing is read of
)

// find finds the value at b[i], and reports whether it is of this kind.
func (v *value) find(b []byte, i int) bool {
	v.begins, v.ends = i, -1
	switch {
	case i == len(b):
	case v.kind <= tokenValue:
		v.ends = jsontext.CheckString(b, i)
	case v.kind == logprobValue && b[i] == '-':
		if v.number, v.ends = decimalAt(b, i+1); v.ends < 0 {
			v.number, v.ends = 0, jsontext.CheckNumber(b, i)
		}
	case v.kind <= logprobValue:
		v.number, v.ends = 0, jsontext.CheckNumber(b, i)
	case b[i] == '[':
		if v.ends = numbersEnd(b, i+1); v.ends < 0 {
			v.ends = jsontext.CheckValue(b, i, 0)
		}
	}
	return v.ends >= 0
}

// add reads a chunk if it is like the one that was learned.
func (l *alike) add(b []byte) bool {
	if !l.known {
		return false
	}
	here, there := 0, 0 // in b, in l.chunk
	for k := range l.values {
		f := &l.values[k]
		fixed := l.chunk[there:f.from]
		if len(b)-here < len(fixed) || string(b[here:here+len(fixed)]) != string(fixed) {
			return false
		}
		if !f.find(b, here+len(fixed)) {
			return false
		}
		here, there = f.ends, f.to
	}
	if string(b[here:]) != string(l.chunk[there:]) {
		return false
	}
	l.unused = 0
	l.read(b)
	return true
}

func (l *alike) read(b []byte) {
	c, t := l.choice, &l.choice.tokens
	c.pieces += l.deltas
	id, text := int32(-1), int32(-1)
	for k := range l.values {
		f := &l.values[k]
		v := b[f.begins:f.ends]
		switch f.kind {
		case contentValue:
			addText(&c.text.content, v)
		case reasoningValue:
			addText(&c.text.reasoning, v)
		case refusalValue:
			addText(&c.text.refusal, v)
		case tokenValue:
			text = idInText(v)
			t.addText(v)
		case idValue:
			id = parseID(v)
		case logprobValue:
			if f.number > 0 {
				t.logprobs = append(t.logprobs, -f.number)
			} else {
				t.addLogprob(v)
			}
		case idsValue:
			t.addIDs(choiceIDs, v)
		}
	}
	if l.token {
		t.putWhole(entryIDs, []int32{id})
		t.putWhole(inLogprobs, []int32{text})
	}
}

// appendCuts appends what the agent does not see of the chunk that was read.
func (l *alike) appendCuts(out []cut) []cut {
	k, moved := 0, 0
	move := func(at int) int {
		for ; k < len(l.values) && l.values[k].to <= at; k++ {
			moved = l.values[k].ends - l.values[k].to
		}
		return at + moved
	}
	for _, x := range l.cuts {
		from := move(x.from)
		out = append(out, cut{from, move(x.to), x.put})
	}
	return out
}
