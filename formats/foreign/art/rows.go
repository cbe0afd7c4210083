package art

import (
	"slices"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// rowOf2 converts a row of version 2, whose two JSON columns hold everything. The
// exceptions of a group are in each of its rows; its first one gives them.
func rowOf2(r *importers.Record, o jsontext.Object) []importers.Item {
	version := must.Whole("format_version", o.Get("format_version"))
	index := must.Whole("trajectory_index", o.Get("trajectory_index"))
	common := parsed(r, "group_json", o.Get("group_json"))
	own := parsed(r, "trajectory_json", o.Get("trajectory_json"))
	if version == nil || *version != 2 {
		must.Fail("format_version is %q; versions 1 and 2 are known", o.Get("format_version"))
	}
	g := newGroup(common)
	if index == nil {
		if own != nil {
			must.Fail("trajectory_index is missing")
		}
		return g.failed(r, nil)
	}
	if own == nil {
		must.Fail("trajectory_json is missing")
	}
	out := one(r, g, own)
	if *index > 0 {
		return out
	}
	return g.failed(r, out)
}

// one converts the trajectory of a row.
func one(r *importers.Record, g *group, own jsontext.Object) []importers.Item {
	defer must.At("trajectory_json")
	return []importers.Item{trajectory(r, g, own)}
}

// rowOf1 converts a row of version 1. It has the columns of a group with a prefix,
// and JSON as text.
func rowOf1(r *importers.Record, o jsontext.Object) []importers.Item {
	if string(o.Get("messages")) == "null" && string(o.Get("reward")) == "null" {
		r.Lose("group", "it has no trajectory, so it gives no row")
		return nil
	}
	g := newGroup(jsontext.Object{
		{Key: "metadata", Raw: parsed(r, "group_metadata", o.Get("group_metadata")).Bytes()},
		{Key: "metrics", Raw: parsed(r, "group_metrics", o.Get("group_metrics")).Bytes()},
		{Key: "logs", Raw: o.Get("group_logs")},
	})
	own := jsontext.Object{
		{Key: "messages", Raw: o.Get("messages")}, {Key: "tools", Raw: o.Get("tools")},
		{Key: "reward", Raw: o.Get("reward")}, {Key: "logs", Raw: o.Get("logs")},
		{Key: "metrics", Raw: parsed(r, "metrics", o.Get("metrics")).Bytes()},
		{Key: "metadata", Raw: parsed(r, "metadata", o.Get("metadata")).Bytes()},
	}
	own = slices.AppendSeq(own,
		value.Rest(o, "group_index", "group_metadata", "group_metrics", "group_logs", "messages", "tools", "reward",
			"metrics", "metadata", "logs"))
	return []importers.Item{trajectory(r, g, own)}
}

// parsed reads a text that holds a JSON object; nil for null.
func parsed(r *importers.Record, field string, v []byte) jsontext.Object {
	text := must.Text(field, v)
	if text == "" {
		return nil
	}
	defer must.At("%s", field)
	return value.Object(r, []byte(text))
}
