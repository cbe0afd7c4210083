// Package funnel says what became of the examples and attempts of epochs, step by step, up to the
// rows that were submitted, and why others were left out. It adds up what manifests and receipts
// count; it opens no dataset.
package funnel

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/pipelines/look/text"
)

// Funnel is the sum over epochs.
type Funnel struct {
	Steps   []Step   `json:"steps"`
	Unknown []string `json:"unknown,omitempty"` // what no manifest says
}

// Step is a step. In is Out of the step before with its unit, plus what is Added; and it is Out plus
// what is Lost and what is Open.
type Step struct {
	Name  string `json:"name"`
	Unit  string `json:"unit"` // what is counted
	In    int64  `json:"in"`
	Out   int64  `json:"out"`
	Added counts `json:"added,omitempty"` // what comes in here, by source
	Lost  counts `json:"lost,omitempty"`  // by reason
	Open  counts `json:"open,omitempty"`  // neither out nor lost, by what is missing
}

// add adds an epoch's step. Its Out was counted apart: what no reason explains has its name.
func (f *Funnel) add(name, unit string, in, out int64, added, lost, open counts) {
	at := slices.IndexFunc(f.Steps, func(s Step) bool { return s.Name == name })
	if at < 0 { // all epochs have the same steps, as far as they go
		at, f.Steps = len(f.Steps), append(f.Steps, Step{Name: name, Unit: unit, Added: counts{}, Lost: counts{}, Open: counts{}})
	}
	s := &f.Steps[at]
	rest := in + added.sum() - lost.sum() - open.sum() - out
	s.Lost.add(counts{"for a reason that is not counted": max(0, rest)}, lost)
	s.Added.add(counts{"from elsewhere": max(0, -rest)}, added)
	s.Open.add(open)
	s.In, s.Out = s.In+in+added.sum()+max(0, -rest), s.Out+out
}

// counts are numbers above 0 by name.
type counts map[string]int64

func (c counts) add(others ...counts) {
	for _, o := range others {
		for name, n := range o {
			c[name] += n
		}
	}
	maps.DeleteFunc(c, func(_ string, n int64) bool { return n == 0 })
}

func (c counts) sum() (n int64) {
	for _, v := range c {
		n += v
	}
	return n
}

// Row is a line of the table: a step, or below it, with Name and Number alone, a reason.
type Row struct{ Name, Number, Share, From string }

// Rows returns the table, without steps into which nothing came. Of the reasons the largest come first, and what is open last.
func (f Funnel) Rows() (rows []Row) {
	for _, s := range f.Steps {
		r := Row{s.Name, "-", "", "of " + text.Thousands(s.In) + " " + s.Unit}
		if s.In > s.Open.sum() {
			r.Number, r.Share = text.Thousands(s.Out), fmt.Sprintf("%.1f %%", 100*float64(s.Out)/float64(s.In))
		} else if s.In == 0 {
			continue
		}
		for i, name := range plural.Largest(s.Added) {
			if s.Added[name] < s.In || name == "from elsewhere" { // else it says the same again
				r.From += []string{": ", ", "}[min(i, 1)] + text.Thousands(s.Added[name]) + " " + text.Line(name)
			}
		}
		rows = append(rows, r)
		for _, c := range []counts{s.Lost, s.Open} {
			for _, name := range plural.Largest(c) {
				rows = append(rows, Row{Name: text.Line(name), Number: text.Thousands(c[name])})
			}
		}
	}
	return rows
}

// WriteText writes the table, and what is not known.
func (f Funnel) WriteText(w io.Writer) error {
	out := bufio.NewWriter(w)
	for _, r := range slices.Insert(f.Rows(), 0, Row{"step", "number", "share", "of what came in"}) {
		if r.From == "" {
			r.Name = "  " + r.Name
		}
		out.WriteString(strings.TrimRight(fmt.Sprintf("%-36s %9s %8s  %s", r.Name, r.Number, r.Share, r.From), " ") + "\n")
	}
	for _, u := range f.Unknown {
		out.WriteString("not known: " + text.Line(u) + "\n")
	}
	return out.Flush()
}
