package sequences_test

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/sequences"
	"github.com/rollmill/rollmill/formats/training"
)

// engine is what an engine saw and sampled, by message.
type engine map[int]struct{ prompt, answer []int32 }

// draw makes a trajectory of any shape, and the engine's log of it.
func draw(t *rapid.T) (*formats.Trajectory, engine) {
	log := engine{}
	row := &formats.Trajectory{}
	next := int32(0)
	ids := func(n int) []int32 {
		out := make([]int32, n)
		for i := range out {
			next++
			out[i] = next
		}
		return out
	}
	n := rapid.IntRange(1, 14).Draw(t, "messages")
	for i := range n {
		m := formats.Message{Parent: int32(rapid.IntRange(-1, i-1).Draw(t, "parent")), Role: "user", Call: -1}
		if !rapid.Bool().Draw(t, "sampled") {
			row.Messages = append(row.Messages, m)
			continue
		}
		m.Role, m.Sampled, m.Call = "assistant", true, int32(len(row.Calls))
		version := int64(len(row.Calls))
		target := rapid.IntRange(0, 3).Draw(t, "target") > 0
		row.Calls = append(row.Calls, formats.Call{Target: target, PolicyVersion: &version})
		above := int(m.Parent)
		for above >= 0 && !row.Messages[above].Sampled {
			above = int(row.Messages[above].Parent)
		}
		if target {
			answer := ids(rapid.IntRange(1, 3).Draw(t, "answer"))
			seen, known := log[above]
			delta := ids(rapid.IntRange(1, 3).Draw(t, "prompt"))
			whole := delta
			switch {
			case above < 0:
			case !known:
				m.PrefixBreak = "unknown"
			case rapid.IntRange(0, 3).Draw(t, "break") == 0:
				m.PrefixBreak = "template"
			default:
				delta = delta[:rapid.IntRange(0, len(delta)).Draw(t, "delta")]
				whole = slices.Concat(seen.prompt, seen.answer, delta)
			}
			m.TokenIDs, m.PromptDeltaIDs = answer, delta
			for _, id := range answer {
				m.Logprobs = append(m.Logprobs, -float32(id))
			}
			log[i] = struct{ prompt, answer []int32 }{whole, answer}
			credit(t, row, int32(i), len(answer))
		}
		row.Messages = append(row.Messages, m)
	}
	if rapid.Bool().Draw(t, "scalar") {
		advantage := rapid.Float64Range(-2, 2).Draw(t, "advantage")
		row.Advantage = &advantage
	}
	return row, log
}

// credit gives a message, perhaps, advantages and losses of its own.
func credit(t *rapid.T, row *formats.Trajectory, message int32, tokens int) {
	if rapid.Bool().Draw(t, "own") {
		a := training.MessageAdvantage{Message: message, Value: rapid.Float64Range(-2, 2).Draw(t, "value")}
		if rapid.Bool().Draw(t, "of tokens") {
			a.Tokens = rapid.SliceOfN(rapid.Float32Range(-2, 2), tokens, tokens).Draw(t, "tokens")
		}
		row.Advantages = append(row.Advantages, a)
	}
	for _, loss := range training.Losses {
		if rapid.IntRange(0, 3).Draw(t, loss) > 0 {
			continue
		}
		l := training.MessageLoss{Message: message, Loss: loss, Weight: rapid.Float64Range(0.1, 2).Draw(t, "weight")}
		if loss == training.LossRefKL {
			l.Reference = rapid.SliceOfN(rapid.Float32Range(-9, -0.1), tokens, tokens).Draw(t, "reference")
		}
		row.Losses = append(row.Losses, l)
	}
}

// wanted is what a token trains by: its advantage, its weights in the losses, and the reference's
// log probability.
type wanted struct {
	advantage float32
	weights   map[string]float32
	reference float32
}

// trainsBy returns what the k-th token of a message trains by.
func trainsBy(row *formats.Trajectory, message, k int) wanted {
	w := wanted{weights: map[string]float32{}}
	if row.Advantage != nil {
		w.advantage = float32(*row.Advantage)
	}
	for _, a := range row.Advantages {
		if int(a.Message) == message {
			if w.advantage = float32(a.Value); a.Tokens != nil {
				w.advantage = a.Tokens[k]
			}
		}
	}
	for _, l := range row.Losses {
		if int(l.Message) == message {
			w.weights[l.Loss] = float32(l.Weight)
			if l.Reference != nil {
				w.reference = l.Reference[k]
			}
		}
	}
	if len(w.weights) == 0 {
		w.weights[training.LossRL] = 1
	}
	return w
}

// checkCredit compares what a token of a sequence trains by; one that does not train has none.
func checkCredit(t *rapid.T, row *formats.Trajectory, s *sequences.Sequence, at int, want wanted) {
	if (s.Advantages == nil) != (row.Advantages == nil) || (s.Losses == nil) != (row.Losses == nil) {
		t.Fatalf("%v of %v, %v of %v", s.Advantages, row.Advantages, s.Losses, row.Losses)
	}
	if s.Advantages != nil && s.Advantages[at] != want.advantage {
		t.Fatalf("token %d has the advantage %v, want %v", at, s.Advantages[at], want.advantage)
	}
	if l := s.Losses; l != nil && (l.RL[at] != want.weights[training.LossRL] || l.CE[at] != want.weights[training.LossCE] ||
		l.RefKL[at] != want.weights[training.LossRefKL] || l.Reference[at] != want.reference) {
		t.Fatalf("token %d has the weights %v %v %v and the reference %v, want %+v", at, l.RL[at], l.CE[at], l.RefKL[at], l.Reference[at], want)
	}
}

// TestEveryTokenOnceBehindWhatTheEngineSaw: the tokens of each answer are in one
// sequence, behind the very prompt that the engine logged, with the advantages and
// losses of their message, and nothing else trains.
func TestEveryTokenOnceBehindWhatTheEngineSaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row, log := draw(t)
		list, problem := sequences.Of(row)
		if problem != nil {
			if problem.Reason != sequences.Nothing || len(log) > 0 {
				t.Fatalf("%v", problem)
			}
			return
		}
		found := map[int]int{}
		for _, s := range list {
			at, trained := 0, 0
			for n, i := range s.Messages {
				found[i]++
				span, saw := s.Versions[n], log[i]
				before := slices.Concat(s.Prompt, s.Response[:span.Start])
				if !slices.Equal(before, saw.prompt) || !slices.Equal(s.Response[span.Start:span.End], saw.answer) {
					t.Fatalf("message %d was sampled as %v after %v, and trains as %v after %v", i, saw.answer, saw.prompt,
						s.Response[span.Start:span.End], before)
				}
				if *span.Version != int64(row.Messages[i].Call) {
					t.Fatalf("message %d has version %d", i, *span.Version)
				}
				for k := at; k < int(span.End); k++ {
					in := k >= int(span.Start)
					want, by := float32(0), wanted{}
					if in {
						want, by = -float32(s.Response[k]), trainsBy(row, i, k-int(span.Start))
						trained++
					}
					checkCredit(t, row, &s, k, by)
					if s.Mask[k] != in || s.Logprobs[k] != want {
						t.Fatalf("token %d of %+v", k, s)
					}
				}
				at = int(span.End)
			}
			if at != len(s.Response) || trained != s.Tokens || len(s.Mask) != at || len(s.Logprobs) != at || s.Versions[0].Start != 0 {
				t.Fatalf("sequence %+v", s)
			}
		}
		for i := range log {
			if found[i] != 1 {
				t.Fatalf("message %d is in %d sequences", i, found[i])
			}
		}
		if len(found) != len(log) || list[0].Cause != "" {
			t.Fatalf("%d messages train, %d were sampled", len(found), len(log))
		}
		for _, s := range list[1:] {
			if s.Cause == "" {
				t.Fatalf("a sequence does not say why it is apart: %+v", s)
			}
		}
	})
}

// sampled returns a sampled message with its tokens.
func sampled(parent int32, prompt []int32, cause string, ids ...int32) formats.Message {
	return formats.Message{Parent: parent, Role: "assistant", Sampled: true, PromptDeltaIDs: prompt, PrefixBreak: cause, TokenIDs: ids,
		Logprobs: make([]float32, len(ids))}
}

// TestWhoTrainsASharedTurn: the main path, else the lowest leaf.
func TestWhoTrainsASharedTurn(t *testing.T) {
	user := func(parent int32, branch string) formats.Message {
		return formats.Message{Parent: parent, Role: "user", Call: -1, Branch: branch}
	}
	row := &formats.Trajectory{Calls: []formats.Call{{Target: true}}, Messages: []formats.Message{
		user(-1, ""),
		sampled(0, []int32{1}, "", 2), // shared by all
		user(1, ""),
		sampled(2, []int32{3}, "", 4), // shared by two branches
		user(3, ""),
		sampled(4, []int32{5}, "", 6), // the lowest leaf
		user(3, "history"),
		sampled(6, []int32{7}, "", 8),
		user(1, "retry"),
		sampled(8, []int32{9}, "", 10), // sampled last: the main path
	}}
	list, problem := sequences.Of(row)
	if problem != nil {
		t.Fatal(problem)
	}
	var got []string
	for _, s := range list {
		got = append(got, fmt.Sprint(s.Cause, s.Messages, s.Prompt, s.Response, s.Mask))
	}
	want := []string{
		"[1 9] [1] [2 9 10] [true false true]",
		"retry[3 5] [1 2 3] [4 5 6] [true false true]", // the first to be there: the main path is a retry
		"history[7] [1 2 3 4 7] [8] [true]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestProblemsAreNamed(t *testing.T) {
	for want, spoil := range map[string]func(row *formats.Trajectory){
		sequences.Nothing:    func(row *formats.Trajectory) { row.Calls[0].Target = false },
		sequences.NoIDs:      func(row *formats.Trajectory) { row.Messages[1].TokenIDs = nil },
		sequences.NoPrompt:   func(row *formats.Trajectory) { row.Messages[0].PromptDeltaIDs = nil },
		sequences.TokenCount: func(row *formats.Trajectory) { row.Messages[1].Logprobs = row.Messages[1].Logprobs[:1] },
		sequences.Images: func(row *formats.Trajectory) {
			row.Messages[0].ContentParts = `[{"type":"text","text":"a"},{"image_url":"u"}]`
		},
		sequences.BadLogprob: func(row *formats.Trajectory) { row.Messages[1].Logprobs[1] = -9999 },
	} {
		row := &formats.Trajectory{Calls: []formats.Call{{Target: true}}, Messages: []formats.Message{
			sampled(-1, []int32{1}, "", 2), sampled(0, []int32{3}, "", 4, 5)}}
		spoil(row)
		if list, problem := sequences.Of(row); problem == nil || problem.Reason != want || list != nil {
			t.Errorf("%s: %v, %v", want, list, problem)
		}
	}
	row := &formats.Trajectory{Calls: []formats.Call{{Target: true}, {}}, Messages: []formats.Message{
		{Parent: -1, Sampled: true, Call: 1}, sampled(0, []int32{3}, "", 4)}}
	if _, problem := sequences.Of(row); problem == nil || problem.Reason != sequences.NoPrompt {
		t.Errorf("a delta after unknown tokens: %v", problem)
	}
	row.Messages[1].PrefixBreak = "unknown"
	if list, problem := sequences.Of(row); problem != nil || len(list) != 1 {
		t.Errorf("a whole prompt after unknown tokens: %v, %v", list, problem)
	}
}

// TestWeights: what Per says is worth the same has the same share of the loss,
// and the batch as a whole weighs what it weighs without weights.
func TestWeights(t *testing.T) {
	var batch [][]sequences.Sequence
	var totals sequences.Totals
	for group := range randomtest.Trajectories(3, randomtest.Options{Groups: 6, Branches: 0.5, SampledTokens: 60, PromptTokens: 30}) {
		for i := range group {
			list, problem := sequences.Of(&group[i])
			if problem != nil {
				t.Fatal(problem)
			}
			batch = append(batch, list)
			totals.Add(list)
		}
	}
	if totals.Sequences <= totals.Trajectories {
		t.Fatal("no trajectory has two sequences")
	}
	for _, per := range sequences.Pers {
		for _, by := range []sequences.Aggregate{sequences.TokenMean, sequences.SequenceMean, sequences.TrajectoryMean} {
			var all, plain float64
			worth := map[string]float64{} // of each thing that is worth the same
			for i, list := range batch {
				for j, s := range list {
					each := 1.0 // the coefficient that the trainer gives a token
					switch by {
					case sequences.SequenceMean:
						each /= float64(s.Tokens)
					case sequences.TrajectoryMean:
						each /= float64(sequences.Tokens(list))
					}
					weight := (&sequences.Weights{Per: per, Totals: totals}).Of(by, &s, list)
					all, plain = all+weight*each*float64(s.Tokens), plain+each*float64(s.Tokens)
					switch per {
					case sequences.Trajectory:
						worth[fmt.Sprint(i)] += weight * each * float64(s.Tokens)
					case sequences.EachSequence:
						worth[fmt.Sprint(i, j)] += weight * each * float64(s.Tokens)
					case sequences.Token:
						worth[fmt.Sprint(i, j)] = weight * each
					}
				}
			}
			if math.Abs(all-plain) > 1e-9*plain {
				t.Errorf("per %s, %s: the batch weighs %v, without weights %v", per, by, all, plain)
			}
			first := worth[slices.Sorted(maps.Keys(worth))[0]]
			for what, w := range worth {
				if math.Abs(w-first) > 1e-9*first {
					t.Fatalf("per %s, %s: %s is worth %v, another %v", per, by, what, w, first)
				}
			}
		}
	}
}

// TestHistoryBeforeACompaction is apart for the compaction, and what went on from
// a message above it for its own reason.
func TestHistoryBeforeACompaction(t *testing.T) {
	row := &formats.Trajectory{Calls: []formats.Call{{Target: true}}, Messages: []formats.Message{
		{Parent: -1, Role: "system", Call: -1},
		{Parent: 0, Role: "user", Call: -1},
		sampled(1, []int32{1}, "", 2),
		{Parent: 0, Role: "user", Call: -1, Branch: "compaction"},
		sampled(3, []int32{3}, "", 4),
		{Parent: 2, Role: "user", Call: -1, Branch: "subagent"},
		sampled(5, []int32{5}, "", 6),
		{Parent: 4, Role: "user", Call: -1},
		sampled(7, []int32{7}, "", 8),        // the main path
		{Parent: -1, Role: "user", Call: -1}, // of data without labels
		{Parent: 9, Role: "assistant", Sampled: true, PromptDeltaIDs: []int32{9}, TokenIDs: []int32{10}, Logprobs: []float32{-1}, Call: 0},
		sampled(7, []int32{7}, "", 9),
	}}
	row.Messages[11].Branch = "choice"
	list, problem := sequences.Of(row)
	if problem != nil {
		t.Fatal(problem)
	}
	var got []string
	for _, s := range list {
		got = append(got, fmt.Sprint(s.Cause, s.Messages))
	}
	if want := []string{"[4 11]", "compaction[2 6]", "choice[8]", "history[10]"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestImagesAfterTheLastAnswer hide nothing from the policy.
func TestImagesAfterTheLastAnswer(t *testing.T) {
	row := &formats.Trajectory{Calls: []formats.Call{{Target: true}}, Messages: []formats.Message{
		{Parent: -1, Role: "user", Call: -1, ContentParts: `[{"type":"text","text":"a"},{"type":"refusal","refusal":"no"}]`},
		sampled(0, []int32{1}, "", 2),
		{Parent: 1, Role: "tool", Call: -1, ContentParts: `[{"type":"image_url","image_url":{"url":"u"}}]`},
	}}
	if list, problem := sequences.Of(row); problem != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, problem)
	}
	row.Messages = append(row.Messages, sampled(2, []int32{3}, "", 4))
	if list, problem := sequences.Of(row); problem == nil || problem.Reason != sequences.Images {
		t.Errorf("%v, %v", list, problem)
	}
}
