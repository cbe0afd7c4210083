// Package live reads the journals of a rollout under way: what ended so far, how fast, and the
// whole rows of a group. Segments of a journal never change, so each is read once.
package live

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/seal"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/prices"
	"github.com/rollmill/rollmill/pipelines/look/history"
	"github.com/rollmill/rollmill/pipelines/look/text"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// Attempt is a journalled trajectory without its payload; its calls are counted and not kept.
type Attempt struct {
	TrajectoryID     string `parquet:"trajectory_id"`
	ExampleID        string `parquet:"example_id,dict"`
	Epoch            int32  `parquet:"epoch,delta"`
	Generation       int32  `parquet:"generation,delta"`
	Status           string `parquet:"status,dict"`
	StopReason       string `parquet:"stop_reason,dict"`
	FailureClass     string `parquet:"failure_class,optional,dict"`
	PromptTokens     int32  `parquet:"prompt_tokens,delta"`
	CompletionTokens int32  `parquet:"completion_tokens,delta"`
	Attempts         int32  `parquet:"attempts,delta"`
	Diverged         string `parquet:"diverged,optional,dict"`
	StartedAt        int64  `parquet:"started_at,optional,timestamp(microsecond),delta"`
	FinishedAt       int64  `parquet:"finished_at,optional,timestamp(microsecond),delta"`

	Calls []formats.Call `parquet:"calls,list"`

	segment seal.Segment
	row     int
}

// Seconds returns how long it took.
func (a *Attempt) Seconds() float64 {
	return time.Duration(1000 * (a.FinishedAt - a.StartedAt)).Seconds()
}

// maxAttempts is how many journalled attempts are kept; of more, only the totals.
const maxAttempts = 200_000

// Journal is what was read of the journals of a dataset. Segments never change, so
// each is read once.
type Journal struct {
	Mu sync.Mutex
	journalled
}

// journalled is what a journal has of the rows of one identity.
type journalled struct {
	read     map[string]bool // segments, by name
	finished map[int]bool    // shards whose record is read
	expected map[int]int64   // rows of a shard
	shards   map[int]*totals // by its segments, or by its record when it is finished
	Attempts []*Attempt      // of segments of shards that are not finished, as they were written
	at       map[string]int  // of a trajectory in attempts
	under    *seal.Underway
}

// totals adds up attempts.
type totals struct {
	Rows, Failed, Prompt, Completion int64
	Classes, Stops                   map[string]int64   // the record of a finished shard has no stops
	Facts                            map[string]float64 // of calls, by model
}

// Totals returns what all shards add up to.
func (j *journalled) Totals() totals {
	all := totals{Classes: map[string]int64{}, Stops: map[string]int64{}}
	for _, t := range j.shards {
		all.Rows, all.Failed = all.Rows+t.Rows, all.Failed+t.Failed
		all.Prompt, all.Completion = all.Prompt+t.Prompt, all.Completion+t.Completion
		history.AddCounts(all.Classes, t.Classes)
		history.AddCounts(all.Stops, t.Stops)
	}
	return all
}

func (t *totals) add(a *Attempt, sign int64) {
	t.Rows += sign
	t.Stops[a.StopReason] += sign
	if a.Status == outcomes.StatusFailed {
		t.Failed += sign
		t.Classes[a.FailureClass] += sign
	}
}

// Refresh reads what is new in the journals of a dataset.
func (j *Journal) Refresh(ctx context.Context, uri string) error {
	under, err := seal.LookUnderway(ctx, uri)
	if err != nil {
		return err
	}
	j.Mu.Lock()
	defer j.Mu.Unlock()
	if j.read == nil || j.under != nil && j.under.Name != under.Name { // another rollout replaces it
		j.journalled = journalled{read: map[string]bool{}, finished: map[int]bool{}, expected: map[int]int64{},
			shards: map[int]*totals{}, at: map[string]int{}}
	}
	j.under = under
	for _, f := range under.Finished {
		if j.finished[f.Shard] {
			continue
		}
		m, err := under.Record(ctx, f)
		if err != nil {
			return err
		}
		j.finish(f.Shard, &m)
	}
	for _, s := range under.Segments {
		if j.read[s.Name] || j.finished[s.Shard] {
			continue
		}
		rows, err := seal.ReadSegment[Attempt](ctx, under, s)
		if err != nil {
			return err
		}
		if _, known := j.expected[s.Shard]; !known {
			if j.expected[s.Shard], err = under.Expected(ctx, s); err != nil {
				return err
			}
		}
		j.read[s.Name] = true
		for i := range rows {
			rows[i].segment, rows[i].row = s, i
			j.add(&rows[i])
		}
	}
	return nil
}

// finish takes the record of a shard in place of its segments, which are gone or soon will be.
func (j *journalled) finish(shard int, m *manifest.Manifest) {
	j.finished[shard], j.expected[shard] = true, m.Rows
	j.shards[shard] = &totals{Rows: m.Rows, Failed: m.Counts[outcomes.StatusFailed], Prompt: int64(m.Facts["prompt_tokens"]),
		Completion: int64(m.Facts["completion_tokens"]), Classes: m.Failures, Facts: m.Facts}
	j.Attempts = slices.DeleteFunc(j.Attempts, func(a *Attempt) bool { return a.segment.Shard == shard })
	clear(j.at)
	for i, a := range j.Attempts {
		j.at[a.TrajectoryID] = i
	}
}

// add adds an attempt. One that was made again replaces the earlier one; what that
// cost still counts.
func (j *journalled) add(a *Attempt) {
	t := j.shards[a.segment.Shard]
	if t == nil {
		t = &totals{Classes: map[string]int64{}, Stops: map[string]int64{}, Facts: map[string]float64{}}
		j.shards[a.segment.Shard] = t
	}
	t.Prompt += int64(a.PromptTokens)
	t.Completion += int64(a.CompletionTokens)
	row := formats.Trajectory{Status: a.Status, Attempts: a.Attempts, Diverged: a.Diverged, Calls: a.Calls}
	prices.Count(t.Facts, &row)
	a.Calls = nil
	if at, again := j.at[a.TrajectoryID]; again {
		if old := j.Attempts[at]; old.Status == outcomes.StatusFailed {
			t.add(old, -1)
			t.add(a, 1)
			j.Attempts[at] = a
		}
		return
	}
	t.add(a, 1)
	if len(j.Attempts) < maxAttempts {
		j.at[a.TrajectoryID] = len(j.Attempts)
		j.Attempts = append(j.Attempts, a)
	}
}

// window is the time over which the present rate is measured.
const window = time.Minute

// Tiles returns how far a rollout is, how fast it is, and what it used.
func (j *Journal) Tiles(table history.Prices, now time.Time) []history.Tile {
	t := j.Totals()
	total, all := int64(0), len(j.expected) == j.under.Shards
	for _, n := range j.expected {
		total += n
		all = all && n > 0
	}
	out := []history.Tile{{Name: "Finished", Value: text.Thousands(t.Rows)}}
	if all && total > 0 {
		out[0].Note = fmt.Sprintf("%.1f %% of %s", 100*float64(t.Rows)/float64(total), text.Thousands(total))
	}
	rate, overall := j.rates(now)
	out = append(out, history.Tile{Name: "Rate", Value: fmt.Sprintf("%.1f per minute", rate*60),
		Note: fmt.Sprintf("in the last minute; %.1f on the whole", overall*60)})
	if all && total > t.Rows && rate > 0 {
		left := time.Duration(float64(total-t.Rows) / rate * float64(time.Second))
		out = append(out, history.Tile{Name: "Time left", Value: left.Round(time.Second).String(),
			Note: "at the last minute's rate"})
	}
	share := ""
	if t.Rows > 0 {
		share = fmt.Sprintf("%.1f %%", 100*float64(t.Failed)/float64(t.Rows))
	}
	out = append(out, history.Tile{Name: "Failed", Value: text.Thousands(t.Failed), Note: share},
		history.Tile{Name: "Tokens", Value: text.Thousands(t.Prompt + t.Completion),
			Note: fmt.Sprintf("%s prompt, %s completion", text.Thousands(t.Prompt), text.Thousands(t.Completion))})
	var parts []prices.Facts
	for _, shard := range j.shards {
		parts = append(parts, prices.Facts{"rollout": shard.Facts})
	}
	if spend, of := table.Cost(parts...).Text(); spend != "" {
		out = append(out, history.Tile{Name: "Spend", Value: spend, Note: of})
	}
	if j.under.Shards > 1 {
		out = append(out, history.Tile{Name: "Shards", Value: fmt.Sprintf("%d of %d", len(j.under.Finished), j.under.Shards),
			Note: "finished"})
	}
	return append(out, history.Tile{Name: "Last written", Value: text.Since(j.under.Changed) + " ago"})
}

// rates returns the attempts per second that ended within the window before now, and
// those of the whole time.
func (j *Journal) rates(now time.Time) (rate, overall float64) {
	var first, last int64
	from, n := now.Add(-window).UnixMicro(), 0
	for _, a := range j.Attempts {
		if a.FinishedAt == 0 {
			continue
		}
		if first == 0 || a.StartedAt < first {
			first = a.StartedAt
		}
		last = max(last, a.FinishedAt)
		if a.FinishedAt >= from {
			n++
		}
	}
	if last <= first {
		return 0, 0
	}
	span := min(window.Seconds(), float64(now.UnixMicro()-first)/1e6) // a rollout may be younger than the window
	return float64(n) / max(span, 1e-6), float64(len(j.Attempts)) / (float64(last-first) / 1e6)
}

// maxMembers is how many members of a group under way are shown.
const maxMembers = 64

// Members returns the newest attempts of a group, or of the group of a trajectory, which is
// among them, in the order of their generations.
func (j *Journal) Members(group, id string) ([]*Attempt, *seal.Underway, error) {
	j.Mu.Lock()
	defer j.Mu.Unlock()
	var out []*Attempt
	if id != "" {
		at, has := j.at[id]
		if !has {
			return nil, nil, fault.Invalid("", "", storage.ErrNotExist, "no trajectory %q in the journal", id)
		}
		out = append(out, j.Attempts[at])
		group = out[0].Group()
	}
	for _, a := range slices.Backward(j.Attempts) {
		if a.Group() == group && a.TrajectoryID != id && len(out) < maxMembers {
			out = append(out, a)
		}
	}
	if len(out) == 0 {
		return nil, nil, fault.Invalid("", "", storage.ErrNotExist, "no trajectory of group %q in the journal", group)
	}
	slices.SortFunc(out, func(a, b *Attempt) int { return int(a.Generation) - int(b.Generation) })
	return out, j.under, nil
}

func (a *Attempt) Group() string { return formats.GroupID(a.ExampleID, int(a.Epoch)) }

// Load reads the whole rows of attempts, one segment after the other.
func Load(ctx context.Context, under *seal.Underway, attempts []*Attempt) ([]formats.Trajectory, error) {
	out := make([]formats.Trajectory, len(attempts))
	read := map[string]bool{}
	for _, first := range attempts {
		if read[first.segment.Name] {
			continue
		}
		read[first.segment.Name] = true
		rows, err := seal.ReadSegment[formats.Trajectory](ctx, under, first.segment)
		if err != nil {
			return nil, err
		}
		for i, a := range attempts {
			if a.segment.Name == first.segment.Name {
				out[i] = rows[a.row]
			}
		}
	}
	return out, nil
}

// Each yields the whole rows of the attempts, one segment after the other.
func (j *Journal) Each(ctx context.Context) iter.Seq2[*formats.Trajectory, error] {
	return func(yield func(*formats.Trajectory, error) bool) {
		of := map[string][]*Attempt{}
		for _, a := range j.Attempts {
			of[a.segment.Name] = append(of[a.segment.Name], a)
		}
		for _, s := range j.under.Segments {
			rows, err := Load(ctx, j.under, of[s.Name])
			for i := range rows {
				if !yield(&rows[i], nil) {
					return
				}
			}
			if err != nil && !yield(nil, err) {
				return
			}
		}
	}
}
