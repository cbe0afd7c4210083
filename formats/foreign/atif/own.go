package atif

import (
	"encoding/json"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// own is what Rollmill's export keeps in the extra of a document, since ATIF has
// no field for it: the task, the attempt, its status and the named rewards.
type own struct {
	ExampleID    *string `json:"example_id"`
	Example      *string `json:"example"`
	Epoch        *int32  `json:"epoch"`
	Generation   *int64  `json:"generation"`
	Status       *string `json:"status"`
	StopReason   *string `json:"stop_reason"`
	FailureClass *string `json:"failure_class"`
	Error        *string `json:"error"`
	Rewards      []struct {
		Name    string   `json:"name"`
		Value   *float64 `json:"value"`
		Weight  float64  `json:"weight"`
		Failure string   `json:"failure"`
	} `json:"rewards"`
}

// ownKeys are the members of extra that an own has, and those that columns
// already say.
var ownKeys = []string{"example_id", "example", "epoch", "generation", "status", "stop_reason", "failure_class",
	"error", "rewards",
	"reward", "answer", "policy_version"}

// readOwn sets the columns of an item from the extra of its document.
func readOwn(r *importers.Record, x *importers.Item, extra []byte) {
	var e own
	if len(extra) == 0 {
		return
	}
	if err := json.Unmarshal(extra, &e); err != nil {
		must.Fail("extra: %w", err)
	}
	t := &x.Row
	for _, c := range []struct{ to, from *string }{
		{&t.ExampleID, e.ExampleID}, {&t.Status, e.Status}, {&t.StopReason, e.StopReason},
		{&t.FailureClass, e.FailureClass}, {&t.Error, e.Error},
	} {
		if c.from != nil {
			*c.to = *c.from
		}
	}
	if e.Example != nil {
		t.Example = text(r, "extra.example", *e.Example)
	}
	x.Epoch, x.Attempt = e.Epoch, e.Generation
	for _, r := range e.Rewards {
		t.Rewards = append(t.Rewards, formats.NamedReward{Name: r.Name, Value: r.Value, Weight: r.Weight, Failure: r.Failure})
	}
}

// text returns a text that is the JSON of an object.
func text(r *importers.Record, field, v string) string {
	defer must.At("%s", field)
	return string(value.ObjectText(r, []byte(v)))
}

// withoutOwn returns an extra without what has columns.
func withoutOwn(extra []byte) []byte {
	o := jsontext.ParseObject(extra)
	for _, key := range ownKeys {
		o.Drop(key)
	}
	return o.Bytes()
}

// ownCall adds what Rollmill's export keeps of a call in the extra of its step.
func ownCall(r *importers.Record, o jsontext.Object, m *formats.Message, call *formats.Call) {
	extra := must.Object("extra", o.Get("extra"))
	m.FinishReason = must.Text("extra.finish_reason", extra.Get("finish_reason"))
	c := must.Object("extra.call", extra.Get("call"))
	call.PolicyVersion = must.Whole("extra.call.policy_version", c.Get("policy_version"))
	if sampling := must.Text("extra.call.sampling", c.Get("sampling")); sampling != "" {
		call.Sampling = text(r, "extra.call.sampling", sampling)
	}
}
