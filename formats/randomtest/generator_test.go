package randomtest

import (
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
)

var mixed = Options{Groups: 40, Generations: 4, Messages: 7, SampledTokens: 60, PromptTokens: 40,
	Scored: true, Failures: 0.3, Unscored: 0.2, Branches: 0.5}

func collect[T any](seq func(func([]T) bool)) []T { return slices.Concat(slices.Collect(seq)...) }

func TestSameSeedGivesTheSameRows(t *testing.T) {
	all := collect(Trajectories(7, mixed))
	if diff := cmp.Diff(all, collect(Trajectories(7, mixed))); diff != "" {
		t.Fatal(diff)
	}
	if diff := cmp.Diff(all[17*4:18*4], Group(7, 17, mixed)); diff != "" {
		t.Errorf("group 17 made alone differs:\n%s", diff)
	}
	if other := collect(Trajectories(8, mixed)); other[0].PayloadDigest == all[0].PayloadDigest {
		t.Error("another seed gave the same payload")
	}
}

func TestKindsAgreeRowByRow(t *testing.T) {
	wide, scores, members := collect(Trajectories(7, mixed)), collect(Scores(7, mixed)), collect(Members(7, mixed))
	if len(wide) != 160 || len(scores) != 160 || len(members) != 160 {
		t.Fatalf("%d, %d and %d rows, want 160 each", len(wide), len(scores), len(members))
	}
	counts := map[string]int{}
	for i, w := range wide {
		s, m := scores[i], members[i]
		if w.TrajectoryID != s.TrajectoryID || w.TrajectoryID != m.TrajectoryID || w.Status != s.Status || w.Status != m.Status {
			t.Fatalf("row %d: ids or states differ: %s %s %s", i, w.TrajectoryID, s.TrajectoryID, m.TrajectoryID)
		}
		if diff := cmp.Diff(w.Reward, s.Reward) + cmp.Diff(w.Reward, m.Reward); diff != "" {
			t.Fatalf("row %d: rewards differ: %s", i, diff)
		}
		counts[w.Status]++
		if w.Reward == nil {
			counts["null"]++
		}
		if (m.Advantage == nil) == (m.NoAdvantage == "") {
			t.Errorf("row %d: advantage %v, reason %q", i, m.Advantage, m.NoAdvantage)
		}
	}
	for _, want := range append(slices.Clone(outcomes.Statuses), "null") {
		if counts[want] == 0 {
			t.Errorf("no row is %s: %v", want, counts)
		}
	}
}

func TestDefaultRowsHaveTheSizeOfRealOnes(t *testing.T) {
	var rows, bytes, sampled, messages, near int
	for group := range Trajectories(1, Options{Groups: 50}) {
		for i := range group {
			rows++
			bytes += logicalBytes(&group[i])
			sampled += int(group[i].SampledTokens)
			messages += len(group[i].Messages)
			for _, m := range group[i].Messages {
				for _, p := range m.Logprobs {
					if p > 0 || math.IsInf(float64(p), 0) || p != p {
						t.Fatalf("log probability %v", p)
					}
					if p > -0.1 {
						near++
					}
				}
			}
		}
	}
	within := func(what string, got, want float64) {
		if math.Abs(got-want) > 0.1*want {
			t.Errorf("%s: %.4g a row, want about %.4g", what, got, want)
		}
	}
	within("logical bytes", float64(bytes)/float64(rows), 28_300)
	within("sampled tokens", float64(sampled)/float64(rows), 1540)
	within("messages", float64(messages)/float64(rows), 9.9)
	within("share of near certain tokens", float64(near)/float64(sampled), 0.65)
}

func TestIDsGoWithTheText(t *testing.T) {
	ids := map[string][]int32{}
	for i := range language().words {
		w := &language().words[i]
		ids[string(w.text[:w.size])] = w.ids[:w.tokens]
	}
	if len(ids) != len(language().words) {
		t.Fatalf("%d different words of %d", len(ids), len(language().words))
	}
	for _, m := range Group(3, 0, Options{Generations: 1})[0].Messages {
		if m.Role != "assistant" {
			continue
		}
		if got := tokenise(m.Content, ids); !slices.Equal(got, m.TokenIDs) {
			t.Fatalf("%q has ids %v, want %v", m.Content, m.TokenIDs, got)
		}
	}
}

// tokenise splits text before blanks and punctuation.
func tokenise(text string, ids map[string][]int32) []int32 {
	var out []int32
	for len(text) > 0 {
		n := 1
		for n < len(text) && text[n] >= 'a' && text[n] <= 'z' {
			n++
		}
		out = append(out, ids[text[:n]]...)
		text = text[n:]
	}
	return out
}

func TestEveryWordFitsItsRoom(t *testing.T) {
	for _, w := range language().words {
		if w.size > uint8(len(w.text)) || w.tokens == 0 || int(w.size) > 10*int(w.tokens) {
			t.Fatalf("word %q of %d bytes has %d tokens", w.text, w.size, w.tokens)
		}
	}
}

func logicalBytes(t *formats.Trajectory) int {
	n := len(t.Example) + len(t.Answer)
	for _, m := range t.Messages {
		n += len(m.Content) + 4*len(m.TokenIDs) + 4*len(m.Logprobs) + 4*len(m.PromptDeltaIDs)
	}
	return n
}

// BenchmarkTrajectories must stay several times faster than writing (130 MB/s).
func BenchmarkTrajectories(b *testing.B) {
	var bytes, i int
	for b.Loop() {
		for _, t := range Group(1, i, Options{}) {
			bytes += logicalBytes(&t)
		}
		i++
	}
	b.SetBytes(int64(bytes / i))
	b.ReportMetric(float64(bytes)/float64(8*i), "B/row")
}
