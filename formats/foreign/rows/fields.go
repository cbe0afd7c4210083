package rows

import (
	"reflect"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/schema"
)

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
