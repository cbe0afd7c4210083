package monitors

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

const ending = ".prom" // of the files that the collector reads

type file struct {
	path, command, shard string
	folder               string         // in which path, "" until the first write, names the run and the shard
	stages               []stageMetrics // the last figures of each
	before               past           // nil until it is read
}

// update writes the file with the stage's figures.
func (f *file) update(g stageMetrics) error {
	at := slices.IndexFunc(f.stages, func(known stageMetrics) bool {
		return known.Stage == g.Stage && known.Validation == g.Validation
	})
	if at < 0 {
		f.stages = append(f.stages, g)
	} else {
		f.stages[at] = g
	}
	return f.write(nil, g.Run)
}

// close writes the file for the last time.
func (f *file) close(e End) error { return f.write(&e, e.Run) }

// write replaces the file. end is nil while the command runs.
func (f *file) write(end *End, run string) error {
	if f.path == "" {
		name := "rollmill-" + strings.ReplaceAll(f.command, " ", "-")
		if run != "" {
			name += "-" + url.PathEscape(run)
		}
		if f.shard != "" {
			name += "-" + f.shard
		}
		f.path = filepath.Join(f.folder, name+ending)
	}
	if f.before == nil {
		f.before = readPast(f.path, f.command, run)
	}
	s := set{}
	for _, g := range f.stages {
		s.stage(g)
	}
	s.command(f.command, run, f.before, end)
	if f.shard != "" { // two files must not have one series
		for _, family := range s {
			for _, x := range family.Metric {
				x.Label = append(x.Label, &dto.LabelPair{Name: new("shard"), Value: &f.shard})
			}
		}
	}
	var text bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(s)) {
		if _, err := expfmt.MetricFamilyToText(&text, s[name]); err != nil {
			return fmt.Errorf("metrics: %w", err)
		}
	}
	return replace(f.path, text.Bytes())
}

// replace replaces a file as a whole. Everybody may read it: the collector runs as
// another user. It ignores the name that the file has while it is written.
func replace(path string, data []byte) error {
	draft, err := os.CreateTemp(filepath.Dir(path), ".rollmill-*")
	if err != nil {
		return err
	}
	defer os.Remove(draft.Name()) // fails after the rename
	_, err = draft.Write(data)
	if err = errors.Join(err, draft.Chmod(0o644), draft.Close()); err != nil {
		return err
	}
	return os.Rename(draft.Name(), path)
}
