package sts

import (
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// header reads the first line of a session. Of a session that was exported by
// us, further members are columns.
func (p *pi) header(l *line) error {
	var in value.Reader
	row := &p.found.Row
	row.TrajectoryID = in.ID("id", l.Get("id"))
	ours := in.Text("harness", l.Get("harness")) == "rollmill"
	for _, f := range l.Object {
		if f.Key == "type" || f.Key == "id" || len(f.Raw) == 0 || string(f.Raw) == "null" {
			continue
		}
		if !ours || !p.column(&in, f.Key, f.Raw) {
			p.meta.Add(f.Key, f.Raw)
		}
	}
	return in.Err
}

// column reads a member that our export writes, and reports whether it is one.
func (p *pi) column(in *value.Reader, key string, v []byte) bool {
	row := &p.found.Row
	switch key {
	case "harness", "run", "group_id": // run and groups are given anew
	case "name", "example_id":
		row.ExampleID = in.Text(key, v)
	case "epoch":
		if n := in.Whole(key, v); n != nil {
			epoch := int32(*n)
			p.found.Epoch = &epoch
		}
	case "generation":
		p.found.Attempt = in.Whole(key, v)
	case "model":
		p.model = in.Text(key, v)
	case "status":
		row.Status = known(in, key, v, outcomes.Statuses)
	case "stop_reason":
		row.StopReason = known(in, key, v, outcomes.StopReasons)
	case "error":
		row.Error = in.Text(key, v)
	case "reward":
		row.Reward = in.Number(key, v)
	case "rewards":
		p.rewards(in, v)
	case "tools":
		tools, err := value.ChatTools(v)
		if err != nil {
			in.Fail("%w", err)
		}
		p.conversation.Offer(tools)
	case "example":
		in.Object(key, v)
		row.Example = jsontext.Compact(v)
	case "metadata":
		for _, f := range in.Object(key, v) {
			p.meta.Add(f.Key, f.Raw)
		}
	default:
		return false
	}
	return true
}

func known(in *value.Reader, key string, v []byte, list []string) string {
	text := in.Text(key, v)
	if text != "" && !slices.Contains(list, text) {
		in.Fail("unknown %s %q; use one of %v", key, text, list)
	}
	return text
}

// rewards reads the components of a reward, numbers by name.
func (p *pi) rewards(in *value.Reader, v []byte) {
	for _, c := range in.Object("rewards", v) {
		r := formats.NamedReward{Name: c.Key, Value: in.Number("rewards."+c.Key, c.Raw)}
		if r.Value == nil {
			r.Failure = outcomes.RewardMissing
		}
		p.found.Row.Rewards = append(p.found.Row.Rewards, r)
	}
}
