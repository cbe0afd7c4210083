package backendtest

import (
	"bytes"
	"context"
	"io/fs"
	"slices"
	"testing"

	"github.com/rollmill/rollmill/stages/backends"
)

func rows(t *testing.T, s Subject) {
	write := s.Trainer.Describe().WriteRows
	if write == nil {
		return
	}
	before, err := s.Trainer.Begin(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]string{}
	place := backends.Place{URI: "mem://shown", Begin: func(context.Context) (backends.Draft, error) {
		return &draft{files: shown}, nil
	},
		Read: func(context.Context, string) ([]byte, error) { return nil, fs.ErrNotExist }}
	if err := write(t.Context(), submission("batch", before), Batch(), place); err != nil {
		t.Fatal(err)
	}
	noJobs(t, s)
	if _, err := s.Trainer.Submit(t.Context(), submission("batch", before), Batch(), ignore); err != nil {
		t.Fatal(err)
	}
	if len(shown) == 0 {
		t.Error("no rows are shown")
	}
	for name, data := range shown {
		if !slices.Contains(s.Sent(), data) {
			t.Errorf("%s is not what was sent: %.300q", name, data)
		}
	}
}

// draft is a file in memory.
type draft struct {
	bytes.Buffer
	files map[string]string
}

func (d *draft) Replace(_ context.Context, name string) error {
	d.files[name] = d.String()
	return nil
}

func (d *draft) Discard() error { return nil }
