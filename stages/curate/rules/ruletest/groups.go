package ruletest

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"slices"

	"pgregory.net/rapid"

	"github.com/rollmill/rollmill/stages/curate"
)

func (s suite) pure(t *rapid.T) {
	g := groups(t)
	b := batch(t, g)
	was := slices.Clone(g)
	for i := range g {
		if s.rule.Group != nil {
			s.rule.Group(b, &g[i])
		}
	}
	first, second := s.judge(t, b, g), s.judge(t, b, g)
	if !reflect.DeepEqual(first, second) {
		t.Fatalf("twice the same groups: %+v and %+v", first, second)
	}
	if !slices.Equal(g, was) {
		t.Fatal("the rule changed its groups")
	}
}

// state checks that the state survives JSON into the next epoch, and that an
// invalid one is refused.
func (s suite) state(t *rapid.T) {
	g := groups(t)
	b := batch(t, g)
	r := s.judge(t, b, g)
	if r.State == nil {
		return
	}
	data, err := json.Marshal(r.State)
	if err != nil {
		t.Fatal(err)
	}
	b.Epoch++
	b.State = data
	next := s.judge(t, b, g)
	again, err := json.Marshal(s.judge(t, b, g).State)
	if data, _ = json.Marshal(next.State); err != nil || !bytes.Equal(again, data) {
		t.Fatalf("the state is not a function of its past: %s, %s", data, again)
	}
	b.State = json.RawMessage(`"nonsense"`)
	if _, err := curate.Apply(s.rule, b, g); err == nil {
		t.Fatal("a nonsensical state is accepted")
	}
}

func (s suite) order(t *rapid.T) {
	g := groups(t)
	b := batch(t, g)
	perm := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "order"), 1)).Perm(len(g))
	moved := make([]curate.Group, len(g))
	for i, p := range perm {
		moved[p] = g[i]
	}
	here, there := s.judge(t, b, g), s.judge(t, b, moved)
	for i, p := range perm {
		if here.Verdicts[i] != there.Verdicts[p] {
			t.Fatalf("group %s: %v in one order, %v in another", g[i].ID, here.Verdicts[i], there.Verdicts[p])
		}
	}
}
