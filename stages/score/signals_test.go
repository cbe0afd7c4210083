package score_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/score"
)

// signals are what mode "signals" says of a trajectory.
func signals(t *formats.Trajectory, component string) (out []formats.Signal) {
	for k, i := range t.Main() {
		if t.Messages[i].Sampled && k%3 != 0 && score.Scorable(t.Status) {
			out = append(out, formats.Signal{Message: int32(i), Component: component, Value: float64(k)})
		}
	}
	return out
}

// TestSignals: what rewards say of messages is written, carried forward from scores,
// copied by --only, and dropped with the reward that is replaced.
func TestSignals(t *testing.T) {
	const in = "mem://signals/rollout"
	wide := trajectories()
	base(t, in, wide)
	said := "said*0=command:" + words("signals")
	run(t, options(t, in, "mem://signals/first", said, "also*0=command:"+words("signals"), "one=expr:1"))
	run(t, options(t, "mem://signals/first", "mem://signals/second", "two=expr:2", "also*0=expr:3"))
	again(t, in, "mem://signals/first", "mem://signals/third", []string{"one"}, said, "one=expr:4")
	seen := 0
	for uri, components := range map[string][]string{"first": {"said", "also"}, "second": {"said"}, "third": {"said"}} {
		got, _ := rows(t, "mem://signals/"+uri)
		for i, s := range got {
			var want []formats.Signal
			for _, c := range components {
				want = append(want, signals(&wide[i], c)...)
			}
			if d := cmp.Diff(want, s.Signals); d != "" {
				t.Fatalf("%s, row %d: -want +got: %s", uri, i, d)
			}
			seen += len(want)
		}
	}
	if seen == 0 {
		t.Fatal("no signals")
	}
	copied := again(t, in, "mem://signals/first", "mem://signals/copied", []string{"missing"}, said, "also*0=command:"+words("signals"), "one=expr:1")
	if first := run(t, options(t, in, "mem://signals/first", said, "also*0=command:"+words("signals"), "one=expr:1")); copied.RowsDigest != first.RowsDigest {
		t.Error("copied scores differ from those that were computed")
	}
}

// TestSignalsThatDoNotFit are failures of their rows.
func TestSignalsThatDoNotFit(t *testing.T) {
	const in = "mem://uneven/rollout"
	base(t, in, trajectories())
	o := options(t, in, "mem://uneven/scores", "bad=command:"+words("uneven"), "one*0=expr:1")
	o.KeepBroken, o.MaxFailureRate = true, new(1.0)
	run(t, o)
	got, _ := rows(t, "mem://uneven/scores")
	if !slices.ContainsFunc(got, func(s formats.Score) bool { return s.Rewards[0].Failure == outcomes.RewardAnswer && s.Signals == nil }) {
		t.Errorf("%+v", got[0])
	}
}
