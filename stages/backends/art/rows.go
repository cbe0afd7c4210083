package art

import (
	"bufio"
	"context"
	"encoding/json"
	"io"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/art"
	"github.com/rollmill/rollmill/stages/backends"
)

// WriteRows writes the body of the training request. It asks the server which ART it is.
func (t *Trainer) WriteRows(ctx context.Context, s backends.Submission, groups backends.Groups, to backends.Place) error {
	d, err := t.detect(ctx)
	if err != nil {
		return err
	}
	return to.WriteFile(ctx, rowsFile, func(w io.Writer) error {
		return t.encode(w, groups, shape(d.plain()), s.Fence, func(int64) {})
	})
}

// rowsFile is the body of the training request, as WriteRows writes it.
const rowsFile = "train_model.json"

func (t *Trainer) encode(w io.Writer, groups backends.Groups, appendGroup func([]byte, []formats.Trajectory) []byte,
	fence func() error, sent func(int64)) error {
	out := bufio.NewWriterSize(w, 256<<10)
	if _, err := out.Write(t.head()); err != nil {
		return err
	}
	var buf []byte
	var n int64
	for rows, err := range groups {
		if err != nil {
			return err
		}
		buf = buf[:0]
		if n > 0 {
			buf = append(buf, ',')
		}
		buf = appendGroup(buf, rows)
		if _, err := out.Write(buf); err != nil {
			return err
		}
		n++
		sent(n)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	if err := fence(); err != nil { // what follows lets the server train
		return err
	}
	if _, err := out.WriteString(tail); err != nil {
		return err
	}
	return out.Flush()
}

// shape returns the encoder of a group.
func shape(plain bool) func([]byte, []formats.Trajectory) []byte {
	if plain {
		return art.AppendPlainGroup
	}
	return art.AppendGroup
}

// head returns a training request up to its first group; tail is what follows the last.
func (t *Trainer) head() []byte {
	dev := present(t.cfg.DevConfig)
	data, err := json.Marshal(struct {
		Model   art.Model      `json:"model"`
		Config  Training       `json:"config"`
		Dev     map[string]any `json:"dev_config"`
		Verbose bool           `json:"verbose"`
	}{t.cfg.model(), t.cfg.Training, dev, false})
	if err != nil {
		return nil // the same maps were sent to register before
	}
	return append(data[:len(data)-1], `,"trajectory_groups":[`...)
}

const tail = "]}"
