package main

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/dataset"
)

// The guide about datasets quotes the writer that CI runs, and describes every
// field of the manifest.
func TestDatasetsGuide(t *testing.T) {
	data, err := os.ReadFile("doc/guides/datasets.md")
	if err != nil {
		t.Fatal(err)
	}
	guide := string(data)
	writer, err := os.ReadFile("../../testdata/interop/write_dataset.py")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(guide, "```python\n"+string(writer)+"```\n") {
		t.Error("it does not quote testdata/interop/write_dataset.py")
	}
	for _, of := range []reflect.Type{reflect.TypeFor[dataset.Manifest](), reflect.TypeFor[dataset.Content](), reflect.TypeFor[dataset.Table](),
		reflect.TypeFor[dataset.Part](), reflect.TypeFor[dataset.Ref](), reflect.TypeFor[dataset.File](), reflect.TypeFor[dataset.Run](),
		reflect.TypeFor[dataset.GateResult]()} {
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			if name != "" && !strings.Contains(guide, "`"+name+"`") {
				t.Errorf("it does not describe %s of %s", name, of)
			}
		}
	}
}
