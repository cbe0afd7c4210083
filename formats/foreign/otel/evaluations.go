package otel

import (
	"fmt"
	"strconv"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// evaluation is a result of an evaluator that has a number.
type evaluation struct {
	name  string
	value float64
}

// evaluations reads those that a span has: in events by the conventions, and in
// attributes by OpenInference. Those of sessions are not of one trace; the
// attributes keep them.
func (t *trace) evaluations(s *sourceSpan) {
	for _, e := range s.events {
		if e.name == "gen_ai.evaluation.result" {
			t.evaluation(jsontext.Unquote(e.attrs.Get("gen_ai.evaluation.name")),
				e.attrs.Get("gen_ai.evaluation.score.value"),
				e.attrs.Bytes())
		}
	}
	for _, words := range [][2]string{{"annotations", "annotation"}, {"evaluations", "evaluation"}} {
		for _, scope := range []string{"", "trace."} {
			for _, n := range under(s.attrs, scope+words[0]).list() {
				if of := n.get(words[1]); of != nil {
					n = of
				}
				t.evaluation(n.text("name"), n.json("score"), n.json())
			}
		}
	}
}

// score reads a score of Langfuse, or an annotation of Phoenix.
func (t *trace) score(o jsontext.Object, raw []byte) {
	v := o.Get("value")
	if result := jsontext.ParseObject(o.Get("result")); result != nil {
		v = result.Get("score")
	}
	if kind := jsontext.Unquote(o.First("data_type", "dataType")); kind == "CATEGORICAL" || kind == "TEXT" {
		v = nil // the number of a category is its place in a list
	}
	t.evaluation(jsontext.Unquote(o.Get("name")), v, raw)
}

// evaluation adds one. Only a number is a reward; labels are in the metadata.
func (t *trace) evaluation(name string, v, raw []byte) {
	t.raw = append(t.raw, raw)
	if f, err := strconv.ParseFloat(string(v), 64); err == nil && name != "" {
		t.judged = append(t.judged, evaluation{name, f})
	}
}

// rewards sets the rewards. One alone, or one with the name reward, is the total;
// several have none, since no convention says how they add up. A failed
// trajectory has none.
func (t *trace) rewards(row *formats.Trajectory) {
	names := map[string]int{}
	for _, e := range t.judged {
		name := e.name
		if names[name]++; names[name] > 1 {
			name = fmt.Sprintf("%s.%d", name, names[name])
		}
		r := formats.NamedReward{Name: name, Value: &e.value}
		if row.Status == outcomes.StatusFailed {
			r.Value, r.Failure = nil, outcomes.RewardTrajectory
		}
		if name == "reward" || len(t.judged) == 1 {
			r.Weight, row.Reward = 1, r.Value
		}
		row.Rewards = append(row.Rewards, r)
	}
}
