package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/rollmill/rollmill/pipelines/sandbox"
)

// student is a sandbox that learns the game without the stages: games are played
// through its chat route and sent to its training route.
type student struct {
	t       *testing.T
	server  *sandbox.Server
	judge   *Judge
	shuffle *rand.Rand // shuffles rewards within a group; nil for no shuffling
	rate    float64
	calls   int
}

func newStudent(t *testing.T, seed int64, rate float64) *student {
	server, err := sandbox.New(sandbox.Options{Seed: seed, Models: []string{"demo/student"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return &student{t: t, server: server, judge: NewJudge(), rate: rate}
}

func (s *student) post(path string, body any, answer any) {
	s.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		s.t.Fatal(err)
	}
	w := httptest.NewRecorder()
	s.server.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, bytes.NewReader(text)))
	if w.Code != http.StatusOK {
		s.t.Fatalf("%s answered %d: %s", path, w.Code, w.Body)
	}
	if answer != nil {
		if err := json.Unmarshal(w.Body.Bytes(), answer); err != nil {
			s.t.Fatal(err)
		}
	}
}

// played is a game as an ART trajectory.
type played struct {
	Entries []any   `json:"messages_and_choices"`
	Reward  float64 `json:"reward"`
	game    game
}

func (s *student) play(e Example, sampling int64) played {
	p := played{game: game{board: NewBoard(), me: Mark(e.Side[0]), seed: e.Seed}}
	var before []message
	err := p.game.play(func(messages []message) (string, error) {
		for _, m := range messages[len(before):] {
			if m.Role != "assistant" {
				p.Entries = append(p.Entries, m)
			}
		}
		before = append([]message{}, messages...)
		var c struct{ Choices []json.RawMessage }
		s.post("/v1/chat/completions", map[string]any{
			"model": "student", "messages": messages, "seed": sampling + int64(len(messages)),
			"logprobs": true, "return_tokens_as_token_ids": true,
		}, &c)
		s.calls++
		p.Entries = append(p.Entries, c.Choices[0])
		var choice struct{ Message message }
		return choice.Message.Content, decodeChoice(c.Choices[0], &choice.Message.Content)
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return p
}

func decodeChoice(raw json.RawMessage, content *string) error {
	return json.Unmarshal(raw, &struct{ Message *struct{ Content *string } }{&struct{ Content *string }{content}})
}

// epoch plays eight games of each example and trains on them.
func (s *student) epoch(n int, examples []Example) {
	groups := make([]map[string]any, len(examples))
	for i, e := range examples {
		members := make([]played, 8)
		for g := range members {
			members[g] = s.play(e, int64(n)*1_000_000+int64(i)*1000+int64(g)*100)
			members[g].Reward = s.reward(members[g])
		}
		if s.shuffle != nil {
			s.shuffle.Shuffle(8, func(a, b int) { members[a].Reward, members[b].Reward = members[b].Reward, members[a].Reward })
		}
		groups[i] = map[string]any{"trajectories": members}
	}
	s.post("/_train_model", map[string]any{
		"model":             map[string]any{"name": "student", "project": "demo", "base_model": sandbox.DefaultBaseModel},
		"trajectory_groups": groups, "config": map[string]any{"learning_rate": s.rate}, "dev_config": map[string]any{},
	}, nil)
}

// reward returns the game's reward, by the function of the reward command.
func (s *student) reward(p played) float64 {
	r := s.judge.Reward(request{Example: task{Side: string(p.game.me)}, Messages: conversation(s.t, p)})
	if r.Reward == nil {
		s.t.Fatal(r.Error)
	}
	return *r.Reward
}

func conversation(t *testing.T, p played) []message {
	var out []message
	for _, e := range p.Entries {
		switch e := e.(type) {
		case message:
			out = append(out, e)
		case json.RawMessage:
			m := message{Role: "assistant"}
			if err := decodeChoice(e, &m.Content); err != nil {
				t.Fatal(err)
			}
			out = append(out, m)
		}
	}
	return out
}

// measure returns the share of won games and the share of legal moves.
func (s *student) measure(examples []Example) (won, legal float64) {
	wins, good, bad := 0, 0, 0
	for i, e := range examples {
		p := s.play(e, -int64(i+1)*100)
		good += p.game.moves
		switch p.game.outcome {
		case "won":
			wins++
		case "illegal":
			bad++
		}
	}
	return float64(wins) / float64(len(examples)), float64(good) / float64(good+bad)
}

func set(seed int64, from, count int) []Example {
	out := make([]Example, count)
	for i := range out {
		out[i] = NewExample(seed, from+i)
	}
	return out
}

type progress struct{ before, after, legal float64 }

// learn trains for 15 epochs on 64 examples and measures on 256 others.
func learn(s *student, seed int64) progress {
	var p progress
	heldOut := set(seed, 64, 256)
	p.before, p.legal = s.measure(heldOut)
	for n := range 15 {
		s.epoch(n, set(seed, 0, 64))
	}
	p.after, _ = s.measure(heldOut)
	return p
}

var long = flag.Bool("long", false, "run the tests that take minutes")

const rate = 0.01

func TestPolicyLearnsToWin(t *testing.T) {
	seeds := int64(1)
	if *long {
		seeds = 5
	}
	for seed := int64(1); seed <= seeds; seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			p := learn(newStudent(t, seed, rate), seed)
			t.Logf("won %.3f before, %.3f after; %.4f of the untrained moves legal", p.before, p.after, p.legal)
			if p.legal < 0.95 {
				t.Errorf("the untrained policy plays %.3f legal moves, want 0.95", p.legal)
			}
			if p.after < 0.75 || p.after-p.before < 0.20 {
				t.Errorf("won share went from %.3f to %.3f, want a rise of 0.20 to at least 0.75", p.before, p.after)
			}
		})
	}
}

func TestNoLearningFromShuffledRewards(t *testing.T) {
	if !*long {
		t.Skip("a mean over five seeds takes minutes: make learn")
	}
	rises := make([]float64, 5)
	t.Run("seeds", func(t *testing.T) {
		for i := range rises {
			t.Run(fmt.Sprint("seed ", i+1), func(t *testing.T) {
				t.Parallel()
				s := newStudent(t, int64(i+1), rate)
				s.shuffle = rand.New(rand.NewPCG(uint64(i), 1))
				p := learn(s, int64(i+1))
				t.Logf("won %.3f before, %.3f after", p.before, p.after)
				rises[i] = p.after - p.before
			})
		}
	})
	mean := 0.0
	for _, r := range rises {
		mean += r / 5
	}
	if mean >= 0.10 {
		t.Errorf("won share rises by %.3f on average without a reason", mean)
	}
}

func TestNoLearningAtRateZero(t *testing.T) {
	s := newStudent(t, 1, 0)
	examples := set(1, 64, 64)
	before, _ := s.measure(examples)
	for n := range 2 {
		s.epoch(n, set(1, 0, 8))
	}
	if after, _ := s.measure(examples); after != before {
		t.Errorf("won share went from %.3f to %.3f", before, after)
	}
}
