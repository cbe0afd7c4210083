package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/formats/expression"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// epoch holds the rows of the datasets of one epoch.
type epoch struct {
	root      string
	rows      []formats.Trajectory
	members   []formats.Member
	decisions []decision.Decision
}

// write makes the datasets of an epoch in a store: a rollout, groups and decisions.
func (e *epoch) write(t testing.TB, o randomtest.Options) {
	t.Helper()
	var groups [][]formats.Trajectory
	var members [][]formats.Member
	for _, g := range slices.Collect(randomtest.Trajectories(1, o)) {
		groups, e.rows = append(groups, g), append(e.rows, g...)
	}
	for _, g := range slices.Collect(randomtest.Members(1, o)) {
		members, e.members = append(members, g), append(e.members, g...)
	}
	base := written(t, storage.Join(e.root, "rollout"), manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories}, groups, -1, nil)
	ref := base.Ref("base", storage.Join(e.root, "group"))
	spec := manifest.Spec{Stage: "group", Kind: schema.KindGroups, Inputs: []manifest.Ref{ref}, Base: &ref, Params: map[string]any{solvedThreshold: 0.9}}
	group := written(t, storage.Join(e.root, "group"), spec, members, 0, nil)
	for i, m := range e.members {
		d := decision.Decision{TrajectoryID: m.TrajectoryID, ExampleID: m.ExampleID, GroupID: m.GroupID, Generation: m.Generation, Kept: m.Advantage != nil}
		if !d.Kept {
			d.Reason, d.Detail = "no-advantage", fmt.Sprintf("detail %d", i)
		}
		e.decisions = append(e.decisions, d)
	}
	spec = manifest.Spec{Stage: "curate", Kind: schema.KindTrajectories, Inputs: []manifest.Ref{group.Ref("groups", storage.Join(e.root, "curate"))}}
	written(t, storage.Join(e.root, "curate"), spec, groups[:1], -1, e.decisions)
}

// written writes a dataset, with table _decisions if there are any, and opens it.
func written[T any](t testing.TB, uri string, spec manifest.Spec, groups [][]T, baseFirst int64, decisions []decision.Decision) *dataset.Dataset {
	t.Helper()
	spec.Version = 1
	s, err := shards.Begin(t.Context(), uri, spec, shards.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := shards.NewTable[T](s, "", baseFirst)
	for _, g := range groups {
		if err := w.Write(t.Context(), slices.Clone(g)); err != nil {
			t.Fatal(err)
		}
	}
	if decisions != nil {
		if err := shards.NewTable[decision.Decision](s, schema.TableDecisions, -1).Write(t.Context(), decisions); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Commit(t.Context(), shards.Outcome{}); err != nil {
		t.Fatal(err)
	}
	d, err := dataset.Open(t.Context(), uri, dataset.OpenOptions{IgnoreGates: true})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func built(t testing.TB, ctx context.Context, uri string) *Index {
	t.Helper()
	d, err := dataset.Open(ctx, uri, dataset.OpenOptions{IgnoreGates: true})
	if err != nil {
		t.Fatal(err)
	}
	s, err := SourcesOf(ctx, d)
	if err != nil {
		t.Fatal(err)
	}
	x, err := Build(ctx, s, func(int64) {})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

var small = randomtest.Options{Groups: 60, Generations: 5, Messages: 3, SampledTokens: 30, PromptTokens: 20, Failures: 0.3, Unscored: 0.2, Epoch: 3}

// TestColumns checks each column of each row against the datasets.
func TestColumns(t *testing.T) {
	e := &epoch{root: "mem://index-columns/epoch-3"}
	e.write(t, small)
	for _, stage := range []string{"rollout", "group"} {
		x := built(t, t.Context(), storage.Join(e.root, stage))
		if int(x.Rows) != len(e.rows) || x.Groups() != small.Groups {
			t.Fatalf("%d rows, %d groups", x.Rows, x.Groups())
		}
		for i, r := range e.rows {
			m, d := e.members[i], e.decisions[i]
			decision := cmp.Or(d.Reason, Kept)
			want := Trajectory{Row: uint32(i), ID: r.TrajectoryID, Group: m.GroupID, Example: r.ExampleID, Generation: r.Generation,
				Status: r.Status, Stop: r.StopReason, Failure: r.FailureClass, Reward: number(m.Reward),
				Advantage:   number(m.Advantage),
				NoAdvantage: m.NoAdvantage, PromptTokens: r.PromptTokens, SampledTokens: r.SampledTokens,
				Decision: decision}
			policy := int64(-1)
			if r.PolicyVersion != nil {
				policy = *r.PolicyVersion
			}
			row := uint32(i)
			if x.run.of(row) != r.Run || x.epoch.of(row) != int64(r.Epoch) || x.model.of(row) != r.Model || x.policy.of(row) != policy ||
				x.completion[row] != r.CompletionTokens {
				t.Fatalf("%s row %d: run, epoch, model, policy or completion tokens", stage, i)
			}
			for _, name := range x.Components() {
				want.Components = append(want.Components, Component{name, math.NaN()})
				for _, c := range m.Rewards {
					if c.Name == name {
						want.Components[len(want.Components)-1].Value = number(c.Value)
					}
				}
			}
			if got := x.At(uint32(i)); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("%s row %d:\n%+v\n%+v", stage, i, got, want)
			}
			if row, ok := x.Find(r.TrajectoryID); !ok || row != uint32(i) {
				t.Errorf("row %d is found as %d", i, row)
			}
		}
	}
}

// TestRecords reads trajectories and a group whole.
func TestRecords(t *testing.T) {
	e := &epoch{root: "mem://index-records/epoch-3"}
	e.write(t, small)
	x := built(t, t.Context(), storage.Join(e.root, "group"))
	for i := 0; i < len(e.rows); i += 7 {
		r, err := x.Trajectory(t.Context(), e.rows[i].TrajectoryID)
		if err != nil {
			t.Fatal(err)
		}
		if r.Detail != e.decisions[i].Detail || number(r.Trajectory.Advantage) != number(e.members[i].Advantage) && e.members[i].Advantage != nil ||
			len(r.Messages) != len(e.rows[i].Messages) ||
			len(r.Messages) > 0 && r.Messages[0].Content != e.rows[i].Messages[0].Content || len(r.Rewards) != len(e.members[i].Rewards) {
			t.Errorf("row %d: %+v", i, r)
		}
	}
	records, err := x.Records(t.Context(), x.Members(e.members[17].GroupID))
	if err != nil || len(records) != small.Generations || records[2].TrajectoryID != e.rows[17].TrajectoryID {
		t.Errorf("%d records, %v", len(records), err)
	}
	for _, err := range []error{second(x.Trajectory(t.Context(), "nothing"))} {
		if !errors.Is(err, storage.ErrNotExist) || !strings.Contains(err.Error(), `"nothing"`) {
			t.Errorf("%v", err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestPages compares pages with a naive reading of the rows.
func TestPages(t *testing.T) {
	e := &epoch{root: "mem://index-pages/epoch-3"}
	e.write(t, small)
	x := built(t, t.Context(), storage.Join(e.root, "group"))
	wheres := []string{"", "reward > 0.5", "status == 'ok'", "rewards['style'] < 0.3", "len(answer) > 20 && generation > 1", "messages > 3",
		"calls != 0 || metadata != nil"}
	kept := map[string][]bool{} // by --where of the commands
	for _, where := range wheres {
		f, err := expression.NewFilter(nil, where)
		if err != nil {
			t.Fatal(err)
		}
		for i := range e.rows {
			r, m := e.rows[i], e.members[i]
			r.Reward, r.Rewards, r.Advantage, r.GroupID = m.Reward, m.Rewards, m.Advantage, m.GroupID
			why, err := f.Refuses(t.Context(), &r)
			if err != nil {
				t.Fatal(err)
			}
			kept[where] = append(kept[where], why == "")
		}
	}
	columns := map[string]func(i int) any{
		"": func(i int) any { return float64(i) }, "reward": func(i int) any { return number(e.members[i].Reward) },
		"advantage": func(i int) any { return number(e.members[i].Advantage) }, "sampled_tokens": func(i int) any { return float64(e.rows[i].SampledTokens) },
		"trajectory_id": func(i int) any { return e.rows[i].TrajectoryID }, "failure_class": func(i int) any { return e.rows[i].FailureClass },
		"decision": func(i int) any { return cmp.Or(e.decisions[i].Reason, Kept) }, "reward * 2 - generation": func(i int) any { return number(e.members[i].Reward)*2 - float64(e.rows[i].Generation) }, "example_id": func(i int) any { return e.rows[i].ExampleID },
	}
	rapid.Check(t, func(t *rapid.T) {
		where := rapid.SampledFrom(wheres).Draw(t, "where")
		column := rapid.SampledFrom(slices.Sorted(maps.Keys(columns))).Draw(t, "column")
		q := Query{Where: where, Order: Order{column, rapid.Bool().Draw(t, "descending")}, Page: rapid.IntRange(0, 4).Draw(t, "page"),
			Choices: map[string]string{"status": rapid.SampledFrom([]string{"", "", "ok", "failed"}).Draw(t, "status"),
				"drop": rapid.SampledFrom([]string{"", "", Kept, "no-advantage", "none"}).Draw(t, "decision")}}
		status, decision := q.Choices["status"], q.Choices["drop"]
		var want []uint32
		stops := map[string]int{}
		for i := range e.rows {
			if kept[where][i] && (status == "" || status == e.rows[i].Status) && (decision == "" || decision == columns["decision"](i)) {
				want = append(want, uint32(i))
				stops[e.rows[i].StopReason]++
			}
		}
		slices.SortStableFunc(want, func(a, b uint32) int {
			return compareNullsLast(columns[column](int(a)), columns[column](int(b)), q.Order.Descending)
		})
		p, err := x.Trajectories().Page(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		from := (p.Page - 1) * PageSize
		if p.Total != len(want) || !slices.Equal(p.Items, want[from:min(len(want), from+PageSize)]) {
			t.Fatalf("%+v: %d of %v, want %d", q, p.Total, p.Items, len(want))
		}
		for _, f := range p.Facets {
			if f.Name != "stop" {
				continue
			}
			for _, v := range f.Values {
				if v.Count != stops[v.Value] {
					t.Errorf("%s: %d, want %d", v.Value, v.Count, stops[v.Value])
				}
			}
			if len(f.Values) != len(stops) && (len(f.Values) > 0 || len(stops) > 1) { // one that all have is not offered
				t.Errorf("%v, want %v", f.Values, stops)
			}
		}
	})
}

// compareNullsLast compares texts, of which "" is null, or numbers, of which NaN is.
func compareNullsLast(a, b any, descending bool) int {
	var order int
	var nullA, nullB bool
	switch a := a.(type) {
	case string:
		order, nullA, nullB = strings.Compare(a, b.(string)), a == "", b == ""
	case float64:
		order, nullA, nullB = cmp.Compare(a, b.(float64)), math.IsNaN(a), math.IsNaN(b.(float64))
	}
	switch {
	case nullA && nullB:
		return 0
	case nullA:
		return 1
	case nullB:
		return -1
	case descending:
		return -order
	}
	return order
}

// TestGroups compares the statistics of groups with a naive computation, and pages of
// groups with it.
func TestGroups(t *testing.T) {
	e := &epoch{root: "mem://index-groups/epoch-3"}
	e.write(t, small)
	x := built(t, t.Context(), storage.Join(e.root, "group"))
	solved := map[string]float64{}
	for n := range uint32(x.Groups()) {
		var rewards []float64
		kept := 0
		for i, m := range e.members {
			if m.GroupID != x.GroupID(n) {
				continue
			}
			if m.Reward != nil {
				rewards = append(rewards, *m.Reward)
			}
			if e.decisions[i].Kept {
				kept++
			}
		}
		g := x.Group(n)
		if int(g.Count) != small.Generations || int(g.Valid) != len(rewards) || int(g.Kept) != kept || int(g.Dropped) != small.Generations-kept {
			t.Fatalf("group %d: %+v", n, g)
		}
		if len(rewards) == 0 {
			continue
		}
		sum, above := 0.0, 0.0
		for _, r := range rewards {
			sum += r
			if r >= 0.9 {
				above++
			}
		}
		if g.Mean != sum/float64(len(rewards)) || g.Min != slices.Min(rewards) || g.Max != slices.Max(rewards) ||
			g.Solved != above/float64(len(rewards)) {
			t.Errorf("group %d: %+v", n, g)
		}
		solved[x.GroupID(n)] = g.Solved
	}
	p, err := x.GroupList().Page(t.Context(), Query{Where: "solved > 0.3", Order: Order{"solved", true}, Choices: map[string]string{"failure": outcomes.FailTimeout}})
	if err != nil || p.Total == 0 {
		t.Fatal(p, err)
	}
	last := 1.0
	for _, n := range p.Items {
		s := solved[x.GroupID(n)]
		if s <= 0.3 || s > last ||
			!slices.ContainsFunc(x.Members(x.GroupID(n)), func(row uint32) bool { return e.rows[row].FailureClass == outcomes.FailTimeout }) {
			t.Errorf("group %d with %g", n, s)
		}
		last = s
	}
	for _, f := range p.Facets {
		for _, v := range f.Values {
			if f.Name == "failure" && v.Value == outcomes.FailTimeout && v.Count != p.Total {
				t.Errorf("%+v of %d", f, p.Total)
			}
		}
	}
}

// TestConditionErrors checks that an error of a condition says where it is.
func TestConditionErrors(t *testing.T) {
	e := &epoch{root: "mem://index-errors/epoch-3"}
	e.write(t, small)
	x := built(t, t.Context(), storage.Join(e.root, "group"))
	for where, want := range map[string]string{
		"rewrd > 1":                   "(1:1)",
		"reward > ":                   "unexpected token EOF (1:9)",
		"reward + 1":                  "expected bool",
		"metadata.turns.x.y == 'a b'": e.rows[0].TrajectoryID,
		"metadata.trns != 3":          "no row has a value of metadata.trns",
	} {
		_, err := x.Trajectories().Page(t.Context(), Query{Where: where})
		var bad *WhereError
		if !errors.As(err, &bad) || !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", where, err)
		}
	}
	if err := second(x.GroupList().Page(t.Context(), Query{Where: "reward > 1"})); !errors.Is(err, fault.ErrInvalid) {
		t.Errorf("%v", err)
	}
	for _, err := range []error{second(x.GroupList().Page(t.Context(), Query{Order: Order{By: "reward"}})),
		second(x.Trajectories().Page(t.Context(), Query{Order: Order{By: "mean"}})),
		second(x.Trajectories().Page(t.Context(), Query{Order: Order{By: "metadata.trns"}}))} {
		var misused *fault.Error
		if !errors.As(err, &misused) || misused.Kind != fault.Usage {
			t.Errorf("%v", err)
		}
	}
}

// TestCurated checks the index of a curated dataset: its decisions are about more rows
// than it has, which are found by their ids.
func TestCurated(t *testing.T) {
	e := &epoch{root: "mem://index-curated/epoch-3"}
	e.write(t, small)
	x := built(t, t.Context(), storage.Join(e.root, "curate"))
	if int(x.Rows) != small.Generations || x.Groups() != 1 {
		t.Fatalf("%d rows, %d groups", x.Rows, x.Groups())
	}
	for row := range x.Rows {
		if got, want := x.At(row).Decision, cmp.Or(e.decisions[row].Reason, Kept); got != want {
			t.Errorf("row %d: %q, want %q", row, got, want)
		}
	}
	reversed := slices.Clone(e.decisions)
	slices.Reverse(reversed)
	base := built(t, t.Context(), storage.Join(e.root, "rollout"))
	ref := base.From.Rows.Ref("groups", "mem://index-curated/other/curate")
	base.From.Decisions = written(t, "mem://index-curated/other/curate",
		manifest.Spec{Stage: "curate", Kind: schema.KindTrajectories, Inputs: []manifest.Ref{ref}}, [][]formats.Trajectory{e.rows[:1]}, -1, reversed)
	x, err := Build(t.Context(), base.From, func(int64) {})
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(e.rows); i += 11 {
		r, err := x.Trajectory(t.Context(), e.rows[i].TrajectoryID)
		if err != nil || r.Is.Decision != cmp.Or(e.decisions[i].Reason, Kept) || r.Detail != e.decisions[i].Detail {
			t.Errorf("row %d: %+v %q, %v", i, r.Is, r.Detail, err)
		}
	}
}

// TestOtherIDs checks ids that rollmill did not make, and groups that are not
// adjacent.
func TestOtherIDs(t *testing.T) {
	texts := []string{"b", "0123456789abcdef01234567", "", "B", "a longer id than rollmill's own", "0123456789ABCDEF01234567"}
	var rows []formats.Trajectory
	for i, id := range texts {
		rows = append(rows, formats.Trajectory{TrajectoryID: id, ExampleID: "e", Status: "ok", GroupID: []string{"x", "y"}[i%2], Generation: int32(300 * i)})
	}
	written(t, "mem://index-ids/rollout", manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories}, [][]formats.Trajectory{rows}, -1, nil)
	x := built(t, t.Context(), "mem://index-ids/rollout")
	for i, id := range texts {
		if row, ok := x.Find(id); !ok || int(row) != i || x.At(row).ID != id || x.At(row).Generation != int32(300*i) {
			t.Errorf("%q is %d", id, row)
		}
	}
	if _, ok := x.Find("A"); ok || !slices.Equal(x.Members("y"), []uint32{1, 3, 5}) {
		t.Errorf("members %v", x.Members("y"))
	}
	p, err := x.Trajectories().Page(t.Context(), Query{Order: Order{By: "trajectory_id"}})
	if err != nil || !slices.Equal(p.Items, []uint32{2, 5, 1, 3, 4, 0}) {
		t.Errorf("%v, %v", p, err)
	}
	records, err := x.Records(t.Context(), x.Members("y"))
	if err != nil || len(records) != 3 || records[2].TrajectoryID != texts[5] || records[2].Is.Row != 5 {
		t.Errorf("%+v, %v", records, err)
	}
}

// TestNothing checks the pages of a dataset without rows.
func TestNothing(t *testing.T) {
	written(t, "mem://index-nothing/rollout", manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories}, [][]formats.Trajectory{}, -1, nil)
	x := built(t, t.Context(), "mem://index-nothing/rollout")
	for _, q := range []Query{{}, {Where: "1 == 1", Order: Order{By: "group_id"}, Page: 9, Choices: map[string]string{"status": "ok"}}} {
		rows, err := x.Trajectories().Page(t.Context(), q)
		groups, groupErr := x.GroupList().Page(t.Context(), q)
		if err != nil || groupErr != nil || rows.Total+groups.Total != 0 || rows.Page != 1 || groups.Pages != 1 {
			t.Errorf("%+v, %v, %+v, %v", rows, err, groups, groupErr)
		}
	}
}
