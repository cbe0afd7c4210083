package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rollmill/rollmill/cmd/internal/cli"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/pipelines/sandbox"
	"github.com/rollmill/rollmill/storage/s3test"
)

// epoch is the five commands over one store, with an engine that does not learn,
// so that every run gives the same rows.
type epoch struct {
	engine   string
	examples string
	at       func(name string) string // a dataset's URI
	ledger   string
}

func newEngine(t *testing.T) (url, examples string) {
	t.Helper()
	server, err := sandbox.New(sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server)
	t.Cleanup(func() { _ = server.Close(); web.Close() })
	examples = filepath.Join(t.TempDir(), "tasks.jsonl")
	var lines strings.Builder
	for i := range 24 {
		fmt.Fprintf(&lines, `{"id":"e%02d","question":"what is %d?"}`+"\n", i, i)
	}
	if err := os.WriteFile(examples, []byte(lines.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return web.URL, examples
}

// commands returns the epoch's commands, in order.
func (e epoch) commands() [][]string {
	return [][]string{
		{"rollout", "--examples", e.examples, "--url", e.engine + "/v1", "--model", "rollmill/sandbox", "--sampling-seed", "1", "--generations", "4",
			"--run", "faults", "--out", e.at("rollout")},
		{"score", "--in", e.at("rollout"), "--reward", "size=expr:len(answer)", "--out", e.at("score")},
		{"group", "--in", e.at("score"), "--out", e.at("group")},
		{"curate", "--in", e.at("group"), "--sample-groups", "0.5", "--out", e.at("curate")},
		{"submit", "--in", e.at("curate"), "--backend", "file", "--kinds", "art", "--ledger", e.ledger, "--out", e.at("submit")},
	}
}

// run runs the epoch, repeats each command while its exit code says that it may
// be repeated, and returns the digests of the datasets.
func (e epoch) run(t *testing.T) (digests map[string]string, reruns int) {
	t.Helper()
	for _, args := range e.commands() {
		for try := 1; ; try++ {
			code, _, stderr := rollmill(t, args...)
			if code == 0 {
				break
			}
			if code != cli.ExitTemporary || try == 20 {
				t.Fatalf("%s ended with %d at try %d:\n%s", args[0], code, try, stderr)
			}
			reruns++
		}
	}
	return e.digests(t), reruns
}

func (e epoch) digests(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, stage := range []string{"rollout", "score", "group", "curate"} {
		d, err := dataset.Open(t.Context(), e.at(stage), dataset.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		out[stage] = d.RowsDigest.String()
	}
	return out
}

// rounds returns the number of epochs that TestEpochsOverAFaultyStore runs: COUNT,
// or a few.
func rounds() int {
	if n, err := strconv.Atoi(os.Getenv("COUNT")); err == nil {
		return n
	}
	return 2
}

// TestEpochsOverAFaultyStore checks that with any fault of the store (errors, half
// bodies, lost answers, delays, ignored conditions) an epoch has the same rows as
// on a disk, after commands are repeated if needed.
func TestEpochsOverAFaultyStore(t *testing.T) {
	engine, examples := newEngine(t)
	folder := t.TempDir()
	calm := epoch{engine: engine, examples: examples, ledger: folder, at: func(name string) string { return filepath.Join(folder, name) }}
	want, _ := calm.run(t)

	s := s3test.Start(t)
	failed, reruns := 0, 0
	for round := range rounds() {
		f := s3test.Faults{Seed: int64(round), Refused: 0.005, Cut: 0.005, Lost: 0.005, Slow: 0.005, Latency: 200 * time.Millisecond}
		if round%10 == 9 {
			f.Refused, f.Cut = 0.2, 0.2
		}
		e := epoch{engine: engine, examples: examples, at: func(name string) string { return s.URI(fmt.Sprintf("round-%d/%s", round, name)) }}
		e.ledger = e.at("")
		if round%5 == 4 {
			f.IgnoreConditions = true
			e.ledger = t.TempDir() // such a store cannot keep a ledger
			e.at = func(name string) string {
				return s.URI(fmt.Sprintf("round-%d/%s", round, name)) + "&rate_limiter_capacity=1000000"
			}
		}
		before := s.Failed()
		s.SetFaults(f)
		got, again := e.run(t)
		s.SetFaults(s3test.Faults{})
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("round %d (%+v): %v, want %v", round, f, got, want)
		}
		failed += s.Failed() - before
		reruns += again
	}
	if n := s.Uploads(); n > 0 {
		t.Errorf("%d multipart uploads were left behind", n)
	}
	t.Logf("%d epochs, %d requests went wrong, %d commands were run again", rounds(), failed, reruns)
}

// TestLedgerNeedsExclusiveCreate checks that a store which ignores the condition
// to create only a missing object is refused for a ledger.
func TestLedgerNeedsExclusiveCreate(t *testing.T) {
	s := s3test.Start(t)
	s.SetFaults(s3test.Faults{IgnoreConditions: true})
	folder := t.TempDir()
	stored(t, folder+"/rollout")
	code, _, stderr := rollmill(t, "submit", "--in", folder+"/rollout", "--backend", "file", "--ledger", s.URI("x"), "--out", folder+"/submit")
	if code != cli.ExitUsage || !strings.Contains(stderr, "could be trained twice") || !strings.Contains(stderr, "rollmill check --store") {
		t.Errorf("exit code %d:\n%s", code, stderr)
	}
}

// TestCheckStoreNamesRefusedChecksums checks a store that does not know S3's newer
// checksums, and again as the hint says.
func TestCheckStoreNamesRefusedChecksums(t *testing.T) {
	s := s3test.Start(t)
	s.SetFaults(s3test.Faults{NoChecksums: true})
	code, _, stderr := rollmill(t, "check", "--store", s.URI("x"))
	if code != cli.ExitUsage || !strings.Contains(stderr, "refuses the checksums") || strings.Count(stderr, "\n") > 3 ||
		!strings.Contains(stderr, "request_checksum_calculation=when_required") || strings.Contains(stderr, "can be written") {
		t.Errorf("exit code %d:\n%s", code, stderr)
	}
	if code, _, stderr := rollmill(t, "check", "--store", s.URI("x")+"&request_checksum_calculation=when_required&response_checksum_validation=when_required"); code != 0 {
		t.Errorf("exit code %d:\n%s", code, stderr)
	}
}

// TestStoreThatIgnoresVersions checks that a store which replaces an object whatever
// version is named holds new datasets, and is refused by name for everything that
// would replace one.
func TestStoreThatIgnoresVersions(t *testing.T) {
	s := s3test.Start(t)
	s.SetFaults(s3test.Faults{IgnoreVersions: true})
	engine, examples := newEngine(t)
	e := epoch{engine: engine, examples: examples, at: func(name string) string { return s.URI("run/epoch-0/" + name) }, ledger: t.TempDir()}
	e.run(t)
	later := e
	later.at = func(name string) string { return s.URI("run/epoch-1/" + name) }
	later.run(t)
	for i := range 2 {
		args := []string{"score", "--in", e.at("rollout"), "--reward", "x=expr:1", "--out", e.at("shards"), "--shard", fmt.Sprintf("%d/2", i)}
		if code, _, stderr := rollmill(t, args...); code != 0 {
			t.Fatal(stderr)
		}
	}
	config := filepath.Join(t.TempDir(), "rollmill.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, "train:\n  root: %q\nrollout:\n  examples: %q\n  url: %s/v1\n", s.URI("run"), examples, engine),
		0o600); err != nil {
		t.Fatal(err)
	}
	rollout, score := e.commands()[0], e.commands()[1]
	if code, _, stderr := rollmill(t, rollout...); code != 0 || !strings.Contains(stderr, "up to date") {
		t.Errorf("again: exit code %d:\n%s", code, stderr)
	}
	before := e.digests(t)
	for name, args := range map[string][]string{
		"gates":     append(slices.Clone(rollout), "--max-failure-rate", "0.25"),
		"overwrite": append(slices.Clone(score), "--overwrite", "--reward", "more=expr:2"),
		"compact":   {"compact", e.at("shards")},
		"prune":     {"prune", "--root", s.URI("run"), "--keep-epochs", "1", "--force", "--apply", "--grace", "0s"},
		"submit":    {"submit", "--in", e.at("curate"), "--backend", "file", "--kinds", "art", "--ledger", s.URI("run"), "--out", e.at("submit2")},
		"check":     {"check", "--config", config},
	} {
		if code, stdout, stderr := rollmill(t, args...); code == 0 || !strings.Contains(stdout+stderr, "If-Match") {
			t.Errorf("%s: exit code %d:\n%s%s", name, code, stdout, stderr)
		}
	}
	if after := e.digests(t); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("the datasets changed: %v, were %v", after, before)
	}
}

// TestMissingBucketError checks that the error names a bucket that is deleted while
// a stage writes to it.
func TestMissingBucketError(t *testing.T) {
	s := s3test.Start(t)
	stored(t, s.URI("rollout"))
	var once atomic.Bool
	s.OnRequest(func(r *http.Request) {
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/score/part-") && once.CompareAndSwap(false, true) {
			if err := s.DropBucket(); err != nil {
				t.Error(err)
			}
		}
	})
	code, _, stderr := rollmill(t, "score", "--in", s.URI("rollout"), "--out", s.URI("score"), "--reward", "x=expr:1", "--log-format", "json")
	if code != cli.ExitFailed || !strings.Contains(stderr, "the bucket does not exist, or may not be seen") || !strings.Contains(stderr, "create the bucket") {
		t.Errorf("exit code %d:\n%s", code, stderr)
	}
	var last struct{ Level, Msg, Hint string }
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil {
		t.Errorf("the last line is no JSON: %v", err)
	}
}
