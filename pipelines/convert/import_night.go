package convert

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"time"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/runroot"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/pipelines/convert/calls"
	"github.com/rollmill/rollmill/pipelines/convert/watermark"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// run reads what is new, and ends the night with a dataset, or without one if no conversation is settled.
func (n *night) run(ctx context.Context, spec manifest.Spec) (source Source, r stages.Report, err error) {
	epoch := n.w.Epoch + 1
	for slices.Contains(n.taken, epoch) {
		epoch++
	}
	n.o.Epoch = &epoch
	if err = n.choose(); err != nil {
		return source, r, err
	}
	n.c = newCheck(n.o)
	n.c.night = n
	defer n.c.close()
	var w writer // begins when all is gathered
	g := newSorted(n.o, w.group)
	defer g.close()
	if err = n.wait(ctx); err == nil {
		err = n.c.read(ctx, g.add)
	}
	if err == nil {
		err = n.pend(ctx)
	}
	if err != nil {
		return source, r, err
	}
	if n.newest > n.clock {
		n.o.Logger().Warn("the log's newest call is dated in the future: conversations count as settled that may not be, on later nights too",
			"newest", time.UnixMicro(n.newest).UTC(), "future_calls", n.report.Future, "imported", n.c.added)
	}
	if n.c.added == 0 {
		epoch = -1
		if source, err = n.c.report(); err != nil {
			return source, r, err
		}
	}
	state, err := n.w.Seal(ctx, epoch, n.settings, n.newest)
	if err == nil && n.c.added > 0 {
		spec.Params[stateParam], spec.Inputs[0].Digest = state, state
		source, r, err = n.dataset(ctx, spec, epoch, &w, g)
	}
	if err == nil && state != "" {
		err = n.w.Finish(ctx)
	}
	return source, r, err
}

// dataset writes the dataset of the night. An unsealed one of a process that died is replaced.
func (n *night) dataset(ctx context.Context, spec manifest.Spec, epoch int, w *writer, g gatherer) (
	source Source, r stages.Report, err error) {
	shard, err := shards.Begin(ctx, n.o.Dataset(epoch), spec, shards.Options{})
	if err != nil {
		return source, r, err
	}
	*w = *newWriter(n.o, shard)
	if source, err = w.end(ctx, g, n.c, nil); err != nil {
		return source, r, err
	}
	facts := w.outcome.Facts
	facts["late_calls"], facts["waiting_calls"] = float64(n.report.Late), float64(n.report.Waiting)
	result, err := shard.Commit(ctx, w.outcome)
	if result.URI != "" {
		r = report(result, w.outcome)
	}
	return source, r, err
}

// sealed returns the datasets of nights in epochs after one, and notes which of these have a dataset. One that a
// process which died left complete is sealed.
func (n *night) sealed(ctx context.Context, after int) (all []watermark.Sealed, err error) {
	b, err := storage.Open(ctx, n.o.Root)
	if err != nil {
		return nil, err
	}
	epochs, err := runroot.Epochs(ctx, b)
	for _, epoch := range epochs {
		if epoch <= after || err != nil {
			continue
		}
		d, bad := dataset.Open(ctx, n.o.Dataset(epoch), dataset.OpenOptions{IgnoreGates: true})
		var m *manifest.Manifest
		switch pruned := manifest.PrunedIn(bad); {
		case pruned != nil:
			m = pruned.Manifest
		case errors.Is(bad, storage.ErrNotExist):
			continue
		case bad != nil:
			return nil, bad
		default:
			m = &d.Manifest
		}
		n.taken = append(n.taken, epoch)
		if state, is := m.Params[stateParam].(string); is {
			all = append(all, watermark.Sealed{Epoch: epoch, State: state})
		}
	}
	return all, err
}

// choose leaves the files that are new or have changed.
func (n *night) choose() error {
	listed := make([]watermark.Object, len(n.o.Files))
	for i, f := range n.o.Files {
		listed[i] = watermark.Object{Name: f.URI, Size: f.Size, Version: f.Version}
		for _, c := range f.Companions {
			listed[i].Version += fmt.Sprintf("; %s %d %s", c.Name, c.Size, c.Version)
		}
	}
	changed, gone, err := n.w.Changed(listed)
	n.report.Objects, n.report.Gone = len(listed), gone
	var files []File
	for i, read := range changed {
		if f := n.o.Files[i]; read {
			f.Open = n.lines(f)
			files = append(files, f)
		}
	}
	n.o.Files, n.report.Read = files, len(files)
	return err
}

// lines returns an opener of a file that leaves out a last line which is not complete: the log is still written.
func (n *night) lines(f File) func(context.Context) (Content, error) {
	if ext := path.Ext(f.Name); ext != ".jsonl" && ext != ".ndjson" {
		return f.Open
	}
	return func(ctx context.Context) (Content, error) {
		c, err := f.Open(ctx)
		if err != nil {
			return nil, err
		}
		var tail []byte
		for from := c.Size(); from > 0 && !bytes.Contains(tail, []byte{'\n'}) && err == nil; {
			from = max(0, from-max(64<<10, int64(len(tail))))
			tail = make([]byte, c.Size()-from)
			_, err = io.ReadFull(io.NewSectionReader(c, from, int64(len(tail))), tail)
		}
		tail = tail[bytes.LastIndexByte(tail, '\n')+1:]
		if err != nil || len(bytes.TrimSpace(tail)) == 0 || jsontext.Valid(tail) {
			return c, err
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		n.w.Again(f.URI)
		n.report.Unfinished = append(n.report.Unfinished, f.URI)
		return struct {
			*io.SectionReader
			io.Closer
		}{io.NewSectionReader(c, 0, c.Size()-int64(len(tail))), c}, nil
	}
}

// wait adds the calls that wait since the nights before.
func (n *night) wait(ctx context.Context) error {
	for _, name := range n.w.Pending {
		var all []*calls.Call
		data, err := n.w.Get(ctx, name)
		if err == nil {
			all, err = calls.DecodeFile(name, data)
		}
		for i := 0; i < len(all) && err == nil; i++ {
			err = n.c.joiner.Add(all[i])
		}
		if err != nil {
			return err
		}
	}
	n.newest = n.w.Newest
	return nil
}

// add takes a call that was read, unless it is known.
func (n *night) add(c *calls.Call) error {
	t := &c.Item.Row
	at := max(t.StartedAt, t.FinishedAt)
	if at == 0 && (t.TrajectoryID == "" || n.o.Settle > 0 && !n.o.Flush) {
		hint := "--settle 0 imports all calls at once, if they have ids"
		if t.TrajectoryID == "" {
			hint = "leave --new out: each import then reads the whole log"
		}
		return fault.Invalid(c.At.File, hint, nil,
			"a call has no time, by which --new knows it and when its conversation is over").InRow(c.At.Record)
	}
	m := watermark.Mark{Kind: watermark.Answered, Hi: c.Own.Hi, Lo: c.Own.Lo}
	if t.Status == outcomes.StatusFailed {
		m.Kind = watermark.Failed
	}
	known, err := n.w.Read(c.At.File, m)
	if err != nil {
		return err
	}
	if at > n.clock {
		n.report.Future++
	}
	if n.newest = max(n.newest, at); known {
		n.report.Known++
		return nil
	}
	return n.c.joiner.Add(c)
}

// take reports whether a conversation is imported tonight, and whether it comes too late for the one that it
// is part of. Otherwise its calls wait.
func (n *night) take(ctx context.Context, v *calls.Conversation) (now, late bool, err error) {
	first, newest := v.Calls[0], int64(0)
	from, _ := first.Links()
	for _, d := range from {
		known, bad := n.w.Known(imported(d))
		late, err = late || known, cmp.Or(err, bad)
	}
	var answers []calls.Digest
	for _, c := range v.Calls {
		newest = max(newest, c.Item.Row.StartedAt, c.Item.Row.FinishedAt)
		_, to := c.Links()
		answers = append(answers, to...)
	}
	switch {
	case err != nil:
	case late:
		n.report.Late += int64(len(v.Calls))
		if len(n.report.LateIn) < maxRefusals && !slices.Contains(n.report.LateIn, first.At.File) {
			n.report.LateIn = append(n.report.LateIn, first.At.File)
		}
	case !n.o.Flush && n.newest-newest < n.o.Settle.Microseconds():
		n.waiting, n.bytes = append(n.waiting, v.Calls...), n.bytes+v.Size
		if n.bytes >= pendBytes {
			err = n.pend(ctx)
		}
		return false, false, err
	default:
		for _, d := range answers {
			err = cmp.Or(err, n.w.Note(imported(d)))
		}
	}
	return true, late, err
}

func imported(d calls.Digest) watermark.Mark {
	return watermark.Mark{Kind: watermark.Imported, Hi: d.Hi, Lo: d.Lo}
}

// pendBytes is about how many bytes of calls wait in one file.
const pendBytes = 4 << 20

// pend stores the calls that wait.
func (n *night) pend(ctx context.Context) error {
	if len(n.waiting) == 0 {
		return nil
	}
	data, err := calls.Encode(secret.From(ctx), n.waiting)
	if err == nil {
		err = n.w.Pend(ctx, data)
	}
	n.report.Waiting += int64(len(n.waiting))
	n.waiting, n.bytes = nil, 0
	return err
}

// tooLate makes the row of calls that came too late a failed one.
func tooLate(r *row) {
	importers.Fail(&r.Row, outcomes.FailLateCall,
		"an earlier night imported the conversation without these calls: --settle was too short, or the log came late")
}
