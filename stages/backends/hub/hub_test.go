package hub_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/parquet"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/backendtest"
	"github.com/rollmill/rollmill/stages/backends/hub"
	"github.com/rollmill/rollmill/stages/backends/hubtest"
	"github.com/rollmill/rollmill/storage/fault"
)

const id = "acme/rollouts"

func start(t *testing.T, f hubtest.Faults, edit ...func(*hub.Config)) (*hub.Trainer, *hubtest.Server) {
	t.Helper()
	s := hubtest.Serve(f)
	t.Cleanup(s.Close)
	return trainer(t, s, edit...), s
}

func trainer(t *testing.T, s *hubtest.Server, edit ...func(*hub.Config)) *hub.Trainer {
	t.Helper()
	cfg := hub.Config{Endpoint: s.URL, Token: hubtest.Token, Repo: id, Settle: time.Millisecond}
	for _, e := range edit {
		e(&cfg)
	}
	tr, err := hub.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func tables(names ...string) func(*hub.Config) { return func(c *hub.Config) { c.Tables = names } }

func TestKind(t *testing.T) {
	backendtest.Kind(t, hub.Kind, map[string]string{"repository": "acme/rollouts"})
}

func TestConformance(t *testing.T) {
	for name, edit := range map[string]func(*hub.Config){"trajectories": func(*hub.Config) {}, "all tables": tables(hub.Tables()...),
		"kept": func(c *hub.Config) { c.Keep = true }} {
		t.Run(name, func(t *testing.T) {
			backendtest.Run(t, func(t *testing.T) backendtest.Subject {
				tr, s := start(t, hubtest.Faults{}, edit)
				return backendtest.Subject{Trainer: tr, Jobs: func() int { return len(s.Commits(id)) }, Secrets: []string{hubtest.Token},
					Sent: func() []string { return slices.Collect(maps.Values(s.Files(id))) }}
			})
		})
	}
}

func submission(token string) backends.Submission {
	return backends.Submission{Token: token, Run: "demo", Epoch: 2, Digest: "d", Guard: func() error { return nil }}
}

func submit(t *testing.T, tr *hub.Trainer, token string) (backends.Outcome, error) {
	t.Helper()
	if _, err := tr.Begin(t.Context(), nil); err != nil {
		return backends.Outcome{}, err
	}
	return tr.Submit(t.Context(), submission(token), recorded(backendtest.Batch()), func(backends.JobEvent) {})
}

func must(t *testing.T, tr *hub.Trainer, token string) backends.Outcome {
	t.Helper()
	out, err := submit(t, tr, token)
	if err != nil || out.State != receipts.JobCompleted {
		t.Fatalf("%+v, %v", out, err)
	}
	return out
}

func paths(s *hubtest.Server) []string {
	var out []string
	for p := range s.Files(id) {
		out = append(out, p)
	}
	slices.Sort(out)
	return out
}

func TestTheRepositoryHoldsTheRowsAndACard(t *testing.T) {
	tr, s := start(t, hubtest.Faults{ChunkSize: 1000}, tables("trajectories", "trl-preference"))
	out := must(t, tr, "token-1")
	want := []string{".gitattributes", ".rollmill/token-1.json", "README.md", "data/trajectories/train-00000-of-00001.parquet",
		"data/trl-preference/train-00000-of-00001.parquet"}
	if got := paths(s); !slices.Equal(got, want) {
		t.Fatalf("%q", got)
	}
	files := s.Files(id)
	data := []byte(files[want[3]])
	f, err := parquet.Open(bytes.NewReader(data), int64(len(data)), "train")
	if err != nil {
		t.Fatal(err)
	}
	r, err := parquet.NewReader[formats.Trajectory](f, 0, f.Rows())
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]formats.Trajectory, 20)
	if n, err := r.Read(rows); n != 12 || err != nil && err != io.EOF || rows[5].ExampleID != "example-1" || len(rows[0].Messages[1].TokenIDs) != 2 {
		t.Errorf("%d rows, %v, %+v", n, err, rows[0])
	}
	var card struct {
		Configs []struct {
			Name    string                         `yaml:"config_name"`
			Default bool                           `yaml:"default"`
			Files   []struct{ Split, Path string } `yaml:"data_files"`
		} `yaml:"configs"`
	}
	if err := yaml.Load([]byte(strings.Split(files["README.md"], "---\n")[1]), &card); err != nil || len(card.Configs) != 2 || !card.Configs[0].Default ||
		card.Configs[1].Files[0].Path != "data/trl-preference/train-*.parquet" || card.Configs[1].Files[0].Split != "train" {
		t.Errorf("%+v, %v in %s", card, err, files["README.md"])
	}
	if n := len(s.Commits(id)); n != 1 || len(out.Job) != 40 || out.Files[0] != "hf://datasets/"+id+"@"+out.Job+"/"+want[3] || out.Metrics[want[3]] != 12 ||
		out.Metrics[want[4]] != 3 {
		t.Errorf("%d commits, %+v", n, out)
	}
	again, err := tr.Resolve(t.Context(), submission("token-1"))
	if err != nil || again.Job != out.Job || !slices.Equal(again.Files, out.Files) {
		t.Errorf("%+v, %v", again, err)
	}
}

func TestTheNextBatchReplacesTheOneBefore(t *testing.T) {
	tr, s := start(t, hubtest.Faults{})
	one := must(t, tr, "token-1")
	s.Put(id, "data/trajectories/train-00001-of-00002.parquet", "stale")
	s.Put(id, "notes.txt", "theirs")
	two := must(t, tr, "token-2")
	want := []string{".gitattributes", ".rollmill/token-1.json", ".rollmill/token-2.json", "README.md", "data/trajectories/train-00000-of-00001.parquet",
		"notes.txt"}
	if got := paths(s); !slices.Equal(got, want) || one.Job == two.Job {
		t.Errorf("%q", got)
	}
	if r, err := tr.Resolve(t.Context(), submission("token-1")); err != nil || r.Job != one.Job {
		t.Errorf("%+v, %v; want %s", r, err, one.Job)
	}
}

func TestKeepEarlierBatches(t *testing.T) {
	tr, s := start(t, hubtest.Faults{}, func(c *hub.Config) { c.Keep, c.Tables = true, []string{"trl-sft"} })
	must(t, tr, "token-1")
	must(t, trainer(t, s, func(c *hub.Config) { c.Keep = true }), "token-2")
	want := []string{".gitattributes", ".rollmill/token-1.json", ".rollmill/token-2.json", "README.md",
		"data/trajectories/train-token-2-00000-of-00001.parquet", "data/trl-sft/train-token-1-00000-of-00001.parquet"}
	if got := paths(s); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if card := s.Files(id)["README.md"]; !strings.Contains(card, "data/trl-sft/train-*") || !strings.Contains(card, "data/trajectories/train-*") {
		t.Error(card)
	}
}

func TestACardThatAPersonWroteStays(t *testing.T) {
	tr, s := start(t, hubtest.Faults{})
	s.Put(id, "README.md", "# by hand\n")
	must(t, tr, "token-1")
	if card := s.Files(id)["README.md"]; card != "# by hand\n" {
		t.Error(card)
	}
}

func TestLargeBatchesAreSeveralFiles(t *testing.T) {
	tr, s := start(t, hubtest.Faults{}, func(c *hub.Config) { c.MaxFileBytes, c.Validation, c.SplitSeed = 1, 0.5, 1 })
	must(t, tr, "token-1")
	train, held := 0, 0
	for _, p := range paths(s) {
		if strings.Contains(p, "/train-") {
			train++
		}
		if strings.Contains(p, "/validation-") {
			held++
		}
	}
	if train+held != 3 || train == 0 || held == 0 || !strings.Contains(s.Files(id)["README.md"], "split: validation") {
		t.Errorf("%q", paths(s))
	}
}

func TestASubmissionIsCommittedOnce(t *testing.T) {
	for name, f := range map[string]hubtest.Faults{
		"the answer is lost":        {DropAfterCommit: 1},
		"500, but applied":          {AppliedThen500: 1},
		"lost and no head":          {DropAfterCommit: 1, NoHead: true, NoOID: true},
		"somebody commits (412)":    {Intruders: 1},
		"lost before":               {DropBeforeCommit: 1},
		"the commit has no address": {EmptyCommitURL: true},
		"no commit is named":        {NoCommitOID: true},
	} {
		t.Run(name, func(t *testing.T) {
			tr, s := start(t, f)
			out := must(t, tr, "token-1")
			if again := must(t, tr, "token-1"); again.Job != out.Job {
				t.Errorf("%+v after %+v", again, out)
			}
			n := 0
			for _, title := range s.Commits(id) {
				if title == "rollmill: run demo, epoch 2" {
					n++
				}
			}
			if n != 1 {
				t.Errorf("%q", s.Commits(id))
			}
		})
	}
}

func TestWhatEndsWithoutACommit(t *testing.T) {
	for want, f := range map[string]hubtest.Faults{
		"no commits today":   {CommitRefused: 400},
		"not acceptable":     {BatchError: "not acceptable"},
		"the card":           {CardError: "an unknown key"},
		"by its .gitignore":  {Ignored: ".parquet"},
		"was not uploaded":   {VerifyRefused: true},
		"don't have the rig": {CreateForbidden: true},
	} {
		tr, s := start(t, f)
		out, err := submit(t, tr, "token-1")
		if err == nil || !strings.Contains(err.Error(), want) || out.State != "" && !out.Clean || len(s.Commits(id)) != 0 {
			t.Errorf("%s: %+v, %v", want, out, err)
		}
	}
}

func TestACommitThatNeverShowsIsLeftOpen(t *testing.T) {
	tr, _ := start(t, hubtest.Faults{DropBeforeCommit: 1000})
	if out, err := submit(t, tr, "token-1"); err == nil || out.State != backends.JobUnknown {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestATokenThatIsNotKnown(t *testing.T) {
	wrong := func(c *hub.Config) { c.Token = "hf_another_secret" }
	tr, _ := start(t, hubtest.Faults{EchoesToken: true}, wrong)
	_, err := tr.Preflight(t.Context(), backendtest.Batch(), func(backends.Problem) {})
	if err == nil || strings.Contains(err.Error(), "secret") || fault.KindOf(err) != fault.Usage || !strings.Contains(fault.HintOf(err), "HF_TOKEN") {
		t.Error(err)
	}
	tr, _ = start(t, hubtest.Faults{NoWhoami: true, OpenToAll: true}, func(c *hub.Config) { c.Token = "" })
	must(t, tr, "token-1")
}

func TestABatchWithoutRows(t *testing.T) {
	tr, _ := start(t, hubtest.Faults{}, tables("trl-preference"))
	tied := backendtest.Group(0)
	for i := range tied {
		tied[i].Reward = tied[0].Reward
	}
	var reasons []string
	stats, err := tr.Preflight(t.Context(), func(yield func([]formats.Trajectory, error) bool) { yield(tied, nil) }, func(p backends.Problem) {
		reasons = append(reasons, p.Reason)
	})
	if err != nil || fmt.Sprint(reasons) != "[no_row]" || !strings.Contains(fmt.Sprint(stats.Notes), "tie 1") {
		t.Errorf("%q, %v, %+v", reasons, err, stats)
	}
}

func TestInvalidSettings(t *testing.T) {
	for want, c := range map[string]hub.Config{
		"no repository":    {},
		"a/b/c":            {Repo: "a/b/c"},
		"endpoint":         {Repo: id, Endpoint: "huggingface.co"},
		"unknown table":    {Repo: id, Tables: []string{"rows"}},
		"validation share": {Repo: id, Validation: 1},
	} {
		if _, err := hub.New(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestACommitUnderWayIsWaitedFor: the store may act on what a sender sent that
// was killed since.
func TestACommitUnderWayIsWaitedFor(t *testing.T) {
	tr, s := start(t, hubtest.Faults{}, func(c *hub.Config) { c.Settle = 10 * time.Second })
	out := make(chan backends.Outcome, 1)
	if _, err := tr.Begin(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	go func() {
		resolved, _ := trainer(t, s, func(c *hub.Config) { c.Settle = 10 * time.Second }).Resolve(t.Context(), submission("late"))
		out <- resolved
	}()
	must(t, tr, "late")
	if resolved := <-out; resolved.State != receipts.JobCompleted || resolved.Clean || len(s.Commits(id)) != 1 {
		t.Errorf("%+v, %d commits", resolved, len(s.Commits(id)))
	}
}
