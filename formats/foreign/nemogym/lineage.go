package nemogym

import (
	"bytes"
	"slices"

	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// lineage returns the records of a rollout's calls, each after the one that it
// names as its parent. A record that is there twice with the same bytes is one
// call; with others, or with a parent that is missing, nothing tells what the
// rollout was.
func lineage(list []byte) (ordered []jsontext.Object) {
	l := lines{byID: map[string]int{}}
	for raw := range jsontext.Elements(list) {
		o := jsontext.ParseObject(raw)
		id := jsontext.Unquote(o.Get("model_call_id"))
		if at, twice := l.byID[id]; twice && id != "" {
			if !bytes.Equal(l.all[at].raw, raw) {
				must.Fail("two calls of the rollout have the model_call_id %q", id)
			}
			continue
		}
		l.byID[id] = len(l.all)
		l.all = append(l.all, line{raw: raw, o: o, parent: jsontext.Unquote(o.Get("parent_call_id"))})
	}
	for i := range l.all {
		l.place(i)
	}
	return l.ordered
}

// lines are the records of a rollout while they are put in order.
type lines struct {
	all     []line
	byID    map[string]int
	ordered []jsontext.Object
}

type line struct {
	raw    []byte
	o      jsontext.Object
	parent string
	state  int // open while its ancestors are placed
}

const (
	open = iota + 1
	placed
)

// place appends a record after its ancestors.
func (l *lines) place(i int) {
	var path []int
	for l.all[i].state != placed {
		x := &l.all[i]
		if x.state == open {
			must.Fail("the call %q is its own ancestor", x.parent)
		}
		x.state = open
		path = append(path, i)
		if x.parent == "" {
			break
		}
		at, known := l.byID[x.parent]
		if !known {
			must.Fail("the parent_call_id %q is none of the rollout's calls in the file", x.parent)
		}
		i = at
	}
	for _, at := range slices.Backward(path) {
		l.all[at].state = placed
		l.ordered = append(l.ordered, l.all[at].o)
	}
}
