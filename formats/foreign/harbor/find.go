package harbor

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
)

// Find returns the task folders at a place, sorted: the folder of a task, those below a
// folder, or those of a pattern. A place without a task is an error.
func Find(place string) (out []string, err error) {
	roots := []string{place}
	if strings.ContainsAny(place, "*?[") {
		if roots, err = filepath.Glob(place); err != nil {
			return nil, formats.Invalid(place, "", err, "not a pattern")
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
		return nil, formats.Invalid(place, "name a folder with task.toml, or one that holds such folders", fs.ErrNotExist, "no task")
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

// Fields are what an example of a task holds.
type Fields struct {
	ID       string         `json:"id"`
	Question string         `json:"question"`
	Folder   string         `json:"task"`
	Digest   string         `json:"digest"` // of the folder
	Metadata map[string]any `json:"metadata,omitempty"`
}

// Cached returns the local folder of a task that came from a bucket.
func Cached(digest string) (string, error) {
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "rollmill", "harbor", digest), err
}

// Local returns the local folder of an example's task.
func (f Fields) Local() (string, error) {
	if strings.Contains(f.Folder, "://") {
		return Cached(f.Digest)
	}
	return filepath.FromSlash(f.Folder), nil
}

// Example returns the task as an example: its name is the id, its instruction the
// question. place is where the user has the folder.
func (t Task) Example(row int, place string) (formats.Example, error) {
	fields, err := json.Marshal(Fields{t.Name, t.Instruction, place, t.Digest, t.Metadata})
	if err != nil { // a number that JSON does not have
		return formats.Example{}, formats.Invalid(filepath.Join(t.Dir, "task.toml"), "", err, "its metadata is not JSON")
	}
	return formats.Example{ID: t.Name, Question: t.Instruction, Fields: fields, Row: row}, nil
}
