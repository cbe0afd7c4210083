package convert

import (
	"context"
	"io"
	"time"

	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/redaction"
	"github.com/rollmill/rollmill/formats/tree"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/plugin"
)

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

	Redact *redaction.Rules // applied to every row; nil: those of keys for a log, none for other formats
	Keep   []string         // of a log: names of members about end users that stay in metadata

	Merge       Merge  // default MergeNone
	MergeBy     string // field of the calls of one attempt; "": their messages link them
	MergeByTime bool   // decides which of several equal answers a call continues
	Auxiliary   tree.AuxiliaryMode

	Nights

	Spill stages.Spill // for calls that are merged, and for groups whose rows are not adjacent

	Run, Root string // of the rows; the run's folder, where its id is
}

// File is a file to import. Open may be called more than once.
type File struct {
	Name string // relative to the source, part of the identity
	URI  string // for messages

	Size    int64  // as it was listed, in bytes
	Version string // changes with the content; as it was listed

	Open func(ctx context.Context) (Content, error)

	Companions []File // beside it, see importers.Format.IsCompanion; in the order of their names
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
func ImportDefaults() ImportOptions {
	return ImportOptions{GroupBy: GroupByID, Train: TrainAll, Merge: MergeNone, Auxiliary: tree.AuxiliarySkip,
		Nights: Nights{Settle: time.Hour}}
}

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
	plugin.FileOr(d, &o.Redact, "redact", "redact every row by the rules in this YAML `FILE`, or by keys, the built-in detectors of keys, or by none",
		map[string]*redaction.Rules{"keys": redaction.Keys(), "none": redaction.None()}, redaction.Load).
		DefaultShown("keys for logs, none for other formats").ID("redact")
	d.Strings(&o.Keep, "keep-metadata",
		"keep a log's members with this `NAME`, such as user.id, in the metadata; without it, those that hold an end "+
			"user's id, name or address are left out").
		ID("keep-metadata")
	o.declareMerge(d)
	o.declareNew(d)
	d.OptionalInt(&o.Epoch, "epoch", "give rows whose source has no epoch the epoch `N`").Min(0).DefaultShown("0")
}
