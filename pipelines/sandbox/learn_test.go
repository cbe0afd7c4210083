package sandbox

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// objective is what a gradient step climbs, by its definition.
func objective(p, base *policy, samples []sample, r rules) float64 {
	sum, total := 0.0, 0.0
	h := make([]float64, p.hidden)
	for _, s := range samples {
		total += s.weight
		var logp, ref [words]float64
		p.logits(s.view, s.phase, h, &logp)
		normalise(logp[:])
		ratio := math.Exp(logp[s.word] - s.old)
		gain := min(ratio*s.gain, min(max(ratio, 1-r.low), 1+r.high)*s.gain)
		base.logits(s.view, s.phase, make([]float64, base.hidden), &ref)
		normalise(ref[:])
		d := ref[s.word] - logp[s.word]
		sum += s.weight * (gain - r.penalty*(math.Exp(d)-d-1))
	}
	return sum / total
}

func TestTheGradientIsThatOfTheObjective(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	p, base := newPolicy(5, 1), newPolicy(7, 2)
	for i := range p.weights {
		p.weights[i] += random.NormFloat64() * 0.3
	}
	var samples []sample
	for range 40 {
		var b board
		for i := range b {
			b[i] = square(random.IntN(3))
		}
		s := sample{view: newView(b, false), phase: phase(random.IntN(int(phases))), word: random.IntN(words), weight: random.Float64(), gain: random.NormFloat64()}
		var logp [words]float64
		p.logits(s.view, s.phase, make([]float64, p.hidden), &logp)
		normalise(logp[:])
		s.old = logp[s.word] + random.NormFloat64()*0.3 // some are clipped
		samples = append(samples, s)
	}
	r := rules{rate: 0, low: 0.2, high: 0.28, penalty: 0.1}
	l := newLearner(p, base, &optimiser{Mean: make([]float64, len(p.weights)), Square: make([]float64, len(p.weights))}, r)
	m := l.step(samples)
	if got, want := -m.loss, objective(p, base, samples, r); math.Abs(got-want) > 1e-12 {
		t.Errorf("loss %v, want %v", got, want)
	}
	const tiny = 1e-6
	for range 300 {
		i := random.IntN(len(p.weights))
		was := p.weights[i]
		p.weights[i] = was + tiny
		up := objective(p, base, samples, r)
		p.weights[i] = was - tiny
		down := objective(p, base, samples, r)
		p.weights[i] = was
		if want := (up - down) / (2 * tiny); math.Abs(l.gradient[i]-want) > 1e-6 {
			t.Fatalf("weight %d: gradient %v, want %v", i, l.gradient[i], want)
		}
	}
}

func TestAdvantagesAreARTs(t *testing.T) {
	reader := reader{maxTokens: 1000}
	group := func(rewards ...float64) trajectoryGroup {
		var g trajectoryGroup
		for i, r := range rewards {
			var tr trajectory
			a := answer{ids: []int{tokenOpen, tokenCell + i, tokenClose, tokenEnd}, logprobs: []float64{-1, -2, -3, -4}, finish: "stop"}
			raw, err := json.Marshal(map[string]any{"messages_and_choices": []any{choiceOf(a)}, "reward": r})
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(raw, &tr); err != nil {
				t.Fatal(err)
			}
			g.Trajectories = append(g.Trajectories, tr)
		}
		return g
	}
	gains := func(scale bool, groups ...trajectoryGroup) map[float64]float64 {
		episodes, err := newBatch(groups, reader, scale)
		if err != nil {
			t.Fatal(err)
		}
		out := map[float64]float64{}
		for _, e := range episodes {
			out[e.reward] = e.tokens[0].gain
		}
		return out
	}
	// {0, 1, 5}: mean 2, population deviation √(14/3). {7, 7, 7} and {9} teach nothing.
	got := gains(true, group(0, 1, 5), group(7, 7, 7), group(9))
	std := math.Sqrt(14.0/3) + 1e-6
	size := (2/std + 1/std + 3/std) / 3 // brought to a mean size of 1
	for reward, want := range map[float64]float64{0: -2 / std / size, 1: -1 / std / size, 5: 3 / std / size} {
		if math.Abs(got[reward]-want) > 1e-12 {
			t.Errorf("reward %v: advantage %v, want %v", reward, got[reward], want)
		}
	}
	if len(got) != 3 {
		t.Errorf("%d trajectories are trained on, want 3: %v", len(got), got)
	}
	// the member with an advantage of exactly 0 is dropped
	if got := gains(false, group(0, 1, 2)); len(got) != 2 || got[0] != -1 || got[2] != 1 {
		t.Errorf("without scaling: %v", got)
	}
}

// TestChoicesMayHaveTheirOwnAdvantage: their tokens get it, whatever the group's rewards
// are, and the other choices' tokens get the trajectory's.
func TestChoicesMayHaveTheirOwnAdvantage(t *testing.T) {
	raw := func(tokens int, advantage string) string {
		a := answer{ids: []int{tokenOpen, tokenCell, tokenClose, tokenEnd}[:tokens], logprobs: []float64{-1, -2, -3, -4}[:tokens], finish: "stop"}
		text, err := json.Marshal(choiceOf(a))
		if err != nil {
			t.Fatal(err)
		}
		return string(text[:len(text)-1]) + advantage + "}"
	}
	gains := func(rewards []float64, choices ...string) []float64 {
		var g trajectoryGroup
		for i, r := range rewards {
			tr := trajectory{Reward: &r}
			if err := json.Unmarshal([]byte("["+choices[i]+"]"), &tr.Entries); err != nil {
				t.Fatal(err)
			}
			g.Trajectories = append(g.Trajectories, tr)
		}
		episodes, err := newBatch([]trajectoryGroup{g}, reader{maxTokens: 1000}, false)
		if err != nil {
			t.Fatal(err)
		}
		var out []float64
		for _, e := range episodes {
			for _, token := range e.tokens {
				out = append(out, token.gain)
			}
		}
		slices.Sort(out)
		return out
	}
	own, plain := raw(1, `,"advantage":3`)+","+raw(2, ""), raw(4, "")
	// Advantages 3, 1, 1 and four times -1: mean sizes 5/3 and 1, brought to a mean of 1.
	want := []float64{-0.75, -0.75, -0.75, -0.75, 0.75, 0.75, 2.25}
	if got := gains([]float64{2, 0}, own, plain); !slices.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) < 1e-12 }) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := gains([]float64{1}, own); len(got) != 3 || got[0] != 0 || got[2] <= 0 {
		t.Errorf("in a group of one: %v", got)
	}
	if got := gains([]float64{1, 1}, plain, plain); got != nil {
		t.Errorf("equal rewards, no advantages: %v", got)
	}
}

func TestWhatIsTrainedOnAndWhatIsContext(t *testing.T) {
	const choice = `{"finish_reason":"stop","index":0,"message":{"role":"assistant","content":"<move>A1</move>"},"logprobs":{"content":[` +
		`{"token":"token_id:261","logprob":-0.5,"top_logprobs":[]},{"token":"token_id:263","logprob":-2,"top_logprobs":[]}]}}`
	const plain = `{"role":"assistant","content":"<move>"}`
	const shown = `{"role":"user","content":"A X . .\nB . O .\nC . . ."}`
	const parts = `{"role":"user","content":[{"type":"text","text":"A X . .\nB . O .\nC . . ."}]}`
	for _, c := range []struct {
		name, entries string
		without       bool
		ids           []int
		taken         bool // the first token is drawn with the board in view
	}{
		{"a choice", shown + "," + choice, false, []int{261, 263}, true},
		{"what follows the last choice is cut off", shown + "," + choice + "," + plain, false, []int{261, 263}, true},
		{"a plain answer before the last choice is trained on", plain + "," + choice, false, []int{261, 260, 261, 263}, false},
		{"nothing without logprobs", shown + "," + plain, false, nil, false},
		{"plain answers when they are allowed", shown + "," + plain, true, []int{261, 260}, true},
		{"parts are an iterator that the log used up", parts + "," + choice, false, []int{261, 263}, false},
	} {
		var h history
		if err := json.Unmarshal([]byte(`{"messages_and_choices":[`+c.entries+`]}`), &h); err != nil {
			t.Fatal(err)
		}
		tokens, err := reader{c.without, 1000}.read(h)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		var ids []int
		for _, w := range tokens {
			ids = append(ids, w.id)
		}
		if len(ids) != len(c.ids) || text(ids) != text(c.ids) {
			t.Errorf("%s: %v, want %v", c.name, ids, c.ids)
		}
		if len(tokens) > 0 && (tokens[0].view.board[0] != free) != c.taken {
			t.Errorf("%s: the board in view is %v", c.name, tokens[0].view.board)
		}
	}
	var h history
	if err := json.Unmarshal([]byte(`{"messages_and_choices":[`+shown+`,`+choice+`]}`), &h); err != nil {
		t.Fatal(err)
	}
	prompt := len(promptTokens([]turn{{"user", "A X . .\nB . O .\nC . . ."}}))
	if tokens, err := (reader{maxTokens: prompt + 1}).read(h); err != nil || len(tokens) != 1 {
		t.Errorf("a history that is too long: %d tokens, %v", len(tokens), err)
	}
}

func TestSamplesCarryWhatTheAnswerWas(t *testing.T) {
	p := newPolicy(8, 1)
	b := board{own, other}
	a := p.sample(newView(b, false), sampling{temperature: 1, topP: 1, maxTokens: 16, seed: 3}, 0)
	raw, err := json.Marshal(map[string]any{"messages_and_choices": []any{
		map[string]any{"role": "user", "content": "A X O .\nB . . .\nC . . ."}, choiceOf(a)}})
	if err != nil {
		t.Fatal(err)
	}
	var h history
	if err := json.Unmarshal(raw, &h); err != nil {
		t.Fatal(err)
	}
	tokens, err := reader{maxTokens: 1000}.read(h)
	if err != nil || len(tokens) != len(a.ids) {
		t.Fatalf("%d tokens of %d, %v", len(tokens), len(a.ids), err)
	}
	hidden := make([]float64, p.hidden)
	for i, w := range tokens {
		var logp [words]float64
		p.logits(w.view, w.phase, hidden, &logp)
		normalise(logp[:])
		if now := logp[w.id-firstWord]; now != w.old || w.old != a.logprobs[i] {
			t.Errorf("token %d: %v when trained, %v when sent, %v when drawn", i, now, w.old, a.logprobs[i])
		}
	}
}

// TestSumIsRead reads sums in prompts; a later board or sum counts.
func TestSumIsRead(t *testing.T) {
	for text, want := range map[string][]int{"What is 2 + 3?": {2, 3}, "1 + 1 = 2. And 4 + 5": {4, 5}, "4 + 4": {4, 4},
		"2+3": nil, "12 + 3": nil, "2 + 31": nil, "5 + 5": nil, "0 + 3": nil, " + ": nil, "3 + ": nil, "2 + x": nil} {
		b, ok := sumIn(text)
		if ok != (want != nil) || ok && (b[want[0]-1] != own || want[0] != want[1] && b[want[1]-1] != other) {
			t.Errorf("%q: %v, %v", text, b, ok)
		}
	}
	sum, drawn := turn{"user", "2 + 3"}, turn{"user", "A . . .\nB . . .\nC . . ."}
	if readView([]turn{sum, drawn}).sum || !readView([]turn{drawn, sum, {"tool", "17"}}).sum {
		t.Error("the last board or sum does not count")
	}
}

// TestSumIsLearnt trains on 2 + 3 by rewards alone. The first token is a digit with the
// probability that the network gives it, with and without tools.
func TestSumIsLearnt(t *testing.T) {
	for _, tools := range []bool{false, true} {
		p := newPolicy(24, 1)
		l := newLearner(p, newPolicy(24, 1), &optimiser{Mean: make([]float64, len(p.weights)), Square: make([]float64, len(p.weights))}, rules{rate: 0.02, low: 0.2, high: 0.28})
		v := readView([]turn{{"user", "What is 2 + 3?"}})
		right := func() (n int, samples []sample) {
			for i := range 200 {
				a := p.sample(v, sampling{temperature: 1, topP: 1, maxTokens: 16, seed: uint64(i)}, 0)
				gain := -0.2
				if a.text == "5" {
					n, gain = n+1, 1
				}
				var tokens []written
				for k, id := range a.ids {
					tokens = append(tokens, written{id: id, old: a.logprobs[k]})
				}
				for _, w := range appendWritten(nil, v, tokens, tools) {
					samples = append(samples, sample{view: v, phase: w.phase, word: v.word(w.id), old: w.old, weight: 1, gain: gain})
				}
			}
			return n, samples
		}
		before, samples := right()
		for range 20 {
			l.step(samples)
			_, samples = right()
		}
		if after, _ := right(); before > 50 || after < 150 {
			t.Errorf("tools %v: %d of 200 answers are right before training, %d after", tools, before, after)
		}
	}
}
