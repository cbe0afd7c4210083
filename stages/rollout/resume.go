package rollout

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/journals"
	"github.com/rollmill/rollmill/formats/dataset/seal"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/rollout/planning"
	"github.com/rollmill/rollmill/stages/rollout/watch"
)

// finished holds the columns of a row that say of which attempt it is and how that ended.
type finished struct {
	Run        string `parquet:"run,dict"`
	ExampleID  string `parquet:"example_id,dict"`
	Epoch      int32  `parquet:"epoch,delta"`
	Generation int32  `parquet:"generation,delta"`
	Status     string `parquet:"status,dict"`
	Attempts   int32  `parquet:"attempts,delta"`
}

// paid has also what it cost.
type paid struct {
	finished
	Calls []formats.Call `parquet:"calls,list"`
}

// group names the example and the epoch.
func (f *finished) group() string { return fmt.Sprintf("%d %s", f.Epoch, f.ExampleID) }

// readDone reads which trajectories earlier runs of this shard finished, and adds
// their cost to spent.
func (o Options) readDone(ctx context.Context, t planning.Tasks, shard *shards.Shard, spent *watch.Spending) (*done, error) {
	journal, err := journals.Open[paid](ctx, shard.Journal())
	if err != nil {
		return nil, err
	}
	d := newDone(t)
	err = o.eachFinished(t, journal.Rows(ctx), func(row *paid, slot int64, ok bool) {
		if o.countsRows() {
			spent.Add(1, row.Calls...)
		}
		if ok {
			d.add(slot, row.Status, row.Attempts)
		}
	})
	return d, err
}

// eachFinished calls f with each row and its slot; ok is false if it is not among
// the tasks.
func (o Options) eachFinished(t planning.Tasks, rows iter.Seq2[*paid, error],
	f func(row *paid, slot int64, ok bool)) error {
	for row, err := range rows {
		if err != nil {
			return err
		}
		_, slot, ok, err := o.locate(t, row.finished)
		if err != nil {
			return err
		}
		f(row, slot, ok)
	}
	return nil
}

func (o Options) left(d *done) (n int64) {
	for range o.jobs(d) {
		n++
	}
	return n
}

// jobs returns the remaining attempts in the order of the rows.
func (o Options) jobs(d *done) iter.Seq[job] {
	return func(yield func(job) bool) {
		for i := range d.tasks.Len() {
			t := d.tasks.At(i)
			for k := range t.N {
				slot := t.Slot + int64(k)
				attempts := d.failed[slot]
				if d.has(slot) && !(o.RetryFailed && d.retries(slot)) {
					continue
				}
				if !yield(job{example: t.Example, generation: t.First + k, attempts: attempts, fork: t.Fork(t.First + k)}) {
					return
				}
			}
		}
	}
}

// othersWork reports whether another shard of the dataset has a durable trajectory that did not fail: then engine and
// agent work, as for one process that makes all shards. A dataset that cannot be read tells nothing.
func (r *runner) othersWork(ctx context.Context) bool {
	under, err := r.shard.Underway(ctx)
	if err != nil || under == nil {
		return false
	}
	for _, s := range under.Finished {
		m, err := under.Record(ctx, s)
		if err == nil && m.Counts[outcomes.StatusOK]+m.Counts[outcomes.StatusTruncated] > 0 {
			return true
		}
	}
	for _, s := range under.Segments {
		rows, err := seal.ReadSegment[finished](ctx, under, s)
		if err == nil && slices.ContainsFunc(rows, func(f finished) bool { return f.Status == outcomes.StatusOK || f.Status == outcomes.StatusTruncated }) {
			return true
		}
	}
	return false
}

// locate finds the task and the slot of the attempt that made a row; ok is false if it is not
// among the tasks.
func (o Options) locate(t planning.Tasks, row finished) (i int, slot int64, ok bool, err error) {
	if row.Run != o.Run {
		return 0, 0, false, nil
	}
	if i, ok, err = o.taskOf(t, row.ExampleID, row.Epoch); !ok || err != nil {
		return 0, 0, false, err
	}
	task := t.At(i)
	return i, task.Slot + int64(row.Generation-task.First), row.Generation >= task.First && row.Generation < task.First+task.N, nil
}

// taskOf finds the task of an example.
func (o Options) taskOf(t planning.Tasks, id string, epoch int32) (i int, ok bool, err error) {
	if int(epoch) != o.AtEpoch() {
		return 0, false, nil
	}
	example, ok, err := o.Examples.Find(id)
	if !ok || err != nil {
		return 0, false, err
	}
	i, ok = t.Find(example)
	return i, ok, nil
}

func keyOf(t *formats.Trajectory) finished {
	return finished{Run: t.Run, ExampleID: t.ExampleID, Epoch: t.Epoch, Generation: t.Generation}
}
