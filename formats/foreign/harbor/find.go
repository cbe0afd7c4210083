package harbor

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
)

// Find returns the task folders that a list with commas names: each entry is a task's
// folder, a folder below which tasks are, or a pattern of such. They are sorted, and
// none occurs twice. An entry without a task is an error.
func Find(list string) ([]string, error) {
	var out []string
	for entry := range strings.SplitSeq(list, ",") {
		roots := []string{entry}
		if strings.ContainsAny(entry, "*?[") {
			var err error
			if roots, err = filepath.Glob(entry); err != nil {
				return nil, formats.Invalid(entry, "", err, "not a pattern")
			}
		}
		before := len(out)
		for _, root := range roots {
			found, err := below(root)
			if err != nil {
				return nil, err
			}
			out = append(out, found...)
		}
		if len(out) == before {
			return nil, formats.Invalid(entry, "name a folder with task.toml, or one that holds such folders", fs.ErrNotExist, "no task")
		}
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// below returns the tasks in a folder; a task holds no other.
func below(root string) (out []string, err error) {
	err = filepath.WalkDir(root, func(dir string, e fs.DirEntry, err error) error {
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

// Example returns the task as an example: its name is the id, its instruction the
// question.
func (t Task) Example(row int) (formats.Example, error) {
	fields, err := json.Marshal(Fields{t.Name, t.Instruction, filepath.ToSlash(t.Dir), t.Digest, t.Metadata})
	if err != nil { // a number that JSON does not have
		return formats.Example{}, formats.Invalid(filepath.Join(t.Dir, "task.toml"), "", err, "its metadata is not JSON")
	}
	return formats.Example{ID: t.Name, Question: t.Instruction, Fields: fields, Row: row}, nil
}
