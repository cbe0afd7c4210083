package importers

import (
	"bytes"
	"cmp"
	"reflect"
	"slices"

	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/secret"
)

// trial converts a record again without each of its members.
type trial struct {
	format *Format
	record Record
	want   Parsed
	whole  func(part []byte) []byte // the record with another text for the one that is walked through
}

// Try finds out what became of the members of a record that are new. The record gave
// trajectories, and Add said that it is fresh.
func (a *Account) Try(f *Format, r *Record) {
	record := *r
	record.Losses, record.Withheld, record.taken = nil, 0, 0
	t := &trial{format: f, record: record, whole: func(part []byte) []byte { return part }}
	if t.want = f.Convert(record); t.want.Err == nil {
		a.trying = t
		a.walk(r.Data)
		a.trying = nil
	}
}

func (t *trial) member(a *Account, b []byte, s span, at, kid *node) {
	v := b[s.value:s.end]
	hidden := secret.Member(kid.name, v)
	if kid.sample == "" && !hidden && v[0] != '{' && v[0] != '[' {
		kid.sample = string(v[:min(len(v), maxSample)])
	}
	switch {
	case at != &a.root && at.use&read == 0:
		if kid.use |= at.use; hidden {
			kid.use = withheld
		}
	case kid.tries >= maxTries:
	case a.tried > maxTried:
		kid.use |= untried
	default:
		kid.tries++
		a.tried += 2 * len(t.record.Data)
		is := t.differs(without(b, s))
		if is == 0 {
			is = t.differs(splice(b, s.value, s.end, other(v)))
		}
		if hidden && is&(read|ofUsers) == 0 {
			is = withheld
		}
		kid.use |= cmp.Or(is, unread)
	}
}

// differs returns what another text changes in the trajectories; 0 for nothing.
func (t *trial) differs(text []byte) use {
	r := t.record
	r.Data = t.whole(text)
	got := t.format.Convert(r)
	if got.Err != nil || len(got.Items) != len(t.want.Items) {
		return read
	}
	var is use
	for i := range got.Items {
		x, y := got.Items[i], t.want.Items[i]
		if x.Row.Metadata != y.Row.Metadata {
			is |= kept
		}
		x.Whole, y.Whole = "", ""
		if x.Row.Metadata, y.Row.Metadata = "", ""; !reflect.DeepEqual(x, y) {
			return read
		}
	}
	if got.taken-got.Withheld != t.want.taken-t.want.Withheld {
		is |= ofUsers
	}
	if is == 0 && !slices.Equal(got.Losses, t.want.Losses) {
		is = lost
	}
	return is
}

// span is a member within a text: from its key, or from its value.
type span struct{ key, value, end int }

func splice(b []byte, from, to int, by []byte) []byte { return slices.Concat(b[:from], by, b[to:]) }

// without returns a text without a member.
func without(b []byte, s span) []byte {
	if next := jsontext.Space(b, s.end); next < len(b) && b[next] == ',' {
		return splice(b, s.key, next+1, nil)
	}
	if before := bytes.TrimRight(b[:s.key], " \n\t\r"); bytes.HasSuffix(before, []byte(",")) {
		return splice(b, len(before)-1, s.end, nil)
	}
	return splice(b, s.key, s.end, nil)
}

// other returns another value of the same type.
func other(v []byte) []byte {
	switch {
	case v[0] == '"':
		return append(v[:len(v)-1:len(v)-1], `x"`...)
	case v[0] == 't':
		return []byte("false")
	case v[0] == 'f':
		return []byte("true")
	case v[0] == '{' || v[0] == '[':
		return []byte(`"x"`)
	case string(v) == "7":
		return []byte("8")
	}
	return []byte("7")
}
