package jsontext

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"
)

func encoded(t *testing.T, v any) string {
	t.Helper()
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestStringsAreThoseOfEncodingJSON(t *testing.T) {
	for c := range rune(0x300) {
		s := "a" + string(c) + "b"
		if got := string(AppendString([]byte("x"), s)); got+"\n" != "x"+encoded(t, s) {
			t.Errorf("%q is %s", s, got)
		}
	}
	for _, s := range []string{"", "a<b>&c", "\u2028\u2029", "\xff", "é"} {
		if got := string(AppendString(nil, s)); got+"\n" != encoded(t, s) {
			t.Errorf("%q is %s", s, got)
		}
	}
}

func TestAppend(t *testing.T) {
	v := map[string]any{"a": "<x>", "b": []int{1}}
	if got, err := Append([]byte("x"), v); err != nil || string(got) != `x{"a":"<x>","b":[1]}` {
		t.Errorf("%s, %v", got, err)
	}
	if got, err := AppendLine(nil, v); err != nil || string(got) != encoded(t, v) {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := Append(nil, math.NaN()); err == nil {
		t.Error("NaN is no JSON")
	}
}
