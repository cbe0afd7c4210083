// Package clusters computes the standard error of a mean over rows that come in groups.
package clusters

import "math"

// Z95 is the 97.5 % quantile of the normal distribution: a band of 95 % reaches
// Z95 standard errors to both sides of a mean.
const Z95 = 1.959964

// Clusters computes the standard error of a mean over rows that come in groups.
// Attempts at one example resemble each other, so rows are not independent, but
// groups are. With G groups, n values, mean m, and in group g the sum S of its c
// values:
//
//	SE² = G/(G-1) · Σ (S - c·m)² / n²
//
// This is the clustered standard error of Miller, "Adding Error Bars to Evals"
// (arXiv 2411.00640, 2024), section 2.2, with the correction for few groups of
// Cameron and Miller, "A Practitioner's Guide to Cluster-Robust Inference" (2015).
// With one value per group it is the usual standard error. It needs one pass and
// constant memory; values are taken relative to the first one, against rounding.
type Clusters struct {
	shift, n, sum, groups float64
	ss, sc, cc            float64 // sums over groups of S², S·c and c²
	s, c                  float64 // of the group that is being read
}

// Add adds a value of the group that is being read.
func (k *Clusters) Add(v float64) {
	if k.n == 0 {
		k.shift = v
	}
	k.n++
	k.s, k.c = k.s+v-k.shift, k.c+1
}

// End ends a group.
func (k *Clusters) End() {
	if k.c == 0 {
		return
	}
	k.groups++
	k.sum += k.s
	k.ss, k.sc, k.cc = k.ss+k.s*k.s, k.sc+k.s*k.c, k.cc+k.c*k.c
	k.s, k.c = 0, 0
}

// Err returns the standard error, or nil for fewer than two groups.
func (k *Clusters) Err() *float64 {
	if k.groups < 2 {
		return nil
	}
	m := k.sum / k.n
	e := math.Sqrt(max(0, k.ss-2*m*k.sc+m*m*k.cc)*k.groups/(k.groups-1)) / k.n
	if math.IsNaN(e) || math.IsInf(e, 0) {
		return nil
	}
	return &e
}
