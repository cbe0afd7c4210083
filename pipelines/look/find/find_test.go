package find

import (
	"slices"
	"testing"
)

// TestOrderOfABucket: parameters of a URI do not change the order of datasets.
func TestOrderOfABucket(t *testing.T) {
	for _, query := range []string{"", "?endpoint=http://store"} {
		g := []string{"/run/score-2" + query, "/run/group" + query, "/run/score" + query}
		if slices.SortFunc(g, comparePaths); g[0] != "/run/group"+query || g[1] != "/run/score"+query {
			t.Errorf("%q", g)
		}
	}
}
