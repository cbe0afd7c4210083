package monitors

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
)

// Scalar is a number of an epoch, under a name with slashes: score/reward.
type Scalar struct {
	Name  string
	Value float64
}

// Series is the beginning of the names of a stage's scalars: score, or
// validation/score for held-out examples.
func (f Figures) Series() string {
	if f.Validation {
		return "validation/" + f.Report.Stage
	}
	return f.Report.Stage
}

// Step is the epoch, 0 if it is unknown.
func (f Figures) Step() int64 {
	if f.Epoch == nil {
		return 0
	}
	return int64(*f.Epoch)
}

// Whole reports whether a stage has ended for all rows of its epoch: not for a shard
// while others are missing.
func (f Figures) Whole() bool { return f.Report != nil && len(f.Report.Missing) == 0 }

// Scalars returns the numbers of a stage that has ended, by name. All are finite:
//
//	rows, seconds                rows, and how long it took, if it ran now
//	ok, scored, kept, ...        rows by state; kept_share of those kept and dropped
//	failures/CLASS, drops/REASON rows
//	FACT                         the sums of the manifest, such as prompt_tokens
//	reward, rewards/NAME         means over the rows that have the value
//	kept_reward, tokens_per_row  means over the kept and over all rows
func (f Figures) Scalars() []Scalar {
	r := f.Report
	at := map[string]float64{"rows": float64(r.Rows)}
	if !r.UpToDate {
		at["seconds"] = r.Seconds
	}
	for _, table := range []struct {
		prefix string
		counts map[string]int64
	}{{"", r.Counts}, {"failures/", r.Failures}, {"drops/", r.Drops}} {
		for name, n := range table.counts {
			at[table.prefix+name] = float64(n)
		}
	}
	for name, v := range r.Facts {
		if !strings.HasPrefix(name, rewards) && name != rewardSum && name != keptSum {
			at[name] = v
		}
	}
	mean := func(name string, sum, n float64) {
		if n > 0 {
			at[name] = sum / n
		}
	}
	if sum, ok := r.Facts[rewardSum]; ok {
		mean("reward", sum, cmp.Or(float64(r.Counts["scored"]), r.Facts["scored"]))
	}
	if sum, ok := r.Facts[keptSum]; ok {
		mean("kept_reward", sum, float64(r.Counts["kept"]))
	}
	if n := r.Counts["kept"] + r.Counts["dropped"]; n > 0 {
		at["kept_share"] = float64(r.Counts["kept"]) / float64(n)
	}
	if sum, ok := r.Facts["sampled_tokens"]; ok {
		mean("tokens_per_row", sum, float64(r.Rows))
	}
	for name, sum := range r.Facts {
		if reward, ok := strings.CutPrefix(strings.TrimSuffix(name, ".sum"), rewards); ok && strings.HasSuffix(name, ".sum") {
			mean("rewards/"+reward, sum, r.Facts[rewards+reward+".scored"])
		}
	}
	var out []Scalar
	for _, name := range slices.Sorted(maps.Keys(at)) {
		if v := at[name]; !math.IsNaN(v) && !math.IsInf(v, 0) {
			out = append(out, Scalar{f.Series() + "/" + name, v})
		}
	}
	return out
}

// Names of facts.
const (
	rewards   = "rewards."
	rewardSum = "reward_sum"
	keptSum   = "kept_reward_sum"
)
