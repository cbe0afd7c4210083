// Package rows reads and writes rows under our own column names: as JSON Lines
// (Exporter), as they are (Trajectories), and from tables of others (Importer).
package rows

import (
	"cmp"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/chat"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/records"
	"github.com/rollmill/rollmill/formats/schema"
)

// Importer reads rows whose columns have the names of Rollmill's own, as JSON
// Lines, JSON, CSV or Parquet: what `rollmill export` writes as rows, and tables of
// others whose columns --map names. Every column but messages is optional.
//
// The messages are those of a Rollmill row, or chat messages, or ShareGPT's turns
// (see package formats/foreign/chat). Without calls, each assistant's message is a call of
// its own, unless its member sampled is false. A message without a parent
// follows the one before it.
//
// Rows that export wrote, with their ids and digests, keep their ids.
//
// Numbers keep all their digits. A column that is JSON text in a dataset
// (example, metadata, calls.sampling, ...) may be text or a value.
var Importer = importers.Format{
	Name:       "rows",
	Spec:       "the columns of the table trajectories: rollmill help datasets",
	Unscored:   regexp.MustCompile(`^reward$`),
	Help:       "rows with the names of Rollmill's columns, or with others that --map names",
	Extensions: records.Extensions(),
	Fields:     fields(),
	Columns:    true,
	Records:    importers.Rows,
	Parse:      parse,
}

// columns are the columns of a row by name.
var columns = func() map[string]schema.Field {
	all := map[string]schema.Field{}
	for _, f := range schema.FieldsOf(reflect.TypeFor[formats.Trajectory]()) {
		all[f.Name] = f
	}
	return all
}()

// more are fields that no row has.
var more = []importers.Field{
	{Name: "system", Help: "the system prompt, when the messages have none"},
	{Name: "tools", Help: "definitions of the tools of all calls: a list, or JSON text"},
	{Name: "label", Help: "whether the answer is desirable (KTO)"},
	importers.RoleField,
}

// fields returns what --map can name: the columns, and more.
func fields() []importers.Field {
	var out []importers.Field
	for _, f := range schema.FieldsOf(reflect.TypeFor[formats.Trajectory]()) {
		out = append(out, importers.Field{Name: f.Name, Help: meaning(f.Name)})
	}
	return append(out, more...)
}

// meaning returns what the documentation says about a column.
func meaning(name string) string {
	for _, c := range schema.Columns(schema.KindTrajectories) {
		if c.Path == name {
			return c.Meaning
		}
	}
	return "a list as in the column of a dataset"
}

// row is a row that is being read.
type row struct {
	*importers.Record
	values map[string][]byte // by field
	rest   jsontext.Builder  // other columns
}

func parse(record *importers.Record) ([]importers.Item, error) {
	r := row{Record: record}
	begin := func() { r.values, r.rest = map[string][]byte{}, jsontext.Builder{} }
	begin()
	value.Members(record, r.add, begin)
	items := make([]importers.Item, 1)
	x := &items[0]
	if id := r.values["example_id"]; len(id) > 0 {
		x.NumberID = id[0] != '"'
	}
	r.conversation(&x.Row)
	r.decode(&x.Row)
	r.set(x)
	return items, nil
}

func (r *row) add(key, v []byte) {
	if string(v) == "null" {
		if string(key) != r.Column("messages") {
			return
		}
		v = []byte("[]") // none
	}
	used := false
	if r.Options != nil {
		for name, c := range r.Map {
			if c == string(key) && !importers.IsRole(name) {
				r.values[name], used = v, true
			}
		}
	}
	if _, mapped := r.Mapped(string(key)); !used && !mapped && known(string(key)) {
		r.values[string(key)], used = v, true
	}
	if !used {
		r.rest.Set(string(key), v)
	}
}

func known(name string) bool {
	_, ok := columns[name]
	return ok || slices.ContainsFunc(more, func(f importers.Field) bool { return f.Name == name })
}

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

// column reads the value of a column.
func (r *row) column(name string, read func(v []byte)) {
	defer must.At("column %q", r.Column(name))
	read(r.values[name])
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

// set sets what belongs to an item.
func (r *row) set(x *importers.Item) {
	t := &x.Row
	if r.values["epoch"] != nil {
		epoch := t.Epoch
		x.Epoch = &epoch
	}
	if r.values["generation"] != nil {
		attempt := int64(t.Generation)
		x.Attempt = &attempt
	}
	x.Final = t.TrajectoryID != "" && t.Run != "" && t.ExampleID != "" && x.Epoch != nil && x.Attempt != nil &&
		len(t.PayloadDigest) == 32
	if len(t.Messages) == 0 && t.Status == "" {
		t.Status = outcomes.StatusSkipped // a blank row
	}
	if r.values["reward"] == nil {
		t.Reward = total(r.values["rewards"], t.Rewards)
	}
	if v := r.values["label"]; v != nil {
		on, ok := value.Truth(v)
		if !ok {
			must.Fail("column %q is %s, neither true nor false", r.Column("label"), importers.Brief(v))
		}
		x.Label = &on
	}
	for i := range t.Calls {
		if tools := t.Calls[i].Tools; tools < -1 || int(tools) >= len(t.ToolSets) {
			must.Fail("call %d has the tools %d of %d", i, tools, len(t.ToolSets))
		}
	}
}

// total returns the sum of rewards that are an object, nil when one of them has
// no value. A list of rewards is a column of a dataset, which has a total of
// its own.
func total(v []byte, rewards []formats.NamedReward) *float64 {
	if len(v) == 0 || v[0] != '{' || len(rewards) == 0 {
		return nil
	}
	sum := 0.0
	for i := range rewards {
		if rewards[i].Value == nil {
			return nil
		}
		sum += *rewards[i].Value
	}
	return &sum
}
