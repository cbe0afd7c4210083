package importers

import (
	"bytes"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// Account counts the members of records by path and type, and says what became of each.
// No reader has to tell: the first record that has a member is converted again without
// it, or with another value, and what then differs is what became of it. So the account
// is right for every format and for what its reader becomes. Members of the objects in a
// list have one path, and so do those of an object whose names are data. null is no
// value. The zero Account is empty; it is not safe for concurrent use.
type Account struct {
	root   node
	paths  int
	record int64 // that is read, from 1
	trying *trial
	tried  int // bytes
	fresh  bool
	ok     bool // the record gave trajectories
}

const (
	MaxPaths  = 10_000    // members at others are not counted
	maxNames  = 100       // of an object below the record; one with more has data for names
	maxTries  = 4         // of a member
	maxTried  = 256 << 20 // bytes of records that are converted again
	maxWithin = 64        // depth
	maxSample = 4 << 10   // bytes of a value that are looked at for keys
	sampleLen = 60        // of them shown
)

// Add counts the members of a record, which gave trajectories or did not, and reports
// whether Try has to see it.
func (a *Account) Add(data []byte, ok bool) (fresh bool) {
	a.record++
	a.fresh, a.ok = false, ok
	a.walk(data)
	return a.fresh
}

// walk visits the values of a record, which are several in a session.
func (a *Account) walk(data []byte) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	for i := jsontext.Space(data, 0); i < len(data); {
		end := a.value(data, i, 0, &a.root)
		if i = jsontext.Space(data, end); end == 0 || i < len(data) && data[i] != '{' && data[i] != '[' {
			return
		}
	}
}

// value visits the members within the value at b[i], and returns its end.
func (a *Account) value(b []byte, i, depth int, at *node) int {
	switch {
	case i >= len(b) || depth > maxWithin:
	case b[i] == '{':
		next := 0
		for i = jsontext.Space(b, i+1); i < len(b) && b[i] == '"'; i = jsontext.Space(b, i+1) {
			from := i
			key, end := at.key(b, i, next)
			if i = jsontext.Space(b, jsontext.Space(b, end)+1); i >= len(b) {
				return i
			}
			kid := a.kid(at, key, b[i], &next)
			switch {
			case kid == nil:
				end = jsontext.Skip(b, i)
			case a.trying != nil:
				end = jsontext.Skip(b, i)
				a.trying.member(a, b, span{from, i, end}, at, kid)
				fallthrough
			default:
				end = a.value(b, i, depth+1, kid)
			}
			if i = jsontext.Space(b, end); i >= len(b) || b[i] != ',' {
				break
			}
		}
		return min(i+1, len(b))
	case b[i] == '[':
		if first := jsontext.Space(b, i+1); first < len(b) && b[first] != '{' && b[first] != '[' {
			if end := jsontext.Skip(b, i); bytes.IndexByte(b[i:end], '{') < 0 {
				return end
			}
		}
		for i = jsontext.Space(b, i+1); i < len(b) && b[i] != ']'; i = jsontext.Space(b, i+1) {
			if i = jsontext.Space(b, a.value(b, i, depth+1, at)); i >= len(b) || b[i] != ',' {
				break
			}
		}
		return min(i+1, len(b))
	case b[i] == '"' && depth <= 2:
		end := jsontext.Skip(b, i)
		if !isText(b[i:end]) {
			return end
		}
		if text := formats.Bytes(jsontext.Unquote(b[i:end])); jsontext.Valid(text) { // a column of JSON text
			if t := a.trying; t != nil {
				outer := *t
				defer func() { *t = outer }()
				t.whole = func(text []byte) []byte { return outer.whole(splice(b, i, end, Quote(string(text)))) }
			}
			a.value(text, 0, depth+1, at)
		}
		return end
	}
	return jsontext.Skip(b, min(i, len(b)))
}
