package estimatortest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages/group"
)

// Vectors compares an estimator with the results of each trainer's own function for the same
// groups: every file testdata/advantages/<estimator>.<compat>.json, of which there is at least
// one. A file holds groups, or batches of groups with named rewards whose advantages are final;
// then the batch's step is done here in the simplest way.
func Vectors(t *testing.T, kind group.EstimatorKind) {
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "testdata", "advantages", kind.Name+".*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no vectors of %s: %v", kind.Name, err)
	}
	for _, name := range files {
		compat := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(name), kind.Name+"."), ".json")
		t.Run("as "+compat, func(t *testing.T) {
			var f file
			data, err := os.ReadFile(name)
			if err == nil {
				err = json.Unmarshal(data, &f)
			}
			if err != nil || len(f.Groups) < 150 && len(f.Batches) < 55 {
				t.Fatalf("%d groups, %d batches: %v", len(f.Groups), len(f.Batches), err)
			}
			setup := group.Setup{Compat: group.Compat(compat), Solved: group.DefaultSolvedThreshold, Tolerance: training.FlatTolerance}
			for i, g := range f.Groups {
				members := g.members()
				fill(t, estimator(t, kind, setup, g.Settings), members, g.lengths())
				for k := range members {
					if g.Rewards[k] == nil || !noise(compat, kind.Name, g.Rewards, k) {
						compare(t, i, k, members[k].Advantage, g.Advantages[k])
					}
				}
				if g.Unscaled != nil {
					setup := setup
					setup.NoScale = true
					fill(t, estimator(t, kind, setup, g.Settings), members, g.lengths())
					for k := range members {
						compare(t, i, k, members[k].Advantage, g.Unscaled[k])
					}
				}
			}
			for i, b := range f.Batches {
				b.compare(t, i, estimator(t, kind, setup, nil))
			}
		})
	}
}

type file struct {
	Groups  []vector
	Batches []batch
}

func estimator(t *testing.T, kind group.EstimatorKind, s group.Setup, settings json.RawMessage) group.Estimator {
	t.Helper()
	k := kind.New()
	if settings != nil {
		if err := json.Unmarshal(settings, k); err != nil {
			t.Fatal(err)
		}
	}
	e, err := k.Estimator(s)
	if err != nil {
		t.Fatal(err)
	}
	return e
}
