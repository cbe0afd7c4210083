package curate_test

import (
	"cmp"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/curate"
)

// What is copied by the page is what would be decoded and written anew, row by
// row and in its digest: of groups that share pages and groups of several
// pages, whole and in part, of one epoch and of two, in one shard and in three.
func TestCopiedAndDecodedRowsAreTheSame(t *testing.T) {
	some := func(o *curate.Options) { ask(*o, "sample-groups", 0.3) }
	parts := func(o *curate.Options) { ask(*o, "sample-trajectories", 0.5) }
	tiny := randomtest.Options{Groups: 200, Generations: 3, Messages: 3, SampledTokens: 12, PromptTokens: 10}
	medium := randomtest.Options{Groups: 24, Generations: 6, SampledTokens: 900, Branches: 0.3}
	large := randomtest.Options{Groups: 1, Generations: 6, Messages: 4, SampledTokens: 400_000} // two pages a group
	for name, c := range map[string]struct {
		sizes    randomtest.Options
		failures float64
		rules    func(*curate.Options)
	}{
		"tiny": {tiny, 0, some}, "tiny in part": {tiny, 0.3, parts}, "medium": {medium, 0, some}, "medium in part": {medium, 0.3, parts},
		"large": {large, 0, func(o *curate.Options) { ask(*o, "max-per-group", 5) }}, // a page and a part of one
	} {
		t.Run(name, func(t *testing.T) {
			c.sizes.Failures, c.sizes.Unscored = c.failures, c.failures/3
			in := randomGroups(t, "mem://"+t.Name(), c.sizes)
			first := options(in, in+"-copied")
			first.Seed = 7
			ask(first, "keep-flat", true)
			c.rules(&first)
			if again := c.sizes; again.Groups > 1 {
				again.Epoch, again.Groups = 1, (c.sizes.Groups+1)/2
				first.OtherEpochs = []stages.Input{{URI: randomGroups(t, in+"-old", again)}}
			}
			_, copied := run(t, first)
			want := decodedRows(t, first, in+"-decoded")
			if copied.RowsDigest != want.RowsDigest || copied.Rows == 0 {
				t.Fatalf("%d copied rows of digest %s, %d decoded ones of %s", copied.Rows, copied.RowsDigest, want.Rows, want.RowsDigest)
			}
			if c.sizes.Groups == tiny.Groups { // volatile columns too
				a, b := readAll[formats.Trajectory](t, copied, ""), readAll[formats.Trajectory](t, want, "")
				if diff := gocmp.Diff(b, a, cmpopts.EquateEmpty()); diff != "" {
					t.Fatal(diff[:min(len(diff), 4000)])
				}
			}
			check(t, dataset.Verify(t.Context(), copied))
			if c.sizes.Groups == large.Groups {
				return
			}
			first.Out.URI += "-shards"
			for i := range 3 {
				first.Out.Shard = stages.Shard{Index: i, Count: 3}
				_, err := curate.Run(t.Context(), first)
				check(t, err)
			}
			shards := open(t, first.Out.URI)
			check(t, dataset.Verify(t.Context(), shards))
			if shards.RowsDigest != want.RowsDigest {
				t.Errorf("three shards give rows of digest %s, not %s", shards.RowsDigest, want.RowsDigest)
			}
		})
	}
}

func decodedRows(t *testing.T, o curate.Options, out string) *dataset.Dataset {
	t.Helper()
	o.Out.URI = out
	o.Decode()
	_, d := run(t, o)
	return d
}

// Rules that look at whole rows, and advantages made anew, go with copying.
func TestRowRulesAndCopies(t *testing.T) {
	in := randomGroups(t, "mem://"+t.Name()+"/group", randomtest.Options{Groups: 40, SampledTokens: 300, Failures: 0.2})
	o := options(in, in+"-copied")
	ask(o, "keep-flat", true, "check-logprobs", true, "drop-duplicates", true, "max-sampled-tokens", 320)
	_, copied := run(t, o)
	want := decodedRows(t, o, in+"-decoded")
	if copied.RowsDigest != want.RowsDigest || copied.Rows == 0 || copied.Drops["length"] == 0 {
		t.Errorf("%d copied rows of digest %s, %d decoded ones of %s; drops %v", copied.Rows, copied.RowsDigest, want.Rows, want.RowsDigest, copied.Drops)
	}
	byID := func(a, b formats.Trajectory) int { return cmp.Compare(a.TrajectoryID, b.TrajectoryID) }
	rows := readAll[formats.Trajectory](t, copied, "")
	slices.SortFunc(rows, byID)
	if len(slices.CompactFunc(rows, func(a, b formats.Trajectory) bool { return a.TrajectoryID == b.TrajectoryID })) != int(copied.Rows) {
		t.Error("a row is there twice")
	}
}
