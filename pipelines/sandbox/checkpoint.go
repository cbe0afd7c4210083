package sandbox

import (
	"bytes"
	"context"
	"encoding/gob"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/regular"
)

// checkpoint is everything that a training call changes. It is written whole
// and renamed into place, so that the weights, the step and the submission that
// produced them are either all old or all new.
type checkpoint struct {
	Project, Name, BaseModel string

	Step      int
	Hidden    int
	Weights   []float64
	Optimiser optimiser

	Trainings     int // training calls that were carried out
	TrainedTokens int64
	Submissions   map[string]submission // by key, since the beginning
}

// submission is the result of a training call with a key.
type submission struct {
	Step  int      // of the weights it led to
	Lines [][]byte // its answer
}

func (c *checkpoint) policy() *policy { return &policy{hidden: c.Hidden, weights: c.Weights} }

// modelDir returns the folder of a model's checkpoints. Names may contain any character.
func modelDir(dir, project, name string) string {
	return filepath.Join(dir, "models", fileName(project), fileName(name))
}

// fileName keeps letters, digits, - and _, and writes other bytes in hex.
func fileName(name string) string {
	var b strings.Builder
	for _, c := range []byte(name) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02x", c)
		}
	}
	return b.String()
}

const checkpointSuffix = ".checkpoint"

func checkpointFile(step int) string { return fmt.Sprintf("step-%06d%s", step, checkpointSuffix) }

// save makes the checkpoint durable: when it returns, the checkpoint survives a
// crash; until then the previous one does.
func (c *checkpoint) save(dir string) error {
	if dir == "" {
		return nil
	}
	var body bytes.Buffer
	if err := gob.NewEncoder(&body).Encode(c); err != nil {
		return fmt.Errorf("encoding step %d: %w", c.Step, err)
	}
	ctx := context.Background() // a training call is finished even if its client is gone
	into, err := storage.Open(ctx, modelDir(dir, c.Project, c.Name))
	if err == nil {
		err = into.Write(ctx, checkpointFile(c.Step), body.Bytes())
	}
	if err != nil {
		return fmt.Errorf("saving step %d: %w", c.Step, err)
	}
	return nil
}

// loadAll reads the checkpoints of every model below dir, each model's in order of step.
func loadAll(dir string) (map[modelKey][]*checkpoint, error) {
	all := map[modelKey][]*checkpoint{}
	err := filepath.WalkDir(filepath.Join(dir, "models"), func(path string, d fs.DirEntry, err error) error {
		switch {
		case os.IsNotExist(err):
			return nil
		case err != nil:
			return err
		case d.IsDir() || !strings.HasSuffix(path, checkpointSuffix):
			return nil
		}
		c, err := loadCheckpoint(path)
		if err != nil {
			return err
		}
		key := modelKey{c.Project, c.Name}
		all[key] = append(all[key], c)
		return nil
	})
	for _, list := range all {
		slices.SortFunc(list, func(a, b *checkpoint) int { return a.Step - b.Step })
	}
	return all, err
}

func loadCheckpoint(path string) (*checkpoint, error) {
	body, err := regular.ReadFile(path, maxState)
	if err != nil {
		return nil, err
	}
	c := &checkpoint{}
	if err := gob.NewDecoder(bytes.NewReader(body)).Decode(c); err != nil {
		return nil, fmt.Errorf("reading checkpoint %q: %w", path, err)
	}
	if want := weightCount(c.Hidden); len(c.Weights) != want || len(c.Optimiser.Mean) != want ||
		len(c.Optimiser.Square) != want {
		return nil, fmt.Errorf("reading checkpoint %q: %d weights for %d hidden units, want %d", path,
			len(c.Weights), c.Hidden, want)
	}
	return c, nil
}
