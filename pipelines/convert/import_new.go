package convert

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/rollmill/rollmill/formats/dataset/lease"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/pipelines/convert/calls"
	"github.com/rollmill/rollmill/pipelines/convert/watermark"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/storage/fault"
)

// Nights are the settings of an import of what no earlier one of the run imported.
type Nights struct {
	New     bool
	Flush   bool                   // import conversations that are not settled, too
	Missing error                  // what a place in which there are no files is refused with, on the first night
	Settle  time.Duration          // after its newest call a conversation is settled, by the times of calls
	Dataset func(epoch int) string // where the dataset of an epoch lies
}

// NightReport describes a night.
type NightReport struct {
	Night      int      `json:"night"`                // from 1; that before, if nothing was learnt
	Objects    int      `json:"objects"`              // that are listed
	Read       int      `json:"objects_read"`         // that are new or have changed
	Known      int64    `json:"known_calls"`          // in these, of nights before
	Waiting    int64    `json:"waiting_calls"`        // of conversations that are not settled
	Late       int64    `json:"late_calls"`           // of conversations that were imported without them
	Future     int64    `json:"future_calls"`         // that are dated over an hour after this machine's clock
	LateIn     []string `json:"late_in,omitempty"`    // the first objects that have some
	Gone       []string `json:"gone,omitempty"`       // objects that were listed the night before
	Unfinished []string `json:"unfinished,omitempty"` // objects that end within a line, which a later night reads
}

func (r *NightReport) String() string {
	text := fmt.Sprintf("night %d: %s, %d read", r.Night, plural.Of(r.Objects, "object"), r.Read)
	for _, x := range []struct {
		n        int
		what, is string
		names    []string
	}{
		{int(r.Known), "call", "known", nil},
		{int(r.Waiting), "call", "waiting for a later night", nil},
		{int(r.Late), "call", "too late for a conversation that was imported", r.LateIn},
		{int(r.Future), "call", "dated in the future", nil},
		{len(r.Gone), "object", "no longer there", r.Gone},
		{len(r.Unfinished), "object", "the last line is not complete and is left to a later night", r.Unfinished},
	} {
		if x.n > 0 {
			text += fmt.Sprintf("; %s: %s", x.is, plural.Of(x.n, x.what))
		}
		if n := len(x.names); n > 3 {
			text += fmt.Sprintf(" (%s and %d more)", strings.Join(x.names[:3], ", "), n-3)
		} else if n > 0 {
			text += fmt.Sprintf(" (%s)", strings.Join(x.names, ", "))
		}
	}
	return text
}

// declareNew declares how an import takes what is new.
func (o *ImportOptions) declareNew(d *plugin.Declarer) {
	d.Bool(&o.New, "new",
		"with --merge calls: import only calls that no earlier import --new of the run read, into its next epoch").Common()
	d.Duration(&o.Settle, "settle", "with --new: import a conversation when its newest call is `TIME` older than the newest "+
		"call of the log; until then, its calls wait for a later night").Min(0)
	d.Bool(&o.Flush, "flush", "with --new: import the conversations that are not settled, too")
}

// validateNew checks what --new excludes.
func (o *ImportOptions) validateNew() error {
	refuse := func(hint, what string) error { return fault.Errorf(fault.Usage, hint, "import: --new: %s", what) }
	switch {
	case !o.New && o.Flush:
		return fault.Errorf(fault.Usage, "add --new", "import: --flush imports what earlier nights left")
	case !o.New:
	case o.Merge != MergeCalls:
		return refuse("add --merge calls, or leave --new out", "only of calls it is known which ones a grown file had before")
	case o.Out.Shard.Of().Count > 1:
		return refuse("leave --shard out", "one process holds the watermark of a run")
	case o.Epoch != nil || o.Out.URI != "" || o.Out.Overwrite:
		return refuse("leave --epoch, --out and --overwrite out", "each night writes the next epoch of --root")
	}
	return nil
}

// stateParam is the parameter of a dataset that names the state of the watermark after its night.
const stateParam = "watermark"

// night is the import of a night.
type night struct {
	o        *ImportOptions
	w        *watermark.Watermark
	settings map[string]any // that all nights have in common
	c        *check
	taken    []int // epochs that have datasets, after those of the watermark
	newest   int64 // time of a call, in microseconds
	clock    int64 // this machine's, and an hour
	mu       sync.Mutex
	report   NightReport
	waiting  []*calls.Call // that are not stored yet
	bytes    int
}

// importNew imports what is new.
func (o *ImportOptions) importNew(ctx context.Context) (r ImportReport, err error) {
	spec, err := o.spec(ctx)
	if err != nil {
		return r, err
	}
	settings := maps.Clone(spec.Redacted(secret.From(ctx)).Params) // as they are stored
	delete(settings, "lossy")                                      // it may differ from night to night
	n := &night{o: o, settings: settings, clock: time.Now().Add(time.Hour).UnixMicro()}
	n.w, err = watermark.Open(ctx, watermark.Options{Root: o.Root, Run: spec.Run.ID, Lossy: o.Lossy,
		Sealed: n.sealed, Dir: o.Spill.Dir, Memory: o.Spill.Memory / 8, Log: o.Logger()})
	if err != nil {
		return r, err
	}
	w := n.w
	defer func() { err = errors.Join(err, w.Close(context.WithoutCancel(ctx))) }()
	was := manifest.Manifest{Content: manifest.Content{Params: w.Settings}}
	if differ := manifest.Differences(&was, manifest.Spec{Params: settings}); w.Night > 0 && differ != nil {
		return r, fault.Errorf(fault.Usage,
			"give the options of the nights before; others need a run of their own, with another --root",
			"import: the nights before had other options: %s", strings.Join(differ, "; "))
	}
	if w.Night == 0 && o.Missing != nil {
		return r, o.Missing
	}
	bound, unbind := w.Bind(ctx)
	defer unbind()
	r.Source, r.Report, err = n.run(bound, spec)
	if cause := context.Cause(bound); err != nil && errors.Is(cause, lease.ErrTaken) {
		err = fault.Errorf(fault.Temporary, "run the same command again", "import: %w", cause)
	}
	n.report.Night = w.Night
	r.New = &n.report
	return r, err
}
