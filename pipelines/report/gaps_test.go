package report

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/dataset/runroot"
	"github.com/rollmill/rollmill/storage"
)

// TestGaps checks that a report has every epoch that is there, whatever epoch is
// missing before it, and names the missing ones.
func TestGaps(t *testing.T) {
	for name, test := range map[string]struct {
		epochs []int
		gaps   []string
	}{
		"none missing":          {epochs: []int{0, 1, 2}},
		"one missing":           {epochs: []int{0, 1, 3, 4, 5}, gaps: []string{"2"}},
		"begins at epoch 1":     {epochs: []int{1, 2}},
		"several missing":       {epochs: []int{3, 5, 9, 10}, gaps: []string{"4", "6-8"}},
		"as many as there can":  {epochs: []int{0, 999999999}, gaps: []string{"1-999999998"}},
		"in the order of bytes": {epochs: []int{2, 10}, gaps: []string{"3-9"}},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for _, e := range test.epochs {
				writeScores(t, storage.Join(root, runroot.EpochFolder(e)), [][]*float64{{ptr(float64(e) / 1e9)}})
			}
			run, err := Make(t.Context(), Options{Root: root, NoFiles: true})
			if err != nil {
				t.Fatal(err)
			}
			var got []int
			for _, e := range run.Epochs {
				got = append(got, e.Epoch)
			}
			if !slices.Equal(got, test.epochs) || !slices.Equal(slices.Sorted(maps.Keys(run.MeanRewards())), test.epochs) {
				t.Errorf("epochs %v, want %v", got, test.epochs)
			}
			if !slices.Equal(run.Gaps, test.gaps) {
				t.Errorf("gaps %q, want %q", run.Gaps, test.gaps)
			}
			var table bytes.Buffer
			if err := run.WriteTable(&table); err != nil || strings.Contains(table.String(), "no finished rollout") != (len(test.gaps) > 0) {
				t.Errorf("%v\n%s", err, &table)
			}
			known, err := Make(t.Context(), Options{Root: root, NoFiles: true, Known: run.Epochs[:1]})
			if err != nil || len(known.Epochs) != len(test.epochs) {
				t.Errorf("with known epochs: %d, %v", len(known.Epochs), err)
			}
		})
	}
}
