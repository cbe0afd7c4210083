package submit_test

import (
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/runroot"
	"github.com/rollmill/rollmill/stages/backends/art/arttest"
	"github.com/rollmill/rollmill/stages/submit"
	"github.com/rollmill/rollmill/storage/fault"
)

// TestARunIsKnownByItsID: two runs of the same name train an epoch each, in one
// ledger too; a copy of a run's dataset, and one that was curated anew
// elsewhere, are of the run whatever it is called.
func TestARunIsKnownByItsID(t *testing.T) {
	for name, uri := range stores(t) {
		t.Run(name, func(t *testing.T) {
			server, place := place(t, arttest.Faults{})
			if uri != "" {
				place.Ledger = uri
			}
			one := opened(t, place.Ledger)
			two := opened(t, t.TempDir())
			of := func(r manifest.Run, name string, groups ...int) submit.Options {
				o := options(t, place)
				o.Run, o.Out, o.MaxStaleness = name, t.TempDir(), 9
				o.In.URI = curatedIn(t, r, t.TempDir()+"/curate", rowsOf(groups...)...)
				o.Receipt = bucket(t, o.Out)
				return o
			}
			first := completes(t, of(one, "run", 0, 1, 2))
			if first.Receipt.RunID != one.ID {
				t.Errorf("the receipt is of the run %q, want %q", first.Receipt.RunID, one.ID)
			}
			completes(t, of(two, "run", 0, 1))
			if server.Jobs() != 2 {
				t.Fatalf("%d jobs", server.Jobs())
			}
			if r := completes(t, of(one, "run", 0, 1, 2)); !r.Attached {
				t.Error("a copy is not attached")
			}
			for _, called := range []string{"run", "another name"} {
				if e := kind(t, of(one, called, 1, 2), fault.Person); !strings.Contains(e.Error(), "with other rows") {
					t.Error(e)
				}
			}
			if server.Jobs() != 2 {
				t.Errorf("%d jobs", server.Jobs())
			}
		})
	}
}

// opened is the run at a root.
func opened(t *testing.T, root string) manifest.Run {
	t.Helper()
	r, err := runroot.Open(t.Context(), root)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
