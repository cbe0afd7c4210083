package art

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
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
}.ParsedBy(parse)

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

func one(r *importers.Record, g *group, own jsontext.Object) []importers.Item {
	defer must.In("trajectory_json")
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
	defer must.In(field)
	return value.Object(r, []byte(text))
}

// maxCompact is the largest value of an envelope with its texts in their places.
const maxCompact = 256 << 20

// compact returns the groups of a compact envelope (ART 0.5.23), whose texts and keys may
// be references to its table of strings.
func compact(o jsontext.Object) (groups []jsontext.Object) {
	kind, version := must.Text("kind", o.Get("kind")), must.Whole("version", o.Get("version"))
	texts := map[string][]byte{}
	for _, s := range must.Object("strings", o.Get("strings")) {
		texts[s.Key] = s.Raw
	}
	one, group := strings.CutPrefix(kind, "trajectory_group")
	data := expand(nil, o.Get("data"), texts)
	switch {
	case version == nil || *version != 1:
		must.Fail("the version of the envelope is %s; 1 is known", o.Get("version"))
	case one != "" && one != "s" && kind != "trajectory" && kind != "trajectories":
		must.Fail("it holds %q; trajectories and trajectory groups are read: dump those", kind)
	case data == nil:
		must.Fail("its data have more than %d MiB with the texts of its table", maxCompact>>20)
	case data[0] != '[':
		data = slices.Concat([]byte("["), data, []byte("]"))
	}
	for v := range jsontext.Elements(data) {
		if !group {
			v = slices.Concat([]byte(`{"trajectories":[`), v, []byte("]}"))
		}
		groups = append(groups, jsontext.ParseObject(v))
	}
	return groups
}

// expand appends a value with the texts in the places of their references; nil if it
// becomes too large.
func expand(dst, v []byte, texts map[string][]byte) []byte {
	before := len(dst)
	text := func(raw []byte, name string) {
		if t, is := texts[name]; is {
			raw = t
		}
		dst = append(dst, raw...)
	}
	switch {
	case len(v) == 0:
		return append(dst, "null"...)
	case v[0] == '"':
		text(v, jsontext.Unquote(v))
	case v[0] == '[':
		dst = append(dst, '[')
		for e := range jsontext.Elements(v) {
			if dst = expand(dst, e, texts); dst == nil {
				return nil
			}
			dst = append(dst, ',')
		}
		dst = append(closed(dst, before), ']')
	case v[0] == '{':
		dst = append(dst, '{')
		for key, e := range jsontext.Members(v) {
			name := formats.Text(key)
			text(jsontext.AppendText(nil, name), name)
			if dst = expand(append(dst, ':'), e, texts); dst == nil {
				return nil
			}
			dst = append(dst, ',')
		}
		dst = append(closed(dst, before), '}')
	default:
		dst = append(dst, v...)
	}
	if len(dst) > maxCompact {
		return nil
	}
	return dst
}

// closed drops the comma after the last of the values that begin at a place.
func closed(dst []byte, at int) []byte {
	if n := len(dst) - 1; n > at && dst[n] == ',' {
		return dst[:n]
	}
	return dst
}
