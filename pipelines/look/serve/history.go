package serve

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/pipelines/look/catalogue"
	"github.com/rollmill/rollmill/pipelines/look/history"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// recorded returns the epochs that the report's files have about the run of a listing; none
// without them. A damaged file is an error.
func (s *Server) recorded(ctx context.Context, l *catalogue.Listing) ([]history.Epoch, error) {
	if l.Files[path.Join(l.Run, catalogue.HistoryFiles[0])].Key == "" {
		return nil, nil
	}
	of := l.Run
	for _, name := range catalogue.HistoryFiles {
		of += " " + l.Files[path.Join(l.Run, name)].ModTime.String()
	}
	h, err := s.histories.Of(of, func() (h found[[]history.Epoch], err error) {
		b, err := storage.Open(ctx, storage.Join(s.root, l.Run))
		if err != nil {
			return h, err
		}
		if h.is, h.err = history.ReadHistory(ctx, b); h.err != nil && !errors.Is(h.err, fault.ErrInvalid) {
			return h, h.err // the next request reads again
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
	partial []int    // those whose figures manifests have, and the report's files do not
	left    []int    // those of which nothing is known but the datasets
	damaged []string // what is wrong with the report's files, and with manifests: their epochs are as those files have them
	made    bool     // the report's files have epochs
}

// counted returns the epochs of a run: what the report's files say and, of epochs that
// they do not have or whose datasets are others, what manifests say. On a disk every
// manifest is looked at, if all is true; else those that are newer than the report's files.
func (s *Server) counted(ctx context.Context, l *catalogue.Listing, all bool) (f knownEpochs, err error) {
	known, err := s.recorded(ctx, l)
	if errors.Is(err, fault.ErrInvalid) {
		f.damaged = append(f.damaged, err.Error())
	} else if err != nil {
		return f, err
	}
	f.made = len(known) > 0
	of := map[int]history.Epoch{}
	for _, e := range known {
		of[e.Epoch] = e
	}
	made := l.Files[path.Join(l.Run, catalogue.HistoryFiles[0])].ModTime
	_, local := s.bucket.Local()
	var missing []int
	epochs := l.Epochs()
	for e, found := range epochs {
		k := of[e]
		newer := slices.ContainsFunc(found, func(f *catalogue.Entry) bool { return f.Written.After(made) })
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
			stages := catalogue.Finished(epochs[e])
			if out[i], changed[i], err = s.current(ctx, stages, of[e], e); err == nil && stages["submit"] != nil {
				// it has no digest; the epoch's page names a damaged one
				out[i].Receipt, _ = history.ReadReceipt(ctx, stages["submit"].URI)
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

// current returns an epoch as the report's files have it, or, if one of its datasets is
// another, as its manifests have it.
func (s *Server) current(ctx context.Context, stages map[string]*catalogue.Entry, known history.Epoch, epoch int) (e history.Epoch,
	changed bool, err error) {
	for _, stage := range catalogue.StageOrder {
		f := stages[stage]
		if f == nil || !f.Complete {
			continue
		}
		digest, err := s.digest(ctx, f)
		if err != nil {
			return e, false, err
		}
		changed = changed || digest != known.Datasets[stage]
	}
	if !changed {
		return known, false, nil
	}
	e, err = s.count(ctx, stages, epoch)
	return e, true, err
}

// manifest returns a dataset's manifest and its digest, and when it was written, also of
// a dataset that was pruned.
func (s *Server) manifest(ctx context.Context, f *catalogue.Entry) (m *manifest.Manifest, digest string, written time.Time, err error) {
	d, err := s.open(ctx, f)
	if p := manifest.PrunedIn(err); p != nil {
		return p.Manifest, p.Digest(), p.Written, nil
	}
	if err != nil {
		return nil, "", written, err
	}
	return &d.Manifest, d.Ref("", "").Digest, f.Written, nil
}

// digest returns the digest of a dataset's manifest, which is read once.
func (s *Server) digest(ctx context.Context, f *catalogue.Entry) (string, error) {
	return s.digests.Of(f.At(), func() (string, error) {
		_, digest, _, err := s.manifest(ctx, f)
		return digest, err
	})
}

// count returns what the manifests of an epoch say.
func (s *Server) count(ctx context.Context, stages map[string]*catalogue.Entry, epoch int) (history.Epoch, error) {
	e := history.Epoch{Epoch: epoch}
	for _, stage := range catalogue.StageOrder {
		f := stages[stage]
		if f == nil || !f.Complete {
			continue
		}
		m, digest, written, err := s.manifest(ctx, f)
		if err != nil {
			return e, err
		}
		if stage == "rollout" {
			e.Time = written.UTC()
		}
		e.Add(stage, m, digest)
	}
	return e, nil
}
