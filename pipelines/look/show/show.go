// Package show reads what one dataset holds for people: its manifest, some of its rows, joined
// with its base, and what all of them add up to. It changes nothing.
//
// To show another kind of row, add the columns worth seeing to usual in selection.go.
package show

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/pipelines/look/text"
)

// Options select what to show.
type Options struct {
	Table string // "" for the main one
	First int64  // row to begin with, from 0
	Rows  int    // maximum number of rows; 0 for none

	Failed bool // only rows whose status is failed

	Columns []string // to show, in this order, or "all"; empty for the usual ones
	Where   string   // only rows for which this expression is true; "": all

	Sort string // expression to sort by, nulls last; "": the order of the dataset
	Desc bool   // largest first

	Summary bool // read what the rows add up to
}

// View is what show prints of a dataset.
type View struct {
	URI      string            `json:"uri"`
	Groups   *GroupSizes       `json:"groups,omitempty"` // of a group dataset
	Manifest manifest.Manifest `json:"manifest"`
	Table    string            `json:"table,omitempty"`
	Columns  []string          `json:"columns"` // of the dataset's own rows
	First    int64             `json:"first"`
	Rows     []Row             `json:"rows"`
	Summary  *Summary          `json:"summary,omitempty"` // if it was asked for
}

// Show reads the dataset at a URI, even if a gate refused it.
func Show(ctx context.Context, uri string, o Options) (View, error) {
	v := View{Table: o.Table, First: o.First}
	d, err := dataset.Open(ctx, uri, dataset.OpenOptions{IgnoreGates: true})
	if err != nil {
		return v, err
	}
	v.URI, v.Manifest = d.URI(), d.Manifest
	err = eachSelected(ctx, d, o, func(row Row) error {
		v.Rows = append(v.Rows, row)
		return nil
	})
	if err != nil {
		return v, err
	}
	if v.Groups, err = groupSizes(ctx, d); err != nil {
		return v, err
	}
	if v.Columns, err = d.ColumnNames(ctx); err != nil {
		return v, err
	}
	if o.Summary {
		v.Summary, err = summarized(ctx, d)
	}
	return v, err
}

// Raw calls f with each selected row of the dataset at a URI. It holds one row at a
// time.
func Raw(ctx context.Context, uri string, o Options, f func(Row) error) error {
	d, err := dataset.Open(ctx, uri, dataset.OpenOptions{IgnoreGates: true})
	if err != nil {
		return err
	}
	return eachSelected(ctx, d, o, f)
}

// GroupSizes is the number of groups and the range of their sizes.
type GroupSizes struct {
	Groups   int64 `json:"groups"`
	Smallest int32 `json:"smallest"`
	Largest  int32 `json:"largest"`
}

// String returns "6 groups of 8", or "6 groups of 7 to 8".
func (g *GroupSizes) String() string {
	text := fmt.Sprintf("%s of %d", plural.Of(g.Groups, "group"), g.Smallest)
	if g.Largest > g.Smallest {
		text += fmt.Sprintf(" to %d", g.Largest)
	}
	return text
}

// groupSizes reads the sizes of the groups of a group dataset. It returns nil for
// other datasets.
func groupSizes(ctx context.Context, d *dataset.Dataset) (*GroupSizes, error) {
	if _, ok := d.Tables[schema.TableGroups]; !ok || d.Kind != schema.KindGroups {
		return nil, nil
	}
	g := &GroupSizes{}
	for s, err := range dataset.Each[formats.GroupStats](ctx, d, schema.TableGroups, d.AllOf(schema.TableGroups)) {
		if err != nil {
			return nil, err
		}
		if g.Groups++; g.Groups == 1 {
			g.Smallest = s.Count
		}
		g.Smallest, g.Largest = min(g.Smallest, s.Count), max(g.Largest, s.Count)
	}
	return g, nil
}

// nouns are the names of the rows of each kind.
var nouns = map[schema.Kind]string{schema.KindTrajectories: "trajectory", schema.KindScores: "score",
	schema.KindGroups: "member"}

// WriteText writes the view as text.
func (v View) WriteText(w io.Writer) error {
	m := v.Manifest
	var b strings.Builder
	p := &text.Layout{W: &b}
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
	if err := v.writeFunnel(&b); err != nil {
		return err
	}
	_, err := io.WriteString(w, b.String())
	return err
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
