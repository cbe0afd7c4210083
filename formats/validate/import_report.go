package validate

import (
	"cmp"
	"fmt"
	"slices"
)

// Report is what a source check found.
type Report struct {
	summary            // of all files
	FileCount int      `json:"file_count"`
	Files     []file   `json:"files"`           // the first maxFiles, in order
	Other     *summary `json:"other,omitempty"` // of all files after these
	Meaning   []use    `json:"meaning"`         // of the uses
}

// file is what was found in one file. A group counts in the file of its first
// row.
type file struct {
	Name string `json:"name"`
	summary
}

// summary is what was found in some rows.
type summary struct {
	Rows     int64      `json:"rows"`
	Groups   int64      `json:"groups"`
	Uses     []useCount `json:"uses"`
	Findings []limit    `json:"findings"`
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

// limit is what a check found, and what it limits. The help is in the summary of
// all files only.
type limit struct {
	Name     string        `json:"name"`
	Severity Severity      `json:"severity"`
	Of       string        `json:"of"`    // what is counted: ofRow or ofGroup
	Count    int64         `json:"count"` // of these
	Rows     int64         `json:"rows"`  // the same for ofRow; else the rows of these groups
	First    []sourcePlace `json:"first"` // a few of them; of a group its first row
	Blocks   []string      `json:"blocks"`
	What     string        `json:"what,omitempty"`
	Help     string        `json:"help,omitempty"` // what to do
}

const (
	ofRow   = "rows"
	ofGroup = "groups"
)

// sourcePlace is where a row is in the source.
type sourcePlace struct {
	File   string `json:"file"`
	Line   int64  `json:"line,omitempty"` // from 1; 0 when the file has no lines
	Record int64  `json:"record"`         // from 0
}

func (p sourcePlace) String() string { return p.File + p.within() }

// within returns the place within its file.
func (p sourcePlace) within() string {
	if p.Line > 0 {
		return fmt.Sprintf(":%d", p.Line)
	}
	return fmt.Sprintf(" record %d", p.Record)
}

// Report returns what was found. No row can be added after it. It takes memory
// for the rows of the largest group, some 160 bytes each.
func (sc *SourceCheck) Report() (Report, error) {
	tallies, err := sc.count()
	if err != nil {
		return Report{}, err
	}
	var sum tally
	for i := range tallies {
		sum.merge(&tallies[i])
	}
	r := Report{summary: sc.summary(&sum, true), FileCount: len(sc.files), Files: []file{}, Meaning: allUses[:]}
	for i := range tallies {
		if s := sc.summary(&tallies[i], false); i < maxFiles {
			r.Files = append(r.Files, file{Name: sc.files[i], summary: s})
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

func (sc *SourceCheck) summary(t *tally, help bool) summary {
	s := summary{Rows: t.rows, Groups: t.groups, Uses: []useCount{}, Findings: []limit{}}
	for i := range allUses {
		s.Uses = append(s.Uses, t.use(i))
	}
	for c := range imported {
		f := &t.found[c]
		if f.count == 0 && f.rows == 0 {
			continue
		}
		k := &imported[c]
		found := limit{Name: k.Name, Severity: cmp.Or(k.AtImport, k.Severity), Of: ofRow, Count: f.count, Rows: f.rows,
			First: []sourcePlace{}, Blocks: k.Blocks.names()}
		if setOf(k.Name)&(singleSet|flatSet) != 0 {
			found.Of = ofGroup
		}
		for _, p := range f.first {
			found.First = append(found.First, sourcePlace{File: sc.files[p.file], Line: p.line, Record: p.record})
		}
		if help {
			found.What, found.Help = k.Help, k.Hint
		}
		s.Findings = append(s.Findings, found)
	}
	return s
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
