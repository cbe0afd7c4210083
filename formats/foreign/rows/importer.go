// Package rows reads and writes rows under our own column names: as JSON Lines
// (Exporter), as they are (Trajectories), and from tables of others (Importer).
package rows

import (
	"reflect"
	"regexp"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
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

// fields returns what --map can name: the columns, and more.
func fields() []importers.Field {
	var out []importers.Field
	for _, f := range schema.FieldsOf(reflect.TypeFor[formats.Trajectory]()) {
		out = append(out, importers.Field{Name: f.Name, Help: meaning(f.Name)})
	}
	return append(out, more...)
}

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

func known(name string) bool {
	_, ok := columns[name]
	return ok || slices.ContainsFunc(more, func(f importers.Field) bool { return f.Name == name })
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
