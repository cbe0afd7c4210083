package rules

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/curate/rules/ruletest"
)

func TestNearDuplicate(t *testing.T) {
	like := 0.8
	ruletest.Run(t, NearDuplicate, &NearDuplicateSettings{Similarity: &like}, curate.CompatNone)
}

// rows are members of one group that say these things.
func rows(texts ...string) []curate.Row {
	out := make([]curate.Row, len(texts))
	for i, text := range texts {
		out[i] = curate.Row{
			Member: &formats.Member{TrajectoryID: fmt.Sprint("t", i), Generation: int32(i)},
			Trajectory: &formats.Trajectory{Messages: []formats.Message{
				{Role: "user", Content: "the prompt is the same for all and does not count"},
				{Role: "assistant", Content: text, Sampled: true},
			}},
		}
	}
	return out
}

// 43 shingles are in both of 44 and 45: 43/46. The first of each sort stays, whatever the case and the blanks; a chain of
// small changes is broken where it has gone too far.
func TestKeptMembers(t *testing.T) {
	list := rows(
		"the answer is forty-two because six times seven",
		"The  answer is forty-two\nbecause six times seven",
		"the answer is forty-two because six times seven.",
		"no idea at all",
		"", "",
	)
	verdicts := nearDuplicateRule{likeness: 0.9}.rows(curate.Batch{}, curate.Group{}, list)
	want := []string{"", "1.000 like generation 0", "0.935 like generation 0", "", "", "1.000 like generation 4"}
	for i, v := range verdicts {
		if v.Detail != want[i] || (v.Reason == "") != (want[i] == "") {
			t.Errorf("generation %d: %+v, want %q", i, v, want[i])
		}
	}
}

// Tool calls and reasoning are what was said, too; what the tools answered is not.
func TestToolCallsAreCompared(t *testing.T) {
	list := rows("let me look", "let me look", "let me look")
	for i, city := range []string{"a city far to the north", "another town in the south", "a city far to the north"} {
		m := &list[i].Trajectory.Messages[1]
		m.ToolCalls = []formats.ToolCall{{ID: fmt.Sprint("call-", i), Name: "weather", Arguments: `{"city":"` + city + `"}`}}
		list[i].Trajectory.Messages = append(list[i].Trajectory.Messages, formats.Message{Role: "tool", Content: strings.Repeat(fmt.Sprint(i), 50)})
	}
	verdicts := nearDuplicateRule{likeness: 0.9}.rows(curate.Batch{}, curate.Group{}, list)
	if verdicts[0].Reason != "" || verdicts[1].Reason != "" || verdicts[2].Detail != "1.000 like generation 0" {
		t.Errorf("%+v", verdicts)
	}
}

// The sketch's likeness is that of the sets: exactly up to its size, and
// within four standard errors above.
func TestSimilarityIsJaccardIndex(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{10, 300, 500, 5000, 60000} {
		for _, share := range []float64{0, 0.3, 0.9, 1} {
			a, b, both := sketch{}, sketch{}, 0
			for range size {
				x := rng.Uint64()
				a = append(a, x)
				if rng.Float64() < share {
					both++
				} else {
					x = rng.Uint64()
				}
				b = append(b, x)
			}
			exact := float64(both) / float64(2*size-both)
			got := likeness(a.lowest(), b.lowest())
			off := math.Abs(got - exact)
			if size <= sketchSize/2 && off > 1e-12 || off > 4.0/64 {
				t.Errorf("%d shingles, %.3f alike: %.3f", size, exact, got)
			}
		}
	}
}

func BenchmarkGroup(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	texts := make([]string, 16)
	for i := range texts {
		var s strings.Builder
		for range 1500 {
			fmt.Fprintf(&s, "word%d ", rng.IntN(2000))
		}
		texts[i] = s.String()
	}
	list := rows(texts...)
	for b.Loop() {
		nearDuplicateRule{likeness: 0.9}.rows(curate.Batch{}, curate.Group{}, list)
	}
}
