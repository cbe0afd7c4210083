package expr

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/expression"
	"github.com/rollmill/rollmill/stages/score"
)

// environment is what an expression may read.
type environment struct {
	Answer           string         `expr:"answer"`   // of the trajectory
	Example          map[string]any `expr:"example"`  // the row as it came: example.answer is the reference
	Messages         []message      `expr:"messages"` // of the main path
	Rewards          map[string]any `expr:"rewards"`  // computed before this one; null when without a value
	Metadata         map[string]any `expr:"metadata"`
	Status           string         `expr:"status"` // ok or truncated
	StopReason       string         `expr:"stop_reason"`
	Model            string         `expr:"model"`
	TrajectoryID     string         `expr:"trajectory_id"`
	ExampleID        string         `expr:"example_id"`
	Epoch            int            `expr:"epoch"`
	Generation       int            `expr:"generation"`
	PromptTokens     int            `expr:"prompt_tokens"`
	CompletionTokens int            `expr:"completion_tokens"`
	SampledTokens    int            `expr:"sampled_tokens"`

	AnswerLength int `expr:"__len_answer"` // len(answer), which reads it: expression.LengthOf
}

type message struct {
	Role         string     `expr:"role"`
	Content      string     `expr:"content"`
	Name         string     `expr:"name"`
	Reasoning    string     `expr:"reasoning"`
	ToolCalls    []toolCall `expr:"tool_calls"`
	ToolCallID   string     `expr:"tool_call_id"`
	Sampled      bool       `expr:"sampled"` // the model wrote it
	FinishReason string     `expr:"finish_reason"`
}

type toolCall struct {
	Name      string `expr:"name"`
	Arguments string `expr:"arguments"` // JSON text; fromJSON decodes it
}

// reads is what an expression mentions.
type reads struct {
	example, messages, metadata, known bool
	rewards                            []use
	mentions                           int      // of rewards, by name or not
	anyReward                          bool     // not only by name
	null                               bool     // it deals with null itself
	fields                             []string // of the example, by constant names
	metas                              []string // of the metadata
	names                              []string // of variables
	length                             bool     // of the answer
}

type use struct {
	name string
	at   file.Location
}

func readsOf(root ast.Node) reads {
	var r reads
	ast.Walk(&root, &r)
	r.anyReward = r.anyReward || r.mentions > len(r.rewards)
	return r
}

// Visit records what a node mentions.
func (r *reads) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		r.names = append(r.names, n.Value)
		r.length = r.length || n.Value == expression.LengthOf+"answer"
		r.example = r.example || n.Value == "example"
		r.messages = r.messages || n.Value == "messages"
		r.metadata = r.metadata || n.Value == "metadata"
		if n.Value == "rewards" {
			r.known = true
			r.mentions++
		}
		if n.Value == "$env" {
			r.example, r.messages, r.metadata, r.known, r.anyReward = true, true, true, true, true
			for _, f := range reflect.VisibleFields(reflect.TypeFor[environment]()) {
				r.names = append(r.names, f.Tag.Get("expr"))
			}
		}
	case *ast.BuiltinNode:
		r.length = r.length || expression.LengthIn(n) == "answer"
	case *ast.NilNode:
		r.null = true
	case *ast.BinaryNode:
		r.null = r.null || n.Operator == "??" || n.Operator == "in"
	case *ast.MemberNode:
		r.null = r.null || n.Optional
		switch of, path := pathOf(n); {
		case path == "":
		case of == "example":
			r.fields = append(r.fields, path)
		case of == "metadata":
			r.metas = append(r.metas, path)
		}
		of, ok := n.Node.(*ast.IdentifierNode)
		if name, constant := n.Property.(*ast.StringNode); ok && constant && of.Value == "rewards" {
			r.rewards = append(r.rewards, use{name.Value, n.Location()})
		}
	}
}

// pathOf returns the variable and the names, separated by dots, of a chain of
// members; no names if one is computed.
func pathOf(n *ast.MemberNode) (variable, path string) {
	name, constant := n.Property.(*ast.StringNode)
	if !constant {
		return "", ""
	}
	switch of := n.Node.(type) {
	case *ast.IdentifierNode:
		return of.Value, name.Value
	case *ast.MemberNode:
		if variable, path := pathOf(of); path != "" {
			return variable, path + "." + name.Value
		}
	}
	return "", ""
}

// missing returns the error of a field that the expression reads and the row does not have.
// Expressions that handle null themselves (??, nil, in, ?.) are evaluated.
func (r *reads) missing(row *score.Row) error {
	if r.null {
		return nil
	}
	for _, path := range r.fields {
		if _, err := row.Field(path); err != nil {
			return err
		}
	}
	for _, path := range r.metas {
		if err := row.MetadataField(path); err != nil {
			return err
		}
	}
	return nil
}

func (r *reads) nullReward(row *score.Row) (string, bool) {
	for _, use := range r.rewards {
		if value, _ := row.Reward(use.name); value == nil && !r.null {
			return use.name, true
		}
	}
	return "", false
}

// environment makes env that of a row. It decodes only the parts of the row that
// the expression reads.
func (r *reads) environment(row *score.Row, env *environment) error {
	t := row.Trajectory
	env.Answer, env.Status, env.StopReason, env.Model = t.Answer, t.Status, t.StopReason, t.Model
	env.TrajectoryID, env.ExampleID, env.Epoch, env.Generation = t.TrajectoryID, t.ExampleID, int(t.Epoch), int(t.Generation)
	env.PromptTokens, env.CompletionTokens, env.SampledTokens = int(t.PromptTokens), int(t.CompletionTokens), int(t.SampledTokens)
	env.Example, env.Metadata, env.Messages, env.Rewards = nil, nil, nil, nil
	if r.length {
		env.AnswerLength = expression.Length(t.Answer)
	}
	var err error
	if r.example {
		if env.Example, err = row.Fields(); err != nil {
			return err
		}
	}
	if r.metadata && row.Metadata != "" {
		if err := json.Unmarshal([]byte(row.Metadata), &env.Metadata); err != nil {
			return fmt.Errorf("the metadata is not a JSON object: %w", err)
		}
	}
	if r.messages {
		env.Messages = messages(row)
	}
	if r.known {
		env.Rewards = map[string]any{}
		for _, e := range row.Known {
			if env.Rewards[e.Name] = nil; e.Value != nil {
				env.Rewards[e.Name] = *e.Value
			}
		}
	}
	return nil
}

func messages(row *score.Row) []message {
	path := row.Main()
	out := make([]message, len(path))
	for i, at := range path {
		out[i] = newMessage(&row.Messages[at])
	}
	return out
}

func newMessage(m *formats.Message) message {
	out := message{
		Role: m.Role, Content: chat.ContentText(m), Name: m.Name, Reasoning: m.Reasoning,
		ToolCallID: m.ToolCallID, Sampled: m.Sampled, FinishReason: m.FinishReason,
	}
	for _, c := range m.ToolCalls {
		out.ToolCalls = append(out.ToolCalls, toolCall{c.Name, c.Arguments})
	}
	return out
}
