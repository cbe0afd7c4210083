package score_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/stages/score/rewards"
	"github.com/rollmill/rollmill/storage/fault"
)

// partedKind gives each row the parts named in its argument: with "none" first it has no value
// of its own. A value is the answer's length; the part "odd" is null for an even generation, "nan" is not a
// number, and the value of a row of an empty answer fails, with its parts if there is one named "kept".
var partedKind = score.RewardKind{Kind: plugin.Kind[score.RewardSettings]{
	Name: "parted", Help: "give parts", New: func() score.RewardSettings { return &parted{} },
}}

type parted struct {
	names string
	score.Description
}

func (p *parted) Declare(d *plugin.Declarer) {
	d.String(&p.names, "names", "give these `PARTS`").FirstInSpec()
}

func (p *parted) Reward(score.Setup) (score.Reward, error) {
	all, none := strings.CutPrefix(p.names, "none")
	p.Description = score.Description{Detail: score.Light, Parts: strings.Fields(all), NoValue: none}
	return p, nil
}

func (p *parted) Describe() score.Description { return p.Description }
func (p *parted) Close() error                { return nil }

func (p *parted) Score(ctx context.Context, rows []*score.Row, values []score.Value) error {
	for i, r := range rows {
		v := score.Value{Reward: float64(len(r.Answer)), Reason: "so long"}
		if len(r.Answer)%5 == 0 {
			v = score.Failed(outcomes.RewardTimeout, "too slow")
		}
		for _, name := range p.Parts {
			n := float64(r.Generation)
			part := score.Part{Value: &n, Reason: "it is " + name}
			switch {
			case name == "odd" && r.Generation%2 == 0:
				part = score.Part{Failure: outcomes.RewardAnswer, Error: "it is even", Reason: "so it seems"}
			case name == "nan":
				n = math.NaN()
			case name == "unset":
				part = score.Part{}
			}
			if name != "short" && (v.Failure == "" || strings.Contains(p.names, "kept")) {
				v.Parts = append(v.Parts, part)
			}
		}
		values[i] = v
	}
	return ctx.Err()
}

func partedOptions(t testing.TB, in, out string, specs ...string) score.Options {
	o := options(t, in, out, specs...)
	o.Registry, o.MaxFailureRate = plugin.NewRegistry("reward", append(rewards.All.All(), partedKind)...), new(1.0)
	return o
}

// TestPartsStandInARow: after the value, with weight 0, a number or why there is none, and a reason.
func TestPartsStandInARow(t *testing.T) {
	const in = "mem://parts/rollout"
	base(t, in, trajectories())
	run(t, partedOptions(t, in, "mem://parts/score", "p*0.5=parted:odd kept nan unset", "gone*0=parted:odd", "q*0=parted:none a short", "twice*0=expr:rewards.p_kept * 2"))
	got, d := rows(t, "mem://parts/score")
	seen := map[string]int{}
	for _, s := range got {
		var names []string
		for _, r := range s.Rewards {
			names = append(names, r.Name)
			if r.Weight != map[string]float64{"p": 0.5}[r.Name] || (r.Value == nil) != (r.Failure != "") {
				t.Errorf("%+v", r)
			}
			if r.Failure != "" && score.Scorable(s.Status) {
				seen[r.Name+" "+r.Failure]++
			}
		}
		if strings.Join(names, " ") != "p p_odd p_kept p_nan p_unset gone gone_odd q_a q_short twice" {
			t.Fatalf("rewards %v", names)
		}
		switch own, odd, kept := s.Rewards[0], s.Rewards[1], s.Rewards[2]; {
		case !score.Scorable(s.Status):
			if odd.Failure != outcomes.RewardTrajectory || s.Reward != nil {
				t.Errorf("a trajectory that failed: %+v", s)
			}
		case *kept.Value != float64(s.Generation) || kept.Reason != "it is kept" || *s.Rewards[9].Value != 2**kept.Value:
			t.Errorf("%+v", s)
		case odd.Value == nil && (odd.Reason != "so it seems" || odd.Error != "it is even"):
			t.Errorf("%+v", odd)
		case own.Value != nil && (*s.Reward != *own.Value/2 || own.Reason != "so long"):
			t.Errorf("%+v", s)
		}
	}
	for _, want := range []string{"p timeout", "p_odd answer", "p_nan nonfinite", "p_unset error", "gone timeout", "gone_odd timeout", "gone_odd answer", "q_short error"} {
		if seen[want] == 0 {
			t.Errorf("no row has %s: %v", want, seen)
		}
	}
	if d.Facts["rewards.p_kept.scored"] != d.Facts["attempted"] || d.Facts["rewards.p_odd.failed"] == 0 {
		t.Errorf("facts %v", d.Facts)
	}
}

// TestPartsGoWithTheirReward: carried forward, carried over by --only, over an extended rollout, in shards.
func TestPartsGoWithTheirReward(t *testing.T) {
	const in = "mem://parts-go/rollout"
	all := trajectories()
	base(t, in, all[:48])
	extended(t, "mem://parts-go/extended", in, all)
	specs := []string{"p=parted:odd kept", "q=parted:none odd a", "sum*0=expr:rewards.p_kept + rewards.q_a"}
	old := run(t, partedOptions(t, in, "mem://parts-go/old", specs...))
	once := func(in, from, out string, shards int, only []string, specs ...string) (got stages.Report) {
		for i := range shards {
			o := partedOptions(t, in, out, specs...)
			o.Only, o.From.URI, o.Out.Shard, o.BatchRows = only, from, stages.Shard{Index: i, Count: shards}, 5
			got = run(t, o)
		}
		return got
	}
	for _, mode := range []string{"missing", "failed", "changed", "p", "q"} {
		for _, named := range [][]string{specs, nil} {
			out := fmt.Sprint("mem://parts-go/same-", mode, len(named))
			if got := once(in, "mem://parts-go/old", out, 1, []string{mode}, named...); got.RowsDigest != old.RowsDigest {
				t.Errorf("--only %s gave other rows", mode)
			}
			if p, q := computed(t, out, "p"), computed(t, out, "q"); (p > 0) != (mode == "failed" || mode == "p") || (q > 0) != (mode == "failed" || mode == "q") {
				t.Errorf("--only %s computed p for %v rows, q for %v", mode, p, q)
			}
		}
	}
	anew := run(t, partedOptions(t, "mem://parts-go/extended", "mem://parts-go/anew", specs...))
	for _, n := range []int{1, 3} {
		out := fmt.Sprint("mem://parts-go/grown-", n)
		if got := once("mem://parts-go/extended", "mem://parts-go/old", out, n, []string{"missing"}, specs...); got.RowsDigest != anew.RowsDigest {
			t.Errorf("%d shards: carried over %s, anew %s", n, got.RowsDigest, anew.RowsDigest)
		}
	}
	run(t, partedOptions(t, "mem://parts-go/old", "mem://parts-go/more", "p=parted:kept", "b*0=expr:rewards.q_a"))
	more, _ := rows(t, "mem://parts-go/more")
	before, _ := rows(t, "mem://parts-go/old")
	for i, s := range more {
		names := ""
		for _, r := range s.Rewards {
			names += r.Name + " "
		}
		if names != "q_odd q_a sum p p_kept b " {
			t.Fatalf("rewards %s", names)
		}
		if was := before[i].Rewards[3:6]; s.Rewards[1].Reason != was[1].Reason || s.Rewards[0].Failure != was[0].Failure {
			t.Errorf("%+v carried forward is %+v", was, s.Rewards)
		}
	}
	if r := run(t, partedOptions(t, "mem://parts-go/old", "mem://parts-go/more", "p=parted:kept", "b*0=expr:rewards.q_a")); !r.UpToDate {
		t.Error("the same again is not up to date")
	}
}

// TestNamesOfPartsAreNotTaken: refused before a row is read, or once the input's rewards are known.
func TestNamesOfPartsAreNotTaken(t *testing.T) {
	const in = "mem://parts-taken/rollout"
	base(t, in, trajectories()[:8])
	run(t, partedOptions(t, in, "mem://parts-taken/old", "p=parted:a b", "x_y*0=expr:1"))
	refused := func(err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) || fault.HintOf(err) == "" {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	for want, specs := range map[string][]string{
		`two rewards would be named "p_a"`: {"p=parted:a", "p_a=expr:1"},
		`would be named "p_q_a"`:           {"p=parted:q_a", "p_q=parted:a"},
		`would be named "p_b"`:             {"p=parted:b b"},
		`"p_a.b" cannot be a name`:         {"p=parted:a.b"},
		`has no value to weigh 0.5`:        {"p*0.5=parted:none a"},
	} {
		refused(partedOptions(t, in, "mem://parts-taken/out", specs...).Validate(), want)
	}
	for want, specs := range map[string][]string{
		`no reward "p_c" is computed`:   {"p=parted:a", "c=expr:rewards.p_c", "p2=parted:c"},
		`kind parted describes nothing`: {"p=parted:none"},
	} {
		if _, err := score.Run(t.Context(), partedOptions(t, in, "mem://parts-taken/out", specs...)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", specs, err)
		}
	}
	for want, specs := range map[string][]string{
		`two rewards would be named "p_a"`: {"p_a=expr:1"},
		`would be named "x_y"`:             {"x=parted:y"},
	} {
		_, err := score.Run(t.Context(), partedOptions(t, "mem://parts-taken/old", "mem://parts-taken/out", specs...))
		refused(err, want)
	}
	o := partedOptions(t, in, "mem://parts-taken/out", "p=parted:a c")
	o.Only, o.From.URI = []string{"missing"}, "mem://parts-taken/old"
	_, err := score.Run(t.Context(), o)
	refused(err, `reward "p" gives ["p" "p_a" "p_b"]`)
	if o.Only = []string{"changed"}; run(t, o).Rows == 0 {
		t.Error("no rows")
	}
}

// TestARewardOfPartsAlone has no total.
func TestARewardOfPartsAlone(t *testing.T) {
	const in = "mem://parts-alone/rollout"
	base(t, in, trajectories())
	if r := run(t, partedOptions(t, in, "mem://parts-alone/score", "q=parted:none a")); r.Counts["scored"] != 0 || r.Counts["unscored"] == 0 {
		t.Errorf("counts %v", r.Counts)
	}
	got, _ := rows(t, "mem://parts-alone/score")
	for _, s := range got {
		if s.Reward != nil || len(s.Rewards) != 1 || s.Failure == "" {
			t.Fatalf("%+v", s)
		}
	}
	r := run(t, partedOptions(t, "mem://parts-alone/score", "mem://parts-alone/both", "len=expr:len(answer)"))
	both, _ := rows(t, "mem://parts-alone/both")
	if r.Counts["unscored"] != 0 || len(both[0].Rewards) != 2 || both[0].Rewards[0].Name != "q_a" {
		t.Errorf("%v %+v", r.Counts, both[0])
	}
}
