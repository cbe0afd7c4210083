package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages/curate/rules"
)

// columnsPage returns the documentation of every column as a Markdown page.
func columnsPage() string {
	var b strings.Builder
	b.WriteString("# Columns\n\nNames are API. *Volatile* columns depend on time and machines and are in no digest;\n" +
		"*payload* columns are what `payload_digest` covers; *heavy* ones hold nearly all bytes.\n")
	for _, d := range schema.Documented {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| column | type | meaning | null | |\n|---|---|---|---|---|\n", d.Kind, d.Title)
		for _, c := range schema.Columns(d.Kind) {
			if d.Kind == schema.TableDecisions && c.Path == "reason" {
				c.Meaning += ": one of " + strings.Join(dropReasons(), ", ")
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", c.Path, typeAndUnit(c), cell(c.Meaning),
				cell(c.Null), marks(c))
		}
	}
	return b.String()
}

// dropReasons returns every reason for which curate drops a trajectory, in the order
// it checks them.
func dropReasons() []string {
	out := []string{decision.DropFailed, decision.DropUnscored}
	for _, k := range rules.All.All() {
		for _, reason := range k.Reasons {
			if !slices.Contains(out, reason) {
				out = append(out, reason)
			}
		}
	}
	return out
}

func typeAndUnit(c schema.Column) string {
	if c.Unit == "" {
		return c.Type
	}
	return c.Type + ", " + c.Unit
}

func marks(c schema.Column) string {
	var out []string
	for _, m := range []struct {
		on   bool
		name string
	}{{c.Volatile, "volatile"}, {c.Payload, "payload"}, {c.Heavy, "heavy"}} {
		if m.on {
			out = append(out, m.name)
		}
	}
	return strings.Join(out, ", ")
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

func TestMarkdownHasARowForEachColumn(t *testing.T) {
	page := columnsPage()
	for _, d := range schema.Documented {
		for _, c := range schema.Columns(d.Kind) {
			if !strings.Contains(page, "| `"+c.Path+"` |") {
				t.Errorf("%s: column %s is not on the page", d.Kind, c.Path)
			}
		}
	}
	for i, line := range strings.Split(page, "\n") {
		if n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|"); strings.HasPrefix(line, "|") && n != 6 {
			t.Errorf("line %d has %d bars, want 6: %s", i+1, n, line)
		}
	}
}
