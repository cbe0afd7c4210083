package show

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

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
	b := bufio.NewWriter(w)
	p := &text.Layout{W: b}
	v.head(p)
	p.Field("digest", "%s", m.RowsDigest)
	for _, in := range m.Inputs {
		p.Field("input", "%s (%s)", in.URI, in.Role)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Params)) {
		p.Field("parameter", "%s = %s", name, text.JSON(m.Params[name]))
	}
	for _, t := range []struct {
		name   string
		counts map[string]int64
	}{{"count", m.Counts}, {"dropped", m.Drops}, {"failed", m.Failures}} {
		for _, key := range slices.Sorted(maps.Keys(t.counts)) {
			p.Field(t.name, "%s %d", key, t.counts[key])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Tables)) {
		p.Field("table", "%s, %s", name, plural.Of(m.Tables[name].Rows, "row"))
	}
	if len(v.Rows) > 0 {
		p.Table(v.cells())
	}
	if err := v.writeFunnel(b); err != nil {
		return err
	}
	return b.Flush()
}

// head writes what every view begins with.
func (v View) head(p *text.Layout) {
	m := v.Manifest
	p.Field("dataset", "%s", text.Line(v.URI))
	p.Field("stage", "%s, identity %s", text.Line(m.Stage), text.Line(m.Identity))
	p.Field("rows", "%s in %s, %s, %s", plural.Of(m.Rows, cmp.Or(nouns[m.Kind], "row")), plural.Of(m.Shards, "shard"),
		plural.Of(len(m.PartsOf("")), "part"), plural.Of(m.StoredBytes(), "byte"))
	if v.Groups != nil {
		p.Field("groups", "%s", v.Groups)
	}
	for _, g := range m.Gates {
		if g.Refused {
			p.Field("refused by", "%s: %s is %.4g", text.Line(g.Name), text.Line(g.Count), g.Value)
		}
	}
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
	b := bufio.NewWriter(w)
	p := &text.Layout{W: b, Markdown: true}
	p.Field("dataset", "%s", text.Line(v.URI))
	if len(v.Rows) > 0 {
		p.Table(v.cells())
	}
	return b.Flush()
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
