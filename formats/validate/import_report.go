package validate

import (
	"cmp"
	"fmt"
	"slices"
)

// Report is what a source check found.
type Report struct {
	Rows      int64      `json:"rows"`
	Groups    int64      `json:"groups"`
	Uses      []useCount `json:"uses"`
	Findings  []limit    `json:"findings"`
	FileCount int        `json:"file_count"`
	Meaning   []use      `json:"meaning"` // of the uses
}

// useCount is for how many rows a use is possible.
type useCount struct {
	Use      string   `json:"use"`
	Verdict  string   `json:"verdict"`
	Possible int64    `json:"possible"` // rows
	Of       int64    `json:"of"`
	Because  []reason `json:"because,omitempty"` // the most frequent first
}

// The verdicts say whether a use is possible.
const (
	possible   = "possible"
	partly     = "partly"
	impossible = "impossible"
)

// reason is a finding that blocks a use. A row may have several.
type reason struct {
	Finding string `json:"finding"`
	Rows    int64  `json:"rows"`
}

// limit is what a check found, and what it limits.
type limit struct {
	Name     string        `json:"name"`
	Severity Severity      `json:"severity"`
	Of       string        `json:"of"`    // what is counted: ofRow or ofGroup
	Count    int64         `json:"count"` // of these
	Rows     int64         `json:"rows"`  // the same for ofRow; else the rows of these groups
	First    []sourcePlace `json:"first"` // a few of them; of a group its first row
	Blocks   []string      `json:"blocks"`
	What     string        `json:"what"`
	Help     string        `json:"help"` // what to do
}

const (
	ofRow   = "rows"
	ofGroup = "groups"
)

type sourcePlace struct {
	File   string `json:"file"`
	Line   int64  `json:"line,omitempty"` // from 1; 0 when the file has no lines
	Record int64  `json:"record"`         // from 0
}

func (p sourcePlace) String() string { return p.File + p.within() }

func (p sourcePlace) within() string {
	if p.Line > 0 {
		return fmt.Sprintf(":%d", p.Line)
	}
	return fmt.Sprintf(" record %d", p.Record)
}

// Report returns what was found. No row can be added after it. It takes memory
// for the rows of the largest group, some 160 bytes each.
func (sc *SourceCheck) Report() (Report, error) {
	t, err := sc.count()
	if err != nil {
		return Report{}, err
	}
	r := Report{Rows: t.rows, Groups: t.groups, FileCount: len(sc.files), Uses: []useCount{}, Findings: []limit{}, Meaning: allUses[:]}
	for i := range allUses {
		r.Uses = append(r.Uses, t.use(i))
	}
	for c := range imported {
		f := &t.found[c]
		if f.count == 0 {
			continue
		}
		k := &imported[c]
		found := limit{Name: k.Name, Severity: cmp.Or(k.AtImport, k.Severity), Of: ofRow, Count: f.count, Rows: f.rows,
			First: []sourcePlace{}, Blocks: k.Blocks.names(), What: k.Help, Help: k.Hint}
		if setOf(k.Name)&(singleSet|flatSet) != 0 {
			found.Of = ofGroup
		}
		for _, p := range f.first {
			found.First = append(found.First, sourcePlace{File: sc.files[p.file], Line: p.line, Record: p.record})
		}
		r.Findings = append(r.Findings, found)
	}
	return r, nil
}

// RowsOf returns how many rows a finding has.
func (r *Report) RowsOf(name string) int64 {
	if at := slices.IndexFunc(r.Findings, func(l limit) bool { return l.Name == name }); at >= 0 {
		return r.Findings[at].Rows
	}
	return 0
}

// Refuses returns the names of findings that exclude rows from a use because training on
// them would be wrong, without those that are accepted.
func (r *Report) Refuses(a Accepted) (names []string) {
	for _, f := range r.Findings {
		if f.Severity.AtLeast(Error) && len(f.Blocks) > 0 && !a[f.Name] {
			names = append(names, f.Name)
		}
	}
	return names
}

// use returns for how many rows a use is possible, and what blocks the others.
func (t *tally) use(i int) useCount {
	u := useCount{Use: allUses[i].Name, Verdict: possible, Possible: t.usable[i], Of: t.rows}
	switch {
	case u.Possible == 0:
		u.Verdict = impossible
	case u.Possible < u.Of:
		u.Verdict = partly
	default:
		return u
	}
	for c := range imported {
		if n := t.found[c].rows; n > 0 && imported[c].Blocks&(1<<i) != 0 {
			u.Because = append(u.Because, reason{imported[c].Name, n})
		}
	}
	slices.SortStableFunc(u.Because, func(a, b reason) int { return cmp.Compare(b.Rows, a.Rows) })
	return u
}
