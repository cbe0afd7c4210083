package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/foreign/harbor"
)

// TestFilesOfATrial: a trial in a folder of jobs has the files below its folder as companions, and no other trial's.
func TestFilesOfATrial(t *testing.T) {
	const job = "../../testdata/importers/harbor"
	for in, prefix := range map[string]string{job: "job/write-file__continued/", job + "/job/write-file__continued": "", job + "/job/write-file__continued/result.json": ""} {
		_, files, err := importFiles(t.Context(), []string{in}, &harbor.Importer)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, f := range files {
			if f.Name != prefix+"result.json" {
				continue
			}
			found = true
			var names []string
			for _, c := range f.Companions {
				names = append(names, strings.TrimPrefix(c.Name, prefix))
			}
			if got := fmt.Sprint(names); got != "[agent/trajectory.cont-1.json agent/trajectory.json agent/trajectory.summarization-1-summary.json "+
				"artifacts/app/hello.txt artifacts/manifest.json verifier/reward.txt]" {
				t.Errorf("%s: %s", in, got)
			}
		}
		if !found {
			t.Errorf("%s: %d files without the result", in, len(files))
		}
	}
}
