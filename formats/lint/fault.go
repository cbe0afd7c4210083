package lint

import "github.com/rollmill/rollmill/formats"

// faultOf returns the finding of a group, if it has one. A group without scores
// may get them later.
func faultOf(rows []fact) (c check, bad bool) {
	valid, scored := 0, 0
	var lo, hi float64 // of the scores
	for i := range rows {
		f := &rows[i]
		if f.found.has(failed) {
			continue
		}
		valid++
		if !f.scored {
			continue
		}
		if scored++; scored == 1 {
			lo, hi = f.score, f.score
		}
		lo, hi = min(lo, f.score), max(hi, f.score)
	}
	switch {
	case valid == 1 || scored == 1:
		return groupOfOne, true
	case scored > 1 && formats.Flat(lo, hi, formats.FlatTolerance):
		return flatGroup, true
	}
	return 0, false
}
