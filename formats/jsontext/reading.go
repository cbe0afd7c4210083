package jsontext

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Reading reads JSON of other programs by one rule: of the values of a repeated
// key the last one counts, as in Python, and numbers that JSON does not have,
// Python's NaN and infinities, are null. It notes what is lost by that. Its zero
// value is ready, and reads one value.
type Reading struct {
	Lost    []Lost
	Refused error // why a value is not read although it may be JSON: an object has more than MaxKeys keys

	lost   map[Lost]bool
	lostAt int // the key of the last of them
	edits  []edit
	*place // while it reads
}

// place is where a text is read.
type place struct {
	objects []object // that are open
	keys    []key    // of them
}

// places are kept for the next text: most texts are short, and one needs little.
var places = sync.Pool{New: func() any { return &place{make([]object, 0, 8), make([]key, 0, 2*fewKeys)} }}

func (r *Reading) begin() { r.place = places.Get().(*place) }

// end keeps the place, without the text, unless it is large.
func (r *Reading) end() {
	if p := r.place; cap(p.keys) <= 8*fewKeys && cap(p.objects) <= 8*fewKeys {
		p.objects, p.keys = p.objects[:0], p.keys[:0]
		clear(p.objects[:cap(p.objects)])
		clear(p.keys[:cap(p.keys)])
		places.Put(p)
	}
	r.place = nil
}

// MaxKeys is the limit of keys in one object that a Reading reads: it and those
// who use the object hold each of them by itself.
const MaxKeys = 100_000

// Lost is a value that a text has and its reading has not.
type Lost struct {
	Path string // the keys that lead to it, with dots between
	Why  string
}

const noNumber = " is no number of JSON: it is read as null"

// ReadNaN is why NaN is lost.
const ReadNaN = "NaN" + noNumber

type key struct {
	from int    // of its quote
	text []byte // decoded
}

type object struct {
	first int            // of its keys in Reading.keys
	index map[string]int // its keys, once there are many
}

// edit replaces a part of the text.
type edit struct {
	from, end int
	to        string
}

// Value returns what b says if it is one JSON value, and whether it is. It
// returns b itself when nothing is lost. If it is not, Refused may say why.
func (r *Reading) Value(b []byte) ([]byte, bool) {
	r.begin()
	defer r.end()
	end := r.check(b, Space(b, 0), 0)
	if end < 0 || Space(b, end) != len(b) {
		return nil, false
	}
	return r.text(b), true
}

// Each calls f with the keys and values of an object as Value reads it. Its
// errors are those of the function Each. When something is lost, again is
// called, and f from the beginning.
func (r *Reading) Each(b []byte, f func(key, value []byte), again func()) ([]byte, error) {
	r.begin()
	defer r.end()
	if err := r.each(b, f); err != nil || len(r.edits) == 0 {
		return b, err
	}
	b = r.text(b)
	again()
	return b, Each(b, f)
}

// text returns b with the edits made.
func (r *Reading) text(b []byte) []byte {
	if len(r.edits) == 0 {
		return b
	}
	slices.SortFunc(r.edits, func(x, y edit) int { return cmp.Or(cmp.Compare(x.from, y.from), cmp.Compare(y.end, x.end)) })
	out, at := make([]byte, 0, len(b)), 0
	for _, e := range r.edits {
		if e.from >= at { // else it lies in what was cut
			out = append(append(out, b[at:e.from]...), e.to...)
			at = e.end
		}
	}
	return append(out, b[at:]...)
}

func (r *Reading) open() {
	if r != nil {
		r.objects = append(r.objects, object{first: len(r.keys)})
	}
}

func (r *Reading) close() {
	if r != nil {
		last := len(r.objects) - 1
		r.keys, r.objects = r.keys[:r.objects[last].first], r.objects[:last]
	}
}

// key notes the key b[from:end] of the innermost object, and reports whether it may have one more.
func (r *Reading) key(b []byte, from, end int) bool {
	if r == nil {
		return true
	}
	if len(r.keys)-r.objects[len(r.objects)-1].first == MaxKeys {
		r.keys = r.keys[:r.objects[len(r.objects)-1].first] // the path is the object's
		r.Refused = fmt.Errorf("an object has more than %d keys, which are not read: %s", MaxKeys, r.path())
		return false
	}
	text := b[from+1 : end-1]
	if bytes.IndexByte(text, '\\') >= 0 {
		text = []byte(Unquote(b[from:end]))
	}
	before := r.find(text)
	r.keys = append(r.keys, key{from, text})
	if before >= 0 {
		r.edits = append(r.edits, edit{from: r.keys[before].from, end: r.keys[before+1].from})
		r.lose("the key is repeated: its last value counts")
	}
	return true
}

// find returns the last place of a key in the innermost object, -1 for none.
func (r *Reading) find(text []byte) int {
	o := &r.objects[len(r.objects)-1]
	if len(r.keys)-o.first < fewKeys {
		for i := len(r.keys) - 1; i >= o.first; i-- {
			if bytes.Equal(r.keys[i].text, text) {
				return i
			}
		}
		return -1
	}
	if o.index == nil {
		o.index = map[string]int{}
		for i := o.first; i < len(r.keys); i++ {
			o.index[string(r.keys[i].text)] = i
		}
	}
	before, there := o.index[string(text)]
	o.index[string(text)] = len(r.keys)
	if !there {
		return -1
	}
	return before
}

// number notes a number that JSON does not have, if b[i:end] is one, and returns its end.
func (r *Reading) number(b []byte, i, end int) int {
	if r != nil && end >= 0 {
		r.edits = append(r.edits, edit{i, end, "null"})
		r.lose(string(b[i:end]) + noNumber)
	}
	return end
}

// lose notes what is lost at the current key, once for each path.
func (r *Reading) lose(why string) {
	var at key
	if len(r.keys) > 0 {
		at = r.keys[len(r.keys)-1]
	}
	if n := len(r.Lost); n > 0 && r.lostAt == at.from && r.Lost[n-1].Why == why {
		return // in the same list
	}
	r.lostAt = at.from
	if l := (Lost{r.path(), why}); !r.lost[l] {
		if r.lost == nil {
			r.lost = map[Lost]bool{}
		}
		r.lost[l] = true
		r.Lost = append(r.Lost, l)
	}
}

// path returns the keys that lead to the current value: the first few of many.
func (r *Reading) path() string {
	const few, long = 4, 60
	var names []string
	for i := range r.objects {
		last := len(r.keys)
		if i+1 < len(r.objects) {
			last = r.objects[i+1].first
		}
		if last == r.objects[i].first {
			continue
		}
		name := r.keys[last-1].text
		if len(names) == few || len(name) > long {
			return strings.Join(append(names, strings.ToValidUTF8(string(name[:min(len(name), long)]), "")+"…"), ".")
		}
		names = append(names, string(name))
	}
	return cmp.Or(strings.Join(names, "."), "the value")
}
