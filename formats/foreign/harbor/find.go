package harbor

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/storage/fault"
)

// Find returns the task folders at a place, sorted: the folder of a task, those below a
// folder, those of a pattern, or those in a manifest, a file *.toml. A place without a
// task is an error.
func Find(place string) (out []string, err error) {
	if filepath.Ext(place) == ".toml" {
		return listed(place)
	}
	roots := []string{place}
	if strings.ContainsAny(place, "*?[") {
		if roots, err = filepath.Glob(place); err != nil {
			return nil, fault.Invalid(place, "", err, "not a pattern")
		}
	}
	for _, root := range roots {
		found, err := below(root)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	if len(out) == 0 {
		return nil, fault.Invalid(place, "name a folder with task.toml, or one that holds such folders", fs.ErrNotExist,
			"there is no task")
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// below returns the tasks in a folder; a task holds no other.
func below(root string) (out []string, err error) {
	err = filepath.WalkDir(root, func(dir string, e fs.DirEntry, err error) error {
		if dir == root && errors.Is(err, fs.ErrNotExist) { // there is no task
			return nil
		}
		if err != nil || !e.IsDir() {
			return err
		}
		if _, err := os.Stat(filepath.Join(dir, "task.toml")); err != nil {
			return nil
		}
		out = append(out, dir)
		return fs.SkipDir
	})
	return out, err
}

// Fields are what an example of a task holds: nothing of where its folder is.
type Fields struct {
	ID       string         `json:"id"` // the task's name
	Question string         `json:"question"`
	Digest   string         `json:"task_digest"`
	Metadata map[string]any `json:"metadata,omitempty"`
}

// Fields returns the task as an example's fields.
func (t Task) Fields() Fields { return Fields{t.Name, t.Instruction, t.Digest, t.Metadata} }
