package main

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/dataset/manifest"
)

// The guide about datasets describes every field of the manifest.
func TestDatasetsGuide(t *testing.T) {
	data, err := os.ReadFile("doc/guides/datasets.md")
	if err != nil {
		t.Fatal(err)
	}
	guide := string(data)
	for _, of := range []reflect.Type{reflect.TypeFor[manifest.Manifest](), reflect.TypeFor[manifest.Content](), reflect.TypeFor[manifest.Table](),
		reflect.TypeFor[manifest.Part](), reflect.TypeFor[manifest.Ref](), reflect.TypeFor[manifest.Run](),
		reflect.TypeFor[manifest.GateResult]()} {
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			if name != "" && name != "-" && !strings.Contains(guide, "`"+name+"`") {
				t.Errorf("it does not describe %s of %s", name, of)
			}
		}
	}
}
