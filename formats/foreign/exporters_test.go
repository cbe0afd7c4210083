package foreign

import (
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/foreigntest"
	"github.com/rollmill/rollmill/formats/randomtest"
)

// groups returns groups of conversations with one answer each, good and bad,
// for which every format has a row, without tools, and longer ones with tools.
func groups() [][]formats.Trajectory {
	short := randomtest.Options{Groups: 3, Generations: 4, Messages: 3, SampledTokens: 20, PromptTokens: 20, Scored: true}
	long := randomtest.Options{Groups: 2, Run: "long", Scored: true, Failures: 0.1, Branches: 0.2, SampledTokens: 100,
		PromptTokens: 100}
	out := slices.Collect(randomtest.Trajectories(7, short))
	for _, group := range out {
		for i := range group {
			group[i].ToolSets = nil
			for c := range group[i].Calls {
				group[i].Calls[c].Tools = -1
			}
		}
	}
	out = slices.AppendSeq(out, randomtest.Trajectories(8, long))
	for _, group := range out {
		for i := range group {
			advantage, reward := float64(2*(i%2)-1), float64(i%2)
			group[i].Advantage, group[i].Reward = &advantage, &reward
			group[i].Example = `{"id": "org/` + group[i].ExampleID + `", "task_digest": "` + strings.Repeat("0f", 32) + `"}`
		}
	}
	return out
}

func TestConformance(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range Exporters {
		t.Run(f.Name, func(t *testing.T) {
			if seen[f.Name] {
				t.Error("two formats have the name")
			}
			seen[f.Name] = true
			if strings.Contains(f.Name, ".") {
				t.Error("a dot in a name begins an extension")
			}
			foreigntest.Exporter(t, f, groups())
		})
	}
}
