package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/cmd/internal/terminal"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/runroot"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/s3test"
)

// counting returns the command line of a trainer that counts its batches, and a
// function that returns the count.
func counting(t *testing.T) (words string, batches func() int) {
	t.Helper()
	dir := t.TempDir()
	const program = `read request
case "$request" in
*'"request":"begin"'*) echo '{"step":0}' ;;
*'"request":"submit"'*) echo batch >>$1; echo '{"job":"job-1","state":"completed","step":1}' ;;
*) echo '{"job":"job-1","state":"completed","step":1}' ;;
esac
`
	if err := os.WriteFile(dir+"/trainer.sh", []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("sh %s/trainer.sh %s/batches", dir, dir), func() int {
		text, err := os.ReadFile(dir + "/batches")
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return strings.Count(string(text), "\n")
	}
}

// must runs a command, which must succeed, and returns its output.
func must(t *testing.T, args ...string) string {
	t.Helper()
	code, out, stderr := rollmill(t, args...)
	if code != 0 {
		t.Fatalf("%s: exit code %d: %s", strings.Join(args, " "), code, stderr)
	}
	return out
}

// TestLedgerInBucket submits on two machines that share only the bucket, with a
// config that names the run but no root: the ledger is in the bucket.
func TestLedgerInBucket(t *testing.T) {
	s := s3test.Start(t)
	at := func(name string) string { return s.URI("team/epoch-0/" + name) }
	engine, examples := newEngine(t)
	trainer, batches := counting(t)
	machine := func() {
		dir := t.TempDir()
		t.Chdir(dir)
		text := fmt.Sprintf("run: demo\nsubmit: {backend: command, trainer: %q}\n", trainer)
		if err := os.WriteFile("rollmill.yaml", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	machine()
	must(t, "rollout", "--config", "rollmill.yaml", "--examples", examples, "--url", engine+"/v1", "--model", "rollmill/sandbox", "--generations", "2", "--out",
		at("rollout"))
	must(t, "score", "--in", at("rollout"), "--reward", "x=expr:generation", "--out", at("score"))
	must(t, "group", "--in", at("score"), "--out", at("group"))
	must(t, "curate", "--in", at("group"), "--out", at("curate"))
	must(t, "submit", "--config", "rollmill.yaml", "--in", at("curate"), "--out", "receipt")
	machine()
	if out := must(t, "submit", "--config", "rollmill.yaml", "--in", at("curate"), "--out", "receipt", "--json"); !strings.Contains(out, `"attached":true`) ||
		batches() != 1 {
		t.Errorf("%s; %d batches", out, batches())
	}
	must(t, "curate", "--in", at("group"), "--max-per-example", "1", "--sample-groups", "0.5", "--out", s.URI("other/curate"))
	if code, _, stderr := rollmill(t, "submit", "--config", "rollmill.yaml", "--in", s.URI("other/curate"), "--out", "another"); code != cli.ExitPerson ||
		batches() != 1 {
		t.Errorf("other rows of the epoch: exit code %d, %d batches: %s", code, batches(), stderr)
	}
	if _, err := os.Stat("runs"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("something is in the local folder runs: %v", err)
	}
	// The receipt is on a disk and names a ledger in a bucket. A receipt from
	// elsewhere must not decide which host is contacted.
	if code, _, stderr := rollmill(t, "job", "status", "--in", "receipt"); code != cli.ExitInput || !strings.Contains(stderr, "--ledger") {
		t.Errorf("job: exit code %d: %s", code, stderr)
	}
	if out := must(t, "job", "status", "--config", "rollmill.yaml", "--in", "receipt", "--ledger", s.URI("team")); out != "completed" {
		t.Errorf("job: %q", out)
	}
}

// TestUnreadableManifestCreatesNoLedger checks that submit fails when the dataset's
// run cannot be read, and does not create a new ledger.
func TestUnreadableManifestCreatesNoLedger(t *testing.T) {
	engine, examples := newEngine(t)
	trainer, batches := counting(t)
	root, elsewhere := t.TempDir(), t.TempDir()
	at := func(name string) string { return filepath.Join(root, "epoch-0", name) }
	must(t, "rollout", "--examples", examples, "--url", engine+"/v1", "--model", "rollmill/sandbox", "--generations", "2", "--out", at("rollout"))
	must(t, "score", "--in", at("rollout"), "--reward", "x=expr:generation", "--out", at("score"))
	must(t, "group", "--in", at("score"), "--out", at("group"))
	must(t, "curate", "--in", at("group"), "--out", filepath.Join(elsewhere, "curate"))
	args := []string{"rollmill", "submit", "--in", filepath.Join(elsewhere, "curate"), "--backend", "command", "--trainer", trainer}
	once := false
	ctx := storage.Wrapping(t.Context(), func(b *storage.Bucket) *storage.Bucket {
		return b.WithHook(func(op, key string) error {
			if key == manifest.FileName && !once {
				once = true
				return storage.ErrTemporary
			}
			return nil
		})
	})
	code := app().Run(ctx, args, terminal.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard, Lookup: os.LookupEnv})
	if code != cli.ExitTemporary || batches() != 0 || !once {
		t.Errorf("exit code %d, %d batches", code, batches())
	}
	if _, err := os.Stat(filepath.Join(elsewhere, ".rollmill")); err == nil {
		t.Error("a ledger was created next to the copy")
	}
	must(t, args[1:]...)
	if _, err := os.Stat(filepath.Join(root, ".rollmill/ledger")); err != nil || batches() != 1 {
		t.Errorf("%v, %d batches", err, batches())
	}
}

// TestMakeLedgerIsInRoot runs epoch.mk with another ROOT than that of the config:
// the ledger is in ROOT.
func TestMakeLedgerIsInRoot(t *testing.T) {
	mk, err := filepath.Abs("../../pipelines/make/epoch.mk")
	if err != nil {
		t.Fatal(err)
	}
	engine, examples := newEngine(t)
	t.Chdir(t.TempDir())
	config := fmt.Sprintf(`run: demo
root: other
rollout: {examples: %q, generations: 2, sampling-seed: 1}
score: {reward: ["x=expr:generation"]}
submit: {backend: art, url: %q, project: tictactoe, name: demo, base-model: rollmill/sandbox}
`, examples, engine)
	if err := os.WriteFile("rollmill.yaml", []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("make", "-f", mk, "ROOT=x", "EPOCHS=1").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, there := range map[string]bool{"x/.rollmill/run.json": true, "x/.rollmill/ledger": true, "other": false} {
		if _, err := os.Stat(name); (err == nil) != there {
			t.Errorf("%s is there: %v, want %v", name, err == nil, there)
		}
	}
	if d := opened(t, "x/epoch-0/curate"); d.Run.ID == "" || filepath.Base(d.Run.Root) != "x" {
		t.Errorf("the curated dataset has the run %+v", d.Run)
	}
	if out := must(t, "submit", "--config", "rollmill.yaml", "--in", "x/epoch-0/curate", "--out", "elsewhere", "--json"); !strings.Contains(out,
		`"attached":true`) {
		t.Error(out)
	}
}

// TestTrainRefusesCopyOfRun checks that train refuses a copied run before any
// model call; --ledger selects one of the two ledgers.
func TestTrainRefusesCopyOfRun(t *testing.T) {
	engine, examples := newEngine(t)
	t.Chdir(t.TempDir())
	train := func(root string, more ...string) (int, string) {
		code, _, stderr := rollmill(t,
			append([]string{"train", "--run", "demo", "--root", root, "--set", "rollout.examples=" + examples, "--set", "rollout.generations=2", "--set",
				"score.reward=x=expr:generation",
				"--set", "submit.backend=art", "--set", "submit.url=" + engine, "--set", "submit.project=tictactoe", "--set", "submit.name=demo", "--set",
				"submit.base-model=rollmill/sandbox"}, more...)...)
		return code, stderr
	}
	if code, stderr := train("one"); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if err := os.CopyFS("two", os.DirFS("one")); err != nil {
		t.Fatal(err)
	}
	code, stderr := train("two", "--epochs", "2")
	if code != cli.ExitInput || !strings.Contains(stderr, "two places hold the id of its run") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if _, err := os.Stat("two/epoch-1"); err == nil {
		t.Error("epoch 1 was begun")
	}
	if code, stderr := train("two", "--epochs", "2", "--set", "submit.ledger=one"); code != 0 {
		t.Errorf("with --ledger: exit code %d: %s", code, stderr)
	}
}

// TestRolloutKilledAfterRunID kills a rollout just after it wrote the run's id:
// later rollouts at the root belong to the same run.
func TestRolloutKilledAfterRunID(t *testing.T) {
	engine, examples := newEngine(t)
	root := t.TempDir()
	args := []string{"rollmill", "rollout", "--examples", examples, "--url", engine + "/v1", "--model", "rollmill/sandbox", "--root", root}
	dead := errors.New("killed")
	killed := false
	ctx := storage.Wrapping(t.Context(), func(b *storage.Bucket) *storage.Bucket {
		return b.WithHook(func(op, key string) error {
			if killed = killed || op == "published" && key == runroot.File; killed {
				return dead
			}
			return nil
		})
	})
	attempt := func(ctx context.Context) int {
		return app().Run(ctx, args, terminal.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard, Lookup: os.LookupEnv})
	}
	if code := attempt(ctx); code == 0 || !killed {
		t.Fatalf("exit code %d, killed: %v", code, killed)
	}
	made, err := os.ReadFile(filepath.Join(root, runroot.File))
	if err != nil {
		t.Fatal(err)
	}
	if code := attempt(t.Context()); code != 0 {
		t.Fatalf("exit code %d", code)
	}
	if d := opened(t, root+"/epoch-0/rollout"); d.Run.ID == "" || !strings.Contains(string(made), d.Run.ID) {
		t.Errorf("the dataset is of the run %q; made was %s", d.Run.ID, made)
	}
}
