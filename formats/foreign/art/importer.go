package art

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// Importer reads the trajectory groups that OpenPipe's ART logs: Parquet of
// version 1 (ART 0.5 to 0.5.22) and of version 2, JSON lines (0.4), and the JSON
// that its server accepts, one group a line.
//
// A Choice is an answer that trains; other messages are input. Additional
// histories are branches. Exchanges of chat completions, which later versions log
// instead of messages, are joined by their prompts. An exception of a group is a
// failed row without a reward. Versions 1 and 0.4 logged no log probabilities, and
// version 1 no token ids.
//
// ART numbers the groups of a file, but an example has another number at the next
// step. So its id is scenario_id, example_id, task_id or question_id in the
// metadata of the group or of the trajectory; without one, trajectories with the
// same prompt are attempts at the same example. The training step in the name of a file, such as
// trajectories/train/0007.parquet, is the epoch.
var Importer = importers.Format{
	Name: "art",
	Help: "trajectory groups of OpenPipe's ART: its Parquet logs of version 1 and 2, its JSON lines, its compact " +
		"envelopes (0.5.23), and what its server is sent",
	Spec:       "OpenPipe/ART: src/art/utils/trajectory_logging.py, src/art/trajectories",
	Unscored:   regexp.MustCompile(`^(trajectories\.)?reward$`),
	Extensions: []string{".parquet", ".jsonl"},
	Records:    records,
	Parse:      parse,
}

// step finds the split and the training step in the name of a log.
var step = regexp.MustCompile(`(?:(?:^|/)trajectories/([^/]+)/|^|/)(\d{4,9})\.(?:parquet|jsonl)$`)

func records(f importers.File, yield func(importers.Record) bool) error {
	var context []byte
	if m := step.FindStringSubmatch(f.Name); m != nil {
		context = fmt.Appendf(nil, `{"step":"%s","split":%s}`, m[2], importers.Quote(m[1]))
	}
	return importers.Rows(f, func(r importers.Record) bool {
		r.Context = context
		return yield(r)
	})
}

var errUnknown = errors.New("it has none of trajectories, trajectory_json and messages: it is no log of ART's")

func parse(r *importers.Record) ([]importers.Item, error) {
	o := value.Object(r, r.Data)
	switch {
	case jsontext.Unquote(o.Get("format")) == "art.trajectories":
		return envelope(r, o), nil
	case o.Has("trajectories"):
		return line(r, o), nil
	case o.Has("format_version"), o.Has("group_json"):
		return rowOf2(r, o), nil
	case o.Has("messages_and_choices"), o.Has("exchanges"):
		return []importers.Item{trajectory(r, &group{}, o)}, nil
	case o.Has("messages"):
		return rowOf1(r, o), nil
	}
	return nil, errUnknown
}

// envelope converts the groups of a compact envelope.
func envelope(r *importers.Record, o jsontext.Object) (out []importers.Item) {
	for _, g := range compact(o) {
		out = append(out, line(r, g)...)
	}
	return out
}

// line converts a TrajectoryGroup.
func line(r *importers.Record, o jsontext.Object) (out []importers.Item) {
	g := newGroup(o)
	must.Each("trajectories", must.List("trajectories", o.Get("trajectories")), func(raw []byte) {
		out = append(out, trajectory(r, g, must.Object("it", raw)))
	})
	return g.failed(r, out)
}

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
