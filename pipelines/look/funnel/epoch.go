package funnel

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/examples"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/receipts"
)

// Epoch is what is known of an epoch.
type Epoch struct {
	Stages   map[string]Stage // rollout, score, group and curate, of its last scored extension
	Rollouts []Stage          // those that led to it, the first first
	Later    Stage            // a rollout that extends it further
	Receipt  *receipts.Receipt
}

// Stage is the dataset of a stage.
type Stage struct {
	*manifest.Manifest           // nil: there is none
	Digest             string    // of references to it
	Why                string    // there is none: "shard 1 of 2 missing"
	Written            time.Time // its manifest, if it was pruned
}

const rows = "trajectories" // the unit of most steps

// Add adds an epoch.
func (f *Funnel) Add(number int, e Epoch) {
	unknown := func(format string, a ...any) {
		f.Unknown = append(f.Unknown, fmt.Sprintf("epoch %d: "+format, append([]any{number}, a...)...))
	}
	if e.Later.Manifest != nil {
		unknown("the %.0f attempts of a later extension are not scored yet, and not counted", e.Later.Facts["added"])
	}
	before, left := e.Stages["rollout"], int64(0)
	if before.Manifest == nil {
		unknown("rollout: %s", cmp.Or(before.Why, "there is no dataset"))
	} else {
		if !f.examples(before.Manifest) {
			unknown("examples: the manifest of %s counts none", before.Stage)
		}
		out, lost := of(before.Manifest)
		f.add("attempts", rows, 0, out, sources(append(e.Rollouts, before)), lost, nil)
		left = out
	}
	for _, x := range [][3]string{{"score", "scored", "not scored yet"}, {"group", "grouped", "not grouped yet"}, {"curate", "kept", "not curated yet"}} {
		s := e.Stages[x[0]]
		switch {
		case s.Why != "":
			x[2] = x[0] + ": " + s.Why
		case s.Manifest != nil && before.Manifest != nil && !slices.ContainsFunc(s.Inputs, func(r manifest.Ref) bool { return r.Digest == before.Digest }):
			x[2] = x[0] + " was made of another " + before.Stage
		case s.Manifest != nil:
			out, lost := of(s.Manifest)
			f.add(x[1], rows, left, out, nil, lost, nil)
			if left = out; x[0] == "group" {
				f.groups(s.Facts)
			}
			if x[0] != "score" { // group names the rollout, since its scores may be several
				before = s
			}
			continue
		case x[0] != "curate" && (e.Stages["curate"].Manifest != nil || x[0] == "score" && e.Stages["group"].Manifest != nil):
			unknown("%s: there is only what was made of it", x[0])
			f.add(x[1], rows, left, left, nil, nil, nil)
			continue
		}
		f.add(x[1], rows, left, 0, nil, nil, counts{x[2]: left})
		return
	}
	f.submitted(left, e.Receipt, before.RowsDigest.String())
}

// of returns how many rows of a stage go on, and why others do not.
func of(m *manifest.Manifest) (out int64, lost counts) {
	switch lost = maps.Clone(m.Failures); m.Stage {
	case "score":
		delete(lost, outcomes.RewardTrajectory)
		return m.Counts["scored"], lost
	case "group":
		return m.Counts["advantage"] + m.Counts["singleton"], nil
	case "curate":
		lost = maps.Clone(m.Drops)
		delete(lost, "failed")
		delete(lost, "unscored")
		return m.Rows, lost
	}
	lost = counts{"skipped: the budget was spent": m.Counts[outcomes.StatusSkipped]}
	lost.add(m.Failures)
	return m.Counts[outcomes.StatusOK] + m.Counts[outcomes.StatusTruncated], lost
}

// examples adds those of a task file, and reports whether they were counted.
func (f *Funnel) examples(m *manifest.Manifest) bool {
	n, lost := int64(m.Facts["examples"]), counts{}
	for _, r := range m.Inputs {
		if r.Role == "examples" {
			lost.add(r.Counts)
		}
	}
	lost[examples.Blank] = 0 // a part of those kept
	read, kept := lost.sum(), lost[examples.Kept]
	lost[examples.Kept] = 0
	if lost["not in the plan"] = max(0, kept-n); n > 0 && kept > 0 {
		f.add("examples", "examples", 0, n, counts{"rows of the task file": read}, lost, nil)
	}
	return n > 0 && kept > 0
}

// sources says where the rows of the last rollout come from; forks are apart from those beside them.
func sources(rollouts []Stage) counts {
	first, last, refills := rollouts[0], rollouts[len(rollouts)-1], int64(0)
	for _, s := range rollouts {
		if s.Manifest != nil {
			refills += int64(s.Facts["added"])
		}
	}
	rest := last.Rows - refills
	if first.Manifest == nil || first.Rows != rest {
		return counts{"of the dataset that was extended": rest, "in refills": refills}
	}
	forks, forked := int64(last.Facts["forks"]), int64(first.Facts["forks"])
	return counts{"by " + first.Stage: rest - forked, "in refills": refills - forks + forked, "forks": forks}
}

// groups adds what became of the groups, and of what could be pairs.
func (f *Funnel) groups(facts map[string]float64) {
	all, compared, flat := int64(facts["groups"]), int64(facts["groups_with_advantages"]), int64(facts["groups_flat"])
	f.add("groups that teach", "groups", 0, compared-flat, counts{"groups": all}, counts{"flat": flat,
		"too few rewards": all - compared}, nil)
	pairs, refused := int64(facts["pairs"]), counts{}
	for name, n := range facts {
		if why, is := strings.CutPrefix(name, "pairs_"); is && !strings.HasPrefix(why, "unfit_") {
			refused[why] = int64(n)
		}
	}
	f.add("pairs", "pairs", 0, pairs, counts{"compared": pairs + refused.sum()}, refused, nil)
}

// submitted adds what a trainer took of the curated rows.
func (f *Funnel) submitted(left int64, r *receipts.Receipt, curated string) {
	out, lost, open := int64(0), counts{}, counts{}
	switch {
	case r == nil:
		open["not submitted yet"] = left
	case r.CuratedDigest != curated:
		open["the receipt is of another curated dataset"] = left
	case slices.Contains([]string{receipts.JobFailed, receipts.JobCancelled, receipts.JobUntrained}, r.State):
		lost["job "+r.State] = left
	default:
		out, lost["left out by "+r.Backend] = r.Trajectories, max(0, left-r.Trajectories)
	}
	f.add("submitted", rows, left, out, nil, lost, open)
}
