package rows

import (
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
)

func (r *row) set(x *importers.Item) {
	t := &x.Row
	if r.values["epoch"] != nil {
		epoch := t.Epoch
		x.Epoch = &epoch
	}
	if r.values["generation"] != nil {
		attempt := int64(t.Generation)
		x.Attempt = &attempt
	}
	x.Final = t.TrajectoryID != "" && t.Run != "" && t.ExampleID != "" && x.Epoch != nil && x.Attempt != nil &&
		len(t.PayloadDigest) == 32
	if len(t.Messages) == 0 && t.Status == "" {
		t.Status = outcomes.StatusSkipped // a blank row
	}
	if r.values["reward"] == nil {
		t.Reward = total(r.values["rewards"], t.Rewards)
	}
	if v := r.values["label"]; v != nil {
		on, ok := value.Truth(v)
		if !ok {
			must.Fail("column %q is %s, neither true nor false", r.Column("label"), importers.Brief(v))
		}
		x.Label = &on
	}
	for i := range t.Calls {
		if tools := t.Calls[i].Tools; tools < -1 || int(tools) >= len(t.ToolSets) {
			must.Fail("call %d has the tools %d of %d", i, tools, len(t.ToolSets))
		}
	}
}

// total returns the sum of rewards that are an object, nil when one of them has
// no value. A list of rewards is a column of a dataset, which has a total of
// its own.
func total(v []byte, rewards []formats.NamedReward) *float64 {
	if len(v) == 0 || v[0] != '{' || len(rewards) == 0 {
		return nil
	}
	sum := 0.0
	for i := range rewards {
		if rewards[i].Value == nil {
			return nil
		}
		sum += *rewards[i].Value
	}
	return &sum
}

// namedRewards returns an object of named rewards as the list that the column is.
func namedRewards(v []byte) []byte {
	var list [][]byte
	for name, x := range jsontext.Members(v) {
		list = append(list, jsontext.Object{{Key: "weight", Raw: []byte("1")},
			{Key: "name", Raw: importers.Quote(string(name))}, {Key: "value", Raw: x}}.Bytes())
	}
	return value.Join(list)
}
