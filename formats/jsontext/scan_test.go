package jsontext

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
)

var values = []string{
	`{"a":1,"b":{"c":NaN,"c":2},"a":{"x":[1,-Infinity]},"\u0061":"last"}`, `[{"a":NaN},NaN,{"a":NaN,"b":[{"a":1,"a":1}]}]`, `{"a":1,"a":2,"a":3}`,
	`{"0":0,"1":0,"2":0,"3":0,"4":0,"5":0,"6":0,"7":0,"8":0,"9":0,"a":0,"b":0,"c":0,"d":0,"e":0,"f":0,"10":0,"f":1,"10":1,"0":1}`,
	``, ` `, `null`, `true`, `-1.5e3`, `01`, `1 2`, `""`, `"a"`, `"a`, `"\"`, `"\\"`, `"\\\""`, `"\u00e9\ud83d\ude00\ud83d x\udc00\ud83dA"`, `"\ud83d<ude00"`,
	`"\x"`, `"\u12"`,
	`"exactly8"`, `"a tab	in it"`, "\"seven c\x01 then\"", `"漢字漢字 \n\t\/\b\f\r <&>"`, "\"\xff\"", "\"\\n\xff\"", `{}`, `{ }`, `[ ]`,
	`{"a":1,"a":[2, {"b" : "}]\"" } ] , "c\n": null }`,
	`{"a":[1,{"b":"\\\""},null,-0.5e+7,true],"c":{} , "d":"\u00e9"}`, `[NaN, -Infinity]`, ` 01 `,
	`[1,[2,[3,"]"]],{"x":{}}]`, `[1,]`, `{"a"}`, `{"a":}`, `[`, `]`, `"long text without an escape, long enough for words \\ and one at the end\""`,
}

// Valid, Unquote and Compact agree with encoding/json.
func FuzzScan(f *testing.F) {
	for _, v := range values {
		f.Add([]byte(v))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		ok := json.Valid(b)
		o := ParseObject(b)
		for _, m := range o {
			if !bytes.Equal(o.Get(m.Key), m.Raw) {
				t.Errorf("ParseObject(%q) has %q twice", b, m.Key)
			}
		}
		if got := Valid(b); got != ok && !(got && (bytes.Contains(b, []byte("NaN")) || bytes.Contains(b, []byte("Infinity")))) {
			t.Fatalf("Valid(%q) = %v", b, got)
		}
		each(t, b)
		read(t, b)
		for range Members(b) { // no panic, whatever it is
		}
		for range Elements(b) {
		}
		if !ok {
			return
		}
		var compact bytes.Buffer
		_ = json.Compact(&compact, b)
		if got, want := Compact(b), strings.ToValidUTF8(compact.String(), "\uFFFD"); got != want {
			t.Errorf("Compact(%q) = %q, want %q", b, got, want)
		}
		text := bytes.TrimSpace(b)
		var s string
		if json.Unmarshal(text, &s) == nil && text[0] == '"' && Unquote(text) != s {
			t.Errorf("Unquote(%q) = %q, want %q", text, Unquote(text), s)
		}
		if end := Skip(text, 0); end != len(text) {
			t.Errorf("Skip(%q) = %d", text, end)
		}
		members(t, b)
	})
}

// Each finds the members of whatever Valid accepts and begins an object.
func each(t *testing.T, b []byte) {
	got := map[string][]byte{}
	err := Each(b, func(k, v []byte) { got[string(k)] = v })
	object := Valid(b) && bytes.TrimSpace(b)[0] == '{'
	if (err == nil) != object {
		t.Errorf("%q: %v", b, err)
	}
	if !object {
		return
	}
	for k, v := range Members(b) {
		if got[string(k)] == nil {
			t.Errorf("%q: no member %q with %q", b, k, v)
		}
	}
}

// read reads a text as encoding/json does, but for numbers that it refuses, and
// a second time the same.
func read(t *testing.T, b []byte) {
	var r Reading
	got, ok := r.Value(b)
	if ok != Valid(b) {
		t.Errorf("Value(%q): %v", b, ok)
	}
	if !ok {
		return
	}
	if len(r.Lost) == 0 && !bytes.Equal(got, b) || len(r.Lost) > 0 && bytes.Equal(got, b) {
		t.Errorf("Value(%q) is %q, and %q is lost", b, got, r.Lost)
	}
	var again Reading
	if same, ok := again.Value(got); !ok || len(again.Lost) > 0 || !bytes.Equal(same, got) {
		t.Errorf("Value(%q) is %q, of which %q is lost", b, got, again.Lost)
	}
	standard, _ := Standard(b)
	var x, y any
	if json.Unmarshal(standard, &x) == nil && (json.Unmarshal(got, &y) != nil || !reflect.DeepEqual(x, y)) {
		t.Errorf("Value(%q) is %q", b, got)
	}
}

// members compares the members of an object with those of encoding/json.
func members(t *testing.T, b []byte) {
	var want map[string]json.RawMessage
	if json.Unmarshal(b, &want) != nil {
		return
	}
	got := map[string][]byte{}
	for k, v := range Members(b) {
		got[string(k)] = v
	}
	if len(got) != len(want) {
		t.Errorf("%q has the members %q, want %q", b, got, want)
	}
	for k, v := range want {
		if !slices.Equal(got[k], v) {
			t.Errorf("%q: %q is %q, want %q", b, k, got[k], v)
		}
	}
}
