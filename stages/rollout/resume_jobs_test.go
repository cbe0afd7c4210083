package rollout

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/rollout/planning"
)

// jobsOf are all attempts of tasks, each made for the first time.
func jobsOf(t planning.Tasks) (list []job) {
	for i := range t.Len() {
		task := t.At(i)
		for g := range task.N {
			list = append(list, job{example: task.Example, generation: task.First + g})
		}
	}
	return list
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
		all := planning.Every(0, n, 1+r.IntN(3)).Slice(r.IntN(2), 2)
		done, ends := newDone(all), map[job]formats.Trajectory{}
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
			_, slot, ok, err := o.locate(all, keyOf(&row))
			if err != nil {
				t.Fatal(err)
			}
			var m job
			fmt.Sscanf(row.ExampleID, "ex-%d", &m.example)
			m.generation = row.Generation
			if want := row.Run == "run" && row.Epoch == 2 && slices.Contains(jobsOf(all), m); ok != want {
				t.Fatalf("seed %d: %+v is one of these: %v", seed, m, ok)
			}
			if !ok {
				continue
			}
			done.add(slot, row.Status, row.Attempts)
			if old, is := ends[m]; !is || old.Status == outcomes.StatusFailed {
				row.Attempts = max(row.Attempts, old.Attempts)
				ends[m] = row
			}
		}
		var want, got []job
		for _, m := range jobsOf(all) {
			end, is := ends[m]
			switch again := end.Status == outcomes.StatusFailed && o.RetryFailed && end.Attempts == 1; { // not retried yet
			case !is:
				want = append(want, m)
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
