package main

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/random"
	"github.com/rollmill/rollmill/stages/group"
	"github.com/rollmill/rollmill/stages/score/rewards/teacher/teachertest"
)

// TestGroupCompare compares estimators on scores: tables, JSON, plots. No dataset is
// written.
func TestGroupCompare(t *testing.T) {
	root := t.TempDir()
	stored(t, root+"/rollout")
	inProcess(t, "score", "--in", root+"/rollout", "--reward", "expr:generation == 0 ? 1 : generation == 1 ? 0 : 0.5")
	words := []string{"group", "--in", root + "/score", "--compare", "grpo,passk,turns", "--turns-outcome-weight", "0", "--simulate-n", "3",
		"--simulate-repeats", "5"}
	for file, begins := range map[string]string{"mass.png": "\x89PNG", "mass.SVG": "<?xml"} {
		code, text, stderr := rollmill(t, append(words, "--plot", root+"/"+file)...)
		for _, says := range []string{"rows    16 in 4 groups", "grpo       0          0 of 4", "pair", "3 generations", "means of 5 draws"} {
			if code != 0 || !strings.Contains(text, says) {
				t.Errorf("exit code %d: %s\n%s does not say %q", code, stderr, text, says)
			}
		}
		if image, err := os.ReadFile(root + "/" + file); err != nil || !strings.HasPrefix(string(image), begins) || begins[0] == '<' &&
			(!strings.Contains(string(image), "passk") || !strings.Contains(string(image), "(.75, 1)")) {
			t.Errorf("the plot is %.20q, %v", image, err)
		}
	}
	code, out, stderr := rollmill(t, append(words, "--json")...)
	var c group.Comparison
	if err := json.Unmarshal([]byte(out), &c); err != nil || code != 0 || c.Unit != "token" || len(c.Estimators) != 3 || len(c.Pairs) != 3 ||
		c.Simulation == nil || c.Simulation.Repeats != 5 || c.Estimators[0].Cut == nil || c.Estimators[1].Classes[1].Groups != 4 {
		t.Errorf("exit code %d, %v: %s%s", code, err, out, stderr)
	}
	// passk has two of four members at 0 that grpo has not, and another two in the middle are 0 for both
	if p := c.Pairs[0]; p.A != "grpo" || p.B != "passk" || p.SignDiffers == 0 || p.Spearman >= 1 {
		t.Errorf("%+v", p)
	}
	checkJSON(t, words, out)
	if left, err := os.ReadDir(root); err != nil || len(left) != 4 { // rollout, score and two plots
		t.Errorf("%v, %v", left, err)
	}
	for args, says := range map[string]string{
		"--compare grpo,rlo":                        `hint: did you mean "rloo"?`,
		"--compare grpo,rloo --out x":               "writes no dataset",
		"--compare grpo,rloo --overwrite":           "writes no dataset",
		"--compare grpo,rloo --shard 0/2":           "writes no dataset",
		"--simulate-n 4":                            "name estimators with --compare",
		"--plot x.png":                              "name estimators with --compare",
		"--compare grpo --simulate-n -1":            "--simulate-n -1",
		"--compare grpo --turns-discount 0.5":       "--turns-discount is a setting of estimator turns, which was not chosen",
		"--compare rloo,grpo --no-scale":            "leave --no-scale out",
		"--compare grpo,turns --turns-discount 2":   "--turns-discount 2",
		"--compare grpo,turns --by example_id[:1]":  "",
		"--compare grpo,drgrpo --no-scale --labels": "",
	} {
		code, _, stderr := rollmill(t, append([]string{"group", "--in", root + "/score"}, strings.Fields(args)...)...)
		if says == "" && code != 0 || says != "" && (code != 2 || !strings.Contains(stderr, says)) {
			t.Errorf("%s: exit code %d: %s", args, code, stderr)
		}
	}
}

// TestGroupCompareTokens: a teacher's advantages of tokens, in branches too, are compared
// with those of messages and of trajectories.
func TestGroupCompareTokens(t *testing.T) {
	engine, root := teachertest.Start(t), t.TempDir()
	rows := []formats.Trajectory{}
	for g := range random.Trajectories(4, random.Options{Groups: 4, Generations: 3, Messages: 8, SampledTokens: 12, PromptTokens: 10, Branches: 0.5}) {
		rows = append(rows, g...)
	}
	writeRollout(t, root+"/rollout", rows)
	inProcess(t, "score", "--in", root+"/rollout", "--reward", "n=expr:generation", "--reward", "t*0.5=teacher:"+engine.URL+"/v1,model=large")
	_, out, stderr := rollmill(t, "group", "--in", root+"/score", "--compare", "turns,distill,grpo", "--json")
	var c group.Comparison
	if err := json.Unmarshal([]byte(out), &c); err != nil {
		t.Fatal(err, stderr)
	}
	inProcess(t, "group", "--in", root+"/score", "--estimator", "distill", "--out", root+"/distill")
	var trained, heaviest, all float64
	groups := map[string]float64{}
	members := readRows[formats.Member](t, root+"/distill")
	for i, row := range rows {
		for m := range row.Messages {
			if row.Trained(m) {
				trained += float64(len(row.Messages[m].TokenIDs))
			}
		}
		for _, a := range members[i].Advantages {
			for _, v := range a.Tokens {
				groups[members[i].GroupID] += math.Abs(float64(v))
				all += math.Abs(float64(v))
			}
		}
		heaviest = max(heaviest, groups[members[i].GroupID])
	}
	if p := c.Pairs[0]; p.B != "distill" || float64(p.Compared) != trained || trained == 0 {
		t.Errorf("%+v, %v tokens train", p, trained)
	}
	if e := c.Estimators[1]; all == 0 || math.Abs(float64(e.TopTenth)-heaviest/all) > 1e-6 {
		t.Errorf("%+v, want %v of %v", e, heaviest, all)
	}
}
