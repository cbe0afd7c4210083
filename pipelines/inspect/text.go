package inspect

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// cellWidth is the number of characters of a text in a cell of the table.
const cellWidth = 48

// WriteText writes the view as text.
func (v View) WriteText(w io.Writer) error {
	m := v.Manifest
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(out, "%s\t%s\n", name, fmt.Sprintf(format, args...))
	}
	line("dataset", "%s", v.URI)
	line("stage", "%s, identity %s", m.Stage, m.Identity)
	kind := string(m.Kind)
	if m.Kind == formats.KindGroups {
		kind = "members"
	}
	line("rows", "%d %s in %d shards, %d parts, %d bytes", m.Rows, kind, m.Shards, len(m.Parts), m.Bytes)
	if v.Groups != nil {
		line("groups", "%s", v.Groups)
	}
	line("digest", "%s", m.RowsDigest)
	for _, in := range m.Inputs {
		line("input", "%s (%s)", in.URI, in.Role)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Params)) {
		line("parameter", "%s = %s", name, asJSON(m.Params[name]))
	}
	for _, t := range []struct {
		name   string
		counts map[string]int64
	}{{"count", m.Counts}, {"dropped", m.Drops}, {"failed", m.Failures}} {
		for _, key := range slices.Sorted(maps.Keys(t.counts)) {
			line(t.name, "%s %d", key, t.counts[key])
		}
	}
	for _, g := range m.Gates {
		if g.Refused {
			line("refused by", "%s: %s is %.4g", g.Name, g.Count, g.Value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Tables)) {
		line("table", "%s, %d rows", name, m.Tables[name].Rows)
	}
	v.writeRows(out)
	if err := out.Flush(); err != nil {
		return err
	}
	return v.writeFunnel(w)
}

// writeFunnel writes what each rule of curate dropped.
func (v View) writeFunnel(w io.Writer) error {
	var s formats.CurateState
	if v.Manifest.Stage != "curate" || json.Unmarshal(v.Manifest.State, &s) != nil {
		return nil
	}
	rows := v.Manifest.Counts["kept"] + v.Manifest.Counts["dropped"]
	return formats.WriteFunnel(w, formats.Funnel(s.Order, int64(v.Manifest.Facts["groups"]), rows, v.Manifest.Facts))
}

// Line returns a text from a model or a program as one line without control
// characters.
func Line(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || !unicode.IsPrint(r) }), " ")
}

// writeRows writes the rows as a table, columns named as on disk.
func (v View) writeRows(out io.Writer) {
	rows := reflect.ValueOf(v.Rows)
	if v.Rows == nil || rows.Len() == 0 {
		return
	}
	columns := rows.Type().Elem().Field(1).Type
	names := []string{"row"}
	for i := range columns.NumField() {
		name, _, _ := strings.Cut(columns.Field(i).Tag.Get("json"), ",")
		names = append(names, name)
	}
	fmt.Fprintf(out, "\n%s\n", strings.Join(names, "\t"))
	for k := range rows.Len() {
		row := rows.Index(k)
		cells := []string{fmt.Sprint(row.Field(0))}
		for i := range columns.NumField() {
			cells = append(cells, cell(row.Field(1).Field(i)))
		}
		fmt.Fprintln(out, strings.Join(cells, "\t"))
	}
}

// asJSON returns a parameter as the manifest holds it.
func asJSON(v any) string {
	b, err := jsontext.Append(nil, v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

func cell(v reflect.Value) string {
	switch {
	case v.Kind() == reflect.Pointer && v.IsNil():
		return "null"
	case v.Kind() == reflect.Pointer:
		return fmt.Sprintf("%.4g", v.Elem().Interface())
	case v.Kind() != reflect.String:
		return fmt.Sprint(v.Interface())
	}
	return short(v.String())
}
