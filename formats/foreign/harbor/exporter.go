package harbor

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"regexp"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/rollmill/rollmill/formats/foreign/exporters"
)

// Exporter writes the manifest of a dataset of Harbor: the tasks that the rows are
// attempts at, each once, with the digest of its files, in the order of the rows. The
// dataset is named after the run.
var Exporter = exporters.Format{
	Name: "harbor-dataset", For: exporters.Viewing, Help: "Harbor's manifest dataset.toml: the names and digests of the tasks that were attempted",
	Of: exporters.Rows, Exports: []exporters.Extension{exporters.TOML}, Other: newManifest,
	Reads: func(column string) bool { return column == "example" },
	Notes: `Write it as dataset.toml into the folder of the tasks: --examples harbor:DIR/dataset.toml
attempts those that it lists, and Harbor publishes them as a dataset.

Each row whose example is no Harbor task is counted as no_harbor_task. A row of a task
whose name is not org/name is refused, and with --lossy counted as no_org_name.
`,
}

// Why a row lists no task.
const (
	NoTask = "no_harbor_task" // its example is not from --examples harbor:
	NoName = "no_org_name"    // the task's name is not org/name
)

// unnamed is what a manifest cannot hold of such a row.
const unnamed = `a task whose name is not org/name (write [task] name = "org/name" in its task.toml, and roll out again)`

var (
	orgName = regexp.MustCompile(`^[0-9A-Za-z][\w.-]*/[0-9A-Za-z][\w.-]*$`) // and no ".."
	hexSum  = regexp.MustCompile(`^[0-9a-f]{64}$`)
	noName  = regexp.MustCompile(`[^\w.-]+|\.\.+`) // of a run, in no name
)

func newManifest(out io.Writer) exporters.Sink {
	var text bytes.Buffer
	lines, seen := toml.NewEncoder(&text), map[taskFiles]bool{}
	lines.Indent = ""
	return exporters.RawLines(func(dst []byte, x *exporters.Item) ([]byte, int64, error) {
		var f Fields
		if err := json.Unmarshal([]byte(x.Rows[0].Example), &f); err != nil || !hexSum.MatchString(f.Digest) {
			x.Skip(NoTask)
			return dst, 0, nil
		}
		if !orgName.MatchString(f.ID) || strings.Contains(f.ID, "..") {
			x.Skip(NoName)
			x.Lose(unnamed)
			return dst, 0, nil
		}
		m := manifest{Tasks: []taskFiles{{f.ID, digestOf(f.Digest)}}}
		if seen[m.Tasks[0]] {
			return dst, 0, nil
		}
		if len(seen) == 0 {
			run := strings.TrimLeft(noName.ReplaceAllString(x.Rows[0].Run, "-"), "._-")
			m.Dataset = &named{"rollmill/" + cmp.Or(run, "tasks")}
		}
		seen[m.Tasks[0]] = true
		text.Reset()
		err := lines.Encode(m)
		return append(dst, text.Bytes()...), 1, err
	})(out)
}
