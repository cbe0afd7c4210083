package foreign

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/foreigntest"
	"github.com/rollmill/rollmill/formats/foreign/importers"
)

// TestShapes compares what import makes of each file of testdata/importers/shapes.txtar.
func TestShapes(t *testing.T) {
	const path = "../../testdata/importers/shapes.txtar"
	archive, err := txtar.ParseFile(path)
	if err != nil || len(archive.Files) < 50 {
		t.Fatal(len(archive.Files), err)
	}
	for i := 0; i < len(archive.Files); i += 2 {
		words := strings.Fields(archive.Files[i].Name)
		columns := map[string]string{}
		for _, w := range words[2:] {
			name, column, _ := strings.Cut(w, "=")
			columns[name] = column
		}
		got := shape(t, words[1], words[0], archive.Files[i].Data, columns)
		if want := &archive.Files[i+1].Data; *foreigntest.Update {
			*want = []byte(got)
		} else if diff := cmp.Diff(string(*want), got); diff != "" {
			t.Errorf("%s:\n%s", words[0], diff)
		}
	}
	if *foreigntest.Update {
		if err := os.WriteFile(path, txtar.Format(archive), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// shape returns the rows of a file for people: reward, messages with * for those that
// train, and what trl-sft makes of each.
func shape(t *testing.T, format, name string, data []byte, columns map[string]string) string {
	f := &Importers[slices.IndexFunc(Importers, func(f importers.Format) bool { return f.Name == format })]
	var b strings.Builder
	for p, err := range foreigntest.All(*f, importers.File{Name: name, R: strings.NewReader(string(data)), Size: int64(len(data)), Options: &importers.Options{Map: columns}}) {
		if err != nil || p.Err != nil {
			fmt.Fprintln(&b, "refused:", err, p.Err)
			continue
		}
		for i := range p.Items {
			r := &p.Items[i].Row
			if r.Reward != nil {
				fmt.Fprintf(&b, "reward %v ", *r.Reward)
			}
			fmt.Fprintf(&b, "%s example %q, %d tool sets\n", p.Items[i].Pair, r.ExampleID, len(r.ToolSets))
			for k := range r.Messages {
				m := &r.Messages[k]
				fmt.Fprintf(&b, "  %s%s %q", m.Role, map[bool]string{true: "*"}[r.Trained(k)], m.Content)
				for _, part := range []string{m.Reasoning, m.ContentParts, m.ToolCallID} {
					if part != "" {
						fmt.Fprintf(&b, " %q", part)
					}
				}
				for _, c := range m.ToolCalls {
					fmt.Fprintf(&b, " %s %s(%s)", c.ID, c.Name, c.Arguments)
				}
				if len(m.TokenIDs) > 0 {
					fmt.Fprint(&b, " ", m.PromptDeltaIDs, m.TokenIDs)
				}
				fmt.Fprintln(&b)
			}
			r.TrajectoryID = "t"
			if text, skipped := exported(t, "trl-sft", []formats.Trajectory{*r}); text == "" {
				fmt.Fprintf(&b, "  not in trl-sft: %s\n", skipped)
			}
		}
	}
	return b.String()
}
