package harbor

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/storage/fault"
)

// Exporter writes Harbor's manifest of a dataset, named after the run: the tasks that the
// rows are attempts at, each once, in the order of the rows.
var Exporter = exporters.Format{
	Name: "harbor-dataset", For: exporters.Viewing, Help: "Harbor's manifest dataset.toml: the names and digests of the tasks that were attempted",
	Of: exporters.Rows, Exports: []exporters.Extension{".toml"}, Other: newManifest,
	Reads: func(column string) bool { return column == "example" },
	Notes: "Rows of tasks that are not Harbor's are counted as no_harbor_task, and those whose task has no name as no_org_name.\n",
}

type manifest struct {
	Dataset *named  `toml:"dataset,omitempty"`
	Tasks   []named `toml:"tasks"`
}

// named is a dataset, or a task with certain files.
type named struct {
	Name   string `toml:"name"`             // org/name
	Digest string `toml:"digest,omitempty"` // of a task: sha256:HEX
}

var (
	orgName = regexp.MustCompile(`^[0-9A-Za-z][\w.-]*/[0-9A-Za-z][\w.-]*$`) // without ".."
	notIn   = regexp.MustCompile(`[^\w.-]+|\.\.+`)                          // a name
)

func newManifest(out io.Writer) exporters.Sink {
	var text bytes.Buffer
	lines, seen := toml.NewEncoder(&text), map[named]bool{}
	lines.Indent = ""
	return exporters.RawLines(func(dst []byte, x *exporters.Item) ([]byte, int64, error) {
		var f Fields
		err := json.Unmarshal([]byte(x.Rows[0].Example), &f)
		switch task := (named{f.ID, "sha256:" + f.Digest}); {
		case err != nil || len(f.Digest) != 64:
			x.Skip("no_harbor_task")
		case !orgName.MatchString(f.ID) || strings.Contains(f.ID, ".."):
			x.Skip("no_org_name")
			x.Lose(`a task whose name is not org/name (write [task] name = "org/name" in its task.toml, and roll out again)`)
		case !seen[task]:
			m := manifest{Tasks: []named{task}}
			if len(seen) == 0 {
				run := strings.TrimLeft(notIn.ReplaceAllString(x.Rows[0].Run, "-"), "._-")
				m.Dataset = &named{Name: "rollmill/" + cmp.Or(run, "tasks")}
			}
			seen[task] = true
			text.Reset()
			err := lines.Encode(m)
			return append(dst, text.Bytes()...), 1, err
		}
		return dst, 0, nil
	})(out)
}

// listed returns the folders of the tasks in a manifest, sorted. A task that is not below
// the manifest's folder, or has other files there, is an error.
func listed(file string) (out []string, err error) {
	var m manifest
	if _, err := toml.DecodeFile(file, &m); err != nil || len(m.Tasks) == 0 {
		return nil, fault.Invalid(file, "name a folder of tasks, or a dataset.toml", err, "no list of tasks")
	}
	folders, err := below(filepath.Dir(file))
	same, of := map[named]string{}, map[string]string{} // the folders of tasks, with these files and with any
	for _, dir := range folders {
		var c struct{ Task named }
		_, failed := toml.DecodeFile(filepath.Join(dir, "task.toml"), &c)
		sum, unread := digest(dir)
		if err = errors.Join(err, failed, unread); err != nil {
			return nil, fault.Invalid(dir, "a manifest's folder holds tasks", err, "not a task")
		}
		of[c.Task.Name], same[named{c.Task.Name, "sha256:" + sum}] = dir, dir
	}
	for _, t := range m.Tasks {
		if same[t] == "" {
			return nil, fault.Invalid(file, "restore its files, take it out of the manifest, or update this with `harbor sync`", err,
				"the files of task %q do not have the digest %q: %s", t.Name, t.Digest, cmp.Or(of[t.Name],
					"no folder here has the task"))
		}
		out = append(out, same[t])
	}
	slices.Sort(out)
	return slices.Compact(out), err
}
