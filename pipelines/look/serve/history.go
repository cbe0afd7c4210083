package serve

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/rollmill/rollmill/pipelines/look/catalogue"
	"github.com/rollmill/rollmill/pipelines/look/history"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// recorded returns the epochs that the last report of a listing's run has; none without a
// report. A damaged file is an error.
func (s *Server) recorded(ctx context.Context, l *catalogue.Listing) (map[int]history.Epoch, error) {
	if l.Reports[l.Run].Key == "" {
		return nil, nil
	}
	h, err := s.histories.Of(l.Run+" "+l.Reports[l.Run].ModTime.String(), func() (h found[map[int]history.Epoch], err error) {
		b, err := storage.Open(ctx, storage.Join(s.root, l.Run))
		if err != nil {
			return h, err
		}
		epochs, err := history.ReadHistory(ctx, b)
		if h.err = err; err != nil && !errors.Is(err, fault.ErrInvalid) {
			return h, err // the next request reads again
		}
		h.is = map[int]history.Epoch{}
		for _, e := range epochs {
			h.is[e.Epoch] = e
		}
		return h, nil
	})
	return h.is, cmp.Or(err, h.err)
}

// maxCounted is how many epochs without a history are counted by their manifests, in
// a bucket, where each manifest is a request.
const maxCounted = 8

// knownEpochs are what is known of the epochs of a run.
type knownEpochs struct {
	epochs  []history.Epoch
	partial []int    // those whose figures manifests have, and the report does not
	left    []int    // those of which nothing is known but the datasets
	damaged []string // what is wrong with the report, and with manifests: their epochs are as the report has them
	made    bool     // the report has epochs
}

// counted returns the epochs of a run: what the report says and, of epochs that
// it does not have or whose datasets are others, what manifests say. On a disk every
// manifest is looked at, if all is true; else those that are newer than the report.
func (s *Server) counted(ctx context.Context, l *catalogue.Listing, all bool) (f knownEpochs, err error) {
	known, err := s.recorded(ctx, l)
	if errors.Is(err, fault.ErrInvalid) {
		f.damaged = append(f.damaged, err.Error())
	} else if err != nil {
		return f, err
	}
	f.made = len(known) > 0
	of := map[int]history.Epoch{}
	maps.Copy(of, known)
	_, local := s.bucket.Local()
	var missing []int
	epochs := l.Epochs()
	for e, found := range epochs {
		k := of[e]
		newer := slices.ContainsFunc(found, func(f *catalogue.Entry) bool { return f.Written.After(l.Reports[l.Run].ModTime) })
		if e >= 0 && (local && all || len(k.Datasets) == 0 || newer) {
			missing = append(missing, e)
		}
	}
	slices.Sort(missing)
	if n := len(missing); !local && n > maxCounted {
		missing, f.left = missing[n-maxCounted:], missing[:n-maxCounted]
		f.left = slices.DeleteFunc(f.left, func(e int) bool { _, has := of[e]; return has })
	}
	out, changed, damage := make([]history.Epoch, len(missing)), make([]bool, len(missing)), make([]error, len(missing))
	var g errgroup.Group
	g.SetLimit(16)
	for i, e := range missing {
		g.Go(func() (err error) {
			out[i], changed[i], err = s.current(ctx, epochs[e], of[e], e)
			if submit := catalogue.Finished(epochs[e])["submit"]; err == nil && submit != nil {
				// it has no digest; the epoch's page names a damaged one
				out[i].Receipt, _ = history.ReadReceipt(ctx, submit.URI)
			}
			if errors.Is(err, fault.ErrInvalid) {
				damage[i], err = err, nil
			}
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return f, err
	}
	for i, e := range out {
		if damage[i] != nil {
			f.damaged = append(f.damaged, damage[i].Error())
			continue
		}
		if e.Train == nil && e.Validation == nil {
			continue
		}
		if of[e.Epoch] = e; changed[i] {
			f.partial = append(f.partial, e.Epoch)
		}
	}
	f.epochs = slices.SortedFunc(maps.Values(of), func(a, b history.Epoch) int { return cmp.Compare(a.Epoch, b.Epoch) })
	return f, nil
}

// current returns an epoch as the report has it, or, if one of its datasets is another, as its
// manifests have it.
func (s *Server) current(ctx context.Context, found []*catalogue.Entry, known history.Epoch, epoch int) (e history.Epoch,
	changed bool, err error) {
	at := ""
	for _, f := range found {
		if f.Complete {
			at += f.At() + " "
		}
	}
	e, err = s.epochs.Of(at, func() (history.Epoch, error) { return s.count(ctx, found, epoch) })
	for stage, digest := range e.Datasets {
		changed = changed || digest != known.Datasets[stage]
	}
	if err != nil || changed {
		return e, changed, err
	}
	known.Made = e.Made
	return known, false, nil
}

// count returns what the manifests of an epoch say.
func (s *Server) count(ctx context.Context, found []*catalogue.Entry, epoch int) (history.Epoch, error) {
	e, stages := history.Epoch{Epoch: epoch}, catalogue.Finished(found)
	extended := slices.ContainsFunc(found, func(f *catalogue.Entry) bool { return strings.HasPrefix(f.Stage, "extended/") })
	for _, stage := range catalogue.StageOrder {
		f := stages[stage]
		if f == nil || !f.Complete {
			continue
		}
		made, err := history.StageOf(s.open(ctx, f))
		if err != nil {
			return e, err
		}
		if stage == "rollout" {
			e.Time = made.Written.UTC()
		}
		if stage == "rollout" && extended {
			dir := storage.Join(s.root, strings.TrimSuffix(f.Key, f.Stage))
			if err := e.FindRollouts(ctx, dir, storage.Join(dir, strings.TrimSuffix(f.Stage, "rollout"))); err != nil {
				return e, err
			}
		}
		e.Add(stage, made)
	}
	return e, nil
}
