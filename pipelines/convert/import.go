package convert

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/runroot"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/redaction"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/storage/fault"
)

// Import imports the files into one wide dataset. A record that cannot be
// converted, or has a part that no row can hold, ends the import with an error
// that names its file and line, unless Lossy drops and counts it.
func Import(ctx context.Context, o ImportOptions) (ImportReport, error) {
	started := o.Clock()
	if err := o.Validate(); err != nil {
		return ImportReport{}, err
	}
	spec, err := o.spec(ctx)
	if err != nil {
		return ImportReport{}, err
	}
	source, outcome, shard, err := o.attempt(ctx, spec, false)
	if errors.Is(err, errScattered) {
		o.Logger().Info("import: " + errScattered.Error() + " in the source; it is read again and sorted")
		source, outcome, shard, err = o.attempt(ctx, spec, true)
	}
	r := ImportReport{Source: source}
	if err != nil {
		return r, err
	}
	outcome.Timings = map[string]float64{"import_seconds": o.Clock().Sub(started).Seconds()}
	result, err := shard.Commit(ctx, outcome)
	if result.URI != "" {
		r.Report = report(result, outcome)
		if result.UpToDate && result.Sealed != nil {
			facts := result.Sealed.Facts
			r.Records, r.RefusedRecords = int64(facts[factRecords]), int64(facts[factRefused])
		}
		r.Seconds = o.Clock().Sub(started).Seconds()
	}
	return r, err
}

// attempt writes the shard's rows, but does not commit them. Unless sort is set
// the error is errScattered when the groups of the source are not adjacent. On
// an error what was written is removed.
func (o *ImportOptions) attempt(ctx context.Context, spec manifest.Spec, sort bool) (Source, shards.Outcome,
	*shards.Shard, error) {
	s := o.Out.Shard.Of()
	shard, err := shards.Begin(ctx, o.Out.URI, spec,
		shards.Options{Shard: s.Index, Of: s.Count, Overwrite: o.Out.Overwrite})
	if err != nil || shard.UpToDate() {
		return Source{}, shards.Outcome{}, shard, err
	}
	w, c := newWriter(o, shard), newCheck(o)
	defer c.close()
	g, done := gatherer(newAdjacent(o, w.group)), func() int64 { return w.written }
	if sort {
		g, done = newSorted(o, w.group), nil // it copies rows
	}
	defer g.close()
	if err = c.read(ctx, g.add, done); err == nil {
		err = g.end(ctx)
	}
	if err == nil {
		err = w.flush(ctx)
	}
	w.count()
	c.count(w.outcome.Facts)
	var source Source
	if !errors.Is(err, errScattered) {
		var bad error
		source, bad = c.report()
		err = cmp.Or(err, bad)
		w.outcome.Facts[formats.FactPrefixRows] = float64(source.Checks.RowsOf("prefix_rows"))
	}
	if err != nil {
		err = errors.Join(err, shard.Discard())
	}
	return source, w.outcome, shard, err
}

// CheckImport reads the files as Run does, and writes nothing. What Run would refuse
// is in the report.
func CheckImport(ctx context.Context, o ImportOptions) (Source, error) {
	o.Out = stages.Output{}
	if err := o.Validate(); err != nil {
		return Source{}, err
	}
	c := newCheck(&o)
	defer c.close()
	c.checks = true
	err := c.read(ctx, func(context.Context, *row) error { return nil }, nil)
	source, bad := c.report()
	return source, cmp.Or(err, bad)
}

// Validate returns an error of kind usage for options that exclude each other.
func (o *ImportOptions) Validate() error {
	fresh := ImportDefaults()
	o.GroupBy, o.Train = cmp.Or(o.GroupBy, fresh.GroupBy), cmp.Or(o.Train, fresh.Train)
	if len(o.Files) == 0 {
		return fault.Errorf(fault.Usage, "name files, or a folder that holds some", "import: no file to read")
	}
	if o.Epoch != nil && (*o.Epoch < 0 || *o.Epoch > math.MaxInt32) {
		return fault.Errorf(fault.Usage, "epochs count from 0", "import: there is no epoch %d", *o.Epoch)
	}
	known := make([]string, len(o.Format.Fields))
	for i, f := range o.Format.Fields {
		known[i] = f.Name
	}
	help := fmt.Sprintf("`rollmill help importer %s` describes its fields: %s", o.Format.Name, strings.Join(known, ", "))
	if len(known) == 0 {
		help = "the names in this format are fixed: leave --map out"
	}
	for name, to := range o.Fields {
		role := importers.IsRole(name) && slices.Contains(known, importers.RoleField.Name)
		if role && !slices.Contains(importers.Roles, to) {
			return fault.Errorf(fault.Usage, "roles are "+strings.Join(importers.Roles, ", "),
				"import: --map %s=%s names no role", name, to)
		}
		if !role && !slices.Contains(known, name) {
			return fault.Errorf(fault.Usage, plugin.Nearest(name, known, help),
				"import: the format %s has no field %q for --map", o.Format.Name, name)
		}
	}
	return o.Spill.Validate(stage)
}

// spec returns the identity of the dataset. It covers the bytes of every file.
func (o *ImportOptions) spec(ctx context.Context) (manifest.Spec, error) {
	fresh := ImportDefaults()
	params := plugin.Identity(o, &fresh)
	params["from"], params["run"] = o.Format.Name, o.Run
	if o.Epoch != nil {
		params["epoch"] = *o.Epoch
	}
	source := o.Source
	var err error
	if source.Digest, err = o.digest(ctx); err != nil {
		return manifest.Spec{}, err
	}
	run, err := runroot.Open(ctx, cmp.Or(o.Root, runroot.Of(o.Out.URI)))
	if err != nil {
		return manifest.Spec{}, fmt.Errorf("import: giving the run its id: %w", err)
	}
	return manifest.Spec{Stage: stage, Version: version, Kind: schema.KindTrajectories, Params: params,
		Inputs: []manifest.Ref{source}, Run: run}, nil
}

// digest returns the SHA-256 over the names and the bytes of the files and of their companions.
func (o *ImportOptions) digest(ctx context.Context) (string, error) {
	all := sha256.New()
	for i := range o.Files {
		for _, f := range append([]File{o.Files[i]}, o.Files[i].Companions...) {
			sum := sha256.New()
			content, err := f.Open(ctx)
			if err == nil {
				_, err = io.CopyBuffer(sum, io.NewSectionReader(content, 0, content.Size()), make([]byte, 1<<20))
				err = errors.Join(err, content.Close())
			}
			if err != nil {
				return "", fmt.Errorf("import: reading %q: %w", f.URI, err)
			}
			fmt.Fprintf(all, "%q %x\n", f.Name, sum.Sum(nil))
		}
	}
	return hex.EncodeToString(all.Sum(nil)), nil
}

const stage = "import"

// version is that of the semantics: it changes when the same files and options give other rows.
const version = 3

// ImportOptions are the settings of import.
type ImportOptions struct {
	stages.Env
	Out stages.Output

	Format importers.Format
	Source manifest.Ref // of the files, without a digest
	Files  []File       // in the order of their names

	Fields  map[string]string // the source's column by the format's name, see importers.Options
	GroupBy string            // GroupByID, GroupByPrompt, a field, or a file of ids that Groups holds
	Groups  map[string]string // the example by the source's trajectory id; nil unless a file was named
	Train   Train             // default TrainAll
	Lossy   bool              // drop what a row cannot hold, and records that cannot be converted
	Epoch   *int              // for rows whose source has none; default 0

	ShowValues bool // in the account of members

	Redact *redaction.Rules // applied to every row; nil: none

	Spill stages.Spill // for groups whose rows are not adjacent

	Run, Root string // of the rows; the run's folder, where its id is
}

// File is a file to import. Open may be called more than once.
type File struct {
	Name string // relative to the source, part of the identity
	URI  string // for messages
	Open func(ctx context.Context) (Content, error)

	Companions []File // in the same folder, see importers.Format; in the order of their names
}

// Content is an open file.
type Content interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

// Train is which of a conversation's answers are trained.
type Train string

// The choices of answers.
const (
	TrainAll  Train = "all"  // all that the format marks
	TrainLast Train = "last" // the last one of each trajectory; the others become context
)

// The ways to group that are not a field or a file.
const (
	GroupByID     = "id"     // the source's id of the example, else the prompt
	GroupByPrompt = "prompt" // the messages before the first answer that is trained
)

// ImportDefaults returns the options at their defaults.
func ImportDefaults() ImportOptions { return ImportOptions{GroupBy: GroupByID, Train: TrainAll} }

// Declare declares the user's options, except the files.
func (o *ImportOptions) Declare(d *plugin.Declarer) {
	d.Heading(plugin.Rows)
	d.KeyValues(&o.Fields, "map",
		"read the format's field NAME from COLUMN, written `NAME=COLUMN`, such as "+
			"messages=conversations; info.score is the member score of the column info").ID("map").Common()
	d.String(&o.GroupBy, "group-by",
		"group trajectories that share `WHAT`: id (the source's id of the example, else the prompt), "+
			"prompt, a field of the example or of the metadata such as task.name, or @FILE with lines TRAJECTORY,EXAMPLE").
		ID("group-by").Common()
	plugin.Choice(d, &o.Train, "train",
		"train `WHICH` answers of a conversation: all, or the last one after the others as its context", TrainAll,
		TrainLast).ID("train")
	d.Bool(&o.Lossy, "lossy",
		"drop and count what a row cannot hold, and records that cannot be converted, instead of refusing them").
		ID("lossy").Common()
	plugin.File(d, &o.Redact, "redact", "redact every row by the rules in this YAML `FILE`", redaction.Load).DefaultShown("none").
		ID("redact")
	d.OptionalInt(&o.Epoch, "epoch", "give rows whose source has no epoch the epoch `N`").DefaultShown("0")
}
