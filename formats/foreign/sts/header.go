package sts

import (
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// header reads the first line of a session. Of a session that was exported by
// us, further members are columns.
func (p *pi) header(l *line) {
	row := &p.found.Row
	row.TrajectoryID = must.ID("id", l.Get("id"))
	ours := must.Text("harness", l.Get("harness")) == "rollmill"
	for _, f := range l.Object {
		if f.Key == "type" || f.Key == "id" || len(f.Raw) == 0 || string(f.Raw) == "null" {
			continue
		}
		if !ours || !p.column(f.Key, f.Raw) {
			p.Meta.Add(f.Key, f.Raw)
		}
	}
}

// column reads a member that our export writes, and reports whether it is one.
func (p *pi) column(key string, v []byte) bool {
	row := &p.found.Row
	switch key {
	case "harness", "run", "group_id": // run and groups are given anew
	case "name", "example_id":
		row.ExampleID = must.Text(key, v)
	case "epoch":
		if n := must.Whole(key, v); n != nil {
			epoch := int32(*n)
			p.found.Epoch = &epoch
		}
	case "generation":
		p.found.Attempt = must.Whole(key, v)
	case "model":
		p.model = must.Text(key, v)
	case "status":
		row.Status = known(key, v, outcomes.Statuses)
	case "stop_reason":
		row.StopReason = known(key, v, outcomes.StopReasons)
	case "error":
		row.Error = must.Text(key, v)
	case "reward":
		row.Reward = must.Number(key, v)
	case "rewards":
		p.rewards(v)
	case "tools":
		p.Offer(value.Tools(v))
	case "example":
		must.Object(key, v)
		row.Example = jsontext.Compact(v)
	case "metadata":
		for _, f := range must.Object(key, v) {
			p.Meta.Add(f.Key, f.Raw)
		}
	default:
		return false
	}
	return true
}

func known(key string, v []byte, list []string) string {
	text := must.Text(key, v)
	if text != "" && !slices.Contains(list, text) {
		must.Fail("unknown %s %q; use one of %v", key, text, list)
	}
	return text
}

// rewards reads the components of a reward, numbers by name.
func (p *pi) rewards(v []byte) {
	for _, c := range must.Object("rewards", v) {
		r := formats.NamedReward{Name: c.Key, Value: must.Number("rewards."+c.Key, c.Raw)}
		if r.Value == nil {
			r.Failure = outcomes.RewardMissing
		}
		p.found.Row.Rewards = append(p.found.Row.Rewards, r)
	}
}
