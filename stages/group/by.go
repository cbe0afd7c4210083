package group

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/expression"
	"github.com/rollmill/rollmill/formats/spill"
	"github.com/rollmill/rollmill/storage/fault"
)

// byExample is the default way to form groups.
const byExample = "example_id"

// By is an expression whose value tells things apart: rows of one epoch with the same
// value are a group, those of a group a part of it, and messages may answer the same
// state. A text is used unchanged, any other value as JSON.
type By struct {
	flag, text string              // --by, and what it was given
	program    *expression.Program // nil: the beginning of a row
	columns    []string            // of the environment; by rows, of the base
}

// NewBy compiles the expression of a flag over the light columns of a wide row, and its
// example. The error is of kind usage.
func NewBy(flag, text string) (*By, error) {
	return compile[byColumns](flag, text, "write a column or an expression, such as metadata.topic or policy_version")
}

func compile[T any](flag, text, hint string) (*By, error) {
	p, err := expression.Compile(text, *new(T))
	if err != nil {
		return nil, usage(hint, "group: %s %q: %w", flag, text, err)
	}
	b := &By{flag: flag, text: text, program: p}
	read := expression.Reads(p)
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		if name := f.Tag.Get("expr"); read(name) {
			b.columns = append(b.columns, name)
		}
	}
	return b, nil
}

// keyer computes the keys of the rows of a range, one after the other.
type keyer struct {
	*By
	base *dataset.Dataset
	next int64
	rows *dataset.Reader[formats.Trajectory]
	buf  []formats.Trajectory
	ctx  context.Context // of the stage, which ends an expression
	env  byColumns
	keys []string
}

func (b *By) open(ctx context.Context, base *dataset.Dataset, r dataset.Range) (*keyer, error) {
	rows, err := dataset.NewReaderOf[formats.Trajectory](ctx, base, r, b.columns)
	return &keyer{ctx: ctx, By: b, base: base, next: r.First, rows: rows}, err
}

// read returns the keys of the next n rows, valid until the next call.
func (k *keyer) read(n int) ([]string, error) {
	var err error
	if k.buf, err = readNext(k.rows, k.buf, n); err != nil {
		return nil, err
	}
	k.keys = k.keys[:0]
	for i := range k.buf {
		key, err := k.key(&k.buf[i])
		if err != nil {
			return nil, fault.Invalid(k.base.URI(), "give such rows a key, as in "+k.text+` ?? "none"`, err, "%s %q",
				k.flag, k.text).InRow(k.next + int64(i))
		}
		k.keys = append(k.keys, key)
	}
	k.next += int64(n)
	return k.keys, nil
}

func (k *keyer) key(row *formats.Trajectory) (string, error) {
	if k.program == nil {
		return beginning(row), nil
	}
	if err := k.env.set(row); err != nil {
		return "", err
	}
	return k.value(k.ctx, k.env)
}

// value returns the value for an environment.
func (b *By) value(ctx context.Context, env any) (string, error) {
	value, err := b.program.Run(ctx, env)
	if err != nil {
		return "", err
	}
	switch value := value.(type) {
	case nil:
		return "", errors.New("it has no value")
	case string:
		return value, nil
	}
	text, err := json.Marshal(value)
	return string(text), err
}

func (k *keyer) close() { _ = k.rows.Close() } // it was only read

// byColumns are the columns that an expression may read.
type byColumns struct {
	TrajectoryID     string         `expr:"trajectory_id"`
	Run              string         `expr:"run"`
	ExampleID        string         `expr:"example_id"`
	Epoch            int            `expr:"epoch"`
	Generation       int            `expr:"generation"`
	Answer           string         `expr:"answer"`
	Status           string         `expr:"status"`
	StopReason       string         `expr:"stop_reason"`
	FailureClass     string         `expr:"failure_class"`
	Model            string         `expr:"model"`
	PolicyVersion    int            `expr:"policy_version"` // -1 when unknown
	PromptTokens     int            `expr:"prompt_tokens"`
	CompletionTokens int            `expr:"completion_tokens"`
	SampledTokens    int            `expr:"sampled_tokens"`
	Metadata         map[string]any `expr:"metadata"`
	Example          map[string]any `expr:"example"` // the row as it came
}

// set makes the columns those of a row, of which only those are read that the expression names.
func (e *byColumns) set(t *formats.Trajectory) (err error) {
	*e = byColumns{TrajectoryID: t.TrajectoryID, Run: t.Run, ExampleID: t.ExampleID, Epoch: int(t.Epoch),
		Generation: int(t.Generation), Answer: t.Answer, Status: t.Status, StopReason: t.StopReason,
		FailureClass: t.FailureClass, Model: t.Model, PolicyVersion: -1, PromptTokens: int(t.PromptTokens),
		CompletionTokens: int(t.CompletionTokens), SampledTokens: int(t.SampledTokens)}
	if t.PolicyVersion != nil {
		e.PolicyVersion = int(*t.PolicyVersion)
	}
	if e.Example, err = object("example", t.Example); err == nil {
		e.Metadata, err = object("metadata", t.Metadata)
	}
	return err
}

func object(name, text string) (fields map[string]any, err error) {
	if text == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		return nil, fmt.Errorf("its %s is not a JSON object: %w", name, err)
	}
	return fields, nil
}

// Beginnings are the parts of a group that share all messages of their main paths up to
// the first sampled one: the branches of a tree. Roles, names, texts, content parts,
// reasoning, names and arguments of tool calls, and token ids must be equal; ids of tool
// calls need not be. Without a sampled message the whole path counts.
var Beginnings = &By{columns: append([]string{"messages.reasoning", "messages.tool_calls.name", "messages.tool_calls.arguments",
	"messages.token_ids"}, Looks{States: true}.columns()...)}

// beginning returns the digest of a row of which only those columns were read.
func beginning(t *formats.Trajectory) string {
	var said []formats.Message
	for _, i := range t.Main() {
		m := t.Messages[i]
		m.Parent, m.Call = 0, 0 // messages of side branches lie between them
		if said = append(said, m); m.Sampled {
			break
		}
	}
	sum := xxh3.Hash128(spill.Append(nil, &said)).Bytes()
	return string(sum[:])
}
