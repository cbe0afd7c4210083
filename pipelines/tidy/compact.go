package tidy

import (
	"cmp"
	"context"
	"fmt"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/plural"
)

// CompactOptions say which dataset is compacted, and how.
type CompactOptions struct {
	Open     dataset.OpenOptions
	PartSize int64 // bytes
	DryRun   bool
}

// Outcome is what was, or would be, done.
type Outcome struct {
	URI      string  `json:"uri"`
	Identity string  `json:"identity"`
	Applied  bool    `json:"applied"` // the parts are, or already were, large
	PartSize int64   `json:"part_size"`
	Tables   []Table `json:"tables"` // those with small parts
}

// Table is a table with small parts.
type Table struct {
	Name       string `json:"table"` // "" for the main one
	Rows       int64  `json:"rows"`
	Parts      int    `json:"parts"`
	Bytes      int64  `json:"bytes"`
	PartsAfter int    `json:"parts_after"` // without Applied, about that many
	BytesAfter int64  `json:"bytes_after,omitempty"`
}

// Compact compacts the dataset at a URI, or only looks at it.
func Compact(ctx context.Context, uri string, o CompactOptions) (*Outcome, error) {
	d, err := dataset.Open(ctx, uri, o.Open)
	if err != nil {
		return nil, err
	}
	if err := d.Known(); err != nil {
		return nil, err
	}
	out := &Outcome{URI: d.URI(), Identity: d.Identity, Applied: !o.DryRun, PartSize: o.PartSize, Tables: []Table{}}
	for _, name := range shards.Small(d, o.PartSize) {
		t := Table{Name: name}
		for _, p := range d.PartsOf(name) {
			t.Rows += p.Rows
			t.Bytes += p.Bytes
			t.Parts++
		}
		t.PartsAfter = int((t.Bytes + o.PartSize - 1) / o.PartSize)
		out.Tables = append(out.Tables, t)
	}
	if o.DryRun {
		return out, nil
	}
	if d, err = shards.Compact(ctx, d, o.PartSize); err != nil {
		return nil, err
	}
	for i := range out.Tables {
		t := &out.Tables[i]
		t.PartsAfter = 0
		for _, p := range d.PartsOf(t.Name) {
			t.PartsAfter++
			t.BytesAfter += p.Bytes
		}
	}
	return out, nil
}

// Lines says what was, or would be, done: a line for each table, and one more.
func (o *Outcome) Lines() (lines []string) {
	for _, t := range o.Tables {
		name, before := cmp.Or(t.Name, "rows"), fmt.Sprintf("%s in %s", plural.Bytes(t.Bytes), plural.Of(t.Parts, "part"))
		if o.Applied {
			lines = append(lines, fmt.Sprintf("%s: %s became %s in %s", name, before, plural.Bytes(t.BytesAfter),
				plural.Of(t.PartsAfter, "part")))
		} else {
			lines = append(lines, fmt.Sprintf("%s: %s would become about %s", name, before, plural.Of(t.PartsAfter, "part")))
		}
	}
	switch {
	case len(o.Tables) == 0:
		return append(lines, "nothing to do: no two adjacent parts fit into one")
	case !o.Applied:
		return append(lines, "nothing was changed: --dry-run")
	}
	return append(lines, "the old parts stay for those who read them; `rollmill prune --apply` removes them after "+
		"its --grace")
}
