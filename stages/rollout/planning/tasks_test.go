package planning

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// made is one attempt, by names.
type made struct {
	example    int
	generation int32
}

func allOf(t Tasks) (list []made) {
	for i := range t.Len() {
		task := t.At(i)
		for g := range task.N {
			list = append(list, made{task.Example, task.First + g})
		}
	}
	return list
}

// However a run is cut into shards, each attempt is one of them once, in order,
// and has a slot of its own.
func TestTasks(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		n := r.IntN(20)
		all := Every(0, n, 1+r.IntN(4))
		if r.IntN(2) == 0 {
			var list []Task
			for _, e := range r.Perm(n)[:r.IntN(n+1)] {
				list = append(list, Task{Example: e, First: int32(r.IntN(5)), N: int32(1 + r.IntN(4))})
			}
			if r.IntN(2) == 0 {
				slices.SortFunc(list, func(a, b Task) int { return a.Example - b.Example })
			}
			all = Listed(list)
		}
		var joined []made
		for shards, i := 1+r.IntN(5), 0; i < shards; i++ {
			part := all.Slice(i, shards)
			joined = append(joined, allOf(part)...)
			slot := int64(0)
			for k := range part.Len() {
				task := part.At(k)
				if at, ok := part.Find(task.Example); at != k || !ok {
					t.Errorf("seed %d: task %d of example %d is found at %d (%v)", seed, k, task.Example, at, ok)
				}
				if task.Slot != slot {
					t.Errorf("seed %d: task %d begins at slot %d, not %d", seed, k, task.Slot, slot)
				}
				slot += int64(task.N)
			}
			if part.Attempts() != slot {
				t.Errorf("seed %d: %d attempts, not %d", seed, part.Attempts(), slot)
			}
			in := map[int]bool{}
			for _, m := range allOf(part) {
				in[m.example] = true
			}
			for e := -1; e <= n; e++ {
				if _, ok := part.Find(e); ok != in[e] {
					t.Errorf("seed %d: example %d: %v", seed, e, ok)
				}
			}
		}
		if diff := cmp.Diff(allOf(all), joined, cmp.AllowUnexported(made{})); diff != "" {
			t.Errorf("seed %d: the shards together: %s", seed, diff)
		}
	}
}
