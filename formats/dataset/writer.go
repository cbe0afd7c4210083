package dataset

import (
	"context"
	"encoding/json"
	"fmt"
)

// Options say which shard to write and whether to replace.
type Options struct {
	Shard, Of int  // Of 0 means 1
	Overwrite bool // replace a dataset of another identity
}

// Shard is one shard of a dataset being written. Its tables may be written
// from different goroutines, each table from one.
type Shard struct {
}

// Begin starts a shard of the dataset that spec describes. When the dataset,
// or this shard's record, is already there, the shard is UpToDate and must
// not be written. Another identity at the URI is an error (kind usage) unless
// Overwrite.
func Begin(ctx context.Context, uri string, spec Spec, o Options) (*Shard, error) { panic("todo") }

// UpToDate tells that there is nothing to do.
func (s *Shard) UpToDate() bool { panic("todo") }

// Identity is the dataset's.
func (s *Shard) Identity() string { panic("todo") }

// TableWriter writes the rows of one table of one shard.
type TableWriter[T any] struct {
}

// NewTable returns the writer of a table; "" is the main one. For a thin main
// table, baseFirst is the base row that its first row stands beside; else -1.
func NewTable[T any](s *Shard, table string, baseFirst int64) *TableWriter[T] { panic("todo") }

// Write adds rows that belong together: of a wide or thin main table, one
// whole group a call (it stays in one row group, and its heavy pages begin
// with it). Rows may be changed only in that their payload digest is set.
func (w *TableWriter[T]) Write(ctx context.Context, rows []T) error { panic("todo") }

// Outcome is what a shard's record says beside its rows.
type Outcome struct {
	Counts, Drops, Failures map[string]int64
	Facts, Timings          map[string]float64
	State                   json.RawMessage
}

// Result is what became of a commit.
type Result struct {
	URI      string
	Identity string
	UpToDate bool
	Rows     int64    // of this shard
	Sealed   *Dataset // the dataset, when all shards are in; else nil
	Missing  []int    // shards still missing
}

// Commit ends every table, writes the shard's record and, when it is the last,
// the manifest. If another process wrote this shard's record first, that one
// stands and our parts are removed. When a gate refuses the sealed dataset,
// the Result is whole and the error is a *GateError. On an UpToDate shard it
// only looks.
func (s *Shard) Commit(ctx context.Context, o Outcome) (Result, error) { panic("todo") }

// Discard removes what was written. After Commit it does nothing.
func (s *Shard) Discard() error { panic("todo") }

// GateError says that gates refused a dataset whose rows are kept.
type GateError struct {
	URI   string
	Gates []GateResult // the refused ones
}

func (e *GateError) Error() string {
	g := e.Gates[0]
	bound, limit := "above", g.Max
	if limit == nil {
		bound, limit = "below", g.Min
	}
	return fmt.Sprintf("%q: gate %s refused the dataset: %s is %.4g, %s %.4g", e.URI, g.Name, g.Count, g.Value, bound, *limit)
}

// Hint is what the command line prints after the error.
func (e *GateError) Hint() string {
	return fmt.Sprintf("the rows are kept; look at them with `rollmill show`, change --%s, or read the dataset with --accept-gate %s", e.Gates[0].Name, e.Gates[0].Name)
}
