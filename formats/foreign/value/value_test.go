package value_test

import (
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// TestTypes reads values of the right type, and null, and names the field of
// each other one.
func TestTypes(t *testing.T) {
	read := map[string]func(r *value.Reader, v []byte){
		"text":     func(r *value.Reader, v []byte) { r.Text("f", v) },
		"id":       func(r *value.Reader, v []byte) { r.ID("f", v) },
		"object":   func(r *value.Reader, v []byte) { r.Object("f", v) },
		"list":     func(r *value.Reader, v []byte) { r.List("f", v) },
		"number":   func(r *value.Reader, v []byte) { r.Number("f", v) },
		"whole":    func(r *value.Reader, v []byte) { r.Whole("f", v) },
		"count":    func(r *value.Reader, v []byte) { r.Count("f", v) },
		"ids":      func(r *value.Reader, v []byte) { r.IDs("f", v) },
		"logprobs": func(r *value.Reader, v []byte) { r.Logprobs("f", v) },
	}
	good := map[string]string{
		"text": `"a"`, "id": `7 -7 "a"`, "object": `{}`, "list": `[]`, "number": `1 -2.5 1e3`, "whole": `3 3.0 -3 1e3`,
		"count": `0 12`, "ids": `[] [1,2]`, "logprobs": `[] [-0.5,0]`,
	}
	bad := map[string]string{
		"text": `1 [] {} true`, "id": `true []`, "object": `[] "a"`, "list": `{} 1`, "number": `"1" 1e999 true`,
		"whole": `1.5 1e30`,
		"count": `-1 1e10 1.5`, "ids": `1 [-1] [1.5] [null] [4294967296]`, "logprobs": `["a"] [null] 1`,
	}
	for name, f := range read {
		for _, v := range strings.Fields(good[name] + " null") {
			var r value.Reader
			if f(&r, []byte(v)); r.Err != nil {
				t.Errorf("%s of %s: %v", name, v, r.Err)
			}
		}
		for _, v := range strings.Fields(bad[name]) {
			var r value.Reader
			if f(&r, []byte(v)); r.Err == nil || !strings.HasPrefix(r.Err.Error(), "f") {
				t.Errorf("%s of %s: %v", name, v, r.Err)
			}
		}
	}
}

func TestMicros(t *testing.T) {
	want := time.Date(2026, 5, 1, 10, 0, 0, 500000000, time.UTC).UnixMicro()
	for _, v := range []string{`"2026-05-01T10:00:00.5Z"`, `"2026-05-01T12:00:00.5+02:00"`, `"2026-05-01T10:00:00.5"`,
		`"2026-05-01 10:00:00.5"`, `1777629600.5`, `1777629600500`} {
		if got := value.Micros([]byte(v)); got != want {
			t.Errorf("%s is %d, want %d", v, got, want)
		}
	}
	for _, v := range []string{``, `null`, `"yesterday"`, `-5`, `1e300`, `{}`} {
		if got := value.Micros([]byte(v)); got != 0 {
			t.Errorf("%s is %d", v, got)
		}
	}
}

func TestJSON(t *testing.T) {
	if got, err := value.JSON(&importers.Record{}, []byte("\xef\xbb\xbf {\"a\":NaN}\n")); err != nil ||
		string(got) != `{"a":null}` {
		t.Errorf("%s, %v", got, err)
	}
	for _, text := range []string{"", " ", "{", "{}{}", "\"\xff\""} {
		if _, err := value.JSON(&importers.Record{}, []byte(text)); err == nil {
			t.Errorf("%q is JSON", text)
		}
	}
}

// TestToolCalls reads the same call in each of its forms, and tools of the
// Responses API as those of chat completions.
func TestToolCalls(t *testing.T) {
	for _, v := range []string{
		`{"id":"c","function":{"name":"add","arguments":"{}"}}`, `{"id":"c","name":"add","arguments":"{}"}`,
		`{"id":"c","name":"add","arguments":{}}`, `"{\"id\":\"c\",\"name\":\"add\",\"arguments\":\"{}\"}"`,
	} {
		var r value.Reader
		if got, rest := r.ToolCall([]byte(v)); r.Err != nil || len(rest) > 0 || got.ID != "c" || got.Name != "add" || got.Arguments != "{}" {
			t.Errorf("%s is %+v, %v", v, got, r.Err)
		}
	}
	const chat = `[{"type":"function","function":{"name":"add","strict":true}}]`
	for _, v := range []string{chat, `[{"type":"function","name":"add","strict":true}]`,
		`[{"name":"add","strict":true}]`} {
		if got, err := value.ChatTools([]byte(v)); err != nil || got != chat {
			t.Errorf("%s is %s, %v", v, got, err)
		}
	}
	if !value.Generated(jsontext.ParseObject([]byte(`{"type":"function_call"}`))) ||
		value.Generated(jsontext.ParseObject([]byte(`{"type":"function_call_output"}`))) {
		t.Error("a call is generated, its output is not")
	}
}
