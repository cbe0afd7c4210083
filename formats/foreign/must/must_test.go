package must_test

import (
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
)

// refused returns the error with which the reading of a record ends.
func refused(read func()) error {
	format := importers.Format{Name: "f"}.ParsedBy(func(*importers.Record) ([]importers.Item, error) {
		read()
		return nil, nil
	})
	return format.Convert(importers.Record{}).Err
}

// TestTypes reads values of the right type, and null, and names the field of
// each other one.
func TestTypes(t *testing.T) {
	read := map[string]func(v []byte){
		"text":     func(v []byte) { must.Text("f", v) },
		"id":       func(v []byte) { must.ID("f", v) },
		"object":   func(v []byte) { must.Object("f", v) },
		"list":     func(v []byte) { must.List("f", v) },
		"number":   func(v []byte) { must.Number("f", v) },
		"whole":    func(v []byte) { must.Whole("f", v) },
		"count":    func(v []byte) { must.Count("f", v) },
		"ids":      func(v []byte) { must.IDs("f", v) },
		"logprobs": func(v []byte) { must.Logprobs("f", v) },
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
			if err := refused(func() { f([]byte(v)) }); err != nil {
				t.Errorf("%s of %s: %v", name, v, err)
			}
		}
		for _, v := range strings.Fields(bad[name]) {
			if err := refused(func() { f([]byte(v)) }); err == nil || !strings.HasPrefix(err.Error(), "f") {
				t.Errorf("%s of %s: %v", name, v, err)
			}
		}
	}
}

// TestPlaces: an error names the places in which it was found, from the outside, and the
// panic of a bug stays one.
func TestPlaces(t *testing.T) {
	step := func(v []byte) {
		defer must.At("step %s", v)
		must.Each("values", []byte(`[1,"b"]`), func(v []byte) { must.Text("v", v) })
	}
	err := refused(func() { must.Each("steps", []byte(`[7]`), step) })
	if err == nil || err.Error() != `steps[0]: step 7: values[0]: v is "1", not a text` {
		t.Error(err)
	}
	err = refused(func() { must.Each("steps", []byte(`[7]`), func([]byte) { panic("a bug") }) })
	if err == nil || !strings.Contains(err.Error(), "please report") {
		t.Error(err)
	}
}
