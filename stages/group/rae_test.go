package group_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/group"
)

// selfPlay is games of two roles, of one group each.
func selfPlay(first, n int) (rows []formats.Trajectory) {
	for i := first; i < first+n; i++ {
		of := wide(example{fmt.Sprint("game-", i), []string{"1 -1", "f 0.5", "0 0", "u 1", "-1 1"}[i%5]}, 0)
		for k := range of {
			of[k].Metadata = fmt.Sprintf(`{"role":"player %d"}`, k)
		}
		rows = append(rows, of...)
	}
	return rows
}

// TestBaselinesGoOn: epochs that continue each other's baselines have the advantages of
// one run over all their rows.
func TestBaselinesGoOn(t *testing.T) {
	grouped := func(rows []formats.Trajectory, from string) (string, []string, training.GroupState) {
		o := options(stored(t, "import", rows, 2), place())
		o.Estimator.Name, o.From = "rae", from
		_, d := run(t, o)
		var lines []string
		for _, m := range rowsOf[formats.Member](t, d, "") {
			line := m.TrajectoryID + " " + m.NoAdvantage
			if m.Advantage != nil {
				line += fmt.Sprint(*m.Advantage)
			}
			lines = append(lines, line)
		}
		var state training.GroupState
		if err := json.Unmarshal(d.State, &state); err != nil {
			t.Fatal(err)
		}
		return o.Out.URI, lines, state
	}
	_, want, state := grouped(selfPlay(0, 20), "")
	if len(state.Baselines) != 2 {
		t.Errorf("baselines %v", state.Baselines)
	}
	var got []string
	from, states := "", training.GroupState{}
	for i := 0; i < 20; i += 5 {
		var lines []string
		from, lines, states = grouped(selfPlay(i, 5), from)
		got = append(got, lines...)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(state, states); d != "" {
		t.Error(d)
	}
	// b = 0.05 after 1, then 0.05 * 0.95 after the failed game and 0
	if !strings.HasSuffix(want[0], " 1") || !strings.HasSuffix(want[2], "failed") || !strings.Contains(want[4], " -0.05") {
		t.Error(want[:6])
	}
}

func TestBaselinesAreRefused(t *testing.T) {
	in := stored(t, "import", selfPlay(0, 4), 2)
	plain := options(in, place())
	run(t, plain)
	scattered := selfPlay(0, 4)
	scattered[0], scattered[2] = scattered[2], scattered[0]
	for want, change := range map[string]func(*group.Options){
		"a shard lacks the rows before":   func(o *group.Options) { o.Out.Shard = stages.Shard{Index: 0, Count: 2} },
		"no baselines of estimator rae":   func(o *group.Options) { o.From = plain.Out.URI },
		"holds trajectories, not groups":  func(o *group.Options) { o.From = in },
		"estimator grpo has no baselines": func(o *group.Options) { o.Estimator.Name, o.From = "grpo", plain.Out.URI },
		"rows of groups are not adjacent": func(o *group.Options) { o.In.URI = stored(t, "import", scattered, 1) },
	} {
		o := options(in, place())
		o.Estimator.Name = "rae"
		change(&o)
		if _, err := group.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
