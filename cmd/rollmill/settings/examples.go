package settings

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/examples"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
	"github.com/rollmill/rollmill/storage/scratch"
)

// TaskFile is the file of examples to read, and its format.
type TaskFile struct {
	Examples string // URI
	Format   examples.Options
}

func (f *TaskFile) Declare(d *plugin.Declarer) {
	o := &f.Format
	d.Heading(plugin.Input)
	d.String(&f.Examples, "examples", "read the examples from the task file at this `URI`: JSON, JSON lines, CSV or Parquet; harbor:DIR for Harbor tasks").
		WrittenToRows().Common()
	d.String(&o.Format, "examples-format", "read the task file in this `FORMAT`").DefaultShown("by its extension")
	d.String(&o.Names.ID, "id-key", "read the id from this `COLUMN`").DefaultShown("id")
	d.String(&o.Names.Question, "question-key", "read the question from this `COLUMN`").DefaultShown("question")
	d.String(&o.Names.Answer, "answer-key", "read the reference answer from this `COLUMN`, where rewards and exports find it too").DefaultShown("answer")
	d.String(&o.Names.GeneratedAnswer, "generated-answer-key", "read the answer of another program from this `COLUMN`").
		DefaultShown("generated_answer")
	d.Bool(&o.Unstructured, "unstructured", "use the whole row, as JSON, as the question")
	d.Bool(&o.RequireQuestion, "require-question", "drop rows without a question, and refuse a file without that column")
	d.Lists(&o.Allow, "allow", "keep only rows that match this `COLUMN=PATTERN`")
	d.Lists(&o.Deny, "deny", "drop rows that match this `COLUMN=PATTERN`")
}

// lister is an agent that brings its tasks.
type lister interface {
	// List writes the tasks of an environment as JSON lines, and warns of what it ignores.
	List(ctx context.Context, name string, to io.Writer, warn func(string)) error
}

// Read reads the task file, or what the agent lists, and logs the rows that it dropped.
// The set is open until the command ends.
func (f *TaskFile) Read(ctx context.Context, s *cli.Session, agent agents.Agent) (*examples.Set, manifest.Ref, error) {
	uri := f.Examples
	ref := manifest.Ref{Role: "examples", URI: storage.Redact(uri)}
	if uri == "" {
		return nil, ref, cli.Usagef("name the task file with --examples"+s.ConfigHint(), "no examples")
	}
	if kind, name, ok := strings.Cut(uri, ":"); ok && (kind == "harbor" || kind == "verifiers") {
		return f.listed(ctx, s, ref, agent, kind, name)
	}
	file, digest, err := storage.OpenFile(ctx, uri)
	if errors.Is(err, storage.ErrNotExist) {
		hint := "check --examples; a path is relative to where rollmill is run"
		if strings.Contains(uri, "*") {
			hint = "--examples takes one file, and no pattern: write the rows of all into one, as cat does with JSON lines"
		}
		return nil, ref, fault.Invalid(ref.URI, hint, storage.ErrNotExist, "there is no task file")
	}
	if err != nil {
		return nil, ref, err
	}
	defer file.Close() // read only: nothing is lost
	ref.Digest = digest
	return f.pick(s, ref, file, file.Size(), f.Format)
}

// listed reads the tasks of an environment that the agent of its kind knows.
func (f *TaskFile) listed(ctx context.Context, s *cli.Session, ref manifest.Ref, agent agents.Agent, kind, name string) (
	*examples.Set, manifest.Ref, error) {
	from, ok := agent.(lister)
	if !ok || agent.Describe().Kind != kind {
		return nil, ref, cli.Usagef("--agent "+kind, "--examples %s: only agent %s has its tasks", f.Examples, kind)
	}
	if kind == "harbor" {
		var err error
		if name, err = localTasks(ctx, s, name); err != nil {
			return nil, ref, err
		}
	}
	lines, err := os.CreateTemp("", "rollmill-tasks-*")
	if err != nil {
		return nil, ref, err
	}
	defer lines.Close()         // only read again
	_ = os.Remove(lines.Name()) // an open file needs no name, and nothing is left if the process dies
	sum := sha256.New()
	warn := func(text string) { s.Logger().Warn(text, "examples", ref.URI) }
	if err := from.List(ctx, name, io.MultiWriter(lines, sum), warn); err != nil {
		return nil, ref, err
	}
	size, err := lines.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, ref, err
	}
	ref.Digest = hex.EncodeToString(sum.Sum(nil))
	format := f.Format
	format.Format, format.NoQuestions = "jsonl", kind == "harbor" // whose instructions are files
	return f.pick(s, ref, lines, size, format)
}

// pick keeps the rows that are examples.
func (f *TaskFile) pick(s *cli.Session, ref manifest.Ref, r io.ReaderAt, size int64, format examples.Options) (
	*examples.Set, manifest.Ref, error) {
	set, report, err := examples.Read(ref.URI, r, size, format)
	if err == nil {
		s.Defer(set)
	}
	if ref.Counts = maps.Clone(report.Counts); err == nil {
		ref.Counts[examples.Kept] = int64(report.Kept)
	}
	if report.Blank > 0 {
		ref.Counts[examples.Blank] = int64(report.Blank)
	}
	for _, w := range report.Warnings {
		s.Logger().Warn(w, "examples", ref.URI)
	}
	for reason, n := range report.Counts {
		s.Logger().Warn("examples dropped", "examples", ref.URI, "reason", reason, "rows", n)
	}
	return set, ref, err
}

// localTasks returns places of Harbor tasks, separated by commas, with a local copy in
// place of each prefix of a bucket; a manifest is copied with all below its folder. The
// copies are there until the command ends.
func localTasks(ctx context.Context, s *cli.Session, places string) (string, error) {
	local := strings.Split(places, ",")
	for i, place := range local {
		if !strings.Contains(place, "://") {
			continue
		}
		copies, err := scratch.Make("")
		if err != nil {
			return "", err
		}
		s.Defer(copies)
		folder, manifest := storage.Split(place)
		if path.Ext(manifest) != ".toml" {
			folder, manifest = place, ""
		}
		_, name := storage.Split(folder)
		to := filepath.Join(copies.Path, name) // a task without a name has its folder's
		if err := copyTasks(ctx, folder, to); err != nil {
			return "", err
		}
		local[i] = filepath.Join(to, manifest)
	}
	return strings.Join(local, ","), nil
}

// copyTasks copies the files below a prefix to a folder.
func copyTasks(ctx context.Context, uri, to string) error {
	bucket, err := storage.Open(ctx, uri)
	if err != nil {
		return cli.Usagef("", "--examples: %w", err)
	}
	for o, err := range bucket.List(ctx, "") {
		if err != nil {
			return err
		}
		name := filepath.FromSlash(o.Key)
		if !filepath.IsLocal(name) {
			return fault.Invalid(storage.Redact(storage.Join(bucket.URI(), o.Key)), "", nil,
				"not a name of a file in a task")
		}
		data, err := bucket.Read(ctx, o.Key)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(to, name)), 0o755)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(to, name), data, 0o755)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
