package history

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/runroot"
	"github.com/rollmill/rollmill/formats/dataset/seal"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/pipelines/look/clusters"
	"github.com/rollmill/rollmill/pipelines/look/funnel"
	"github.com/rollmill/rollmill/pipelines/look/query"
	"github.com/rollmill/rollmill/pipelines/run"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

func rolloutOf(root string, epoch int) string {
	return storage.Join(run.Layout{Root: root}.Epoch(epoch), "rollout")
}

// Collect reads every epoch that has a finished rollout or a validation. The epochs
// in known are not read again.
func Collect(ctx context.Context, root string, known []Epoch) (Run, error) {
	run := Run{Root: storage.Redact(root), Epochs: slices.Clone(known)}
	bucket, err := storage.Open(ctx, root)
	if err != nil {
		return run, err
	}
	epochs, err := runroot.Epochs(ctx, bucket)
	if err != nil {
		return run, err
	}
	unfinished := "" // the first such rollout
	for _, e := range epochs {
		if slices.ContainsFunc(known, func(k Epoch) bool { return k.Epoch == e }) {
			continue
		}
		epoch, found, err := collectEpoch(ctx, root, e)
		if err != nil {
			return run, err
		}
		if found {
			run.Epochs = append(run.Epochs, epoch)
		} else if why := epoch.Made.Stages["rollout"].Why; why != "" {
			run.Gaps = append(run.Gaps, fmt.Sprintf("%d (%s)", e, why))
			unfinished = cmp.Or(unfinished, rolloutOf(root, e))
		}
	}
	if len(run.Epochs) == 0 && unfinished != "" {
		if _, err := dataset.Open(ctx, unfinished, dataset.OpenOptions{IgnoreGates: true}); err != nil { // its hint is how to complete it
			return run, fmt.Errorf("%q: no epoch has a finished rollout: %w", run.Root, err)
		}
	}
	if len(run.Epochs) == 0 {
		return run, fault.Invalid(storage.Redact(root), "name the run's folder, the one that holds epoch-0",
			storage.ErrNotExist, "no epoch has a finished rollout")
	}
	slices.SortFunc(run.Epochs, func(a, b Epoch) int { return cmp.Compare(a.Epoch, b.Epoch) })
	run.Gaps = append(run.Gaps, gaps(run.Epochs)...)
	run.Funnel = run.AddUp()
	return run, nil
}

// gaps returns the epochs that are missing between others, such as "2" or "4-7".
func gaps(epochs []Epoch) (out []string) {
	for i := 1; i < len(epochs); i++ {
		switch first, last := epochs[i-1].Epoch+1, epochs[i].Epoch-1; {
		case first == last:
			out = append(out, strconv.Itoa(first))
		case first < last:
			out = append(out, fmt.Sprintf("%d-%d", first, last))
		}
	}
	return out
}

func collectEpoch(ctx context.Context, root string, e int) (Epoch, bool, error) {
	dir := run.Layout{Root: root}.Epoch(e)
	epoch := Epoch{Epoch: e}
	last, err := Last(ctx, dir, "score")
	if err != nil {
		return epoch, false, err
	}
	if err := epoch.FindRollouts(ctx, dir, last); err != nil {
		return epoch, false, err
	}
	found := false
	samples := map[string]**Sample{"validation/score": &epoch.Validation, "score": &epoch.Train, "curate": &epoch.Kept}
	for _, stage := range stageNames {
		d, s, err := find(ctx, stageURI(dir, last, stage))
		if err != nil {
			return epoch, found, err
		}
		switch epoch.Add(stage, s); {
		case d != nil:
			if sample := samples[stage]; sample != nil { // of others the manifest is enough
				*sample, err = sampleOf(ctx, d)
			}
			err = cmp.Or(err, epoch.read(ctx, stage, d))
		case s.Manifest != nil:
			if stage == "rollout" {
				epoch.Time = s.Written
			}
		default:
			continue
		}
		found = found || stage != "validation/rollout" // which counts when it is scored
		if err != nil {
			return epoch, found, err
		}
	}
	if !found {
		return epoch, false, nil
	}
	if err := cmp.Or(epoch.readScores(ctx, dir, last), epoch.readEcho(ctx, last)); err != nil {
		return epoch, false, err
	}
	if epoch.Receipt, err = ReadReceipt(ctx, storage.Join(last, "submit")); epoch.Receipt == nil && err == nil {
		epoch.Receipt, err = ReadReceipt(ctx, storage.Join(dir, "submit"))
	}
	return epoch, true, err
}

// FindRollouts finds the rollouts of an epoch, from its folder up to its last scored extension, and a later one.
func (e *Epoch) FindRollouts(ctx context.Context, dir, last string) (err error) {
	for ; len(dir) < len(last) && err == nil; dir = storage.Join(dir, "extended") {
		e.Made.Rollouts = append(e.Made.Rollouts, funnel.Stage{})
		_, e.Made.Rollouts[len(e.Made.Rollouts)-1], err = find(ctx, storage.Join(dir, "rollout"))
	}
	if err == nil {
		_, e.Made.Later, err = find(ctx, storage.Join(last, "extended", "rollout"))
	}
	return err
}

// readEcho reads what submit made of what the trainer gave back.
func (e *Epoch) readEcho(ctx context.Context, dir string) error {
	d, err := Open(ctx, storage.Join(dir, "echo"))
	if err != nil || d == nil {
		return err
	}
	if n := d.Facts["rewards.trainer.scored"]; n > 0 {
		e.Apart = new(d.Facts["rewards.trainer.sum"] / n)
	}
	return nil
}

// Last returns the folder with the last extension of an epoch, where rollout --extend adds
// generations, that has the dataset of a stage, or the epoch's own folder.
func Last(ctx context.Context, dir, stage string) (string, error) {
	for {
		next := storage.Join(dir, "extended")
		if _, s, err := find(ctx, storage.Join(next, stage)); err != nil || s.Manifest == nil {
			return dir, err
		}
		dir = next
	}
}

// Open opens a dataset, also one that a gate refused. It returns nil if the
// dataset does not exist, is not complete yet or was pruned.
func Open(ctx context.Context, uri string) (*dataset.Dataset, error) {
	d, _, err := find(ctx, uri)
	return d, err
}

// find is open that also returns what is known of the dataset, such as its manifest if it was pruned.
func find(ctx context.Context, uri string) (*dataset.Dataset, funnel.Stage, error) {
	d, err := dataset.Open(ctx, uri, dataset.OpenOptions{IgnoreGates: true})
	s, err := StageOf(d, err)
	var what *fault.Error
	switch {
	case errors.Is(err, seal.ErrIncomplete) && errors.As(err, &what):
		return nil, funnel.Stage{Why: what.What}, nil
	case errors.Is(err, storage.ErrNotExist):
		return nil, funnel.Stage{}, nil
	}
	return d, s, err
}

// StageOf returns what is known of a dataset that was opened, also of one that was pruned.
func StageOf(d *dataset.Dataset, err error) (funnel.Stage, error) {
	if p := manifest.PrunedIn(err); p != nil {
		return funnel.Stage{Manifest: p.Manifest, Digest: p.Digest(), Written: p.Written}, nil
	}
	if err != nil {
		return funnel.Stage{}, err
	}
	return funnel.Stage{Manifest: &d.Manifest, Digest: d.Ref("", "").Digest, Written: d.Written}, nil
}

// read adds what neither the manifest nor the rows of a stage say. The time of an epoch that has
// only a validation is that of its scores.
func (e *Epoch) read(ctx context.Context, stage string, d *dataset.Dataset) (err error) {
	switch stage {
	case "rollout", "validation/score":
		if e.Time = d.Written; !e.Time.IsZero() {
			return nil
		}
		bucket, err := storage.Open(ctx, d.URI())
		if err != nil {
			return err
		}
		o, err := bucket.Stat(ctx, manifest.FileName) // of a version that noted no time
		e.Time = o.ModTime.UTC()
		return err
	case "curate":
		e.Curriculum, err = curriculumOf(ctx, d)
	}
	return err
}

// sampleOf summarizes the attempts among rows, without forks, by example, or by group if they have one.
func sampleOf(ctx context.Context, d *dataset.Dataset) (*Sample, error) {
	s := summary{min: math.Inf(1), max: math.Inf(-1), named: map[string]*mean{}}
	rows := query.Rows(ctx, d, query.Query{}, "example_id", "group_id", "fork_call", "status", "reward", "rewards.name", "rewards.value",
		"rewards.weight")
	err := dataset.GroupsOf(rows, func(r *query.Row) string { return cmp.Or(r.GroupID, r.ExampleID) }, func(rows []query.Row) error {
		before := s.rows
		for i := range rows {
			if rows[i].ForkCall == nil {
				s.Add(rows[i].Status, rows[i].Reward, rows[i].Rewards)
			}
		}
		if s.rows > before {
			s.end()
		}
		return nil
	})
	return s.sample(), err
}

// ReadReceipt returns the receipt of a submission, or nil without one.
func ReadReceipt(ctx context.Context, uri string) (*receipts.Receipt, error) {
	bucket, err := storage.Open(ctx, uri)
	if err != nil {
		return nil, err
	}
	data, err := bucket.Read(ctx, receipts.File)
	if errors.Is(err, storage.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	r := &receipts.Receipt{}
	if err := json.Unmarshal(data, r); err != nil {
		return nil, fault.Invalid(storage.Join(bucket.URI(), receipts.File), "", err, "not a receipt")
	}
	return r, nil
}

// summary accumulates rows for a Sample.
type summary struct {
	rows, failed, groups int64
	total                mean
	min, max             float64
	named                map[string]*mean
}

type mean struct {
	sum, weight float64
	n           int64
	errors      clusters.Clusters
}

func (m *mean) Add(v float64) {
	m.sum += v
	m.n++
	m.errors.Add(v)
}

// end ends a group.
func (s *summary) end() {
	s.groups++
	s.total.errors.End()
	for _, m := range s.named {
		m.errors.End()
	}
}

func (s *summary) Add(status string, reward *float64, named []formats.NamedReward) {
	s.rows++
	if status == outcomes.StatusFailed {
		s.failed++
	}
	for _, r := range named {
		if r.Value == nil {
			continue
		}
		m := s.named[r.Name]
		if m == nil {
			m = &mean{weight: r.Weight}
			s.named[strings.Clone(r.Name)] = m
		}
		m.Add(*r.Value)
	}
	if reward != nil {
		s.total.Add(*reward)
		s.min, s.max = min(s.min, *reward), max(s.max, *reward)
	}
}

func (s *summary) sample() *Sample {
	out := &Sample{Trajectories: s.rows, Groups: s.groups, Examples: s.groups, Scored: s.total.n, Failed: s.failed}
	if s.total.n > 0 {
		out.Mean, out.Min, out.Max, out.StdErr = new(s.total.sum/float64(s.total.n)), &s.min, &s.max, s.total.errors.Err()
	}
	for name, m := range s.named {
		if out.Rewards == nil {
			out.Rewards, out.RewardStdErrs, out.Weights = map[string]float64{}, map[string]float64{}, map[string]float64{}
		}
		out.Rewards[name], out.Weights[name] = m.sum/float64(m.n), m.weight
		if e := m.errors.Err(); e != nil {
			out.RewardStdErrs[name] = *e
		}
	}
	return out
}

// Each calls f with the rows of a table, in order.
func Each[T any](ctx context.Context, d *dataset.Dataset, table string, f func(int64, *T)) error {
	row := int64(0)
	for t, err := range dataset.Each[T](ctx, d, table, d.AllOf(table)) {
		if err != nil {
			return err
		}
		f(row, t)
		row++
	}
	return nil
}
