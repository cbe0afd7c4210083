package art

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// group is what the trajectories of a group have in common.
type group struct {
	id         string // of the example, "" for none
	metadata   jsontext.Object
	rest       jsontext.Object // the group's other members
	exceptions []byte
}

func newGroup(o jsontext.Object) *group {
	g := &group{metadata: must.Object("group metadata", o.Get("metadata")),
		exceptions: must.List("exceptions", o.Get("exceptions"))}
	g.id = exampleID(g.metadata)
	g.rest = slices.Collect(value.Rest(o, "trajectories", "exceptions", "metadata"))
	return g
}

// exampleID returns the id of the example in metadata, "" when they have none.
func exampleID(metadata jsontext.Object) string {
	for _, name := range []string{"scenario_id", "example_id", "task_id", "question_id"} {
		if id := must.ID("metadata."+name, metadata.Get(name)); id != "" {
			return id
		}
	}
	return ""
}

// into adds the group's members to the metadata of a row.
func (g *group) into(meta *importers.Metadata) {
	if len(g.metadata) > 0 {
		meta.Add("group_metadata", g.metadata.Bytes())
	}
	for _, f := range g.rest {
		keep(meta, "group_"+f.Key, f.Raw)
	}
}

// keep keeps a value that is not empty.
func keep(meta *importers.Metadata, name string, v []byte) {
	if text := string(v); text != "{}" && text != "[]" {
		meta.Add(name, v)
	}
}

// failed adds a failed row for each exception of the group. The row has the prompt
// of the first trajectory, so that it is in the same group.
func (g *group) failed(r *importers.Record, items []importers.Item) []importers.Item {
	base := importers.Item{Epoch: epoch(r)}
	base.Row.ExampleID = g.id
	if len(items) > 0 {
		base.Row.ExampleID = items[0].Row.ExampleID
		base.Row.Messages = prompt(&items[0].Row)
	} else if string(g.exceptions) == "" || string(g.exceptions) == "[]" {
		r.Lose("group", "it has no trajectory, so it gives no row")
		return nil
	}
	for raw := range jsontext.Elements(g.exceptions) {
		if base.Row.ExampleID == "" && len(base.Row.Messages) == 0 {
			r.Lose("exceptions", "the group has neither a trajectory nor the id of an example")
			break
		}
		e := must.Object("exceptions", raw)
		x := base
		t := &x.Row
		t.Messages = slices.Clone(base.Row.Messages)
		kind, message := must.Text("exceptions.type", e.Get("type")), must.Text("exceptions.message", e.Get("message"))
		importers.Fail(t, class(kind, message),
			cmp.Or(strings.Join(nonEmpty(typeName(kind), message), ": "), "an exception"))
		var meta importers.Metadata
		g.into(&meta)
		context(r, &meta)
		meta.Add("exception", raw)
		t.Metadata = meta.String()
		items = append(items, x)
	}
	return items
}

func nonEmpty(texts ...string) []string {
	return slices.DeleteFunc(texts, func(s string) bool { return s == "" })
}

// prompt returns the messages before the first answer.
func prompt(t *formats.Trajectory) []formats.Message {
	var out []formats.Message
	for _, i := range t.Main() {
		if t.Messages[i].Sampled {
			break
		}
		m := t.Messages[i]
		m.Parent, m.Branch = int32(len(out))-1, ""
		out = append(out, m)
	}
	return out
}

var quoted = regexp.MustCompile(`^<class '([^']+)'>$`)

// typeName returns the name of a Python type, which ART writes as its text.
func typeName(text string) string {
	if m := quoted.FindStringSubmatch(text); m != nil {
		return m[1]
	}
	return text
}

// classes are the classes of failures by a word in the name of an exception.
var classes = []struct{ word, class string }{
	{"Timeout", outcomes.FailTimeout}, {"Cancelled", outcomes.FailCancelled},
	{"BadRequest", outcomes.FailEngineRefused}, {"UnprocessableEntity", outcomes.FailEngineRefused},
	{"NotFoundError", outcomes.FailEngineRefused},
	{"AuthenticationError", outcomes.FailEngineRefused}, {"PermissionDenied", outcomes.FailEngineRefused},
	{"APIConnection", outcomes.FailEngine}, {"RateLimit", outcomes.FailEngine}, {"InternalServer", outcomes.FailEngine},
	{"APIStatus", outcomes.FailEngine},
}

// class returns the class of an exception that the rollout raised.
func class(kind, message string) string {
	for _, c := range classes {
		if strings.Contains(kind, c.word) {
			return c.class
		}
	}
	if strings.Contains(kind, "APIError") && message != "" {
		return outcomes.FailEngine
	}
	return outcomes.FailAgentExit
}

// epoch returns the training step of the file, nil when its name has none.
func epoch(r *importers.Record) *int32 {
	n, err := strconv.ParseInt(jsontext.Unquote(jsontext.ParseObject(r.Context).Get("step")), 10, 32)
	if err != nil {
		return nil
	}
	step := int32(n)
	return &step
}

// context keeps what the name of the file says.
func context(r *importers.Record, meta *importers.Metadata) {
	if split := jsontext.ParseObject(r.Context).Get("split"); len(split) > len(`""`) {
		meta.Add("split", split)
	}
}
