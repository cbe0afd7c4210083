package art

import (
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// trajectory converts a Trajectory of any version.
func trajectory(r *importers.Record, g *group, o jsontext.Object) (x importers.Item) {
	b := &builder{record: r}
	metadata := must.Object("metadata", o.Get("metadata"))
	x.Epoch = epoch(r)
	t := &x.Row
	t.TrajectoryID = must.ID("metadata.trajectory_id", metadata.Get("trajectory_id"))
	if t.ExampleID = g.id; t.ExampleID == "" {
		t.ExampleID = exampleID(metadata)
	}
	if t.Reward = must.Number("reward", o.Get("reward")); len(o.Get("reward")) == 0 {
		t.Reward = new(float64) // ART does not write its default
	}
	t.Rewards = b.metrics(o)
	b.policy(o)
	histories := must.List("additional_histories", o.Get("additional_histories"))
	exchanges := must.Object("exchanges", o.Get("exchanges"))
	b.histories(o, histories, len(exchanges) > 0)
	b.exchanges(exchanges)
	b.rest(g, o)
	b.Into(t)
	relabel(t)
	if !slices.ContainsFunc(t.Messages, func(m formats.Message) bool { return m.Role == "assistant" }) {
		importers.Fail(t, outcomes.FailNoCalls, "the trajectory has no answer of a model")
	}
	return x
}

// metrics returns the numbers that ART logs beside the reward: they are no parts
// of it, so they have no weight. A truth value counts as 1 or 0, as in ART.
func (b *builder) metrics(o jsontext.Object) (out []formats.NamedReward) {
	var truths jsontext.Object
	for _, f := range must.Object("metrics", o.Get("metrics")) {
		reward := formats.NamedReward{Name: f.Key}
		switch text := string(f.Raw); text {
		case "true", "false":
			reward.Value = new(float64)
			if text == "true" {
				*reward.Value = 1
			}
			truths = append(truths, f)
		case "null":
			reward.Failure = outcomes.RewardMissing
		default:
			reward.Value = must.Number("metrics."+f.Key, f.Raw)
		}
		out = append(out, reward)
	}
	if len(truths) > 0 {
		b.Meta.Add("metrics", truths.Bytes())
	}
	return out
}

// policy sets the version of the policy, or keeps the two when they differ.
func (b *builder) policy(o jsontext.Object) {
	initial, final := must.Whole("initial_policy_version", o.Get("initial_policy_version")),
		must.Whole("final_policy_version", o.Get("final_policy_version"))
	if initial != nil && final != nil && *initial == *final {
		b.version = initial
		return
	}
	b.Meta.Add("initial_policy_version", o.Get("initial_policy_version"))
	b.Meta.Add("final_policy_version", o.Get("final_policy_version"))
}

// rest keeps what no column has.
func (b *builder) rest(g *group, o jsontext.Object) {
	if v := o.Get("start_time"); v != nil {
		b.Times.Began = value.Micros(v)
	}
	for f := range value.Rest(o, "messages_and_choices", "messages", "tools", "additional_histories", "exchanges",
		"reward", "metrics",
		"initial_policy_version", "final_policy_version", "group_index", "start_time") {
		keep(&b.Meta, f.Key, f.Raw)
	}
	g.into(&b.Meta)
	context(b.record, &b.Meta)
}
