package curate_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/curate"
	"github.com/rollmill/rollmill/storage/fault"
)

var three = []example{{"a", "1 0 0.5"}, {"b", "0 1 1"}, {"c", "0 0.5 1"}}

// at tells whether a trajectory is one of those named "a0 b1".
func at(names string, row *formats.Trajectory) bool {
	return strings.Contains(" "+names+" ", " "+fmt.Sprint(row.ExampleID, row.Generation)+" ")
}

func TestRulesEndToEnd(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*formats.Trajectory)
		options func(*curate.Options)
		want    string // what is kept
		drops   string
	}{
		"stale": {
			func(r *formats.Trajectory) {
				v := int64(5)
				if at("a1 b0", r) {
					v = 4
				}
				r.PolicyVersion, r.Calls[0].PolicyVersion = &v, &v
				if at("c2", r) {
					r.PolicyVersion, r.Calls[0].PolicyVersion = nil, nil
				}
			},
			func(o *curate.Options) { ask(*o, "policy-version", 7, "max-staleness", 2) },
			"a0 a2 b1 b2 c0 c1", "map[stale:3]", // b1 and b2 have equal rewards, and keep the advantages over b0
		},
		"logprobs": {
			func(r *formats.Trajectory) {
				switch {
				case at("a0", r):
					r.Messages[1].Logprobs = nil
				case at("b0", r):
					r.Messages[1].Logprobs = []float32{-1, -9999, -2}
				case at("c0", r):
					r.Messages[1].Logprobs = r.Messages[1].Logprobs[:2]
				case at("c1", r):
					r.Calls[0].Sampling = `{"temperature":0.6}`
				}
			},
			func(o *curate.Options) { ask(*o, "check-logprobs", true) },
			"a1 a2 b1 b2", "map[logprobs:4 min_valid:1]",
		},
		"images": {
			func(r *formats.Trajectory) {
				if at("a0 b0 c0", r) {
					r.Messages[0].ContentParts = `[{"type":"input_image","image_url":"u"}]`
				}
			},
			func(o *curate.Options) { ask(*o, "drop-images", true) },
			"a1 a2 b1 b2 c1 c2", "map[images:3]",
		},
		"length": {
			func(r *formats.Trajectory) {
				if at("a0", r) {
					r.SampledTokens = 50
				}
				if at("c0", r) {
					r.Calls[0].PromptTokens, r.Calls[0].CompletionTokens = 900, 200
				}
			},
			func(o *curate.Options) { ask(*o, "max-sampled-tokens", 40, "max-sequence-tokens", 1000) },
			"a1 a2 b0 b1 b2 c1 c2", "map[length:2]",
		},
		"few messages": {
			func(r *formats.Trajectory) {
				if at("a0", r) {
					r.Messages = r.Messages[1:]
					r.Messages[0].Parent = -1
				}
			},
			func(o *curate.Options) { ask(*o, "min-messages", 2) },
			"a1 a2 b0 b1 b2 c0 c1 c2", "map[few_messages:1]",
		},
		"duplicates": {
			func(r *formats.Trajectory) {
				if at("a0 a2 b1 b2", r) {
					r.Messages[1].Content = "the same"
				}
			},
			func(o *curate.Options) { ask(*o, "drop-duplicates", true) },
			"a0 a1 b0 b1 c0 c1 c2", "map[duplicate:2]",
		},
		"filter": {
			func(r *formats.Trajectory) {
				if at("c0", r) {
					r.SampledTokens = 50
				}
			},
			func(o *curate.Options) {
				ask(*o, "filter", []string{"group.mean < 0.6", "trajectory.sampled_tokens < 40 && trajectory.reward <= group.max"})
			},
			"a0 a1 a2 c1 c2", "map[filter:4]",
		},
		"columns of groups": {nil, func(o *curate.Options) {
			ask(*o, "filter", []string{"group.pass_at_k[1] == 1 && group.length_mean == 3", "trajectory.sampled_tokens < group.sampled_tokens"})
		}, "b0 b1 b2", "map[filter:6]"},
		"near duplicates": {
			func(r *formats.Trajectory) {
				says := map[string]string{"a0": "it is the seventh", "a2": "It is the seventh.", "b1": "no", "b2": "No "}
				if text, ok := says[fmt.Sprint(r.ExampleID, r.Generation)]; ok {
					r.Messages[1].Content = text
				}
			},
			func(o *curate.Options) { ask(*o, "drop-near-duplicates", 0.8) },
			"a0 a1 b0 b1 c0 c1 c2", "map[near_duplicate:2]",
		},
		"split": {nil, func(o *curate.Options) {
			ask(*o, "split", "one=0.5,other=0.5", "take", "other")
			o.Seed = 2
		}, "b0 b1 b2", "map[split:6]"},
		"best of": {nil, func(o *curate.Options) { ask(*o, "best-of", 1) }, "a0 b1 c2", "map[best_of:6]"},
		"limit":   {nil, func(o *curate.Options) { ask(*o, "max-per-group", 1, "keep-flat", true); o.MinValid = 1 }, "a1 b2 c1", "map[limit:6]"},
		"budget":  {nil, func(o *curate.Options) { ask(*o, "token-budget", 20) }, "a0 a1 a2 c0 c1 c2", "map[token_budget:3]"},
		"sample":  {nil, func(o *curate.Options) { ask(*o, "sample-groups", 0.5); o.Seed = 4 }, "b0 b1 b2", "map[subsample:6]"},
		"the first rule that refuses": {
			func(r *formats.Trajectory) {
				if at("a0", r) {
					r.Messages[1].Logprobs, r.SampledTokens = nil, 50
				}
			},
			func(o *curate.Options) {
				ask(*o, "check-logprobs", true, "max-sampled-tokens", 40, "filter", `group.id != "b@0"`)
			},
			"a1 a2 c0 c1 c2", "map[filter:3 logprobs:1]",
		},
	} {
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			if c.change == nil {
				c.change = func(*formats.Trajectory) {}
			}
			in := changed(t, "in", 0, three, c.change)
			o := options(in, in+"-curate")
			c.options(&o)
			r, d := run(t, o)
			if got := kept(t, d); got != c.want || fmt.Sprint(r.Drops) != c.drops {
				t.Errorf("kept %s, drops %v;\nwant %s, drops %s\n%s", got, r.Drops, c.want, c.drops, decisions(t, d))
			}
			for _, x := range readAll[decision.Decision](t, d, schema.TableDecisions) {
				if !x.Kept && x.Detail == "" && x.Reason != "subsample" {
					t.Errorf("%s%d: %s without a detail", x.ExampleID, x.Generation, x.Reason)
				}
			}
			o.Out.URI += "-shards"
			for i := range 3 {
				o.Out.Shard = stages.Shard{Index: i, Count: 3}
				_, err := curate.Run(t.Context(), o)
				check(t, err)
			}
			if shards := open(t, o.Out.URI); shards.RowsDigest != d.RowsDigest || fmt.Sprint(shards.Drops) != c.drops {
				t.Errorf("three shards keep %s, drops %v", kept(t, shards), shards.Drops)
			}
		})
	}
}

func TestHeldOutExamples(t *testing.T) {
	says := func(text map[string]string) func(*formats.Trajectory) {
		return func(r *formats.Trajectory) { r.Example = text[r.ExampleID] }
	}
	in := changed(t, "in", 0, []example{{"a", "1 0"}, {"b", "0 1"}, {"row-3", "0 1"}, {"d", "0 1"}},
		says(map[string]string{"a": `{"id":"a","q":1}`, "b": `{"id":"b","q":2,"z":0}`, "row-3": `{"q":3}`, "d": `{"q":4}`}))
	validation := changed(t, "validation", 0, []example{{"a", "1"}, {"x", "1"}, {"row-3", "1"}},
		says(map[string]string{"a": `{"id":"a","q":99}`, "x": `{"z":0,"q":2}`, "row-3": `{"q":77}`})) + "-rollout"
	o := options(in, in+"-curate")
	ask(o, "holdout", validation)
	r, d := run(t, o)
	if got := kept(t, d); got != "row-30 row-31 d0 d1" || r.Drops["leak"] != 4 {
		t.Errorf("kept %s, drops %v", got, r.Drops)
	}
	if last := d.Inputs[len(d.Inputs)-1]; last.Role != "holdout" {
		t.Errorf("inputs %v", d.Inputs)
	}
	o = options(in, in+"-other")
	ask(o, "holdout", in)
	if _, err := curate.Run(t.Context(), o); !errors.Is(err, fault.ErrInvalid) {
		t.Errorf("groups as --holdout: %v", err)
	}
}

// Older epochs are trained on again; all of them are one plan.
func TestReplay(t *testing.T) {
	nothing := func(*formats.Trajectory) {}
	now := changed(t, "now", 3, three, nothing)
	old := changed(t, "old", 1, []example{{"a", "0 0.5"}, {"z", "1 1"}}, nothing)
	o := options(now, now+"-curate")
	o.OtherEpochs = []stages.Input{{URI: old}}
	r, d := run(t, o)
	if got := kept(t, d); got != "a0 a1 a2 b0 b1 b2 c0 c1 c2 a0 a1" || r.Rows != 11 || fmt.Sprint(r.Drops) != "map[flat:2]" || d.Facts["groups"] != 5 {
		t.Errorf("kept %s, drops %v, facts %v", got, r.Drops, d.Facts)
	}
	epochs := ""
	for _, row := range readAll[formats.Trajectory](t, d, "") {
		epochs += fmt.Sprint(row.Epoch)
	}
	var s decision.CurateState
	check(t, json.Unmarshal(d.State, &s))
	if epochs != "33333333311" || s.Epoch != 3 {
		t.Errorf("rows are of epochs %s, the state is of %d", epochs, s.Epoch)
	}
	o.Out.URI += "-shards"
	for i := range 2 {
		o.Out.Shard = stages.Shard{Index: i, Count: 2}
		_, err := curate.Run(t.Context(), o)
		check(t, err)
	}
	if shards := open(t, o.Out.URI); shards.RowsDigest != d.RowsDigest {
		t.Errorf("two shards keep %s", kept(t, shards))
	}
	twice := options(now, now+"-twice")
	twice.OtherEpochs = []stages.Input{{URI: now}}
	if _, err := curate.Run(t.Context(), twice); !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), "twice") {
		t.Errorf("the same groups twice: %v", err)
	}
}

// With --recompute the baseline is of those who are left, without it is not.
func TestRecompute(t *testing.T) {
	in := changed(t, "in", 0, three, func(r *formats.Trajectory) {
		if at("a0", r) {
			r.SampledTokens = 50
		}
	})
	centred := func(training.GroupState) (func([]formats.Member, []formats.Trajectory) error, error) {
		return func(members []formats.Member, rows []formats.Trajectory) error {
			mean := 0.0
			for i, m := range members {
				if m.TrajectoryID != rows[i].TrajectoryID || rows[i].SampledTokens == 0 {
					t.Errorf("member %q has the row %q of %d tokens", m.TrajectoryID, rows[i].TrajectoryID, rows[i].SampledTokens)
				}
				mean += *m.Reward / float64(len(members))
			}
			for i := range members {
				a := *members[i].Reward - mean
				members[i].Advantage = &a
			}
			return nil
		}, nil
	}
	for recompute, want := range map[bool]float64{false: -0.5, true: -0.25} {
		o := options(in, fmt.Sprint(in, "-", recompute))
		ask(o, "max-sampled-tokens", 40)
		o.Recompute, o.Recomputer = recompute, centred
		_, d := run(t, o)
		rows := readAll[formats.Trajectory](t, d, "")
		if got := *rows[0].Advantage; got != want || rows[0].Generation != 1 {
			t.Errorf("recompute %v: the advantage of a1 is %v, want %v", recompute, got, want)
		}
		var s decision.CurateState
		check(t, json.Unmarshal(d.State, &s))
		if s.Recomputed != recompute || strings.Join(s.Order, " ") != "length min_valid flat" {
			t.Errorf("state %s", d.State)
		}
	}
	batch := stepped(t, 0, &training.BatchStep{Of: training.BatchRewards}, [][]float64{{0, 1}})
	o := options(batch, batch+"-curate")
	o.Recompute, o.Recomputer = true, centred
	var usage *fault.Error
	if _, err := curate.Run(t.Context(), o); !errors.As(err, &usage) || usage.Kind != fault.Usage {
		t.Errorf("a batch's step on a part of the batch: %v", err)
	}
}

func TestOptionsOfRulesAreCheckedFirst(t *testing.T) {
	for want, change := range map[string]func(*curate.Options){
		"--sample-groups":       func(o *curate.Options) { ask(*o, "sample-groups", 1.5) },
		"--sample-trajectories": func(o *curate.Options) { ask(*o, "sample-trajectories", 1.5) },
		"go together":           func(o *curate.Options) { ask(*o, "policy-version", -1) },
		"without --check":       func(o *curate.Options) { ask(*o, "any-temperature", true) },
		`--filter "group.meen"`: func(o *curate.Options) { ask(*o, "filter", "group.meen") },
		"--logprob-floor 1.5":   func(o *curate.Options) { ask(*o, "check-logprobs", true, "logprob-floor", 1.5) },
		"floor without --check": func(o *curate.Options) { ask(*o, "logprob-floor", 1.5) },
	} {
		o := options("mem://nowhere/in", "mem://nowhere/out")
		change(&o)
		_, err := curate.Run(t.Context(), o)
		var usage *fault.Error
		if !errors.As(err, &usage) || usage.Kind != fault.Usage || fault.HintOf(usage) == "" || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// What an older version of group left out is asked for by name.
func TestBudgetNeedsTokenCounts(t *testing.T) {
	in := groups(t, "older", 0, fiveExamples) // of version 1
	o := options(in, in+"-curate")
	ask(o, "token-budget", 10)
	var bad *fault.Error
	if _, err := curate.Run(t.Context(), o); !errors.As(err, &bad) || fault.HintOf(bad) == "" || !strings.Contains(err.Error(), "--token-budget") {
		t.Errorf("got %v", err)
	}
}
