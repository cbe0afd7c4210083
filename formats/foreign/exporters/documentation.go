package exporters

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/rollmill/rollmill/formats/schema"
)

// Describe returns what a format is, what it is made from, and its files.
func (f Format) Describe() string {
	what := f.Help
	if of := f.Of.Help(); of != "" {
		what += ", " + of
	}
	if f.Omits != "" {
		what += ", without " + f.Omits
	}
	all := Exports([]Format{f})
	files := all[0].File
	for i, x := range all[1:] {
		if files += ", " + x.File; len(f.Files) > 0 && i+1 >= len(f.Files) {
			files += " by export only"
		}
	}
	return fmt.Sprintf("%s (%s)", what, files)
}

// ColumnsOf returns the columns of a row, as its fields' tags "parquet" and
// "meaning" say. Those of a list of structs are named LIST.COLUMN.
func ColumnsOf[T any]() []Column { return columnsOf("", reflect.TypeFor[T]()) }

func columnsOf(above string, row reflect.Type) (out []Column) {
	meanings := map[uintptr]string{} // by place in the struct
	for i := range row.NumField() {
		meanings[row.Field(i).Offset] = row.Field(i).Tag.Get("meaning")
	}
	for _, f := range schema.FieldsOf(row) {
		out = append(out, Column{above + f.Name, meanings[f.Offset]})
		if f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct {
			out = append(out, columnsOf(above+f.Name+".", f.Type.Elem())...)
		}
	}
	return out
}

// About returns the notes of a format and its columns as text; "" when it does not say.
func (f Format) About() string {
	if len(f.Columns) == 0 {
		return f.Notes
	}
	var b strings.Builder
	if f.Notes != "" {
		b.WriteString(f.Notes + "\n")
	}
	b.WriteString("Columns:\n\n")
	for _, c := range f.Columns {
		fmt.Fprintf(&b, "  %-24s %s\n", c.Name, c.Meaning)
	}
	return b.String()
}
