package score_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/stages/score/rewards"
)

// TestMain lets this test binary be the reward program: asked for "answer", it
// rewards by the answer's length; a trajectory whose id begins with "0" makes
// it crash when asked for "crash", and never answer when asked for "hang".
// Asked for "shaped", it gives the k-th sampled message the reward k, and for
// "signals" one at k of the main path the signal k, unless 3 divides it.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "program" {
		program(os.Args[2])
		return
	}
	os.Exit(m.Run())
}

func program(mode string) {
	input := bufio.NewReader(os.Stdin)
	for {
		line, err := input.ReadBytes('\n')
		if err != nil {
			return
		}
		var r score.Request
		if err := json.Unmarshal(line, &r); err != nil {
			panic(err)
		}
		if (mode == "crash" || mode == "hang") && strings.HasPrefix(r.ID, "0") {
			if mode == "crash" {
				fmt.Fprintln(os.Stderr, "no board for", r.ID)
				os.Exit(3)
			}
			time.Sleep(time.Hour) // select {} may be found to be a deadlock
		}
		if mode == "twice" { // 1 at first, then 99; it counts in a file
			f, _ := os.OpenFile(os.Args[3], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
			fmt.Fprintln(f, r.ID)
			f.Close()
			fmt.Printf(`{"id":%[1]q,"reward":1}`+"\n"+`{"id":%[1]q,"reward":99}`+"\n", r.ID)
			continue
		}
		if mode == "signals" || mode == "uneven" {
			said := []*int{}
			for k, m := range r.Messages {
				if m.Sampled && k%3 == 0 {
					said = append(said, nil)
				} else if m.Sampled {
					said = append(said, new(k))
				}
			}
			if mode == "uneven" {
				said = append(said, new(1))
			}
			list, _ := json.Marshal(said)
			fmt.Printf(`{"id":%q,"reward":1,"signals":%s}`+"\n", r.ID, list)
			continue
		}
		if mode == "shaped" {
			shaped := []int{}
			for _, m := range r.Messages {
				if m.Sampled {
					shaped = append(shaped, len(shaped))
				}
			}
			list, _ := json.Marshal(shaped)
			fmt.Printf(`{"id":%q,"reward":1,"shaped_rewards":%s}`+"\n", r.ID, list)
			continue
		}
		fmt.Printf(`{"id":%q,"reward":%g,"note":"fine"}`+"\n", r.ID, float64(len(r.Answer)%13)/13+float64(len(r.Messages)))
	}
}

func words(mode string) string { return "'" + os.Args[0] + "' program " + mode }

const groups, generations, parts = 24, 4, 4

// trajectories are 24 groups of 4 with failures, unsampled tokens and all.
func trajectories() []formats.Trajectory {
	var rows []formats.Trajectory
	for group := range randomtest.Trajectories(7,
		randomtest.Options{Groups: groups, Generations: generations, Messages: 4, SampledTokens: 40, PromptTokens: 20, Failures: 0.2}) {
		rows = append(rows, group...)
	}
	return rows
}

// base writes trajectories as a wide dataset of several parts.
func base(t testing.TB, uri string, rows []formats.Trajectory) {
	t.Helper()
	spec := manifest.Spec{Stage: "rollout", Version: 1, Kind: schema.KindTrajectories, Params: map[string]any{"rows": len(rows)}}
	for i := range parts {
		shard, err := shards.Begin(t.Context(), uri, spec, shards.Options{Shard: i, Of: parts})
		if err != nil {
			t.Fatal(err)
		}
		table := shards.NewTable[formats.Trajectory](shard, "", -1)
		n := len(rows) / generations
		for g := i * n / parts; g < (i+1)*n/parts; g++ {
			if err := table.Write(t.Context(), rows[g*generations:(g+1)*generations]); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := shard.Commit(t.Context(), shards.Outcome{}); err != nil {
			t.Fatal(err)
		}
	}
}

func options(t testing.TB, in, out string, specs ...string) score.Options {
	t.Helper()
	o := score.Options{In: stages.Input{URI: in}, Out: stages.Output{URI: out}, Registry: rewards.All}
	for _, s := range specs {
		spec, err := score.ParseReward(s)
		if err != nil {
			t.Fatal(err)
		}
		o.Rewards = append(o.Rewards, spec)
	}
	return o
}

func run(t testing.TB, o score.Options) stages.Report {
	t.Helper()
	r, err := score.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func rows(t testing.TB, uri string) ([]formats.Score, *dataset.Dataset) {
	t.Helper()
	d, err := dataset.Open(t.Context(), uri, dataset.OpenOptions{Kind: schema.KindScores, AcceptGates: []string{"max-failure-rate"}})
	if err != nil {
		t.Fatal(err)
	}
	all, err := dataset.ReadAll[formats.Score](t.Context(), d, "", d.All())
	if err != nil {
		t.Fatal(err)
	}
	return all, d
}
