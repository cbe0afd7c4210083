package query

import (
	"cmp"
	"context"
	"iter"
	"reflect"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/schema"
)

// Row is a row of a dataset with the columns that were asked for; others are zero.
type Row struct {
	Number       int64                 `parquet:"-"`
	TrajectoryID string                `parquet:"trajectory_id"`
	ExampleID    string                `parquet:"example_id"`
	Epoch        int32                 `parquet:"epoch"`
	Generation   int32                 `parquet:"generation"`
	ForkedFrom   string                `parquet:"forked_from,optional"`
	ForkCall     *int32                `parquet:"fork_call,optional"`
	Status       string                `parquet:"status"`
	GroupID      string                `parquet:"group_id,optional"`
	Reward       *float64              `parquet:"reward,optional"`
	Rewards      []formats.NamedReward `parquet:"rewards,list"`
	Failure      string                `parquet:"failure,optional"`
	Advantage    *float64              `parquet:"advantage,optional"`
	NoAdvantage  string                `parquet:"no_advantage,optional"`
	Signals      []formats.Signal      `parquet:"signals,optional,list"`
	Recorded

	place place // in the order of the query
}

// Recorded are the columns that only trajectories have. A thin row has those of its base.
type Recorded struct {
	Run              string `parquet:"run,optional"`
	StopReason       string `parquet:"stop_reason,optional"`
	FailureClass     string `parquet:"failure_class,optional"`
	Model            string `parquet:"model,optional"`
	PolicyVersion    *int64 `parquet:"policy_version,optional"`
	PromptTokens     int32  `parquet:"prompt_tokens,optional"`
	CompletionTokens int32  `parquet:"completion_tokens,optional"`
	SampledTokens    int32  `parquet:"sampled_tokens,optional"`
	StartedAt        int64  `parquet:"started_at,optional,timestamp(microsecond)"`
	FinishedAt       int64  `parquet:"finished_at,optional,timestamp(microsecond)"`
	Example          string `parquet:"example,optional"`
	Answer           string `parquet:"answer,optional"`
	Metadata         string `parquet:"metadata,optional"`
	Attempts         int32  `parquet:"attempts,optional"`
	Diverged         string `parquet:"diverged,optional"`

	Artifacts []formats.Artifact `parquet:"artifacts,optional,list"`
	Messages  []struct {
		Parent int32 `parquet:"parent"`
	} `parquet:"messages,list"`
	Calls []formats.Call `parquet:"calls,list"`
}

// Group returns the id of the row's group. It needs group_id, or else example_id, epoch,
// forked_from and fork_call.
func (r *Row) Group() string {
	if r.GroupID != "" {
		return r.GroupID
	}
	return formats.GroupOf(r.ExampleID, int(r.Epoch), r.ForkedFrom, r.ForkCall)
}

// Rows yields the rows of a dataset that a query chooses, in the dataset's order, with these
// columns; its base is opened only if they or the query need it. A row is valid until the next;
// an error is the last that is yielded.
func Rows(ctx context.Context, d *dataset.Dataset, q Query, columns ...string) iter.Seq2[*Row, error] {
	return rowsFrom(ctx, d, q, d.All(), columns)
}

func rowsFrom(ctx context.Context, d *dataset.Dataset, q Query, of dataset.Range, columns []string) iter.Seq2[*Row, error] {
	return func(yield func(*Row, error) bool) {
		p := &part{q: q, s: &Sources{Rows: d, Base: d}}
		if _, recorded := split(columns); q.chooses() || recorded != nil {
			var err error
			if p.s, err = alone(ctx, d); err != nil {
				yield(nil, err)
				return
			}
		}
		if q.chooses() {
			d.KeepFooters(keptFooters) // they are read again for each part
			p.s.Base.KeepFooters(keptFooters)
		}
		for r, err := range rowsOf(ctx, d, p.s.Base, of, columns) {
			chosen := false
			if err == nil {
				chosen, err = p.has(ctx, r)
			}
			if (chosen || err != nil) && !yield(r, err) || err != nil {
				return
			}
		}
		if err := p.refused(); err != nil {
			yield(nil, err)
		}
	}
}

var recordedFields = schema.FieldsOf(reflect.TypeFor[Recorded]())

// split splits columns into those that every kind of dataset may have and those that only
// trajectories have.
func split(columns []string) (own, recorded []string) {
	for _, name := range columns {
		top, _, _ := strings.Cut(name, ".")
		if slices.ContainsFunc(recordedFields, func(f schema.Field) bool { return f.Name == top }) {
			recorded = append(recorded, name)
		} else {
			own = append(own, name)
		}
	}
	return own, recorded
}

// decoded is the number of rows that are decoded at once.
const decoded = 256

// rowsOf yields the rows of a range with columns of a dataset, and with recorded ones of its base: of
// the dataset itself if it is its own.
func rowsOf(ctx context.Context, d, base *dataset.Dataset, of dataset.Range, columns []string) iter.Seq2[*Row, error] {
	return func(yield func(*Row, error) bool) {
		own, recorded := split(columns)
		if d == base {
			own, recorded = columns, nil
		}
		rows := make([]Row, min(decoded, of.Rows))
		more := make([]Recorded, len(rows))
		next, stop := reading(ctx, d, of, own, rows)
		defer stop()
		nextRecorded, stopRecorded := reading(ctx, base, of, recorded, more)
		defer stopRecorded()
		for at, end := of.First, of.First+of.Rows; at < end; at += decoded {
			n := min(decoded, end-at)
			if err := cmp.Or(next(n), nextRecorded(n)); err != nil {
				yield(nil, err)
				return
			}
			for i := range n {
				r := &rows[i]
				if r.Number = at + i; recorded != nil {
					r.Recorded = more[i]
				}
				if !yield(r, nil) {
					return
				}
			}
		}
	}
}

// At reads columns of one row.
func At(ctx context.Context, d *dataset.Dataset, row int64, columns ...string) (r *Row, err error) {
	for r, err = range rowsFrom(ctx, d, Query{}, dataset.Range{First: row, Rows: 1}, columns) {
	}
	return r, err
}

// reading returns a function that reads columns of the next rows, none if there are no columns.
func reading[T any](ctx context.Context, d *dataset.Dataset, of dataset.Range, columns []string, into []T) (next func(n int64) error, stop func()) {
	r, err := dataset.NewReaderOf[T](ctx, d, of, columns)
	if len(columns) == 0 || err != nil {
		return func(int64) error { return err }, func() {}
	}
	return func(n int64) error {
		k, err := r.Read(into[:n])
		if int64(k) == n {
			return nil
		}
		return err
	}, func() { r.Close() }
}
