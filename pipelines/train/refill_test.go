package train_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/pipelines/look/history"
	"github.com/rollmill/rollmill/pipelines/sandbox"
	"github.com/rollmill/rollmill/pipelines/train"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/storage"
)

// refilled is the number of examples of a run that is refilled.
const refilled = 12

// refilling is a run of the demo in which an epoch may be refilled twice.
func refilling(t *testing.T, tictactoe, root string, change func(*train.Options)) (o train.Options, run func(context.Context) error) {
	t.Helper()
	server, err := sandbox.New(sandbox.Options{Seed: 1, Dir: filepath.Join(root, "sandbox")})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(server)
	t.Cleanup(func() { web.Close(); server.Close() })
	o = demoRun{seed: 1, epochs: 2, rate: 0.01}.options(t, tictactoe, web.Listener.Addr().(*net.TCPAddr).Port, filepath.Join(root, "run"))
	o.Rollout.Examples, o.Rollout.ExamplesRef = games(t, tictactoe, 1, 0, refilled)
	o.Rollout.Generations, o.Validation = 2, nil
	o.Refill = train.Refill{Rounds: 2}
	o.Curate.PlanTable.Budget = new(int64(15)) // the plan asks for more of what varies, too
	if change != nil {
		change(&o)
	}
	return o, func(ctx context.Context) error {
		_, err := train.Run(ctx, o)
		return err
	}
}

// programs is the folder of what the tests build.
var programs string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "rollmill-train-")
	if err != nil {
		panic(err)
	}
	programs = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// game returns the demo's program, which is built once.
func game(t *testing.T) string {
	t.Helper()
	if out, err := built(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return filepath.Join(programs, "tictactoe")
}

var built = sync.OnceValues(func() ([]byte, error) {
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", programs, "github.com/rollmill/rollmill/cmd/tictactoe")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	return build.CombinedOutput()
})

// opened opens the dataset of a stage in the last round of an epoch.
func opened(t *testing.T, o train.Options, e int, stage string) *dataset.Dataset {
	t.Helper()
	dir, err := history.Last(t.Context(), storage.Join(o.Root, fmt.Sprint("epoch-", e)), stage)
	if err != nil {
		t.Fatal(err)
	}
	d, err := dataset.Open(t.Context(), storage.Join(dir, stage), dataset.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// An epoch is refilled round after round; what was there is neither made nor scored again. Whenever it
// is cut off, the same command gives the same rows: in a short run within the first refill, without -short at two
// more stages, with COUNT set after every stage.
func TestRefill(t *testing.T) {
	tictactoe := game(t)
	var stagesDone []string
	o, run := refilling(t, tictactoe, t.TempDir(), func(o *train.Options) {
		o.StageDone = func(e int, r stages.Report) { stagesDone = append(stagesDone, fmt.Sprint(e, " ", r.Stage)) }
	})
	if err := run(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := map[int]string{}
	for e := range 2 {
		rolled, curated := opened(t, o, e, "rollout"), opened(t, o, e, "curate")
		if !strings.HasSuffix(rolled.URI(), "/extended/extended/rollout") || rolled.Rows != 4*refilled || rolled.Facts["added"] != 2*refilled-15 {
			t.Errorf("epoch %d: %q has %d rows, %v of them new", e, rolled.URI(), rolled.Rows, rolled.Facts["added"])
		}
		receipt, err := history.ReadReceipt(t.Context(), storage.Join(o.Root, fmt.Sprint("epoch-", e), "submit"))
		if err != nil || receipt == nil || receipt.CuratedDigest != curated.RowsDigest.String() {
			t.Errorf("epoch %d was not trained on the last round: %v", e, err)
		}
		want[e] = curated.RowsDigest.String()
		for _, in := range curated.Inputs {
			if in.Role == "previous" && !strings.HasSuffix(in.URI, "/epoch-0/extended/extended/curate") {
				t.Errorf("epoch %d continues %q", e, in.URI)
			}
		}
	}
	whole, err := history.Collect(t.Context(), o.Root, nil)
	if err != nil {
		t.Fatal(err)
	}
	steps := addsUp(t, whole.Funnel)
	if s := steps["attempts"]; s.Added["by rollout"] != 2*2*refilled || s.Added["in refills"] != 2*2*refilled || len(s.Added) != 2 {
		t.Errorf("attempts %+v", s)
	}
	if s := steps["submitted"]; s.Out != steps["kept"].Out || s.Out == 0 || len(whole.Funnel.Unknown) != 2 { // of each epoch, that nobody counted the rows of the task file
		t.Errorf("submitted %+v, %v", s, whole.Funnel.Unknown)
	}
	if len(stagesDone) != 2*(4+2*4+1) || stagesDone[4] != "0 refill 1 rollout" {
		t.Errorf("stages %q", stagesDone)
	}
	for cut := range len(stagesDone) {
		if cut != 6 && (testing.Short() || cut != 4 && cut != 12) && os.Getenv("COUNT") == "" {
			continue
		}
		ctx, cancel := context.WithCancel(t.Context())
		left := cut
		o, run := refilling(t, tictactoe, t.TempDir(), func(o *train.Options) {
			o.StageDone = func(int, stages.Report) {
				if left--; left < 0 {
					cancel()
				}
			}
		})
		if err := run(ctx); err == nil && cut < len(stagesDone)-1 {
			t.Errorf("cut off after stage %d: no error", cut)
		}
		if err := run(t.Context()); err != nil {
			t.Fatalf("cut off after stage %d: %v", cut, err)
		}
		for e, digest := range want {
			if got := opened(t, o, e, "curate").RowsDigest.String(); got != digest {
				t.Errorf("cut off after stage %d: epoch %d has other rows", cut, e)
			}
		}
	}
}

// A refill ends when enough groups teach, when nothing is planned, and when the budget is spent.
func TestRefillEnds(t *testing.T) {
	tictactoe := game(t)
	for name, c := range map[string]struct {
		change func(*train.Options)
		rounds int
	}{
		"target":     {func(o *train.Options) { o.Refill.Groups = 10 }, 0}, // nearly all vary at once
		"no plan":    {func(o *train.Options) { o.Curate.PlanTable.Budget = new(int64(0)) }, 0},
		"one round":  {func(o *train.Options) { o.Refill.Rounds = 1 }, 1},
		"no budget":  {func(o *train.Options) { o.Rollout.Budget.Tokens = 1 << 40 }, 2},
		"the budget": {func(o *train.Options) { o.Rollout.Budget.Tokens = 30_000 }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			o, run := refilling(t, tictactoe, t.TempDir(), func(o *train.Options) { o.Epochs = 1; c.change(o) })
			if err := run(t.Context()); err != nil {
				t.Fatal(err)
			}
			d := opened(t, o, 0, "rollout")
			if n := strings.Count(d.URI(), "extended/"); n != c.rounds {
				t.Errorf("%d rounds, want %d; kept %v groups, %v tokens", n, c.rounds, opened(t, o, 0, "curate").Facts["groups_kept"],
					d.Facts["prompt_tokens"]+d.Facts["completion_tokens"])
			}
			// trajectories under way finish: at most concurrency of them, of at most 1,500 tokens
			if most := o.Rollout.Budget.Tokens; most > 0 && d.Facts["prompt_tokens"]+d.Facts["completion_tokens"] > float64(most)+8*1500 {
				t.Errorf("%v tokens of a budget of %d", d.Facts, most)
			}
			if d.Counts[outcomes.StatusSkipped] > 0 != (name == "the budget") {
				t.Errorf("%v", d.Counts)
			}
		})
	}
	o, run := refilling(t, tictactoe, t.TempDir(), func(o *train.Options) { o.Curate.PlanTable.PassRate.Name = "normal" })
	if err := run(t.Context()); err == nil || !strings.Contains(err.Error(), "drawn for the next epoch") {
		t.Errorf("%v: %v", o.Refill, err)
	}
	o, run = refilling(t, tictactoe, t.TempDir(), func(o *train.Options) { o.Refill = train.Refill{Groups: 3} })
	if err := run(t.Context()); err == nil || !strings.Contains(err.Error(), "--target-groups 3") {
		t.Errorf("%v: %v", o.Refill, err)
	}
}

// A budget counts for each shard of the rollouts that are refilled, whatever the number of shards of a refill's dataset, and
// a refill that it ends says so.
func TestRefillOfShards(t *testing.T) {
	tictactoe := game(t)
	once := func(o *train.Options) { o.Epochs = 1 }
	o, run := refilling(t, tictactoe, t.TempDir(), once)
	if err := run(t.Context()); err != nil {
		t.Fatal(err)
	}
	whole := opened(t, o, 0, "rollout").Facts
	for share, rounds := range map[float64]int{0.75: 2, 0.05: 0} { // of two shards: enough, and spent at once
		var log bytes.Buffer
		o, _ := refilling(t, tictactoe, t.TempDir(), func(o *train.Options) {
			once(o)
			o.Env.Log = slog.New(slog.NewTextHandler(&log, nil))
		})
		refill := o.Refill
		for i := range 2 { // o is a copy of what run has
			o.Rollout.Out.Shard, o.Refill = stages.Shard{Index: i, Count: 2}, train.Refill{}
			if _, err := train.Run(t.Context(), o); (err == nil) != (i == 1) {
				t.Fatal(i, err)
			}
		}
		o.Rollout.Out.Shard, o.Refill = stages.Shard{}, refill
		o.Rollout.Budget.Tokens = int64(share * (whole["prompt_tokens"] + whole["completion_tokens"]))
		receipt, err := history.ReadReceipt(t.Context(), storage.Join(o.Root, "policy"))
		if err != nil {
			t.Fatal(err)
		}
		curated, err := o.Again(t.Context(), 0, receipt.Policy, map[string]stages.Report{})
		if n := strings.Count(curated, "extended/"); err != nil || n != rounds {
			t.Errorf("%v of the tokens for each shard: %d rounds, want %d, %v", share, n, rounds, err)
		}
		if said := strings.Contains(log.String(), "the budget is spent, so the epoch is not refilled"); said != (rounds == 0) {
			t.Errorf("%v of the tokens for each shard: %s", share, &log)
		}
	}
}
