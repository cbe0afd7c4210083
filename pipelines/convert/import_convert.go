package convert

import (
	"errors"
	"fmt"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/parquet"
	"github.com/rollmill/rollmill/formats/validate"
)

// convert converts the records of a batch.
func (o *ImportOptions) convert(b *batch, h *hasher, account *importers.Account) {
	b.parsed = make([]parsed, len(b.records))
	free := make([]row, len(b.records)) // most records have one item
	for i, r := range b.records {
		p := &b.parsed[i]
		p.Record = r
		p.Convert(&o.Format)
		if p.fresh = account.Add(p.Data, p.Err == nil); p.Err != nil {
			continue
		}
		n := len(p.Items)
		if n > len(free) {
			free = make([]row, n)
		}
		p.rows, free = free[:n:n], free[n:]
		if p.Err = o.rows(p, h, o.Files[b.file].URI); p.Err != nil {
			p.rows = nil
		}
	}
}

// rows makes the rows of a record: its items with what decides their ids and groups.
func (o *ImportOptions) rows(p *parsed, h *hasher, file string) error {
	out := p.rows
	for i := range p.Items {
		r := &out[i]
		r.Item, r.size = &p.Items[i], len(p.Data)
		if o.Train == TrainLast && o.Merge == MergeNone {
			trainLast(&r.Row)
			if err := importers.Finish(r.Item); err != nil {
				return err
			}
		}
		r.redacted = o.Redact.Trajectory(&r.Row)
		if column, n := oversize(&r.Row, len(p.Data)); column != "" {
			return errors.New(tooLarge(column, n))
		}
		if err := o.identify(r, h, p.Data); err != nil {
			return err
		}
		if o.Merge == MergeCalls {
			if err := o.call(r, p.Data, p.source(file, r)); err != nil {
				return err
			}
			continue
		}
		r.Whole = "" // it was for grouping, and goes to no file
		if r.Pair == importers.Rejected && i > 0 && out[i-1].Pair == importers.Chosen {
			r.Row.ExampleID = out[i-1].Row.ExampleID // a preference is one group
		}
		if !r.Final { // as the row is stored, so that import and later stages find the same in it
			withSource(&r.Row)
		}
	}
	return nil
}

// source returns where a row comes from.
func (p *parsed) source(file string, r *row) validate.Source {
	return validate.Source{File: file, Line: int64(p.Line), Record: p.Row, ID: r.Row.TrajectoryID, Preferred: preferred(r)}
}

func tooLarge(column string, bytes int64) string {
	return fmt.Sprintf("column %s has %d bytes, and a dataset holds at most %d in one row", column, bytes, parquet.MaxColumnBytes)
}

// oversize returns the column of a row that no dataset can hold, if there is
// one. Few rows are large enough to be looked at.
func oversize(t *formats.Trajectory, bytes int) (string, int64) {
	if bytes < parquet.MaxColumnBytes/8 { // a text may grow when it is decoded
		return "", 0
	}
	column, n := parquet.Oversize(t)
	return column, int64(n)
}

// trainLast leaves only the last trained answer of the main path to be trained.
func trainLast(t *formats.Trajectory) {
	last := -1
	for _, i := range t.Main() {
		if t.Trained(i) {
			last = i
		}
	}
	for i := range t.Messages {
		if i != last && t.Trained(i) {
			t.Calls[t.Messages[i].Call].Target = false
		}
	}
}
