package query

import (
	"cmp"
	"context"
	"iter"
	"reflect"
	"slices"

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
	}
}

// split splits columns into those that every kind of dataset may have and those that only
// trajectories have.
func split(columns []string) (own, recorded []string) {
	for _, name := range columns {
		if slices.ContainsFunc(schema.FieldsOf(reflect.TypeFor[Recorded]()), func(f schema.Field) bool { return f.Name == name }) {
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
		next, stop := pull(ctx, d, base, of, columns)
		defer stop()
		for {
			r, err := next()
			if r == nil && err == nil || !yield(r, err) || err != nil {
				return
			}
		}
	}
}

// Pull returns a function that returns the next of a dataset's rows, nil after the last, with columns
// of its own. Of two datasets that are read beside each other it is faster than iter.Pull2.
func Pull(ctx context.Context, d *dataset.Dataset, columns ...string) (next func() (*Row, error), stop func()) {
	return pull(ctx, d, d, d.All(), columns)
}

func pull(ctx context.Context, d, base *dataset.Dataset, of dataset.Range, columns []string) (next func() (*Row, error), stop func()) {
	own, recorded := split(columns)
	if d == base {
		own, recorded = columns, nil
	}
	rows := make([]Row, min(decoded, of.Rows))
	more := make([]Recorded, len(rows))
	fill, closeOwn := reading(ctx, d, of, own, rows)
	fillRecorded, closeRecorded := reading(ctx, base, of, recorded, more)
	at, end, i, n := of.First, of.First+of.Rows, 0, 0
	return func() (*Row, error) {
		if i == n {
			if i, n = 0, int(min(decoded, end-at)); n == 0 {
				return nil, nil
			}
			if err := cmp.Or(fill(n), fillRecorded(n)); err != nil {
				return nil, err
			}
		}
		r := &rows[i]
		if r.Number = at; recorded != nil {
			r.Recorded = more[i]
		}
		i, at = i+1, at+1
		return r, nil
	}, func() { closeOwn(); closeRecorded() }
}

// reading returns a function that reads columns of the next rows, none if there are no columns.
func reading[T any](ctx context.Context, d *dataset.Dataset, of dataset.Range, columns []string, into []T) (next func(n int) error, stop func() error) {
	none := func() error { return nil }
	if len(columns) == 0 {
		return func(int) error { return nil }, none
	}
	r, err := dataset.NewReaderOf[T](ctx, d, of, columns)
	if err != nil {
		return func(int) error { return err }, none
	}
	return func(n int) error {
		k, err := r.Read(into[:n])
		if k == n {
			return nil
		}
		return err
	}, r.Close
}
