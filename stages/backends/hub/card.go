package hub

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/hfhub"
	"github.com/rollmill/rollmill/stages/internal/remote"
)

// change returns the one commit of a submission.
func (t *Trainer) change(ctx context.Context, s backends.Submission, b *batch, groups int64) (hfhub.Change, *record, error) {
	files, recorded := b.files(t.mark(s))
	rec := &record{Format: recordFormat, Token: s.Token, Run: s.Run, Epoch: s.Epoch, Digest: s.Digest, Groups: groups,
		Files: recorded, Skipped: map[string]any{}}
	for _, sp := range b.splits {
		if len(sp.skipped) > 0 {
			rec.Skipped[sp.table.Name+"/"+sp.name] = sp.skipped
		}
		if sp.balance != (chat.Balance{}) {
			put(&rec.Balance, sp.table.Name+"/"+sp.name, sp.balance)
		}
		if sp.tally != nil && sp.tally.In > 0 {
			put(&rec.Sequences, sp.table.Name+"/"+sp.name, sp.tally.Balance())
		}
		if of := sp.table.MadeOf(t.tables); of != "" {
			put(&rec.Of, sp.table.Name, of)
		}
	}
	data, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		return hfhub.Change{}, nil, err
	}
	files = append(files, hfhub.Bytes(recordPath(s.Token), append(data, '\n')))
	change := hfhub.Change{
		Repo: t.cfg.Repo, Revision: t.cfg.Branch, Summary: fmt.Sprintf("rollmill: run %s, epoch %d", s.Run, s.Epoch),
		Description: "submission " + s.Token,
		Guard:       s.Guard, Fence: s.Fence, Settle: t.cfg.Settle,
	}
	if !t.cfg.Keep {
		change.Delete = ours
	}
	card, err := t.card(ctx, files)
	if err != nil {
		return hfhub.Change{}, nil, err
	}
	if card != "" {
		if err := t.store.Warnings(ctx, card); err != nil {
			return hfhub.Change{}, nil, err
		}
		files = append(files, hfhub.Bytes(cardFile, []byte(card)))
	}
	change.Files = files
	return change, rec, nil
}

func put[V any](m *map[string]V, key string, value V) {
	if *m == nil {
		*m = map[string]V{}
	}
	(*m)[key] = value
}

// ours reports whether a file of a repository belongs to a batch.
func ours(path string) bool {
	return slices.ContainsFunc(tables, func(t exporters.Format) bool { return strings.HasPrefix(path, folder(t.Name)) })
}

const (
	cardFile = "README.md"
	cardMark = "<!-- rollmill overwrites this card with each batch; delete this line to keep your edits -->"
)

// card returns the repository's README.md; "" if a person wrote their own.
func (t *Trainer) card(ctx context.Context, files []hfhub.File) (string, error) {
	old, err := t.store.Read(ctx, t.cfg.Repo, t.cfg.Branch, cardFile)
	if err != nil && remote.Status(err) != http.StatusNotFound {
		return "", err
	}
	if err == nil && len(old) > 0 && !strings.Contains(string(old), cardMark) {
		return "", nil
	}
	var paths []string
	for _, f := range files {
		paths = append(paths, f.Path)
	}
	if t.cfg.Keep {
		tree, err := t.store.Tree(ctx, t.cfg.Repo, t.cfg.Branch)
		if err != nil {
			return "", err
		}
		for _, e := range tree {
			paths = append(paths, e.Path)
		}
	}
	return cardOf(t.cfg.Repo, paths), nil
}

func cardOf(id string, paths []string) string {
	var b, columns strings.Builder
	b.WriteString("---\nconfigs:\n")
	first := ""
	for _, t := range tables {
		var splits []string
		for _, name := range []string{train, validation} {
			if slices.ContainsFunc(paths, func(p string) bool { return strings.HasPrefix(p, folder(t.Name)+name+"-") }) {
				splits = append(splits, name)
			}
		}
		if splits == nil {
			continue
		}
		fmt.Fprintf(&b, "- config_name: %s\n", t.Name)
		if first == "" {
			first = t.Name
			b.WriteString("  default: true\n")
		}
		describe(&columns, t)
		b.WriteString("  data_files:\n")
		for _, name := range splits {
			fmt.Fprintf(&b, "  - split: %s\n    path: %s%s-*.parquet\n", name, folder(t.Name), name)
		}
	}
	fmt.Fprintf(&b, "tags:\n- rollmill\n---\n\n# %s\n\n%s\n\n", id, cardMark)
	fmt.Fprintf(&b, "A batch of agent trajectories that was chosen for training.\n\n```python\nfrom datasets import "+
		"load_dataset\n\nrows = load_dataset(%q, %q)\n```\n\n", id, first)
	fmt.Fprintf(&b, "```sql\nSELECT * FROM 'hf://datasets/%s/%s*.parquet';\n```\n\n", id, folder(first))
	b.WriteString("Each commit is one submission; `.rollmill/` says which. To train on exactly one batch, pin its commit: " +
		"`revision=...`.\n")
	return b.String() + columns.String()
}

// describe writes what the columns of a table hold, if its format says so.
func describe(b *strings.Builder, t exporters.Format) {
	if len(t.Columns) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n%s.\n\n| column | meaning |\n|---|---|\n", t.Name, t.Help)
	for _, c := range t.Columns {
		fmt.Fprintf(b, "| `%s` | %s |\n", c.Name, strings.ReplaceAll(c.Meaning, "|", "\\|"))
	}
}

// mark returns what keeps the files of submissions apart, if they are kept.
func (t *Trainer) mark(s backends.Submission) string {
	if !t.cfg.Keep {
		return ""
	}
	return s.Token[:min(len(s.Token), 12)] + "-"
}
