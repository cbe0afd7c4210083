// Package rows reads and writes rows under our own column names: as JSON Lines
// (Exporter), as they are (Trajectories), and from tables of others (Importer).
package rows

import (
	"cmp"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

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
}.ParsedBy(parse)

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
	defer func() {
		if v := recover(); v != nil {
			panic(importers.Placed(v, "column %q", r.Column(name)))
		}
	}()
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

// decode reads the columns that conversation does not.
func (r *row) decode(t *formats.Trajectory) {
	for _, f := range schema.FieldsOf(reflect.TypeFor[formats.Trajectory]()) {
		if r.values[f.Name] != nil && f.Name != "messages" && f.Name != "metadata" {
			r.column(f.Name, func(v []byte) { r.value(f.In(reflect.ValueOf(t).Elem()), f.Name, v) })
		}
	}
}

// objects are columns of JSON objects.
var objects = map[string]bool{"example": true, "calls.sampling": true, "candidates.metadata": true}

// value reads a value of a column, whose path is the names down to it.
func (r *row) value(to reflect.Value, path string, v []byte) {
	if string(v) == "null" {
		return
	}
	switch to.Kind() {
	case reflect.String:
		to.SetString(r.textOf(path, v))
	case reflect.Bool:
		on, ok := value.Truth(v)
		if !ok {
			must.Fail("%s is neither true nor false", importers.Brief(v))
		}
		to.SetBool(on)
	case reflect.Int32, reflect.Int64:
		whole(to, path, v)
	case reflect.Float32, reflect.Float64:
		x, err := strconv.ParseFloat(value.Scalar(v), to.Type().Bits())
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			must.Fail("%s is not a finite number", importers.Brief(v))
		}
		to.SetFloat(x)
	case reflect.Pointer:
		if value.Scalar(v) != "" { // an empty field of CSV
			to.Set(reflect.New(to.Type().Elem()))
			r.value(to.Elem(), path, v)
		}
	case reflect.Slice:
		r.list(to, path, v)
	default:
		r.members(to, path, v)
	}
}

// list reads a list, or JSON text with one.
func (r *row) list(to reflect.Value, path string, v []byte) {
	if v[0] == '"' {
		if v = []byte(value.Scalar(v)); len(v) == 0 {
			return
		}
	}
	if path == "rewards" && v[0] == '{' {
		v = namedRewards(v)
	}
	if v[0] != '[' || !jsontext.Valid(v) {
		must.Fail("it is %s, not a list", importers.Brief(v))
	}
	n := 0
	for range jsontext.Elements(v) {
		n++
	}
	to.Set(reflect.MakeSlice(to.Type(), n, n))
	n = 0
	defer func() {
		if v := recover(); v != nil {
			panic(importers.Placed(v, "element %d", n))
		}
	}()
	for e := range jsontext.Elements(v) {
		if string(e) == "null" {
			must.Fail("it is null")
		}
		r.value(to.Index(n), path, e)
		n++
	}
}

// namedRewards returns an object of named rewards as the list that the column
// is.
func namedRewards(v []byte) []byte {
	var list [][]byte
	for name, x := range jsontext.Members(v) {
		list = append(list, jsontext.Object{{Key: "weight", Raw: []byte("1")},
			{Key: "name", Raw: importers.Quote(string(name))}, {Key: "value", Raw: x}}.Bytes())
	}
	return value.Join(list)
}

// members reads an object.
func (r *row) members(to reflect.Value, path string, v []byte) {
	if v[0] != '{' {
		must.Fail("it is %s, not an object", importers.Brief(v))
	}
	if path == "calls" {
		to.Set(reflect.ValueOf(formats.Call{Sampling: "{}", Tools: -1, Target: true}))
	}
	if path == "candidates" {
		to.Set(reflect.ValueOf(formats.Candidate{Message: -1}))
	}
	for key, v := range jsontext.Members(v) {
		f, ok := member(to.Type(), string(key))
		if !ok {
			if string(v) != "null" {
				r.Lose(path+"."+string(key), "there is no such column")
			}
			continue
		}
		if path == "candidates" && f.Name == "tool_calls" {
			calls, rest, err := chat.ToolCalls(v, r.Record)
			if err != nil {
				importers.Refuse(err)
			}
			if rest != nil {
				r.Lose("candidates.tool_calls", "a call has members that no column holds")
			}
			f.In(to).Set(reflect.ValueOf(calls))
			continue
		}
		r.member(to, f, path, v)
	}
}

func (r *row) member(to reflect.Value, f schema.Field, path string, v []byte) {
	defer must.In(f.Name)
	r.value(f.In(to), path+"."+f.Name, v)
}

func member(t reflect.Type, name string) (schema.Field, bool) {
	for _, f := range schema.FieldsOf(t) {
		if f.Name == name {
			return f, true
		}
	}
	return schema.Field{}, false
}

// textOf returns a text; a number where the column is an id; the JSON of a value
// where the column is JSON.
func (r *row) textOf(path string, v []byte) string {
	switch {
	case objects[path]:
		return r.object(v)
	case path == "tool_sets":
		list, err := value.Array(v)
		if err != nil {
			importers.Refuse(err)
		}
		return list
	case v[0] == '"':
		return jsontext.Unquote(v)
	case value.ID(v) == "":
		must.Fail("it is %s, not text", importers.Brief(v))
	}
	return value.ID(v)
}

// object returns the text of an object, which may be JSON text.
func (r *row) object(v []byte) string {
	if len(v) == 0 {
		return ""
	}
	text := v
	if v[0] == '"' {
		if text = []byte(value.Scalar(v)); len(text) == 0 {
			return ""
		}
	}
	var reading jsontext.Reading
	object, ok := reading.Value(text)
	if reading.Refused != nil {
		importers.Refuse(reading.Refused)
	}
	if !ok || object[0] != '{' {
		must.Fail("%s is not a JSON object", importers.Brief(text))
	}
	if r.LoseAll(reading.Lost); v[0] == '"' && len(reading.Lost) == 0 {
		return jsontext.Unquote(v) // as it was written
	}
	return jsontext.Compact(object)
}

// whole reads a whole number. A time may be ISO 8601 text, as Parquet's
// timestamps are.
func whole(to reflect.Value, path string, v []byte) {
	text := value.Scalar(v)
	if text == "" {
		return
	}
	n, err := strconv.ParseInt(strings.TrimSuffix(text, ".0"), 10, to.Type().Bits())
	if err != nil && (path == "started_at" || path == "finished_at") {
		var at time.Time
		if at, err = time.Parse(time.RFC3339Nano, text); err != nil {
			at, err = time.Parse("2006-01-02T15:04:05.999999999", text) // of a column without a zone: UTC
		}
		if n = 0; err == nil {
			n = at.UnixMicro()
		}
	}
	if err != nil {
		must.Fail("%s is not a whole number of %d bits", importers.Brief(v), to.Type().Bits())
	}
	to.SetInt(n)
}
