package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage"
)

// world is a run in memory for one case.
type world struct {
	t    *testing.T
	root string
}

var small = randomtest.Options{Groups: 10, Generations: 4, Messages: 8, SampledTokens: 60, PromptTokens: 40, Scored: true}

func (w *world) at(name string) string { return storage.Join(w.root, name) }

func trajectories(o randomtest.Options) []formats.Trajectory {
	var rows []formats.Trajectory
	for group := range randomtest.Trajectories(5, o) {
		rows = append(rows, group...)
	}
	return rows
}

// put writes a dataset with further tables.
func put[T any](w *world, name string, spec manifest.Spec, rows []T, further ...func(*shards.Shard)) *dataset.Dataset {
	w.t.Helper()
	ctx := context.Background()
	s, err := shards.Begin(ctx, w.at(name), spec, shards.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	if err := shards.NewTable[T](s, "", -1).Write(ctx, rows); err != nil {
		w.t.Fatal(err)
	}
	for _, f := range further {
		f(s)
	}
	res, err := s.Commit(ctx, shards.Outcome{})
	if err != nil {
		w.t.Fatal(err)
	}
	return res.Sealed
}

func (w *world) wide(name, stage string, rows []formats.Trajectory, inputs ...manifest.Ref) *dataset.Dataset {
	return put(w, name, manifest.Spec{Stage: stage, Kind: schema.KindTrajectories, Inputs: inputs, Params: map[string]any{"name": name}}, rows)
}

func thinSpec(w *world, base *dataset.Dataset, name string, kind schema.Kind) manifest.Spec {
	ref := base.Ref("base", w.at(name))
	return manifest.Spec{Stage: map[schema.Kind]string{schema.KindScores: "score", schema.KindGroups: "group"}[kind], Kind: kind,
		Inputs: []manifest.Ref{ref}, Base: &ref}
}

// bytes changes the bytes of a dataset's first part.
func (w *world) bytes(d *dataset.Dataset, change func([]byte) []byte) {
	ctx := context.Background()
	b, err := storage.Open(ctx, d.URI())
	if err != nil {
		w.t.Fatal(err)
	}
	data, err := b.Read(ctx, d.Parts[0].Name)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := b.Write(ctx, d.Parts[0].Name, change(data)); err != nil {
		w.t.Fatal(err)
	}
}

func flip(data []byte) []byte {
	data[len(data)/2] ^= 1
	return data
}

func (w *world) write(name, key string, data []byte) {
	b, err := storage.Open(context.Background(), w.at(name))
	if err != nil {
		w.t.Fatal(err)
	}
	if err := b.Write(context.Background(), key, data); err != nil {
		w.t.Fatal(err)
	}
}

// remove deletes a dataset.
func (w *world) remove(d *dataset.Dataset) {
	ctx := context.Background()
	b, err := storage.Open(ctx, d.URI())
	if err != nil {
		w.t.Fatal(err)
	}
	var keys []string
	for o, err := range b.List(ctx, "") {
		if err != nil {
			w.t.Fatal(err)
		}
		keys = append(keys, o.Key)
	}
	for _, k := range keys {
		if err := b.Delete(ctx, k); err != nil {
			w.t.Fatal(err)
		}
	}
}

// scenario writes a run with a fault, or its twin without the fault.
type scenario func(w *world, sick bool)

// rollout returns a scenario with a rollout whose rows spoil changes.
func rollout(o randomtest.Options, spoil func(rows []formats.Trajectory, sick bool)) scenario {
	return func(w *world, sick bool) {
		rows := trajectories(o)
		spoil(rows, sick)
		w.wide("rollout", "rollout", rows)
	}
}

// spoiled returns a rollout in which spoil changes only the rows with the fault.
func spoiled(spoil func(rows []formats.Trajectory)) scenario {
	return rollout(small, func(rows []formats.Trajectory, sick bool) {
		if sick {
			spoil(rows)
		}
	})
}

// secondRecord is appended to the URI of a run, and names a second record of its attempts.
const secondRecord = "-second/import"

// heldOutTexts is appended to the URI of a run, and names a dataset with which words are compared.
const heldOutTexts = "-held/import"

// question has 13 words.
const question = "Which of these thirteen words would a careful reader notice in the other?"

// heldTexts writes a rollout whose last row says something, and a dataset with the texts that are held out.
func heldTexts(says string, example ...string) func(w *world, sick bool) {
	return func(w *world, sick bool) {
		rows := trajectories(small)
		if sick {
			rows[39].Messages[0].Content = says
		}
		w.wide("rollout", "rollout", rows)
		held := trajectories(small)[:1]
		held[0].ExampleID, held[0].Example, held[0].Messages = "held", fmt.Sprintf(`{"text":%q}`, question), nil
		if sick {
			held[0].Example = fmt.Sprintf(`{"text":%q,"answer":%q}`, question, strings.Join(example, ""))
		}
		out := &world{w.t, w.root + "-held"}
		out.wide("import", "import", held)
	}
}

// second writes a rollout, and its rows as another program has them.
func second(w *world, spoil func(rows []formats.Trajectory)) {
	w.wide("rollout", "rollout", trajectories(small))
	rows := trajectories(small)
	spoil(rows)
	put(&world{w.t, w.root + "-second"}, "import", manifest.Spec{Stage: "import", Kind: schema.KindTrajectories}, rows)
}

// witnessed returns a scenario in which another program has one row with several answers and a tool's result otherwise.
func witnessed(spoil func(*formats.Trajectory)) scenario {
	return func(w *world, sick bool) {
		second(w, func(rows []formats.Trajectory) {
			i := slices.IndexFunc(rows, func(t formats.Trajectory) bool {
				return firstSampled(&t) < lastSampled(&t) && t.Reward != nil && slices.ContainsFunc(t.Messages, func(m formats.Message) bool { return m.Role == "tool" })
			})
			if sick {
				spoil(&rows[i])
			}
		})
	}
}

func isSampled(m formats.Message) bool { return m.Sampled }

func firstSampled(t *formats.Trajectory) int { return slices.IndexFunc(t.Messages, isSampled) }

func lastSampled(t *formats.Trajectory) int {
	return len(t.Messages) - 1 - slices.IndexFunc(reversed(t.Messages), isSampled)
}

func reversed(all []formats.Message) []formats.Message {
	all = slices.Clone(all)
	slices.Reverse(all)
	return all
}

func scores(spoil func(rows []formats.Score, sick bool)) scenario {
	return func(w *world, sick bool) {
		var rows []formats.Score
		for group := range randomtest.Scores(5, small) {
			rows = append(rows, group...)
		}
		spoil(rows, sick)
		base := w.wide("rollout", "rollout", trajectories(small))
		put(w, "score", thinSpec(w, base, "score", schema.KindScores), rows)
	}
}

// signals returns a scenario of a teacher with the policy's weights, whose log
// probabilities are those that were recorded, and so much.
func signals(well, sick float32) scenario {
	return func(w *world, ill bool) {
		by := well
		if ill {
			by = sick
		}
		var rows []formats.Score
		for group := range randomtest.Scores(5, small) {
			rows = append(rows, group...)
		}
		base := trajectories(small)
		for i := range base {
			for k := range base[i].Messages {
				if m := &base[i].Messages[k]; len(m.Logprobs) > 0 {
					s := formats.Signal{Message: int32(k), Component: "own"}
					for _, p := range m.Logprobs {
						s.Values = append(s.Values, p+by)
					}
					rows[i].Signals = append(rows[i].Signals, s)
				}
			}
		}
		put(w, "score", thinSpec(w, w.wide("rollout", "rollout", base), "score", schema.KindScores), rows)
	}
}

// groupTables returns a scenario with a group dataset. The rows of its groups are
// not adjacent, so that only _groups has their statistics.
func groupTables(spoil func(rows []formats.Member, stats []formats.GroupStats, sick bool)) scenario {
	return func(w *world, sick bool) {
		var rows []formats.Member
		for group := range randomtest.Members(5, small) {
			rows = append(rows, group...)
		}
		lo, hi := 0.0, 1.0
		stats := make([]formats.GroupStats, 10)
		for i := range rows {
			rows[i].GroupID = fmt.Sprintf("kind-%d@0", i%10)
		}
		for i := range stats {
			stats[i] = formats.GroupStats{GroupID: fmt.Sprintf("kind-%d@0", i), FirstRow: int64(i), Count: 4, Valid: 4, Min: &lo, Max: &hi}
		}
		spoil(rows, stats, sick)
		base := w.wide("rollout", "rollout", trajectories(small))
		put(w, "group", thinSpec(w, base, "group", schema.KindGroups), rows, func(s *shards.Shard) {
			if err := shards.NewTable[formats.GroupStats](s, schema.TableGroups, -1).Write(context.Background(), stats); err != nil {
				w.t.Fatal(err)
			}
		})
	}
}

// other returns a digest with its last digit changed.
func other(digest string) string {
	last := len(digest) - 1
	if digest[last] == '0' {
		return digest[:last] + "1"
	}
	return digest[:last] + "0"
}

func fail(t *formats.Trajectory) {
	t.Status, t.StopReason, t.FailureClass, t.Reward, t.Rewards = outcomes.StatusFailed, outcomes.StopError, outcomes.FailEngine, nil, nil
}

func unscore(s *formats.Score) {
	s.Reward, s.Rewards, s.Failure = nil, nil, outcomes.RewardCrashed
}

func number[T any](x T) *T { return &x }

// withTools returns a row whose message 2 calls a tool and whose message 3 answers
// it.
func withTools(rows []formats.Trajectory) *formats.Trajectory {
	i := slices.IndexFunc(rows, func(t formats.Trajectory) bool { return len(t.Messages) > 4 })
	return &rows[i]
}

// leak writes a validation and an epoch. Held-out examples are from another run of
// random rows.
func leak(sick bool, w *world) {
	o := small
	o.Epoch, o.Scored = 7, false
	rows := trajectories(o)
	if !sick {
		for i := range rows {
			rows[i].ExampleID, rows[i].Example = "held-"+rows[i].ExampleID, strings.Replace(rows[i].Example, `"question":"`, `"question":"held `, 1)
		}
	}
	w.wide("epoch-0/validation/rollout", "rollout", rows)
}

func secondReceipt(second receipts.Receipt) scenario {
	return func(w *world, sick bool) {
		w.wide("curate", "curate", trajectories(small))
		first := receipts.Receipt{Key: "k", Backend: "art", State: receipts.JobCompleted, CuratedDigest: "d", Trajectories: 40, StartedAt: time.Unix(1, 0)}
		if sick {
			second = first
			second.StartedAt = time.Unix(2, 0)
		}
		for name, r := range map[string]receipts.Receipt{"submit": first, "submit-again": second} {
			data, err := json.Marshal(r)
			if err != nil {
				w.t.Fatal(err)
			}
			w.write(name, receipts.File, data)
		}
	}
}
