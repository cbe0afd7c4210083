package art

import (
	"fmt"
	"slices"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// rowOf2 converts a row of version 2, whose two JSON columns hold everything. The
// exceptions of a group are in each of its rows; its first one gives them.
func rowOf2(r *importers.Record, o jsontext.Object) ([]importers.Item, error) {
	var in value.Reader
	version := in.Whole("format_version", o.Get("format_version"))
	index := in.Whole("trajectory_index", o.Get("trajectory_index"))
	common := parsed(r, &in, "group_json", o.Get("group_json"))
	own := parsed(r, &in, "trajectory_json", o.Get("trajectory_json"))
	if in.Err != nil {
		return nil, in.Err
	}
	if version == nil || *version != 2 {
		return nil, fmt.Errorf("format_version is %q; versions 1 and 2 are known", o.Get("format_version"))
	}
	g, err := newGroup(common)
	if err != nil {
		return nil, err
	}
	if index == nil {
		if own != nil {
			return nil, fmt.Errorf("trajectory_index is missing")
		}
		return g.failed(r, nil)
	}
	if own == nil {
		return nil, fmt.Errorf("trajectory_json is missing")
	}
	x, err := trajectory(r, g, own)
	if err != nil {
		return nil, fmt.Errorf("trajectory_json: %w", err)
	}
	if *index > 0 {
		return []importers.Item{x}, nil
	}
	return g.failed(r, []importers.Item{x})
}

// rowOf1 converts a row of version 1. It has the columns of a group with a prefix,
// and JSON as text.
func rowOf1(r *importers.Record, o jsontext.Object) ([]importers.Item, error) {
	var in value.Reader
	if string(o.Get("messages")) == "null" && string(o.Get("reward")) == "null" {
		r.Lose("group", "it has no trajectory, so it gives no row")
		return nil, nil
	}
	g, err := newGroup(jsontext.Object{
		{Key: "metadata", Raw: parsed(r, &in, "group_metadata", o.Get("group_metadata")).Bytes()},
		{Key: "metrics", Raw: parsed(r, &in, "group_metrics", o.Get("group_metrics")).Bytes()},
		{Key: "logs", Raw: o.Get("group_logs")},
	})
	if err != nil {
		return nil, err
	}
	own := jsontext.Object{
		{Key: "messages", Raw: o.Get("messages")}, {Key: "tools", Raw: o.Get("tools")},
		{Key: "reward", Raw: o.Get("reward")}, {Key: "logs", Raw: o.Get("logs")},
		{Key: "metrics", Raw: parsed(r, &in, "metrics", o.Get("metrics")).Bytes()},
		{Key: "metadata", Raw: parsed(r, &in, "metadata", o.Get("metadata")).Bytes()},
	}
	if in.Err != nil {
		return nil, in.Err
	}
	own = slices.AppendSeq(own,
		value.Rest(o, "group_index", "group_metadata", "group_metrics", "group_logs", "messages", "tools", "reward",
			"metrics", "metadata", "logs"))
	return importers.One(trajectory(r, g, own))
}

// parsed reads a text that holds a JSON object; nil for null.
func parsed(r *importers.Record, in *value.Reader, field string, v []byte) jsontext.Object {
	text := in.Text(field, v)
	if text == "" {
		return nil
	}
	o, err := value.Object(r, []byte(text))
	if err != nil {
		in.Fail("%s: %w", field, err)
	}
	return o
}
