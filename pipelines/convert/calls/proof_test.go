package calls_test

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/rollmill/rollmill/pipelines/convert/calls"
	"github.com/rollmill/rollmill/pipelines/convert/calls/callstest"
)

// TestRecordingsAreJoined takes recorded attempts apart, and joins their calls again.
func TestRecordingsAreJoined(t *testing.T) {
	sent, err := callstest.Recordings(os.DirFS("../../../testdata/calls"))
	if err != nil {
		t.Fatal(err)
	}
	var apart []*callstest.Recorded
	for i, r := range sent {
		x, err := callstest.Explode(r.Attempt, &r.Row, int64(i)*1_000_000)
		if err != nil {
			t.Fatal(err)
		}
		apart = append(apart, x)
	}
	r := rand.New(rand.NewPCG(1, 1))
	t.Run("as they were sent", func(t *testing.T) { joins(t, r, sent, 0, true) })
	t.Run("as the rows have them", func(t *testing.T) { joins(t, r, apart, 0, true) })
}

// TestJoinedAttempts joins the calls of random attempts. COUNT is how many logs.
func TestJoinedAttempts(t *testing.T) {
	count, _ := strconv.Atoi(os.Getenv("COUNT"))
	if count == 0 {
		count = 40
	}
	for seed := range uint64(count) {
		r := rand.New(rand.NewPCG(seed, 2))
		shape := callstest.Shape{Examples: 1 + r.IntN(3), Attempts: 1 + r.IntN(4), Calls: 1 + r.IntN(14), Words: []int{2, 5, 30, 1000}[r.IntN(4)]}
		train := r.IntN(2) == 0
		joins(t, r, callstest.Attempts(r, shape, train), r.IntN(3), train)
		if t.Failed() {
			t.Fatalf("seed %d, %+v", seed, shape)
		}
	}
}

// joins joins the calls of attempts with and without their names, and holds what comes to the recorded
// trees. Without names about so many of twenty calls are missing.
func joins(t *testing.T, r *rand.Rand, all []*callstest.Recorded, missing int, train bool) {
	t.Helper()
	var log, some []*callstest.Logged
	named := r.IntN(2) == 0 // else copies are told by their times
	for _, x := range all {
		callstest.Marked(x)
		for _, l := range x.Calls {
			if !named {
				l.Row.TrajectoryID = ""
			}
			log = append(log, l)
			if r.IntN(20) >= missing && !callstest.IsText(&l.Row.Calls[0]) { // prompts without messages are joined by sessions alone
				some = append(some, l)
			}
		}
	}
	shuffle := func(list []*callstest.Logged) []*callstest.Logged {
		for range len(list) / 8 { // copies
			list = append(list, list[r.IntN(len(list))])
		}
		r.Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
		return list
	}
	strict, loose := callstest.Expect(all, some, false), callstest.Expect(all, some, true)
	got, _, err := callstest.Join(t.Context(), shuffle(log), true, calls.Options{Train: train, Dir: t.TempDir(), Memory: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	report(t, "with their attempts", callstest.CheckSessions(all, got))
	got, counts, err := callstest.Join(t.Context(), shuffle(some), false, calls.Options{Train: train, Dir: t.TempDir(), Memory: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	report(t, "without", callstest.Check(strict, loose, got, train))
	classed := 0
	for _, c := range got {
		if c.Class != "" {
			classed += len(c.Row.Calls)
		}
	}
	if int(counts.Ambiguous) != classed {
		t.Errorf("%d calls are ambiguous, %d are counted", classed, counts.Ambiguous)
	}
}

func report(t *testing.T, how string, wrong []string) {
	t.Helper()
	for i, text := range wrong {
		if i == 8 {
			t.Errorf("%s: and %d more", how, len(wrong)-i)
			return
		}
		t.Errorf("%s: %s", how, text)
	}
}
