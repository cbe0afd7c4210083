package rollout

import (
	"cmp"
	"math"

	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/rollout/planning"
)

// done records the finished trajectories of a shard, by slot: one bit each, and
// for the failed ones the number of attempts.
type done struct {
	tasks  planning.Tasks
	bits   []uint64
	n      int64
	failed map[int64]int32

	retry map[int64]int32 // attempts of the failed ones in the dataset before, which are to be retried
	fresh int32           // of those that it does not have
}

func newDone(t planning.Tasks) *done {
	return &done{tasks: t, bits: make([]uint64, (t.Attempts()+63)/64), failed: map[int64]int32{}, retry: map[int64]int32{}, fresh: 1}
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

// retries reports whether a trajectory failed and was not retried since: a process that was killed has perhaps done so.
func (d *done) retries(slot int64) bool {
	attempts, failed := d.failed[slot]
	return failed && attempts <= cmp.Or(d.retry[slot], d.fresh)
}
