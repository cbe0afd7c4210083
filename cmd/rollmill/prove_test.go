package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/formats/foreign/trainers"
	"github.com/rollmill/rollmill/formats/parquet"
	"github.com/rollmill/rollmill/pipelines/prove"
)

// oneReward is a program for reward command, which gives 1 and makes a file that shows that it ran.
func oneReward() {
	if err := os.WriteFile(os.Args[1], nil, 0o666); err != nil {
		panic(err)
	}
	for in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout); ; {
		var asked struct {
			ID string `json:"id"`
		}
		if in.Decode(&asked) != nil {
			return
		}
		_ = out.Encode(map[string]any{"id": asked.ID, "reward": 1})
	}
}

func rowsIn[T any](name string) ([]T, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	file, err := parquet.Open(f, info.Size(), name)
	if err != nil {
		return nil, err
	}
	r, err := parquet.NewReader[T](file, 0, file.Rows())
	if err != nil {
		return nil, err
	}
	defer r.Close()
	rows := make([]T, file.Rows())
	if n, err := r.Read(rows); n < len(rows) || err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%d rows: %w", n, err)
	}
	return rows, nil
}

// changed changes the rows of a Parquet file, as another program would.
func changed[T any](change func(rows []T)) func(t *testing.T, path string) {
	return func(t *testing.T, path string) {
		t.Helper()
		names, err := filepath.Glob(path)
		if err != nil || len(names) != 1 {
			t.Fatalf("%q: %q, %v", path, names, err)
		}
		rows, err := rowsIn[T](names[0])
		if err != nil {
			t.Fatal(err)
		}
		change(rows)
		f, err := os.Create(names[0])
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		w := parquet.NewWriter[T](f)
		if err := errors.Join(w.Write(rows), w.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// forged changes the rows of a dataset and everything that says what they were.
func forged[T any](change func(rows []T)) func(t *testing.T, path string) {
	return func(t *testing.T, path string) {
		t.Helper()
		d, err := dataset.Open(t.Context(), path, dataset.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		rows, err := dataset.ReadAll[T](t.Context(), d, "", d.All())
		if err != nil {
			t.Fatal(err)
		}
		change(rows)
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		if d.Files == nil {
			d.Files = map[string]string{}
		}
		shard, err := shards.Begin(t.Context(), path, manifest.Spec{Stage: d.Stage, Version: d.Version, Kind: d.Kind, Params: d.Params,
			Files: d.Files, Inputs: d.Inputs, Base: d.Base}, shards.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := shards.NewTable[T](shard, "", 0).Write(t.Context(), rows); err != nil {
			t.Fatal(err)
		}
		if _, err := shard.Commit(t.Context(), shards.Outcome{Counts: d.Counts, Facts: d.Facts, State: d.State}); err != nil {
			t.Fatal(err)
		}
	}
}

// proved is an epoch of whose numbers all but the rollout can be computed again.
func proved(t *testing.T) (epoch string) {
	t.Helper()
	root := t.TempDir()
	epoch = root + "/epoch-0"
	stored(t, epoch+"/rollout")
	for _, words := range [][]string{
		{"score", "--in", epoch + "/rollout", "--reward", "size=expr:len(answer) / 100", "--reward", "late*0.5=expr:generation > 1 ? 1 : 0",
			"--reward", "both*0=expr:rewards.size + rewards.late"},
		{"group", "--in", epoch + "/score", "--compat", "trl", "--pairs", "best-worst", "--labels"},
		{"curate", "--in", epoch + "/group", "--curriculum", "--curriculum-initial", "0.7", "--max-sampled-tokens", "100000", "--seed", "5"},
		{"submit", "--in", epoch + "/curate", "--ledger", root, "--backend", "command", "--trainer", "echotrainer", "--form", "sequences",
			"--row-weight", "trajectory", "--echo", "--wait"},
	} {
		if code, _, stderr := rollmill(t, words...); code != 0 {
			t.Fatalf("%s: exit code %d: %s", words[0], code, stderr)
		}
	}
	return epoch
}

// TestProve: of an epoch nothing differs; of one in which a number was changed, that number
// is named, whether the digests were changed with it or not.
func TestProve(t *testing.T) {
	epoch := proved(t)
	whole := of(t, epoch, 0)
	names := []string{}
	for _, p := range whole.Proofs {
		if names = append(names, p.Name); (p.Unproved != "") != (p.Name == "rollout") {
			t.Errorf("%+v", p)
		}
	}
	const want = "rollout score group curate echo submit/_receipt.json submit/sequences.parquet submit/echo.parquet"
	if got := strings.Join(names, " "); got != want || !whole.Equal {
		t.Errorf("%s: %+v", got, whole)
	}
	for name, c := range map[string]struct {
		path   string
		change func(t *testing.T, path string)
		column string // of the first difference
		row    int64
	}{
		"reward":        {"score/part-*", changed(func(rows []formats.Score) { *rows[5].Rewards[0].Value += 1 }), "rewards.size.value", 5},
		"forged reward": {"score", forged(func(rows []formats.Score) { *rows[5].Rewards[1].Value = 1 - *rows[5].Rewards[1].Value }), "rewards.late.value", 5},
		"total":         {"score", forged(func(rows []formats.Score) { *rows[6].Reward += 1e-6 }), "reward", 6},
		"advantage":     {"group/part-*", changed(func(rows []formats.Member) { *rows[0].Advantage *= 2 }), "advantage", 0},
		"token":         {"curate/part-*", changed(func(rows []formats.Trajectory) { shorten(&rows[1]) }), "messages[2].logprobs", 1},
		"weight":        {"submit/sequences.parquet", changed(func(rows []trainers.SequenceRow) { rows[2].Weight *= 2 }), "weight", 2},
		"a token of a sequence": {"submit/sequences.parquet", changed(func(rows []trainers.SequenceRow) {
			rows[3].ResponseIDs = rows[3].ResponseIDs[1:]
		}), "response_ids[0]", 3},
		"log probability": {"echo", forged(func(rows []formats.Score) { rows[4].Signals[0].Value -= 0.25 }), "signals[0].value", 4},
		"no Parquet": {"score/part-*", func(t *testing.T, path string) {
			names, err := filepath.Glob(path)
			if err != nil || os.WriteFile(names[0], []byte("junk"), 0o666) != nil {
				t.Fatal(err)
			}
		}, "", 0},
		"loss":                {"submit/echo.parquet", changed(func(rows []trainers.EchoRow) { *rows[1].Loss += 0.01 }), "loss", 1},
		"decision":            {"curate/_decisions/part-*", changed(func(rows []decision.Decision) { rows[2].Generation++ }), "_decisions.generation", 2},
		"example":             {"curate/_examples/part-*", changed(func(rows []decision.ExampleStats) { rows[0].Attempts++ }), "_examples.attempts", 0},
		"group":               {"group/_groups/part-*", changed(func(rows []formats.GroupStats) { rows[1].Count++ }), "_groups.count", 1},
		"pair":                {"group/_pairs/part-*", changed(func(rows []formats.Pair) { rows[1].Margin++ }), "_pairs.margin", 1},
		"receipt":             {"submit/_receipt.json", digit("groups"), "groups", 0},
		"epoch of a receipt":  {"submit/_receipt.json", digit("epoch"), "epoch", 0},
		"tokens that went in": {"submit/_receipt.json", digit("tokens_in"), "sequences.sequences.parquet.tokens_in", 0},
	} {
		t.Run(name, func(t *testing.T) {
			there := filepath.Join(t.TempDir(), "epoch-0")
			if err := os.CopyFS(there, os.DirFS(epoch)); err != nil {
				t.Fatal(err)
			}
			c.change(t, filepath.Join(there, c.path))
			got := of(t, there, 4)
			for _, p := range got.Proofs {
				if p.Differs != nil && strings.HasPrefix(c.path, p.Name) {
					if p.Differs.Column != c.column || p.Differs.Row != c.row {
						t.Errorf("%s: %+v", p.Name, p.Differs)
					}
					return
				}
			}
			if c.column != "" || got.Proofs[1].Damage == "" {
				t.Errorf("nothing differs: %+v", got)
			}
		})
	}
}

// digit puts a digit before a number of a JSON file.
func digit(name string) func(t *testing.T, path string) {
	return func(t *testing.T, path string) {
		t.Helper()
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(strings.Replace(string(data), `"`+name+`": `, `"`+name+`": 1`, 1)), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func shorten(t *formats.Trajectory) {
	for i := range t.Messages {
		if m := &t.Messages[i]; len(m.TokenIDs) > 0 {
			m.TokenIDs, m.Logprobs = m.TokenIDs[:len(m.TokenIDs)-1], m.Logprobs[:len(m.TokenIDs)-1]
			return
		}
	}
}

func of(t *testing.T, epoch string, want int) (out prove.Result) {
	t.Helper()
	code, stdout, stderr := rollmill(t, "prove", epoch, "--json")
	if err := json.Unmarshal([]byte(stdout), &out); err != nil || code != want {
		t.Fatalf("exit code %d, %v: %s\n%s", code, err, stdout, stderr)
	}
	return out
}

// TestProveRunsNoProgram unless it is told to, and asks no model: a dataset may come from anyone.
func TestProveRunsNoProgram(t *testing.T) {
	root := t.TempDir()
	stored(t, root+"/rollout")
	ran := filepath.Join(root, "ran")
	if code, _, stderr := rollmill(t, "score", "--in", root+"/rollout", "--out", root+"/score", "--reward", "p=command:onereward "+ran); code != 0 {
		t.Fatal(stderr)
	}
	if err := os.Remove(ran); err != nil {
		t.Fatal(err)
	}
	if out := of(t, root, 4); !strings.Contains(out.Proofs[1].Unproved, "--programs allows") {
		t.Errorf("%+v", out)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the program ran")
	}
	if code, stdout, stderr := rollmill(t, "prove", root, "--programs"); code != 0 || strings.Contains(stdout, "--programs") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}

// TestProveOfOtherEstimators and rules, whose settings are objects, tables and further datasets.
func TestProveOfOtherEstimators(t *testing.T) {
	root := t.TempDir()
	stored(t, root+"/rollout")
	tasks := root + "/tasks.jsonl"
	if err := os.WriteFile(tasks, []byte("{\"id\":\"x\",\"source\":\"a\"}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	score := root + "/score"
	groups := func(name string) string { return root + "/groups-" + name }
	words := [][]string{{"score", "--in", root + "/rollout", "--out", score, "--reward", "size=steps:len(message.content) / 100.0"}}
	for _, estimator := range []string{"grpo", "turns", "gigpo", "gdpo", "passk-analytic", "reinforce++"} {
		words = append(words, []string{"group", "--in", score, "--out", groups(estimator), "--estimator", estimator})
	}
	byRow := []string{"group", "--in", score, "--estimator", "rae", "--rae-by", "generation", "--out"}
	words = append(words, append(slices.Clone(byRow), groups("rae")), append(slices.Clone(byRow), groups("rae-2"), "--rae-from", groups("rae")))
	for i, flags := range [][]string{
		{"--pools", "--seed", "3"},
		{"--previous", root + "/curate-0", "--epoch", "1"},
		{"--filter", "trajectory.reward > 0.1", "--sample-groups", "0.5", "--split", "train=0.5,rest=0.5", "--take", "train", "--recompute"},
		{"--holdout", root + "/rollout"},
		{"--plan-budget", "8"},
		{"--plan-examples", tasks, "--plan-mix", "a=1", "--plan-budget", "4"},
	} {
		words = append(words, append([]string{"curate", "--in", groups("grpo"), "--out", fmt.Sprint(root, "/curate-", i)}, flags...))
	}
	for _, w := range words {
		if code, _, stderr := rollmill(t, w...); code != 0 && code != 3 {
			t.Fatalf("%q: exit code %d: %s", w, code, stderr)
		}
	}
	for _, p := range of(t, root, 0).Proofs {
		if (p.Unproved != "") != (p.Name == "rollout") {
			t.Errorf("%+v", p)
		}
	}
}

// TestProveInABucket: what is made again is on the local disk, and reads a store's datasets.
func TestProveInABucket(t *testing.T) {
	root, query := "mem://prove-in-a-bucket", "?endpoint=http://127.0.0.1"
	stored(t, root+"/rollout"+query)
	for _, words := range [][]string{
		{"score", "--in", root + "/rollout" + query, "--out", root + "/score" + query, "--reward", "size=expr:len(answer)"},
		{"group", "--in", root + "/score" + query, "--out", root + "/group" + query, "--estimator", "rloo"},
		{"curate", "--in", root + "/group" + query, "--out", root + "/curate" + query},
		{"submit", "--in", root + "/curate" + query, "--backend", "file", "--kinds", "sequences"},
	} {
		if code, _, stderr := rollmill(t, words...); code != 0 {
			t.Fatalf("%s: exit code %d: %s", words[0], code, stderr)
		}
	}
	names := []string{}
	for _, p := range of(t, root+query, 0).Proofs {
		if names = append(names, p.Name); (p.Unproved != "") != (p.Name == "rollout") {
			t.Errorf("%+v", p)
		}
	}
	if got := strings.Join(names, " "); got != "rollout score group curate submit/_receipt.json submit/sequences.parquet" {
		t.Error(got)
	}
}

// TestProveImported: what was imported is not computed again, and is no damage; what was made
// of it is.
func TestProveImported(t *testing.T) {
	root := t.TempDir()
	in := root + "/in.jsonl"
	row := `{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"%s"}],"reward":%d}` + "\n"
	if err := os.WriteFile(in, fmt.Appendf(nil, row+row, "a", 1, "bb", 0), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, words := range [][]string{{"import", "--from", "chat", "--in", in, "--out", root + "/rollout"},
		{"group", "--in", root + "/rollout"}, {"curate", "--in", root + "/group"}} {
		if code, _, stderr := rollmill(t, words...); code != 0 {
			t.Fatalf("%s: exit code %d: %s", words[0], code, stderr)
		}
	}
	for _, p := range of(t, root, 0).Proofs {
		if p.Damage != "" || (p.Unproved == "it was made by import") != (p.Name == "rollout") {
			t.Errorf("%+v", p)
		}
	}
}

// TestProveCopied: a copy of a run is proved while the original is there, with its ledger.
func TestProveCopied(t *testing.T) {
	epoch := proved(t)
	there := t.TempDir() + "/run"
	if err := os.CopyFS(there, os.DirFS(filepath.Dir(epoch))); err != nil {
		t.Fatal(err)
	}
	for _, p := range of(t, there+"/epoch-0", 0).Proofs {
		if (p.Unproved != "") != (p.Name == "rollout") {
			t.Errorf("%+v", p)
		}
	}
}

// TestProveReplayed: a batch of two epochs is made of both again.
func TestProveReplayed(t *testing.T) {
	root := t.TempDir()
	words := [][]string{}
	curate := []string{"curate", "--out", root + "/epoch-1/curate"}
	for e := range 2 {
		at := fmt.Sprint(root, "/epoch-", e)
		in := fmt.Sprint(root, "/in-", e, ".jsonl")
		row := `{"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a%d"}],"reward":%d}` + "\n"
		if err := os.WriteFile(in, fmt.Appendf(nil, row+row, e, 1, e+2, 0), 0o666); err != nil {
			t.Fatal(err)
		}
		words = append(words, []string{"import", "--from", "chat", "--in", in, "--epoch", fmt.Sprint(e), "--out", at + "/rollout"},
			[]string{"group", "--in", at + "/rollout"})
		curate = append(curate, "--in", fmt.Sprint(root, "/epoch-", 1-e, "/group"))
	}
	for _, w := range append(words, curate) {
		if code, _, stderr := rollmill(t, w...); code != 0 {
			t.Fatalf("%q: exit code %d: %s", w, code, stderr)
		}
	}
	for _, p := range of(t, root, 0).Proofs {
		if p.Damage != "" || (p.Unproved != "") != strings.HasSuffix(p.Name, "rollout") {
			t.Errorf("%+v", p)
		}
	}
}
