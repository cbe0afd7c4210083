package callstest_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rollmill/rollmill/pipelines/convert/calls/callstest"
)

const root = "../../../../testdata/"

// TestRecordingsAreTakenApart takes every recorded trajectory of testdata apart, and walks its calls to
// the same row again.
func TestRecordingsAreTakenApart(t *testing.T) {
	all, err := callstest.Recordings(os.DirFS(root + "calls"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		if _, err := callstest.Explode(r.Attempt, &r.Row, 0); err != nil {
			t.Errorf("%s: %v", r.Attempt, err)
		}
	}
	old, _ := filepath.Glob(root + "versions/*/rollout")
	if len(all) < 300 || len(old) < 5 {
		t.Errorf("%d recordings, %d old datasets", len(all), len(old))
	}
	for _, folder := range old {
		rows, err := callstest.Rows(t.Context(), folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			if _, err := callstest.Explode(row.TrajectoryID, &row, 0); err != nil {
				t.Errorf("%s: %s: %v", folder, row.TrajectoryID, err)
			}
		}
	}
}
