package command

import (
	"context"
	"errors"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/file"
)

// form is a file that was made of the batch.
type form struct {
	URI    string `json:"uri"`
	Rows   int64  `json:"rows"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// formed returns the trainer that writes the forms, nil without any, and gives
// them the names that identities hold.
func formed(cfg *Config, place backends.Place) (*file.Trainer, error) {
	if len(cfg.Forms) == 0 {
		if cfg.RowWeight != "" {
			return nil, &Error{What: "command: --row-weight without a form", Help: "add --form sequences", Usage: true}
		}
		return nil, nil
	}
	t, err := file.New(file.Config{Kinds: cfg.Forms, Choice: cfg.Choice, RowWeight: cfg.RowWeight}, place)
	var misused *file.Error
	if errors.As(err, &misused) {
		return nil, &Error{What: "command: --form", Err: misused, Help: strings.ReplaceAll(misused.Help, "--kinds", "--form"),
			Usage: true}
	}
	if t != nil {
		cfg.Forms = t.Stored()
	}
	return t, err
}

// At returns the trainer that writes its forms at another place.
func (t *Trainer) At(to backends.Place) backends.Trainer {
	there := *t
	if t.files != nil {
		there.files = t.files.Elsewhere(to)
	}
	return &there
}

// ready reads the whole batch and writes its forms.
func (t *Trainer) ready(ctx context.Context, s backends.Submission, groups backends.Groups) (stats backends.BatchStats,
	forms map[string]form, err error) {
	if t.files == nil {
		for _, err := range counted(s.Guarded(groups, nil), &stats) {
			if err != nil {
				return stats, nil, err
			}
		}
		return stats, nil, nil
	}
	files, uris, err := t.files.Write(ctx, s, counted(groups, &stats))
	if err != nil {
		return stats, nil, err
	}
	forms = map[string]form{}
	for i, f := range files {
		forms[t.cfg.Forms[i]] = form{uris[i], f.Rows, f.Bytes, f.SHA256}
	}
	return stats, forms, nil
}

// counted counts the groups and trajectories of a batch, anew each time it is read.
func counted(groups backends.Groups, stats *backends.BatchStats) backends.Groups {
	return func(yield func([]formats.Trajectory, error) bool) {
		*stats = backends.BatchStats{}
		for rows, err := range groups {
			if err == nil {
				stats.Groups++
				stats.Trajectories += int64(len(rows))
			}
			if !yield(rows, err) {
				return
			}
		}
	}
}
