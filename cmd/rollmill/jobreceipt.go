package main

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/submit"
	"github.com/rollmill/rollmill/storage"
)

// adopt takes from a receipt what no flag says: the backend, and where that is.
// It returns the receipt, nil when there is none. So whoever can read the receipt can ask for the job, in
// whatever folder. Keys are not in receipts, nor are settings that do not tell
// one trainer from another.
func adopt(ctx context.Context, c *cli.Context, in string) (*formats.Receipt, error) {
	if in == "" {
		return nil, nil
	}
	b, err := storage.Open(ctx, in)
	if err != nil {
		return nil, usage("", "--in: %w", err)
	}
	r, err := submit.ReadReceipt(ctx, b)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // said where it is needed
	}
	if err != nil {
		return nil, err
	}
	var said [][2]string
	if t := r.Target; t != nil && (!c.IsSet("backend") || c.String("backend") == t.Backend) {
		said = append([][2]string{{"backend", t.Backend}}, settingsOf(*t)...)
	}
	said = slices.DeleteFunc(said, func(s [2]string) bool { return s[1] == "" || c.IsSet(s[0]) })
	for _, s := range said {
		if err := c.Set(s[0], s[1]); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// settingsOf are the flags that a target is made of, backend by backend.
func settingsOf(t formats.Target) (out [][2]string) {
	switch t.Backend {
	case "art":
		project, name, _ := strings.Cut(t.Model, "/")
		address := "target"
		if strings.HasPrefix(t.Address, "http://") {
			address = "url"
		}
		return [][2]string{{"project", project}, {"name", name}, {address, t.Address}}
	case "command":
		if out = append(out, [2]string{"trainer", t.Address}); t.Model != "policy" {
			out = append(out, [2]string{"name", t.Model})
		}
		return out
	case "openai":
		at := max(strings.LastIndex(t.Model, ":"), 0)
		return [][2]string{{"fine-tuning-url", t.Address}, {"base-model", t.Model[:at]}, {"method", strings.TrimPrefix(t.Model[at:], ":")}}
	case "customizer":
		if m := strings.Split(t.Model, ":"); len(m) == 3 {
			return [][2]string{{"entity-url", t.Address}, {"customization-config", m[0]}, {"training-type", m[1]}, {"finetuning-type", m[2]}}
		}
	case "hub":
		place, tables, _ := strings.Cut(t.Model, ":")
		id, branch, _ := strings.Cut(place, "@")
		out = [][2]string{{"hub-url", t.Address}, {"repository", id}, {"branch", branch}}
		for _, table := range strings.Split(tables, "+") {
			out = append(out, [2]string{"tables", table})
		}
	case "file":
		for _, kind := range strings.Split(t.Model, "+") {
			out = append(out, [2]string{"kinds", kind})
		}
	}
	return out
}
