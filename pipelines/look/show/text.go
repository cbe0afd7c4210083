package show

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/pipelines/look/text"
)

// nouns are the names of the rows of each kind.
var nouns = map[schema.Kind]string{schema.KindTrajectories: "trajectory", schema.KindScores: "score",
	schema.KindGroups: "member"}

// WriteText writes the view as text.
func (v View) WriteText(w io.Writer) error {
	m := v.Manifest
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name, format string, args ...any) {
		fmt.Fprintf(out, "%s\t%s\n", name, fmt.Sprintf(format, args...))
	}
	line("dataset", "%s", v.URI)
	line("stage", "%s, identity %s", m.Stage, m.Identity)
	line("rows", "%s in %s, %s, %s", plural.Of(m.Rows, cmp.Or(nouns[m.Kind], "row")), plural.Of(m.Shards, "shard"),
		plural.Of(len(m.PartsOf("")), "part"), plural.Of(m.StoredBytes(), "byte"))
	if v.Groups != nil {
		line("groups", "%s", v.Groups)
	}
	line("digest", "%s", m.RowsDigest)
	for _, in := range m.Inputs {
		line("input", "%s (%s)", in.URI, in.Role)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Params)) {
		line("parameter", "%s = %s", name, text.JSON(m.Params[name]))
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
		line("table", "%s, %s", name, plural.Of(m.Tables[name].Rows, "row"))
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if len(v.Rows) > 0 {
		if err := (&text.Layout{W: w}).Table(v.cells()); err != nil {
			return err
		}
	}
	return v.writeFunnel(w)
}

// writeFunnel writes what each rule of curate dropped.
func (v View) writeFunnel(w io.Writer) error {
	var s decision.CurateState
	if v.Manifest.Stage != "curate" || json.Unmarshal(v.Manifest.State, &s) != nil {
		return nil
	}
	rows := v.Manifest.Counts["kept"] + v.Manifest.Counts["dropped"]
	return decision.WriteFunnel(w, decision.Funnel(s.Order, int64(v.Manifest.Facts["groups"]), rows, v.Manifest.Facts))
}

// cells returns the names of the columns, as on disk, and the rows of the table.
func (v View) cells() (head []string, rows [][]string) {
	head = []string{"row"}
	for _, value := range v.Rows[0].Is {
		head = append(head, value.Name)
	}
	for _, row := range v.Rows {
		cells := []string{fmt.Sprint(row.Row)}
		for _, name := range head[1:] {
			cells = append(cells, cell(row.Is.Of(name)))
		}
		rows = append(rows, cells)
	}
	return head, rows
}

// WriteMarkdown writes the rows as a Markdown table.
func (v View) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	p := &text.Layout{W: &b, Markdown: true}
	p.Field("dataset", "%s", text.Line(v.URI))
	if len(v.Rows) > 0 {
		p.Table(v.cells())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func cell(value any) string {
	switch v := value.(type) {
	case string:
		return text.Cell(v)
	case *float64:
		return text.Float(v)
	case float64:
		return fmt.Sprint(v)
	}
	return text.Cell(text.JSON(value))
}
