package rollout

import (
	"cmp"
	"context"
	"iter"
	"math"

	"github.com/rollmill/rollmill/formats/dataset/journals"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// finished holds the columns of a journalled row that resuming needs.
type finished struct {
	Run        string `parquet:"run,dict"`
	ExampleID  string `parquet:"example_id,dict"`
	Epoch      int32  `parquet:"epoch,delta"`
	Generation int32  `parquet:"generation,delta"`
	Status     string `parquet:"status,dict"`
	Attempts   int32  `parquet:"attempts,delta"`

	PromptTokens     int32 `parquet:"prompt_tokens,delta"`
	CompletionTokens int32 `parquet:"completion_tokens,delta"`
}

// done records the finished trajectories of a shard, by slot: one bit each, and
// for the failed ones the number of attempts.
type done struct {
	tasks  tasks
	bits   []uint64
	n      int64
	failed map[int64]int32

	retry map[int64]int32 // attempts of the failed ones in the dataset before, which are to be retried
	fresh int32           // of those that it does not have
}

func newDone(t tasks) *done {
	return &done{tasks: t, bits: make([]uint64, (t.attempts()+63)/64), failed: map[int64]int32{}, retry: map[int64]int32{}, fresh: 1}
}

func (d *done) has(slot int64) bool { return d.bits[slot/64]>>(slot%64)&1 == 1 }

// add records how a trajectory ended. If one that failed was attempted again,
// the better result counts.
func (d *done) add(slot int64, status string, attempts int32) {
	_, failed := d.failed[slot]
	switch has := d.has(slot); {
	case has && !failed:
		return
	case !has:
		d.bits[slot/64] |= 1 << (slot % 64)
		d.n++
	}
	if status == outcomes.StatusFailed {
		d.failed[slot] = max(attempts, d.failed[slot])
	} else {
		delete(d.failed, slot)
	}
}

// attempts returns how many attempts at a trajectory have a recorded end.
func (d *done) attempts(slot int64) int32 {
	failed, ok := d.failed[slot]
	switch {
	case ok:
		return failed
	case d.has(slot):
		return math.MaxInt32
	}
	return 0
}

// readDone reads which trajectories earlier runs of this shard finished, and adds
// their cost to spent. Those of another dataset, which carry copied, cost nothing.
func (o Options) readDone(ctx context.Context, t tasks, shard *shards.Shard, carried *done, spent *spending) (*done, error) {
	journal, err := journals.Open[finished](ctx, shard.Journal())
	if err != nil {
		return nil, err
	}
	d := newDone(t)
	err = o.eachFinished(t, journal.Rows(ctx), func(row *finished, slot int64, ok bool) {
		if o.pays() && !o.keepsCalls() && !(ok && carried.has(slot)) {
			spent.add(int64(row.PromptTokens), int64(row.CompletionTokens))
		}
		if ok {
			d.add(slot, row.Status, row.Attempts)
		}
	})
	return d, err
}

// eachFinished calls f with each row and its slot; ok is false if it is not among
// the tasks.
func (o Options) eachFinished(t tasks, rows iter.Seq2[*finished, error],
	f func(row *finished, slot int64, ok bool)) error {
	for row, err := range rows {
		if err != nil {
			return err
		}
		at, ok, err := o.locate(t, key{row.Run, row.ExampleID, row.Epoch, row.Generation})
		if err != nil {
			return err
		}
		f(row, at.slot, ok)
	}
	return nil
}

func (o Options) left(d *done) int64 {
	n := d.tasks.attempts() - d.n
	if o.RetryFailed {
		for slot := range d.failed {
			if d.retries(slot) {
				n++
			}
		}
	}
	return n
}

// retries reports whether a trajectory failed and was not retried since: a process that was killed has perhaps done so.
func (d *done) retries(slot int64) bool {
	attempts, failed := d.failed[slot]
	return failed && attempts <= cmp.Or(d.retry[slot], d.fresh)
}

// jobs returns the remaining attempts in the order of the rows.
func (o Options) jobs(d *done) iter.Seq[job] {
	return func(yield func(job) bool) {
		for i := range d.tasks.len() {
			t := d.tasks.at(i)
			for k := range t.n {
				slot := t.slot + int64(k)
				attempts := d.failed[slot]
				if d.has(slot) && !(o.RetryFailed && d.retries(slot)) {
					continue
				}
				if !yield(job{example: t.example, generation: t.first + k, attempts: attempts, fork: t.fork(t.first + k)}) {
					return
				}
			}
		}
	}
}
