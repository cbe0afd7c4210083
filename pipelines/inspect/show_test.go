package inspect

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/datasettest"
	"github.com/rollmill/rollmill/formats/random"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/counting"
	"github.com/rollmill/rollmill/storage/fault"
)

// TestShowReadsOnlyItsColumns checks that the payload, which is nearly all of a
// dataset, is not read for other columns, even when every row is searched.
func TestShowReadsOnlyItsColumns(t *testing.T) {
	root := filepath.Join(t.TempDir(), "run")
	rollout, _ := scoredRun(t, root, random.Options{Groups: 150, Scored: true}, func(*formats.Trajectory, *formats.Score) {})
	for _, o := range []Options{
		{Rows: 5},
		{Rows: 5, First: 700},
		{Rows: 5, Columns: []string{"model", "metadata"}},
		{Rows: 5, Columns: []string{"model"}, Failed: true},
		{Rows: 5, Sort: "reward", Desc: true},
	} {
		var moved counting.Counter
		v, err := Show(storage.Wrapping(t.Context(), moved.Wrap), rollout.URI(), o)
		if err != nil || !o.Failed && len(v.Rows) != o.Rows {
			t.Errorf("%+v: %d rows, %v", o, len(v.Rows), err)
		}
		if names := v.Columns; !slices.Contains(names, "failure_class") || slices.Contains(names, "messages.role") {
			t.Errorf("%+v: its columns are %q", o, names)
		}
		light := rollout.Bytes / 10
		if o.Sort != "" { // all light columns are
			light *= 2
		}
		if n := moved.Read(); n > light {
			t.Errorf("%+v: %d of %d bytes were read", o, n, rollout.Bytes)
		}
	}
}

// TestShowColumns checks columns chosen by name: of a newer version of the schema,
// lists and groups, nulls, all, and one that does not exist.
func TestShowColumns(t *testing.T) {
	uri := filepath.Join(t.TempDir(), "rollout")
	rows, err := datasettest.Newer(t.Context(), uri, 2)
	if err != nil {
		t.Fatal(err)
	}
	show := func(columns ...string) View {
		t.Helper()
		v, err := Show(t.Context(), uri, Options{Rows: 100, Columns: columns})
		if err != nil || len(v.Rows) != len(rows) {
			t.Fatalf("%d rows, %v", len(v.Rows), err)
		}
		return v
	}
	v := show("effort", "tags", "calls", "run", "effort", "error")
	for i := range rows {
		var got struct {
			Effort *float64
			Tags   []string
			Calls  []struct {
				Model   string
				Latency *int64 `json:"latency_ms"`
			}
			Run   string
			Error *string
		}
		data, err := json.Marshal(v.Rows[i].Is)
		if err == nil {
			err = json.Unmarshal(data, &got)
		}
		want := &rows[i]
		if err != nil || got.Run != want.Run || strings.Join(got.Tags, " ") != strings.Join(want.Tags, " ") || (got.Effort == nil) != (want.Effort == nil) ||
			got.Effort != nil && *got.Effort != *want.Effort || len(got.Calls) != len(want.Calls) || (got.Error == nil) != (want.Error == "") {
			t.Errorf("row %d: %s, %v", i, data, err)
		}
		for k, call := range got.Calls {
			if call.Model != want.Calls[k].Model || *call.Latency != want.Calls[k].LatencyMS {
				t.Errorf("row %d: %s", i, data)
			}
		}
	}
	var text strings.Builder
	if err := show("all").WriteText(&text); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"\nrow ", " trajectory_id ", " messages ", " metadata ", " steps"} {
		if !strings.Contains(text.String(), name) {
			t.Errorf("no column %q:\n%s", name, text.String())
		}
	}
	_, err = Show(t.Context(), uri, Options{Rows: 1, Columns: []string{"run", "effrot"}})
	var bad *fault.Input
	if !errors.As(err, &bad) || !strings.Contains(bad.What, `no column "effrot"`) || !strings.Contains(bad.Help, "note, effort") {
		t.Errorf("%v", err)
	}
}
