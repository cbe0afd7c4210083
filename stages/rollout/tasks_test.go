package rollout

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// made is one attempt, by names.
type made struct {
	example    int
	generation int32
}

func allOf(t tasks) (list []made) {
	for i := range t.len() {
		task := t.at(i)
		for g := range task.n {
			list = append(list, made{task.example, task.first + g})
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
		all := every(0, n, 1+r.IntN(4))
		if r.IntN(2) == 0 {
			var list []task
			for _, e := range r.Perm(n)[:r.IntN(n+1)] {
				list = append(list, task{example: e, first: int32(r.IntN(5)), n: int32(1 + r.IntN(4))})
			}
			if r.IntN(2) == 0 {
				slices.SortFunc(list, func(a, b task) int { return a.example - b.example })
			}
			all = listed(list)
		}
		var joined []made
		for shards, i := 1+r.IntN(5), 0; i < shards; i++ {
			part := all.slice(i, shards)
			joined = append(joined, allOf(part)...)
			slot := int64(0)
			for k := range part.len() {
				task := part.at(k)
				if at, ok := part.of(task.example); at != k || !ok {
					t.Errorf("seed %d: task %d of example %d is found at %d (%v)", seed, k, task.example, at, ok)
				}
				if task.slot != slot {
					t.Errorf("seed %d: task %d begins at slot %d, not %d", seed, k, task.slot, slot)
				}
				slot += int64(task.n)
			}
			if part.attempts() != slot {
				t.Errorf("seed %d: %d attempts, not %d", seed, part.attempts(), slot)
			}
			in := map[int]bool{}
			for _, m := range allOf(part) {
				in[m.example] = true
			}
			for e := -1; e <= n; e++ {
				if _, ok := part.of(e); ok != in[e] {
					t.Errorf("seed %d: example %d: %v", seed, e, ok)
				}
			}
		}
		if diff := cmp.Diff(allOf(all), joined, cmp.AllowUnexported(made{})); diff != "" {
			t.Errorf("seed %d: the shards together: %s", seed, diff)
		}
	}
}

// What is left is what was not made, and what failed when that is wanted; of
// several ends of one trajectory the first that is none of failure counts.
func TestWhatIsLeft(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 2))
		n := 1 + r.IntN(90)
		list := make([]formats.Example, n)
		for i := range list {
			list[i].ID = fmt.Sprint("ex-", i)
		}
		o := Options{Run: "run", Epoch: new(2), Examples: inMemory(list), RetryFailed: r.IntN(2) == 0}
		all := every(0, n, 1+r.IntN(3)).slice(r.IntN(2), 2)
		done, ends := newDone(all), map[made]formats.Trajectory{}
		for range r.IntN(300) {
			row := formats.Trajectory{Run: "run", Epoch: 2, ExampleID: fmt.Sprint("ex-", r.IntN(n+1)), Generation: int32(r.IntN(4)),
				Attempts: int32(1 + r.IntN(5)),
				Status:   []string{outcomes.StatusOK, outcomes.StatusFailed, outcomes.StatusSkipped}[r.IntN(3)]}
			switch r.IntN(20) {
			case 0:
				row.Run = "other"
			case 1:
				row.Epoch = 1
			}
			at, ok, err := o.locate(all, keyOf(&row))
			if err != nil {
				t.Fatal(err)
			}
			var m made
			fmt.Sscanf(row.ExampleID, "ex-%d", &m.example)
			m.generation = row.Generation
			if want := row.Run == "run" && row.Epoch == 2 && slices.Contains(allOf(all), m); ok != want {
				t.Fatalf("seed %d: %+v is one of these: %v", seed, m, ok)
			}
			if !ok {
				continue
			}
			done.add(at.slot, row.Status, row.Attempts)
			if old, is := ends[m]; !is || old.Status == outcomes.StatusFailed {
				row.Attempts = max(row.Attempts, old.Attempts)
				ends[m] = row
			}
		}
		var want, got []job
		for _, m := range allOf(all) {
			end, is := ends[m]
			switch again := end.Status == outcomes.StatusFailed && o.RetryFailed && end.Attempts == 1; { // not retried yet
			case !is:
				want = append(want, job{example: m.example, generation: m.generation})
			case again:
				want = append(want, job{example: m.example, generation: m.generation, attempts: end.Attempts})
			}
		}
		for j := range o.jobs(done) {
			got = append(got, j)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(job{})); diff != "" || o.left(done) != int64(len(want)) || int(done.n) != len(ends) {
			t.Errorf("seed %d: %d left, %d done: %s", seed, o.left(done), done.n, diff)
		}
	}
}

// inMemory are examples that only need an id.
type inMemory []formats.Example

func (e inMemory) Len() int                          { return len(e) }
func (e inMemory) At(i int) (formats.Example, error) { return e[i], nil }
func (e inMemory) Find(id string) (int, bool, error) {
	i := slices.IndexFunc(e, func(e formats.Example) bool { return e.ID == id })
	return max(i, 0), i >= 0, nil
}
