package starter

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/examples"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/formats/records"
	"github.com/rollmill/rollmill/storage/fault"
)

// Tasks are the user's own examples.
type Tasks struct {
	URI     string // as the config names it
	Rows    int
	Columns []string

	// columns of these meanings; "" if there is none
	ID, Question, Answer string
	Numbers              bool // every answer is a number, or ends in one after ####
}

// The names of columns, in lower case, the likeliest first.
var (
	idNames       = []string{"id", "task_id", "example_id", "question_id", "qid", "uid", "uuid"}
	questionNames = []string{"question", "prompt", "problem", "instruction", "query", "input", "task", "text"}
	answerNames   = []string{"answer", "expected", "expected_answer", "ground_truth", "reference", "target",
		"label", "solution",
		"final_answer", "gold", "output"}
	number = regexp.MustCompile(`(^|####)\s*-?[0-9][0-9,]*(\.[0-9]+)?\s*$`)
)

// TaskFile returns the file of examples in a folder on a local disk: the only one in
// it, or in its folder train, as datasets keeps a split. A file is returned as it is.
func TaskFile(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return path, nil // a file, or what only a store can open
	}
	var found []string
	for _, folder := range []string{path, filepath.Join(path, "train"), filepath.Join(path, "data")} {
		entries, err := os.ReadDir(folder)
		if err != nil && folder == path {
			return "", err
		}
		for _, e := range entries {
			known := slices.Contains(records.Extensions(), records.Extension(e.Name()))
			if known && e.Name() != "dataset_info.json" && e.Name() != "state.json" && e.Name() != "dataset_dict.json" {
				found = append(found, filepath.Join(folder, e.Name()))
			}
		}
		if len(found) > 0 {
			break
		}
	}
	if len(found) != 1 {
		return "", fault.Invalid(path, "name the file with --from", nil, "the folder holds %s of examples: %s",
			plural.Of(len(found), "file"), strings.Join(found, ", "))
	}
	return found[0], nil
}

// ReadTasks reads a task file of size bytes and finds what its columns mean.
func ReadTasks(uri string, r io.ReaderAt, size int64) (*Tasks, error) {
	set, report, err := examples.Read(uri, r, size, examples.Options{})
	if err != nil {
		return nil, err
	}
	if err := set.Close(); err != nil {
		return nil, err
	}
	t := &Tasks{URI: uri, Columns: report.Columns}
	t.ID, t.Question, t.Answer = t.column(idNames), t.column(questionNames), t.column(answerNames)
	o := examples.Options{Unstructured: t.Question == ""}
	o.Names.ID, o.Names.Question, o.Names.Answer = t.ID, t.Question, t.Answer
	set, report, err = examples.Read(uri, r, size, o)
	if err != nil {
		return nil, err
	}
	defer set.Close()
	if t.Rows = report.Kept; t.Rows == 0 {
		return nil, fault.Invalid(uri, "a row is an example", nil, "there is no example in it")
	}
	t.Numbers = t.Answer != ""
	for i := range min(t.Rows, 1000) {
		e, err := set.At(i)
		if err != nil {
			return nil, err
		}
		t.Numbers = t.Numbers && number.MatchString(e.Answer)
	}
	return t, nil
}

func (t *Tasks) column(names []string) string {
	for _, name := range names {
		if i := slices.IndexFunc(t.Columns, func(c string) bool { return strings.EqualFold(c, name) }); i >= 0 {
			return t.Columns[i]
		}
	}
	return ""
}

// String says what was found, in one line.
func (t *Tasks) String() string {
	said := plural.Of(t.Rows, "example") + " in " + t.URI + ", fields " + strings.Join(t.Columns, ", ")
	for _, f := range []struct{ name, column string }{{"question", t.Question}, {"answer", t.Answer}, {"id", t.ID}} {
		if f.column == "" {
			said += "; no " + f.name
		} else if f.column != f.name {
			said += "; the " + f.name + " is " + f.column
		}
	}
	return said
}
