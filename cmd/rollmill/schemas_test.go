package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/command"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/stages/score"
)

// message is a message of a protocol: the Go type that is written or read, and
// what the type does not say, by property.
type message struct {
	name, title string
	of          reflect.Type
	more        map[string]*jsonschema.Schema
}

func words(list ...any) *jsonschema.Schema { return &jsonschema.Schema{Type: "string", Enum: list} }

func orNull(kind string) *jsonschema.Schema {
	return &jsonschema.Schema{Types: []string{kind, "null"}}
}

var (
	number   = &jsonschema.Schema{Type: "number"}
	object   = &jsonschema.Schema{Type: "object"}
	messages = []message{
		{"agent-task", "What an agent is given, for one trajectory", reflect.TypeFor[agents.Task](), map[string]*jsonschema.Schema{"protocol": words(agents.Protocol)}},
		{"agent-result", "What an agent may answer; every field is optional", reflect.TypeFor[agents.Output](), map[string]*jsonschema.Schema{
			"answer": orNull("string"), "reward": orNull("number"), "metadata": orNull("object"), "stop": words(outcomes.StopDone, outcomes.StopTurns),
		}},
		{"reward-request", "What a reward is given, for one trajectory", reflect.TypeFor[score.Request](), map[string]*jsonschema.Schema{
			"metadata": object, "protocol": words(score.Protocol), "status": words(outcomes.StatusOK, outcomes.StatusTruncated, outcomes.StatusFailed, outcomes.StatusSkipped),
		}},
		{"reward-answer", "What a reward answers, for one trajectory", reflect.TypeFor[score.AnswerLine](), map[string]*jsonschema.Schema{
			"id": {Type: "string"}, "reward": orNull("number"), "shaped_rewards": {Types: []string{"array", "null"}, Items: number}, "error": orNull("string"),
		}},
		{"trainer-request", "What a trainer is asked, once for each start", reflect.TypeFor[command.Request](), map[string]*jsonschema.Schema{
			"protocol": words(command.Protocol), "request": words("begin", "submit", "status", "cancel", "resolve"),
		}},
		{"trainer-answer", "A line of a trainer's answer; every field is optional", reflect.TypeFor[command.Answer](), map[string]*jsonschema.Schema{
			"metrics": object, "state": words(receipts.JobPending, receipts.JobRunning, receipts.JobCompleted, receipts.JobFailed, receipts.JobCancelled,
				receipts.JobUntrained, backends.JobUnknown),
		}},
	}
)

// schema makes the schema of the message. Unknown properties are allowed: readers
// ignore them, and later versions add some.
func (m message) schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.ForType(m.of, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{reflect.TypeFor[json.RawMessage](): {}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, more := range m.more {
		was, of := s.Properties[name], *more
		if was == nil {
			t.Fatalf("%s has no property %s", m.name, name)
		}
		of.Description = was.Description
		s.Properties[name] = &of
	}
	s.Schema, s.Title = "https://json-schema.org/draft/2020-12/schema", m.title
	each(s, func(s *jsonschema.Schema) {
		s.Minimum, s.Maximum = nil, nil // of Go's types
		if slices.Contains(s.Types, "array") && s.Description != "" {
			s.Type, s.Types = "array", nil // Go's nil, which is never written
		}
		if s.Properties != nil {
			s.AdditionalProperties = nil
		}
	})
	return s
}

// each calls do with a schema and all that are part of it.
func each(s *jsonschema.Schema, do func(*jsonschema.Schema)) {
	do(s)
	for _, p := range s.Properties {
		each(p, do)
	}
	if s.Items != nil {
		each(s.Items, do)
	}
}

// TestDocsSchemas compares the schemas under doc/schemas with the Go types.
func TestDocsSchemas(t *testing.T) {
	for _, m := range messages {
		want, err := json.MarshalIndent(m.schema(t), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, '\n')
		file := filepath.Join("doc", "schemas", m.name+".json")
		if *update {
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("%v (make docs writes it)", err)
		} else if diff := cmp.Diff(string(want), string(got)); diff != "" {
			t.Errorf("%s differs from %s (make docs rewrites it):\n%s", file, m.of, diff)
		}
		if code, out, stderr := rollmill(t, "help", "schema", m.name); !*update && (code != 0 || out != strings.TrimSpace(string(got))) {
			t.Errorf("help schema %s: exit code %d, %s%s", m.name, code, out, stderr)
		}
	}
}
