package tinker_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/backendtest"
	"github.com/rollmill/rollmill/stages/backends/tinker"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// TestMain is also the worker: with ROLLMILL_TEST_WORKER it answers one request, and keeps
// what it trained as folders there. The real worker and a real service are in
// testdata/tinker.
func TestMain(m *testing.M) {
	if dir := os.Getenv("ROLLMILL_TEST_WORKER"); dir != "" {
		os.Exit(worker(dir))
	}
	os.Exit(m.Run())
}

func worker(dir string) int {
	var r struct {
		Request, Token string
		Settings       map[string]string
		Forms          map[string]struct{ URI string }
	}
	if err := json.NewDecoder(os.Stdin).Decode(&r); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	var said map[string]any
	if err := json.Unmarshal([]byte(r.Settings["tinker"]), &said); err != nil || said["base"] != "tiny" || os.Getenv("TINKER_API_KEY") != key {
		fmt.Fprintln(os.Stderr, "settings", r.Settings, err)
		return 1
	}
	trained, _ := os.ReadDir(dir)
	switch r.Request {
	case "begin":
		fmt.Printf(`{"step":%d,"policy":{"url":"http://engine/v1","model":"tiny","version":%[1]d}}`+"\n", len(trained))
	case "submit":
		if !strings.HasSuffix(r.Forms["sequences"].URI, "/sequences.parquet") || said["journal"] != filepath.Dir(r.Forms["sequences"].URI) {
			fmt.Fprintln(os.Stderr, r.Forms, said)
			return 1
		}
		_ = os.Mkdir(filepath.Join(dir, r.Token), 0o755)
		fmt.Printf(`{"state":"completed","step":1,"policy":{"url":"","model":"tinker://run/sampler_weights/x","version":1}}` + "\n")
	case "resolve":
		if _, err := os.Stat(filepath.Join(dir, r.Token)); err != nil {
			fmt.Println(`{"state":"failed","clean":true,"message":"nothing was saved"}`)
			return 0
		}
		fmt.Println(`{"state":"completed","step":1}`)
	}
	return 0
}

const key = "tml-hush-hush"

func place(t *testing.T, dir string) backends.Place {
	t.Helper()
	b, err := storage.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return backends.Place{URI: dir, Read: b.Read, Begin: func(ctx context.Context) (backends.Draft, error) { return b.Draft(ctx) }}
}

// recorded is a trainer of batches of which the engine gave the ids of the prompts.
type recorded struct{ *tinker.Trainer }

func (r recorded) Preflight(ctx context.Context, groups backends.Groups, report func(backends.Problem)) (backends.BatchStats, error) {
	return r.Trainer.Preflight(ctx, prompted(groups), report)
}

func (r recorded) Submit(ctx context.Context, s backends.Submission, groups backends.Groups, event func(backends.JobEvent)) (backends.Outcome, error) {
	return r.Trainer.Submit(ctx, s, prompted(groups), event)
}

func prompted(groups backends.Groups) backends.Groups {
	return func(yield func([]formats.Trajectory, error) bool) {
		for rows, err := range groups {
			for i := range rows {
				rows[i].Messages[1].PromptDeltaIDs = []int32{1, 2, 3}
			}
			if !yield(rows, err) {
				return
			}
		}
	}
}

// config names this test's own program as the worker.
func config() tinker.Config {
	return tinker.Config{Worker: []string{os.Args[0]}, Name: "policy", Base: "tiny", Rank: 8, Loss: tinker.PPO, LearningRate: 1e-4, Substeps: 1, Passes: 1}
}

func TestKind(t *testing.T) {
	backendtest.Kind(t, tinker.Kind, map[string]string{"base-model": "tiny"})
}

func TestConformance(t *testing.T) {
	backendtest.Run(t, func(t *testing.T) backendtest.Subject {
		dir := t.TempDir()
		t.Setenv("ROLLMILL_TEST_WORKER", dir)
		t.Setenv("TINKER_API_KEY", key)
		out := t.TempDir()
		tr, err := tinker.New(config(), place(t, out))
		if err != nil {
			t.Fatal(err)
		}
		return backendtest.Subject{Trainer: recorded{tr}, Secrets: []string{key}, Jobs: func() int {
			trained, _ := os.ReadDir(dir)
			return len(trained)
		}}
	})
}

func TestSettingsThatCannotTrain(t *testing.T) {
	for name, change := range map[string]func(*tinker.Config){
		"base model": func(c *tinker.Config) { c.Base = "" },
		"rank":       func(c *tinker.Config) { c.Rank = 0 },
		"substeps":   func(c *tinker.Config) { c.Substeps = 0 },
		"rate":       func(c *tinker.Config) { c.LearningRate = -1 },
	} {
		c := config()
		change(&c)
		if _, err := tinker.New(c, place(t, t.TempDir())); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAnotherReceipt: the worker of another epoch keeps its journal beside that receipt.
func TestAnotherReceipt(t *testing.T) {
	tr, err := tinker.New(config(), place(t, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("ROLLMILL_TEST_WORKER", t.TempDir())
	t.Setenv("TINKER_API_KEY", key)
	there := tr.At(place(t, t.TempDir()))
	s := backends.Submission{Token: "t", Guard: func() error { return nil }}
	out, err := there.Submit(t.Context(), s, prompted(backendtest.Batch()), func(backends.JobEvent) {})
	if err != nil || out.Policy == nil || out.Policy.Model != "tinker://run/sampler_weights/x" {
		t.Errorf("%+v, %v", out, err)
	}
}
