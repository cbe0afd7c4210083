package group_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/rollmill/rollmill/storage"
)

// The columns of full row groups of scores in files are copied. The rows are the
// same as those of scores in a store, whose columns are encoded, for any number
// of shards, and so are the parts of as many shards.
func TestScoresAreRepeated(t *testing.T) {
	const rows = 10_008 // of which the last 1,816 are a row group that is not full
	file := thin(t, t.TempDir(), rows, false)
	mem := thin(t, "mem://"+t.Name(), rows, false)
	for _, by := range []string{"", "generation < 5 ? example_id : example_id + \" again\""} {
		var want string
		for _, shards := range []int{1, 3} {
			var parts [2][]string
			for i, scores := range []string{file, mem} {
				o := options(scores, storage.Join(scores, "..", fmt.Sprintf("group %d %d", len(by), shards)))
				o.By = by
				d := grouped(t, o, shards)
				if digest := d.RowsDigest.String(); want == "" {
					want = digest
				} else if digest != want {
					t.Errorf("by %q, in %d shards: %s, want %s", by, shards, digest, want)
				}
				for _, p := range d.Parts {
					parts[i] = append(parts[i], p.Digest)
					if p.RowGroups[0] != 4096 && p.Rows > 4096 {
						t.Errorf("by %q, in %d shards: row groups of %d rows", by, shards, p.RowGroups)
					}
				}
			}
			if !slices.Equal(parts[0], parts[1]) {
				t.Errorf("by %q, in %d shards: parts %s of files, and %s of a store", by, shards, parts[0], parts[1])
			}
		}
	}
}
