package rows

import (
	"cmp"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/chat"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// conversation reads the messages, calls and tool sets.
func (r *row) conversation(t *formats.Trajectory) {
	list := r.values["messages"]
	if list == nil {
		must.Fail("the row has no column %q with messages; it has %s%s", r.Column("messages"),
			cmp.Or(strings.Join(chat.Columns(r.Data), ", "), "none"), chat.Nearest(r.Data))
	}
	c := chat.Reader{Record: r.Record, Tree: true, Called: r.values["calls"] != nil}
	if v := r.values["model"]; v != nil {
		c.Call.Model = value.ID(v)
	}
	if v := r.values["system"]; v != nil {
		if v[0] != '"' {
			must.Fail("column %q is %s, not text", r.Column("system"), importers.Brief(v))
		}
		c.System = jsontext.Unquote(v)
	}
	r.offer(&c)
	r.column("messages", c.AddList)
	c.Into(t)
	r.metadata(t, &c)
}

// offer sets the tools of all calls: a column of its own, or the only tool set
// when there is no column of calls.
func (r *row) offer(c *chat.Reader) {
	definitions, err := value.ChatTools(r.Sparse(r.values["tools"]))
	if err != nil {
		must.Fail("column %q: %w", r.Column("tools"), err)
	}
	if definitions == "" && !c.Called {
		n := 0
		for set := range jsontext.Elements(r.values["tool_sets"]) {
			if n++; n == 1 {
				definitions, _ = value.Array(set) // decode reports an error
			}
		}
		if n != 1 {
			return
		}
	}
	c.Offer(definitions)
}

// metadata sets the metadata: the column, and what has no column.
func (r *row) metadata(t *formats.Trajectory, c *chat.Reader) {
	r.column("metadata", func(v []byte) { t.Metadata = r.object(v) })
	var more importers.Metadata
	for _, column := range r.rest.Object {
		more.Add(column.Key, column.Raw)
	}
	c.OtherInto(&more)
	var o jsontext.Builder
	for key, v := range jsontext.Members([]byte(t.Metadata)) {
		o.Set(string(key), v)
	}
	added := more.String()
	for key, v := range jsontext.Members([]byte(added)) {
		if o.Get(string(key)) != nil {
			r.Lose(string(key), "the column metadata has another value of this name")
			continue
		}
		o.Set(string(key), v)
	}
	if added != "" {
		t.Metadata = string(o.Bytes())
	}
}
