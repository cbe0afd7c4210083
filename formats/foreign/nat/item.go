package nat

import (
	"fmt"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// members are the names that an item's members have.
type members struct{ id, answer, steps, expected string }

// item converts an item of workflow_output.json, or an EvalInputItem.
func item(r *importers.Record, o jsontext.Object) (x importers.Item) {
	m := members{id: r.Column("id"), answer: r.Column("generated_answer"), steps: r.Column("intermediate_steps"),
		expected: r.Column("expected_intermediate_steps")}
	if !o.Has(m.steps) {
		m = members{"id", "output_obj", "trajectory", "expected_trajectory"}
	}
	id := must.ID(m.id, o.Get(m.id))
	list := must.List(m.steps, o.Get(m.steps))
	t := &x.Row
	identify(&x, id)
	t.TrajectoryID, t.Answer, t.Example = id, jsontext.AnyText(o.Get(m.answer)), example(o, m, x.Row.ExampleID)
	b := &builder{record: r, ids: map[string]int{}, heads: map[string]head{}}
	b.steps(m.steps, list)
	b.into(t)
	if reasons := scores(r, t); len(reasons) > 0 {
		b.Meta.Add("evaluations", reasons.Bytes())
	}
	if v := o.Get(m.expected); string(v) != "[]" {
		b.Meta.Add(m.expected, v)
	}
	t.Metadata = b.Meta.String()
	return x
}

// example returns the task: the item without what the workflow made of it. All
// attempts have the same.
func example(o jsontext.Object, m members, id string) string {
	var out jsontext.Object
	for f := range value.Rest(o, m.answer, m.steps, m.expected) {
		if f.Key == m.id {
			if id == "" {
				continue
			}
			f.Raw = importers.Quote(id)
		}
		out = append(out, f)
	}
	return jsontext.Compact(out.Bytes())
}

// into sets the columns that the steps decide. An attempt without an answer, or
// without a call of a model, has failed.
func (b *builder) into(t *formats.Trajectory) {
	b.Into(t)
	Candidates(t, b.all)
	switch {
	case t.Answer == "":
		importers.Fail(t, outcomes.FailAgentOutput, "the workflow gave no answer: it failed, or the evaluation ended before")
	case len(t.Calls) == 0:
		importers.Fail(t, outcomes.FailNoCalls, "the workflow's steps hold no call of a model")
	case b.lost:
		importers.Fail(t, outcomes.FailAgentOutput, "an answer ended with tool calls that no step holds")
	}
	if b.incomplete > 0 {
		b.Meta.Add("incomplete_prompts", fmt.Appendf(nil, "%d", b.incomplete))
	}
	if b.unanswered > 0 {
		b.Meta.Add("unanswered_calls", fmt.Appendf(nil, "%d", b.unanswered))
	}
}

// scores makes rewards of what the evaluators say of an item, and returns what
// no column has. A failed row has no reward.
func scores(r *importers.Record, row *formats.Trajectory) (rest jsontext.Object) {
	chosen, named := r.Mapped("reward")
	found := false
	all := value.Context(r)
	for _, f := range all {
		o := jsontext.ParseObject(f.Raw)
		reward := score(f.Key, o)
		if row.Status == outcomes.StatusFailed { // it was scored for what it did not do
			reward.Value, reward.Failure = nil, outcomes.RewardTrajectory
		}
		if len(all) == 1 && !named || named && f.Key == chosen {
			reward.Weight, found = 1, true
			row.Reward = reward.Value
		}
		row.Rewards = append(row.Rewards, reward)
		o.Drop("error")
		if reward.Value != nil {
			o.Drop("score")
		}
		if len(o) > 0 {
			rest = append(rest, jsontext.Member{Key: f.Key, Raw: o.Bytes()})
		}
	}
	if named && len(all) > 0 && !found {
		must.Fail("no evaluator %q of --map reward has a score for it", chosen)
	}
	return rest
}

// score returns a score as a reward. A score that is no number is none.
func score(name string, o jsontext.Object) formats.NamedReward {
	reward := formats.NamedReward{Name: name, Error: must.Text(name+".error", o.Get("error"))}
	switch v := string(o.Get("score")); {
	case reward.Error != "":
		reward.Failure = outcomes.RewardError
	case v == "true", v == "false":
		reward.Value = new(float64)
		if v == "true" {
			*reward.Value = 1
		}
	case v != "" && (v[0] == '-' || '0' <= v[0] && v[0] <= '9'):
		reward.Value = must.Number(name+".score", o.Get("score"))
	}
	if reward.Value == nil && reward.Failure == "" {
		reward.Failure = outcomes.RewardMissing
	}
	return reward
}
