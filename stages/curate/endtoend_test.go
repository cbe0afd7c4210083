package curate_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/stages/curate/rules"
	"github.com/rollmill/rollmill/stages/curate/rules/ruletest"
	"github.com/rollmill/rollmill/stages/plugin"
)

// An example's rewards, written short: f is failed, s skipped, u unscored. Forks of a prefix of x are x/prefix.
type example struct {
	id      string
	rewards string
}

func trajectory(e example, epoch, g int) formats.Trajectory {
	id, prefix, forks := strings.Cut(e.id, "/")
	t := formats.Trajectory{
		TrajectoryID: formats.TrajectoryID("run", e.id, epoch, g), Run: "run", ExampleID: id, Epoch: int32(epoch), Generation: int32(g),
		Example: "{}", Status: outcomes.StatusOK, StopReason: outcomes.StopDone, SampledTokens: 3,
		Messages: []formats.Message{
			{Parent: -1, Role: "user", Content: "go", Call: -1},
			{Role: "assistant", Content: fmt.Sprint(e.id, g), Sampled: true, TokenIDs: []int32{1, 2, int32(g)}, Logprobs: []float32{-1, -2, -3}},
		},
		Calls: []formats.Call{{Model: "m", Sampling: "{}", Tools: -1, Target: true}},
	}
	if forks {
		t.ForkedFrom, t.ForkCall, t.Generation = prefix, new(int32(1)), t.Generation+20
	}
	return t
}

func (e example) groupID(epoch int) string {
	if id, prefix, forks := strings.Cut(e.id, "/"); forks {
		return formats.GroupID(formats.ForkKey(id, prefix, 1), epoch)
	}
	return formats.GroupID(e.id, epoch)
}

// member says of a trajectory what group would, with r - mean as advantage.
func member(t formats.Trajectory, word string, mean float64) formats.Member {
	m := formats.Member{
		TrajectoryID: t.TrajectoryID, ExampleID: t.ExampleID, GroupID: formats.GroupID(t.ExampleID, int(t.Epoch)),
		Epoch: t.Epoch, Generation: t.Generation, Status: t.Status, ForkedFrom: t.ForkedFrom, ForkCall: t.ForkCall,
	}
	if t.ForkCall != nil {
		m.GroupID = example{id: t.ExampleID + "/" + t.ForkedFrom}.groupID(int(t.Epoch))
	}
	switch word {
	case "f":
		m.Status, m.NoAdvantage = outcomes.StatusFailed, training.NoAdvantageFailed
	case "s":
		m.Status, m.NoAdvantage = outcomes.StatusSkipped, training.NoAdvantageFailed
	case "u":
		m.NoAdvantage = training.NoAdvantageUnscored
	default:
		r := number(word)
		a := r - mean
		m.Reward, m.Advantage = &r, &a
		m.Rewards = []formats.NamedReward{{Name: "test", Value: &r, Weight: 1}}
	}
	return m
}

func number(word string) (r float64) {
	if _, err := fmt.Sscan(word, &r); err != nil {
		panic(err)
	}
	return r
}

func statistics(e example, epoch int, first int64) formats.GroupStats {
	words := strings.Fields(e.rewards)
	id, _, forks := strings.Cut(e.id, "/")
	s := formats.GroupStats{GroupID: e.groupID(epoch), ExampleID: id, Epoch: int32(epoch), Forks: forks, FirstRow: first, Count: int32(len(words))}
	var valid []float64
	sum := 0.0
	for _, w := range words {
		switch w {
		case "f", "s":
			s.Failed++
		case "u":
			s.Unscored++
		default:
			r := number(w)
			valid = append(valid, r)
			if sum += r; r >= 1 {
				s.SolvedCount++
			}
		}
	}
	s.SampledTokens = 3 * int64(len(valid))
	if s.Valid = int32(len(valid)); s.Valid > 0 {
		mean, low, high := sum/float64(len(valid)), slices.Min(valid), slices.Max(valid)
		std, solved := 0.0, float64(s.SolvedCount)/float64(s.Valid)
		for _, r := range valid {
			std += (r - mean) * (r - mean) / float64(len(valid))
		}
		std = math.Sqrt(std)
		s.Mean, s.Min, s.Max, s.StdPop, s.Solved = &mean, &low, &high, &std, &solved
	}
	return s
}

// groups writes rollouts in so many parts and the groups next to them, as the
// first version of group did, and returns the URI of the groups.
func groups(t testing.TB, name string, epoch int, parts ...[]example) string {
	t.Helper()
	return recipe{epoch: epoch, version: 1}.write(t, name, parts...)
}

// changed writes groups whose trajectories change has changed.
func changed(t testing.TB, name string, epoch int, part []example, change func(*formats.Trajectory)) string {
	t.Helper()
	state, err := json.Marshal(training.GroupState{Estimator: "drgrpo", Compat: "none"})
	check(t, err)
	return recipe{epoch: epoch, version: 2, state: state, change: change}.write(t, name, part)
}

// recipe says how groups are written.
type recipe struct {
	epoch   int
	version int // of group
	state   json.RawMessage
	params  map[string]any            // of group; may be nil
	change  func(*formats.Trajectory) // each of those that did not fail; may be nil

	tables func(s *shards.Shard, groups [][]formats.Member) // writes further tables; may be nil
}

func (y recipe) write(t testing.TB, name string, parts ...[]example) string {
	t.Helper()
	uri := "mem://" + strings.ReplaceAll(t.Name()+"-"+name, "/", "-") + "/group" // a bucket of its own: memory lists slowly
	base := uri + "-rollout"
	for i, part := range parts {
		s := begin(t, base, manifest.Spec{Stage: "rollout", Version: 1, Kind: schema.KindTrajectories}, i, len(parts))
		w := shards.NewTable[formats.Trajectory](s, "", -1)
		for _, e := range part {
			check(t, w.Write(t.Context(), y.rows(e)))
		}
		commit(t, s)
	}
	ref := open(t, base).Ref("base", uri)
	s := begin(t, uri, manifest.Spec{Stage: "group", Version: y.version, Kind: schema.KindGroups, Params: y.params, Base: &ref, Inputs: []manifest.Ref{ref}}, 0, 1)
	members := shards.NewTable[formats.Member](s, "", 0)
	stats := shards.NewTable[formats.GroupStats](s, schema.TableGroups, -1)
	first := int64(0)
	var all [][]formats.Member
	for _, e := range slices.Concat(parts...) {
		st := statistics(e, y.epoch, first)
		rows := y.members(e, st)
		all = append(all, rows)
		check(t, members.Write(t.Context(), rows))
		check(t, stats.Write(t.Context(), []formats.GroupStats{st}))
		first += int64(len(rows))
	}
	if y.tables != nil {
		y.tables(s, all)
	}
	_, err := s.Commit(t.Context(), shards.Outcome{State: y.state})
	check(t, err)
	return uri
}

func (y recipe) rows(e example) (rows []formats.Trajectory) {
	for g, word := range strings.Fields(e.rewards) {
		row := trajectory(e, y.epoch, g)
		if word == "f" {
			row.Status, row.StopReason, row.FailureClass = outcomes.StatusFailed, outcomes.StopError, outcomes.FailEngine
		} else if y.change != nil {
			y.change(&row)
		}
		rows = append(rows, row)
	}
	return rows
}

func (y recipe) members(e example, st formats.GroupStats) (rows []formats.Member) {
	mean := 0.0
	if st.Mean != nil {
		mean = *st.Mean
	}
	for g, word := range strings.Fields(e.rewards) {
		rows = append(rows, member(trajectory(e, y.epoch, g), word, mean))
	}
	return rows
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func begin(t testing.TB, uri string, spec manifest.Spec, shard, of int) *shards.Shard {
	t.Helper()
	s, err := shards.Begin(t.Context(), uri, spec, shards.Options{Shard: shard, Of: of})
	check(t, err)
	return s
}

func commit(t testing.TB, s *shards.Shard) {
	t.Helper()
	_, err := s.Commit(t.Context(), shards.Outcome{})
	check(t, err)
}

func open(t testing.TB, uri string) *dataset.Dataset {
	t.Helper()
	d, err := dataset.Open(t.Context(), uri, dataset.OpenOptions{})
	check(t, err)
	return d
}

func options(in, out string) curate.Options {
	return curate.Options{In: stages.Input{URI: in}, Out: stages.Output{URI: out}, Rules: plugin.Every(rules.All)}
}

// ask gives the rules of o some of their settings.
func ask(o curate.Options, given ...any) { ruletest.Give(o.Rules, given...) }

func run(t testing.TB, o curate.Options) (stages.Report, *dataset.Dataset) {
	t.Helper()
	r, err := curate.Run(t.Context(), o)
	check(t, err)
	return r, open(t, o.Out.URI)
}

func readAll[T any](t testing.TB, d *dataset.Dataset, table string) []T {
	t.Helper()
	r := d.All()
	if table != "" {
		r.Rows = d.Tables[table].Rows
	}
	rows, err := dataset.ReadAll[T](t.Context(), d, table, r)
	check(t, err)
	return rows
}

// kept shows the chosen trajectories: "a0 a2 b1".
func kept(t testing.TB, d *dataset.Dataset) string {
	var out []string
	for _, r := range readAll[formats.Trajectory](t, d, "") {
		out = append(out, fmt.Sprint(r.ExampleID, r.Generation))
	}
	return strings.Join(out, " ")
}

// decisions shows what became of each trajectory: "a0 kept, a1 failed".
func decisions(t testing.TB, d *dataset.Dataset) string {
	var out []string
	for _, r := range readAll[decision.Decision](t, d, schema.TableDecisions) {
		why := r.Reason
		if r.Kept {
			why = "kept" + why
		}
		out = append(out, fmt.Sprintf("%s%d %s", r.ExampleID, r.Generation, why))
	}
	return strings.Join(out, ", ")
}
