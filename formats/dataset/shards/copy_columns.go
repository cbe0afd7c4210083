package shards

import (
	"context"

	"github.com/rollmill/rollmill/formats/secret"
)

// CopyColumns adds groups as WriteGroups does: the rows of the row group of from that
// begins at first, in a row group of their own. The copied columns have the same
// values in both, and are copied. They are encoded instead when from is in
// an object store, where reading them twice takes longer, or when a secret was
// removed from the rows; the row groups are the same.
func (w *TableWriter[T]) CopyColumns(ctx context.Context, from *ColumnSource, first int64, rows []T, ends []int) error {
	if err := w.cut(ctx); err != nil {
		return err
	}
	if !from.d.Local() || secret.Rows(w.s.secrets, rows) > 0 {
		if err := w.WriteGroups(ctx, rows, ends); err != nil {
			return err
		}
		return w.cut(ctx)
	}
	g := from.at(first)
	common, err := commonOf[T](from, g.part)
	if err != nil {
		return w.fail(err)
	}
	if err := w.add(ctx, rows, func() error { return w.w.CopyColumns(common, g.index, rows, ends) }); err != nil {
		return err
	}
	return w.cut(ctx)
}

// cut makes the next rows begin a row group.
func (w *TableWriter[T]) cut(ctx context.Context) error {
	if w.err != nil || w.w == nil {
		return w.err
	}
	if err := w.w.CutRowGroup(); err != nil {
		return w.fail(err)
	}
	if w.w.Ended() < partGroups {
		return nil
	}
	return w.end(ctx)
}
