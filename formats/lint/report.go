package lint

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rollmill/rollmill/formats/validate"
)

// Report is what a lint found.
type Report struct {
	Summary             // of all files
	FileCount int       `json:"file_count"`
	Files     []File    `json:"files"`           // the first MaxFiles, in order
	Other     *Summary  `json:"other,omitempty"` // of all files after these
	Meaning   []UseHelp `json:"meaning"`         // of the uses
}

// File is what was found in one file. A group counts in the file of its first
// row.
type File struct {
	Name string `json:"name"`
	Summary
}

// Summary is what was found in some rows.
type Summary struct {
	Rows     int64      `json:"rows"`
	Groups   int64      `json:"groups"`
	Uses     []UseCount `json:"uses"`
	Findings []Finding  `json:"findings"`
}

// UseCount is for how many rows a use is possible.
type UseCount struct {
	Use      Use      `json:"use"`
	Verdict  Verdict  `json:"verdict"`
	Possible int64    `json:"possible"` // rows
	Of       int64    `json:"of"`
	Because  []Reason `json:"because,omitempty"` // the most frequent first
}

// Verdict says whether a use is possible.
type Verdict string

// The verdicts.
const (
	Possible   Verdict = "possible"
	Partly     Verdict = "partly"
	Impossible Verdict = "impossible"
)

// Reason is a finding that blocks a use. A row may have several.
type Reason struct {
	Finding string `json:"finding"`
	Rows    int64  `json:"rows"`
}

// Finding is what a check found. The help is in the summary of all files only.
type Finding struct {
	Name     string            `json:"name"`
	Severity validate.Severity `json:"severity"`
	Of       string            `json:"of"`    // what is counted: Rows or Groups
	Count    int64             `json:"count"` // of these
	Rows     int64             `json:"rows"`  // the same for Rows; else the rows of these groups
	First    []Place           `json:"first"` // a few of them; of a group its first row
	Blocks   []Use             `json:"blocks"`
	What     string            `json:"what,omitempty"`
	Help     string            `json:"help,omitempty"`
}

// Place is where a row is in the source.
type Place struct {
	File   string `json:"file"`
	Line   int64  `json:"line,omitempty"` // from 1; 0 when the file has no lines
	Record int64  `json:"record"`         // from 0
}

func (p Place) String() string { return p.File + p.within() }

// within returns the place within its file.
func (p Place) within() string {
	if p.Line > 0 {
		return fmt.Sprintf(":%d", p.Line)
	}
	return fmt.Sprintf(" record %d", p.Record)
}

// Report returns what was found. No row can be added after it. It takes memory
// for the rows of the largest group, some 70 bytes each.
func (l *Lint) Report() (Report, error) {
	tallies, err := l.count()
	if err != nil {
		return Report{}, err
	}
	var sum tally
	for i := range tallies {
		sum.merge(&tallies[i])
	}
	r := Report{Summary: l.summary(&sum, true), FileCount: len(l.files), Files: []File{}, Meaning: Uses()}
	for i := range tallies {
		if s := l.summary(&tallies[i], false); i < MaxFiles {
			r.Files = append(r.Files, File{Name: l.files[i], Summary: s})
		} else {
			r.Other = &s
		}
	}
	return r, nil
}

// merge adds a tally of later files.
func (t *tally) merge(o *tally) {
	t.rows += o.rows
	t.groups += o.groups
	for c := range t.found {
		f, later := &t.found[c], &o.found[c]
		f.count += later.count
		f.rows += later.rows
		f.first = append(f.first, later.first[:min(len(later.first), MaxPlaces-len(f.first))]...)
	}
	for u := range t.usable {
		t.usable[u] += o.usable[u]
	}
}

func (l *Lint) summary(t *tally, help bool) Summary {
	s := Summary{Rows: t.rows, Groups: t.groups, Uses: []UseCount{}, Findings: []Finding{}}
	for i, u := range Uses() {
		s.Uses = append(s.Uses, t.use(i, u.Use))
	}
	for c, k := range Checks() {
		f := &t.found[c]
		if f.count == 0 && f.rows == 0 {
			continue
		}
		found := Finding{Name: k.Name, Severity: k.Severity, Of: k.Of, Count: f.count, Rows: f.rows, First: []Place{}, Blocks: k.Blocks}
		for _, p := range f.first {
			found.First = append(found.First, Place{File: l.files[p.file], Line: p.line, Record: p.record})
		}
		if help {
			found.What, found.Help = k.What, k.Help
		}
		s.Findings = append(s.Findings, found)
	}
	return s
}

// use returns for how many rows a use is possible, and what blocks the others.
func (t *tally) use(i int, name Use) UseCount {
	u := UseCount{Use: name, Verdict: Possible, Possible: t.usable[i], Of: t.rows}
	switch {
	case u.Possible == 0:
		u.Verdict = Impossible
	case u.Possible < u.Of:
		u.Verdict = Partly
	default:
		return u
	}
	for c := range t.found {
		if n := t.found[c].rows; n > 0 && table[c].blocks&(1<<i) != 0 {
			u.Because = append(u.Because, Reason{table[c].name, n})
		}
	}
	slices.SortStableFunc(u.Because, func(a, b Reason) int { return cmp.Compare(b.Rows, a.Rows) })
	return u
}
