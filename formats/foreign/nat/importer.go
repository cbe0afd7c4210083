// Package nat reads what the NeMo Agent Toolkit (NAT) writes: the outputs of nat
// eval (Importer), and the intermediate steps of its workflows (Step), which
// stages/rollout/agents/nat reads from its stream.
package nat

import (
	"bytes"
	"errors"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats/foreign/atif"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/storage/fault"
)

// Importer reads what the NeMo Agent Toolkit (NAT) writes: the workflow outputs of
// nat eval with the scores of the evaluators beside them, and the trajectories of
// its finetuning.
//
// An item of workflow_output.json is a row. Its intermediate steps become a
// conversation, by the prompts of LLM_START steps if workflow_output_step_filter
// keeps them. By default NAT keeps only LLM_END and TOOL_END, which have only the
// last message of a prompt. Then a call continues the one before it in the same
// function if that message is the result of a tool that ran in between, and begins
// another conversation otherwise. Such rows have the field incomplete_prompts in
// their metadata.
//
// An item's id without the suffix _repN, which --reps adds, is the example; N
// orders the attempts. NAME_output.json beside the file has the scores of the
// evaluator NAME. Each is a named reward; a single one is the total, and --map
// reward=NAME chooses among several. An item without an answer is a failed row.
// workflow_output_atif.json has the same items; in a folder it is not read, only
// when --in names it.
var Importer = importers.Format{
	Name: "nat",
	Help: "outputs of the NeMo Agent Toolkit's nat eval with the evaluators' scores, and trajectories of " +
		"its finetuning",
	Spec:       "NVIDIA/NeMo-Agent-Toolkit: nat/data_models/{evaluator,intermediate_step,finetuning}.py",
	Unscored:   regexp.MustCompile(`^[^.]+\.score$`),
	Extensions: []string{".json", ".jsonl"},
	Skip:       skip,
	Companions: "*" + scoresSuffix,
	Fields: []importers.Field{
		{Name: "reward", Help: "the evaluator whose score is the reward"},
		{Name: "id", Help: "the id of an item (eval.general.dataset.id_key)"},
		{Name: "generated_answer", Help: "the workflow's answer (structure.generated_answer_key)"},
		{Name: "intermediate_steps", Help: "the workflow's steps (structure.trajectory_key)"},
		{Name: "expected_intermediate_steps", Help: "the expected steps (structure.expected_trajectory_key)"},
	},
	Records: records,
}.ParsedBy(parse)

const (
	output       = "workflow_output.json"
	scoresSuffix = "_output.json"
)

// skip reports whether a file in a folder holds no trajectories, or the same again.
func skip(name string) bool {
	name = path.Base(name)
	return name != output && (!strings.Contains(name, "trajector") || strings.HasPrefix(name, "trajectory_builder_"))
}

// records cuts a file into items. The context of an item is what the evaluators
// say of it: an object with a member for each.
func records(f importers.File, yield func(importers.Record) bool) error {
	cut := importers.Rows
	if strings.HasSuffix(f.Name, ".json") && begins(f) == '{' {
		cut = importers.Document
	}
	scores, err := readScores(f)
	if err != nil {
		return err
	}
	id := f.Column("id")
	return cut(f, func(r importers.Record) bool {
		if len(scores) > 0 {
			o := jsontext.ParseObject(r.Data)
			key := o.Get(id)
			if o.Has("item_id") {
				key = o.Get("item_id")
			}
			r.Context = scores[string(key)].Bytes()
		}
		return yield(r)
	})
}

// begins returns the first byte of a file that is not white space, 0 for none.
func begins(f importers.File) byte {
	head := make([]byte, min(f.Size, 4096))
	n, _ := f.R.ReadAt(head, 0) // an error comes again when the file is read
	if head = bytes.TrimLeft(head[:n], "\ufeff \t\r\n"); len(head) == 0 {
		return 0
	}
	return head[0]
}

// readScores returns what the evaluators say, by the id of the item as JSON.
func readScores(f importers.File) (map[string]jsontext.Object, error) {
	out := map[string]jsontext.Object{}
	for _, c := range f.Companions {
		if c.Name == output {
			continue
		}
		data, err := c.Read()
		if err == nil {
			data, err = value.Check(data)
		}
		if err != nil {
			return nil, fault.Invalid(f.Name, "", err, "reading the scores of %q beside it", c.Name)
		}
		name := strings.TrimSuffix(path.Base(c.Name), scoresSuffix)
		for item := range jsontext.Elements(jsontext.ParseObject(data).Get("eval_output_items")) {
			o := jsontext.ParseObject(item)
			id := string(o.Get("id"))
			o.Drop("id")
			out[id] = append(out[id], jsontext.Member{Key: name, Raw: o.Bytes()})
		}
	}
	return out, nil
}

var (
	errLog     = errors.New("it is a log of numbers: it holds no trajectories")
	errUnknown = errors.New("it has neither intermediate steps nor an episode: it is nothing that NAT writes, or --map " +
		"must name its fields")
)

func parse(r *importers.Record) ([]importers.Item, error) {
	o := value.Object(r, r.Data)
	switch {
	case o.Has("eval_output_items"):
		return nil, nil // the evaluators' scores, which come with the items
	case o.Has("trajectories"):
		return collection(r, o), nil
	case o.Has("episode"):
		return trajectory(r, o), nil
	case o.Has("item_id") && o.Has("trajectory"):
		return []importers.Item{ofATIF(r, o)}, nil
	case o.Has("schema_version"):
		return []importers.Item{atif.Trajectory(r, r.Data)}, nil
	case o.Has(r.Column("intermediate_steps")), o.Has("input_obj"):
		return []importers.Item{item(r, o)}, nil
	case o.Has("run_id") && o.Has("timestamp"):
		return nil, errLog
	}
	return nil, errUnknown
}

// ofATIF converts an item of workflow_output_atif.json.
func ofATIF(r *importers.Record, o jsontext.Object) (x importers.Item) {
	id := must.ID("item_id", o.Get("item_id"))
	must.Object("trajectory", o.Get("trajectory"))
	func() {
		defer must.In("trajectory")
		x = atif.Trajectory(r, o.Get("trajectory"))
	}()
	if identify(&x, id); x.Row.TrajectoryID == "" {
		x.Row.TrajectoryID = id
	}
	meta := jsontext.ParseObject([]byte(x.Row.Metadata))
	if reasons := scores(r, &x.Row); len(reasons) > 0 {
		meta.Set("evaluations", reasons.Bytes())
		x.Row.Metadata = jsontext.Compact(meta.Bytes())
	}
	return x
}

var repetition = regexp.MustCompile(`^(.+)_rep(\d{1,9})$`)

// identify sets the example and the attempt from the id of an item.
func identify(x *importers.Item, id string) {
	x.Row.ExampleID = id
	if m := repetition.FindStringSubmatch(id); m != nil {
		n, _ := strconv.ParseInt(m[2], 10, 64) // digits
		x.Row.ExampleID, x.Attempt = m[1], &n
	}
}
