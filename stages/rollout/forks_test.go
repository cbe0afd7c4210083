package rollout_test

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/rollout"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
)

// forking are two attempts of a talker at each of two examples, and a plan that forks those at
// the first.
func forking(t *testing.T, e *engine, a talker) (base string, o rollout.Options, origins []formats.Trajectory) {
	t.Helper()
	dir := t.TempDir()
	base = filepath.Join(dir, "rollout")
	o = talking(e.URL(), base, a)
	o.Examples, o.Generations, o.MaxFailureRate = set(questions(2)), 2, new(1.0)
	run(t, o)
	origins = rows(t, base)
	o.Plan = planOf(t, base, filepath.Join(dir, "curate"), planRow{example: "ex-1", n: 1},
		planRow{example: "ex-0", n: 3, from: origins[0].TrajectoryID, call: 3}, planRow{example: "ex-0", n: 2, from: origins[1].TrajectoryID, call: 1})
	o.Extend, o.Out.URI = stages.Input{URI: base}, filepath.Join(dir, "extended")
	return base, o, origins
}

// A fork repeats the calls of another trajectory, for which no engine is asked, and samples the
// rest. What it repeats does not train in it; the tokens are those of its origin.
func TestForks(t *testing.T) {
	for name, a := range map[string]talker{"one": {turns: 5}, "streams": {turns: 5, stream: true}} {
		t.Run(name, func(t *testing.T) {
			e := newEngine(t, &engine{})
			base, o, origins := forking(t, e, a)
			asked := len(e.Asked())
			report := run(t, o)
			if n := len(e.Asked()) - asked; n != 3*(5-3)+2*(5-1)+5 {
				t.Errorf("%d calls were paid", n)
			}
			list := rows(t, o.Out.URI)
			if got := names(list); got != "ex-0:0 ex-0:1 ex-0:2 ex-0:3 ex-0:4 ex-0:5 ex-0:6 ex-1:0 ex-1:1 ex-1:2" || report.Facts["forks"] != 5 {
				t.Errorf("rows %s, facts %v", got, report.Facts)
			}
			if diff := cmp.Diff(rows(t, base), append(append([]formats.Trajectory{}, list[:2]...), list[7:9]...), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("the attempts before are others: %s", diff)
			}
			ids, trained := map[string]bool{}, 0
			for i := range list {
				row := &list[i]
				ids[row.TrajectoryID] = true
				for m := range row.Messages {
					if row.Trained(m) {
						trained++
					}
				}
				if fork := i >= 2 && i < 7; fork != (row.ForkCall != nil) || row.Status != outcomes.StatusOK {
					t.Fatalf("row %d: forked from %q, %s: %s", i, row.ForkedFrom, row.Status, row.Error)
				} else if fork {
					checkFork(t, row, &origins[(i-2)/3])
				}
			}
			if len(ids) != len(list) || trained != len(e.Asked()) {
				t.Errorf("%d ids of %d rows; %d of %d sampled messages train", len(ids), len(list), trained, len(e.Asked()))
			}
			check(t, dataset.Verify(t.Context(), opened(t, o.Out.URI)))
			for i := range 3 {
				s := o
				s.Out.URI, s.Out.Shard = o.Out.URI+"-shards", stages.Shard{Index: i, Count: 3}
				if again := run(t, s); again.Sealed && again.RowsDigest != report.RowsDigest {
					t.Errorf("in three shards: %+v", again)
				}
			}
		})
	}
}

// checkFork compares a fork with the trajectory that it forks.
func checkFork(t *testing.T, row, origin *formats.Trajectory) {
	t.Helper()
	k := *row.ForkCall
	same := 0
	for i := range row.Messages {
		m, was := row.Messages[i], origin.Messages[i]
		if m.Call >= k {
			break
		}
		same++
		if diff := cmp.Diff(was, m, cmpopts.EquateEmpty()); diff != "" || row.Trained(i) {
			t.Errorf("message %d, trained %v: %s", i, row.Trained(i), diff)
		}
	}
	last, prompt, sampled := len(row.Messages)-1, int32(0), int32(0)
	for i := range row.Messages {
		if row.Trained(i) {
			sampled += int32(len(row.Messages[i].Logprobs))
		}
	}
	for i, c := range row.Calls {
		if c.Target != (i >= int(k)) || c.Repeated == c.Target || row.Repeats(i) == c.Target || (c.Attempts > 0) != c.Target || (c.PromptTokens > 0) != c.Target {
			t.Errorf("call %d: %+v", i, c)
		}
		prompt += c.PromptTokens
	}
	if row.ForkedFrom != origin.TrajectoryID || same < int(k) || row.SampledTokens != sampled || row.PromptTokens != prompt ||
		cmp.Equal(row.Messages[last].TokenIDs, origin.Messages[last].TokenIDs) {
		t.Errorf("fork at %d of %s: %d messages are the origin's, %d tokens of %d, %d prompt tokens of %d", k, row.ForkedFrom, same, row.SampledTokens,
			sampled, row.PromptTokens, prompt)
	}
}

// A fork that was cut off goes on with what it had, of its origin and of its own.
func TestForksOutliveTheProcess(t *testing.T) {
	var end func()
	left := -1
	e := newEngine(t, &engine{Arrived: func(int, recordertest.Request) {
		if left--; left == 0 {
			end()
		}
	}})
	_, o, _ := forking(t, e, talker{turns: 5})
	o.JournalEvery, o.Concurrency = time.Hour, 1 // the journal is written when the run ends
	want := run(t, func() rollout.Options { c := o; c.Out.URI += "-whole"; return c }())
	for stop := range 19 {
		c := o
		c.Out.URI += fmt.Sprint("-", stop)
		ctx, cancel := context.WithCancel(t.Context())
		end, left = cancel, stop+1
		asked := len(e.Asked())
		_, err := rollout.Run(ctx, c)
		left = -1
		if err == nil {
			t.Fatal("it was not cut off")
		}
		if again := run(t, c); again.RowsDigest != want.RowsDigest {
			t.Errorf("cut off at call %d: rows %s, not %s", stop, again.RowsDigest, want.RowsDigest)
		}
		if n := len(e.Asked()) - asked; n > 19+1 { // the call that was cut off is asked again
			t.Errorf("cut off at call %d: %d calls were asked", stop, n)
		}
	}
}

// Sub-agents may ask side by side; a fork whose prefix is not its origin's fails.
func TestForksAndWhatTheyAsk(t *testing.T) {
	e := newEngine(t, &engine{})
	_, o, _ := forking(t, e, talker{turns: 3, speakers: 3})
	asked := len(e.Asked())
	if report := run(t, o); report.Counts[outcomes.StatusFailed] != 0 || len(e.Asked())-asked != 3*(9-3)+2*(9-1)+9 {
		t.Errorf("side by side: %d calls, %+v", len(e.Asked())-asked, report)
	}
	base, extended := opened(t, o.Extend.URI), opened(t, o.Out.URI)
	o.Extend, o.Epoch, o.Out.URI = stages.Input{}, new(1), o.Out.URI+"-later"
	if report := run(t, o); report.Rows != 6 || report.Counts[outcomes.StatusFailed] != 0 {
		t.Errorf("in the next epoch: %+v", report)
	}
	if diff := cmp.Diff(new(base.Ref("origins", o.Out.URI)), opened(t, o.Out.URI).Input("origins")); diff != "" || extended.Input("origins") != nil {
		t.Errorf("the dataset of the origins: %s", diff)
	}
	_, o, _ = forking(t, e, talker{turns: 5, clock: true})
	asked = len(e.Asked())
	report := run(t, o)
	if report.Failures[outcomes.FailDiverged] != 3 || len(e.Asked())-asked != 2*(5-1)+5 {
		t.Errorf("with a clock before call 2: %d calls, %+v", len(e.Asked())-asked, report)
	}
	for _, row := range rows(t, o.Out.URI) {
		if row.Status == outcomes.StatusFailed {
			t.Log(row.Error)
		}
	}
}

// A fork that the engine ended goes on there, with the calls of its origin and its own.
func TestForksAreRetried(t *testing.T) {
	broken := false
	e := newEngine(t, &engine{Fault: func(_ int, q recordertest.Request) recordertest.Fault {
		if broken && len(q.Messages) > 8 { // the last call
			return recordertest.Fault{Status: http.StatusInternalServerError}
		}
		return recordertest.Fault{}
	}})
	_, o, _ := forking(t, e, talker{turns: 5})
	broken, o.Retries, o.MaxInitialFailures = true, new(0), -1
	if report := run(t, o); report.Counts[outcomes.StatusFailed] != 6 {
		t.Fatalf("%+v", report)
	}
	asked := len(e.Asked())
	broken, o.RetryFailed, o.ResumeFailed = false, true, true
	report := run(t, o)
	if n := len(e.Asked()) - asked; n != 6 || report.Counts[outcomes.StatusFailed] != 0 || report.Facts["diverged_prompt"] != 0 {
		t.Errorf("%d calls were asked for, %+v", n, report)
	}
}
