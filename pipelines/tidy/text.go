package tidy

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/rollmill/rollmill/formats/plural"
)

// WriteText prints what was or would be removed, and what was kept although a
// rule would remove it.
func (p *Plan) WriteText(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	word := "would remove"
	if p.Applied {
		word = "removed"
	}
	for _, i := range p.Removed {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s: %s\n", word, plural.Bytes(i.Bytes), plural.Of(i.Files, "file"), i.URI,
			i.What, i.Why)
	}
	for _, k := range p.Kept {
		forced := ""
		if k.Forced {
			forced = " (--force removes it)"
		}
		fmt.Fprintf(t, "kept\t\t\t%s\t%s%s\n", k.URI, k.Why, forced)
	}
	for _, text := range p.Problems {
		fmt.Fprintf(t, "problem\t\t\t%s\n", text)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, text := range p.Notes {
		fmt.Fprintln(w, text)
	}
	_, err := fmt.Fprintf(w, "%s %s in %s\n", word, plural.Bytes(p.Bytes), plural.Of(p.Files, "file"))
	if err == nil && !p.Applied && p.Files > 0 {
		_, err = fmt.Fprintln(w, "nothing was changed: --apply removes them")
	}
	return err
}
