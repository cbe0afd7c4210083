package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rollmill/rollmill/cmd/internal/terminal"
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/prices"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages/score/rewards/judge/judgetest"
)

// stored writes 4 groups of 4 trajectories, as rollout does.
func stored(t *testing.T, uri string) {
	t.Helper()
	shard, err := shards.Begin(t.Context(), uri, manifest.Spec{Stage: "rollout", Version: 1, Kind: schema.KindTrajectories}, shards.Options{})
	if err != nil {
		t.Fatal(err)
	}
	table := shards.NewTable[formats.Trajectory](shard, "", -1)
	for group := range randomtest.Trajectories(3, randomtest.Options{Groups: 4, Generations: 4, Messages: 4, SampledTokens: 40, PromptTokens: 20}) {
		if err := table.Write(t.Context(), group); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := shard.Commit(t.Context(), shards.Outcome{}); err != nil {
		t.Fatal(err)
	}
}

// rollmill runs a command in this process.
func rollmill(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, log bytes.Buffer
	streams := terminal.Streams{In: strings.NewReader(""), Out: &out, Err: &log, Lookup: os.LookupEnv}
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		streams.Environ = append(streams.Environ, name)
	}
	code = app().Run(t.Context(), append([]string{"rollmill"}, args...), streams)
	return code, strings.TrimSpace(out.String()), log.String()
}

// TestCachedTokensOfJudges: those that the answers say were cached have their own price; with one price for all prompts, that.
func TestCachedTokensOfJudges(t *testing.T) {
	s := judgetest.New(t)
	s.Cached = 60
	root := t.TempDir()
	stored(t, root+"/rollout")
	score := func(out string, more ...string) map[string]float64 {
		t.Helper()
		args := append([]string{"score", "--in", root + "/rollout", "--judge-url", s.URL, "--reward", "judged=judge:model=m", "--out", root + out,
			"--judge-cache", root + out + "-cache"}, more...)
		if code, _, stderr := rollmill(t, args...); code != 0 {
			t.Fatalf("exit code %d:\n%s", code, stderr)
		}
		d, err := dataset.Open(t.Context(), root+out, dataset.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return d.Facts
	}
	price := "m={\"input\":10,\"output\":20,\"cached\":1}"
	f := score("/table", "--prices", price)
	if n := f["judge.calls"]; n == 0 || f["models.m.cached_tokens"] != 60*n || f["models.m.prompt_tokens"] != 100*n ||
		f["judge.cost"] != prices.Round(n*(40*10+60*1+10*20)/1e6) {
		t.Errorf("at the table: %v", f)
	}
	if _, out, _ := rollmill(t, "eval", "--in", root+"/table", "--prices", price); !strings.Contains(out, fmt.Sprintf(": score %.4g, m %.4g", f["judge.cost"], f["judge.cost"])) {
		t.Errorf("eval has not the cost %v of scoring:\n%s", f["judge.cost"], out)
	}
	f = score("/flags", "--judge-prompt-price", "10")
	if n := f["judge.calls"]; n == 0 || f["judge.cost"] != prices.Round(n*100*10/1e6) {
		t.Errorf("at one price of all prompts: %v", f)
	}
}

// TestJudgesArePaidOnce scores with judges under a budget that is spent halfway:
// the next run asks only the remaining questions, and the key is in no output.
func TestJudgesArePaidOnce(t *testing.T) {
	s := judgetest.New(t)
	root := t.TempDir()
	stored(t, root+"/rollout")
	t.Setenv("ROLLMILL_JUDGE_API_KEY", "sk-very-secret")
	args := []string{"score", "--in", root + "/rollout", "--judge-url", s.URL, "--judge-concurrency", "1", "--judge-prompt-price", "2",
		"--reward", "judged=judge:model=m,max-tokens=50", "--reward", "side=ruler:model=m,max-tokens=50"}
	code, _, stderr := rollmill(t, append(args, "--judge-budget-tokens", "2000")...)
	asked := s.Asked.Load()
	if code != 5 || asked == 0 || asked >= 20 || !strings.Contains(stderr, "the judges' budget of 2000 tokens is spent") {
		t.Fatalf("exit code %d after %d questions:\n%s", code, asked, stderr)
	}
	code, out, stderr := rollmill(t, args...)
	if code != 0 || !strings.Contains(stderr, "answers were stored before") {
		t.Fatalf("exit code %d:\n%s", code, stderr)
	}
	d, err := dataset.Open(t.Context(), out, dataset.OpenOptions{Kind: schema.KindScores})
	if err != nil {
		t.Fatal(err)
	}
	total := s.Asked.Load()
	if f := d.Facts; f["judge.known"] != float64(asked) || f["judge.calls"] != float64(total-asked) || f["judge.cost"] <= 0 ||
		f["rewards.side.scored"] != f["attempted"] || f["attempted"] == 0 {
		t.Errorf("facts %v after %d and then %d questions", f, asked, total-asked)
	}
	if code, again, _ := rollmill(t, append(args, "--out", root+"/again")...); code != 0 || s.Asked.Load() != total {
		t.Errorf("exit code %d, %d questions more", code, s.Asked.Load()-total)
	} else if e, err := dataset.Open(t.Context(), again, dataset.OpenOptions{}); err != nil || e.RowsDigest != d.RowsDigest {
		t.Errorf("other rows: %v", err)
	}
	_ = filepath.Walk(root, func(name string, info os.FileInfo, err error) error {
		if data, _ := os.ReadFile(name); bytes.Contains(data, []byte("very-secret")) {
			t.Errorf("%s holds the key", name)
		}
		return err
	})
	if code, _, stderr := rollmill(t, "score", "--in", root+"/rollout", "--out", root+"/none", "--reward", "judge:model=m"); code != 2 ||
		!strings.Contains(stderr, "--judge-url") {
		t.Errorf("without a server: exit code %d, %s", code, stderr)
	}
	s.Answer = func(judgetest.Request, string) (int, string) { return 401, "no such key" }
	if code, _, stderr := rollmill(t, "score", "--in", root+"/rollout", "--out", root+"/none", "--judge-url", s.URL, "--reward",
		"judge:model=other"); code != 5 || !strings.Contains(stderr, "401") {
		t.Errorf("with a wrong key: exit code %d, %s", code, stderr)
	}
}

// TestServicesThatRefuseEverybody: what a person has to mend has one exit code in every reward that asks a service, at its first
// refusal and without a wait, and the message names the address and the cause.
func TestServicesThatRefuseEverybody(t *testing.T) {
	root := t.TempDir()
	stored(t, root+"/rollout")
	var asked atomic.Int64
	for status, refusal := range map[int]string{401: "", 402: "", 403: "", 404: "", 429: `{"error":{"message":"no","code":"insufficient_quota"}}`} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			w.WriteHeader(status)
			io.WriteString(w, cmp.Or(refusal, `{"error":{"message":"no"}}`))
		}))
		defer s.Close()
		for _, reward := range []string{"judge:model=m", "ruler:model=m", "http:" + s.URL, "teacher:" + s.URL + "/v1,model=m"} {
			asked.Store(0)
			code, _, stderr := rollmill(t, "score", "--in", root+"/rollout", "--out", root+"/none", "--judge-url", s.URL, "--judge-concurrency", "1",
				"--concurrency", "1", "--reward", reward)
			if code != 5 || !strings.Contains(stderr, s.URL) || !strings.Contains(stderr, "hint:") || asked.Load() > 4 {
				t.Errorf("%s, %d: exit code %d after %d requests: %s", reward, status, code, asked.Load(), stderr)
			}
		}
	}
}
