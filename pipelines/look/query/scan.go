package query

import (
	"context"
	"encoding/json"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/expression"
)

// light and heavy are the columns that are read for a condition.
type light struct {
	Answer   string `parquet:"answer,optional"`
	Metadata string `parquet:"metadata,optional"`
}

type heavy struct {
	Answer   string `parquet:"answer,optional"`
	Metadata string `parquet:"metadata,optional"`
	Messages []struct {
		Parent int32 `parquet:"parent,delta"`
	} `parquet:"messages,list"`
	Calls []struct {
		Target bool `parquet:"target"`
	} `parquet:"calls,list"`
}

// scan judges the rows while it reads the columns that the index does not have.
func (x *Index) scan(ctx context.Context, c *condition, reads func(string) bool) (set, error) {
	if reads("messages") || reads("calls") {
		return scanned(ctx, x, c, func(h *heavy, r *expression.Row) {
			r.Answer, r.Messages, r.Calls = h.Answer, len(h.Messages), len(h.Calls)
			_ = json.Unmarshal([]byte(h.Metadata), &r.Metadata) // anything but an object has no fields
		})
	}
	return scanned(ctx, x, c, func(l *light, r *expression.Row) {
		r.Answer = l.Answer
		_ = json.Unmarshal([]byte(l.Metadata), &r.Metadata) // anything but an object has no fields
	})
}

func scanned[T any](ctx context.Context, x *Index, c *condition, put func(*T, *expression.Row)) (set, error) {
	out := newSet(x.Rows)
	var r expression.Row
	row := uint32(0)
	for t, err := range dataset.Each[T](ctx, x.From.Base, "", x.From.Base.All()) {
		if err != nil {
			return nil, err
		}
		r.Metadata = nil
		put(t, &r)
		if err := c.row(ctx, x, &r, row, out); err != nil {
			return nil, err
		}
		row++
	}
	return out, nil
}
