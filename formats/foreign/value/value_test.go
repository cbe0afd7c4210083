package value_test

import (
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// refused returns the error with which the reading of a record ends.
func refused(read func()) error {
	format := importers.Format{}.ParsedBy(func(*importers.Record) ([]importers.Item, error) {
		read()
		return nil, nil
	})
	return format.Convert(importers.Record{}).Err
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
	if got := value.JSON(&importers.Record{}, []byte("\xef\xbb\xbf {\"a\":NaN}\n")); string(got) != `{"a":null}` {
		t.Errorf("%s", got)
	}
	for _, text := range []string{"", " ", "{", "{}{}", "\"\xff\""} {
		if refused(func() { value.JSON(&importers.Record{}, []byte(text)) }) == nil {
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
		if got, rest := value.ToolCall([]byte(v)); len(rest) > 0 || got.ID != "c" || got.Name != "add" || got.Arguments != "{}" {
			t.Errorf("%s is %+v", v, got)
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
