package main

import (
	"context"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/pipelines/sandbox"
)

// The five commands with refill give the rows of train, also where each epoch makes the plan of the one before.
func TestRefillIsTrains(t *testing.T) {
	digests := map[string][]string{}
	for _, how := range []string{"train", "commands"} {
		dir, _ := demo(t)
		server, err := sandbox.New(sandbox.Options{Models: []string{"project/name"}, Seed: 3})
		if err != nil {
			t.Fatal(err)
		}
		web := httptest.NewServer(server)
		t.Cleanup(func() { web.Close(); server.Close() })
		root := filepath.Join(dir, "demo")
		line := []string{"--root", root, "--set", "rollout.examples=" + filepath.Join(dir, "tasks.jsonl"), "--set", "rollout.generations=3",
			"--set", "rollout.sampling-seed=1", "--set", "rollout.plan=previous", "--set", "score.reward=n=expr:len(answer) % 3",
			"--set", "curate.plan-budget=3", "--set", "curate.plan-max-per-example=50", "--set", "submit.backend=art",
			"--set", "submit.url=" + web.URL, "--set", "submit.target=project/name", "--set", "refill.refill-rounds=2", "--set", "refill.target-groups=9"}
		run := func(words ...string) string {
			t.Helper()
			code, out, stderr := inProcessJSON(t.Context(), append(words, line...))
			if code != 0 {
				t.Fatalf("%q: exit code %d: %s", words, code, stderr)
			}
			return out
		}
		if how == "train" {
			run("train", "--epochs", "2")
		} else {
			run("submit", "--prepare")
			for _, e := range []string{"0", "1"} {
				for _, stage := range []string{"rollout", "score", "group", "curate", "refill", "submit"} {
					out := run(stage, "--epoch", e)
					if stage == "refill" && !strings.Contains(out, "extended/extended/curate") {
						t.Errorf("refill printed %s", out)
					}
				}
			}
		}
		for _, uri := range []string{"epoch-0/rollout", "epoch-0/extended/extended/curate", "epoch-1/rollout", "epoch-1/extended/extended/curate"} {
			d, err := dataset.Open(context.Background(), filepath.Join(root, uri), dataset.OpenOptions{})
			if err != nil {
				t.Fatal(how, err)
			}
			digests[how] = append(digests[how], d.RowsDigest.String())
			if uri == "epoch-1/rollout" && d.Rows != 3 { // as many as were planned, not three of each example
				t.Errorf("%s: %d rows were planned", how, d.Rows)
			}
			if n := d.Tables[schema.TablePlan].Rows; strings.HasSuffix(uri, "curate") && n == 0 {
				t.Errorf("%s: %s plans nothing", how, uri)
			}
		}
	}
	for i, want := range digests["train"] {
		if got := digests["commands"][i]; got != want {
			t.Errorf("dataset %d has rows %s, with train %s", i, got, want)
		}
	}
}
