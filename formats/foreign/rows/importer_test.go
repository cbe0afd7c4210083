package rows_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/foreigntest"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/rows"
	"github.com/rollmill/rollmill/formats/parquet"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/schema"
)

func TestFiles(t *testing.T) {
	foreigntest.Importer(t, rows.Importer, importers.Options{}, "testdata/rows.jsonl")
}

func TestMappedFile(t *testing.T) {
	columns := map[string]string{"messages": "conversations", "reward": "score", "label": "good"}
	foreigntest.Importer(t, rows.Importer, importers.Options{Map: columns}, "testdata/mapped.jsonl")
}

// Rows that are written as JSON come back as they were.
func TestRowsComeBack(t *testing.T) {
	for _, want := range trajectories() {
		data, err := json.Marshal(columns(reflect.ValueOf(want)))
		if err != nil {
			t.Fatal(err)
		}
		p := rows.Importer.Convert(importers.Record{Data: data})
		if p.Err != nil {
			t.Fatalf("%v\n%s", p.Err, data)
		}
		got := p.Items[0].Row
		if len(p.Losses) > 0 {
			t.Errorf("lost %v", p.Losses)
		}
		if diff := cmp.Diff(columns(reflect.ValueOf(want)), columns(reflect.ValueOf(got))); diff != "" {
			t.Fatal(diff)
		}
	}
}

// Rows of a dataset's own Parquet come back as they were.
func TestParquetRowsComeBack(t *testing.T) {
	var file bytes.Buffer
	w, want := parquet.NewWriter[formats.Trajectory](&file), trajectories()
	if err := w.Write(want); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var got []formats.Trajectory
	for p, err := range foreigntest.All(rows.Importer, importers.File{Name: "x.parquet", R: bytes.NewReader(file.Bytes()),
		Size: int64(file.Len())}) {
		if err != nil || p.Err != nil || len(p.Losses) > 0 {
			t.Fatal(err, p.Err, p.Losses)
		}
		got = append(got, p.Items[0].Row)
	}
	if diff := cmp.Diff(columns(reflect.ValueOf(want)), columns(reflect.ValueOf(got))); diff != "" {
		t.Error(diff)
	}
}

// columns returns a row as JSON has it: null for what is empty.
func columns(v reflect.Value) any {
	switch v.Kind() {
	case reflect.Struct:
		out := map[string]any{}
		for _, f := range schema.FieldsOf(v.Type()) {
			for i := range v.NumField() {
				if s := v.Type().Field(i); s.Offset == f.Offset && s.Type == f.Type {
					out[f.Name] = columns(v.Field(i))
				}
			}
		}
		return out
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return columns(v.Elem())
	case reflect.Slice:
		if v.Len() == 0 {
			return nil
		}
		out := make([]any, v.Len())
		for i := range out {
			out[i] = columns(v.Index(i))
		}
		return out
	}
	return v.Interface()
}

func FuzzImport(f *testing.F) {
	foreigntest.Fuzz(f, rows.Importer, importers.Options{Map: map[string]string{"reward": "score"}}, "x.jsonl",
		foreigntest.Seeds(f, 16<<10, "testdata/rows.jsonl", "testdata/mapped.jsonl")...)
}

// trajectories returns rows of many kinds.
func trajectories() (all []formats.Trajectory) {
	o := randomtest.Options{Groups: 4, Generations: 3, Scored: true, Failures: 0.3, Unscored: 0.2, Branches: 0.5,
		SampledTokens: 60, PromptTokens: 60}
	for group := range randomtest.Trajectories(1, o) {
		all = append(all, group...)
	}
	score, call := 0.1, int32(0)
	all[0].Metadata, all[0].Example = `{"a": null, "b":"ä\n"}`, `{"question" : "Q"}`
	all[0].Candidates = []formats.Candidate{{Message: -1, Content: "c", Score: &score, Metadata: "{}", Call: &call,
		TokenIDs: []int32{1}, Logprobs: []float32{-0.1},
		ToolCalls: []formats.ToolCall{{ID: "i", Name: "f", Arguments: "{ bad"}}}}
	all[0].Messages[0].ContentParts,
		all[0].Messages[0].Content = `[{"type":"text","text":"a"}, {"type":"image_url","image_url":null}]`, ""
	version := int64(1<<62 + 1)
	for i := range all[0].Calls {
		all[0].Calls[i].PolicyVersion = &version
	}
	all[0].PolicyVersion = &version
	return all
}
