package score_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/storage/fault"
)

func TestRowsAreAlignedWithBase(t *testing.T) {
	in, out := "mem://beside/epoch-0/rollout", "mem://beside/epoch-0/score"
	wide := trajectories()
	base(t, in, wide)
	r := run(t, options(t, in, out, "short=expr:len(answer) < 60", "tokens*0.01=expr:sampled_tokens", "prog*2="+"command:"+words("answer"),
		"sum*0=expr:rewards.short + rewards.prog"))
	got, d := rows(t, out)
	if !r.Sealed || r.Rows != int64(len(wide)) || len(got) != len(wide) || d.Base == nil || d.Base.URI != "../rollout" {
		t.Fatalf("report %+v, base %+v", r, d.Base)
	}
	scored, failed := int64(0), int64(0)
	for i, s := range got {
		w := wide[i]
		if s.TrajectoryID != w.TrajectoryID || s.Generation != w.Generation || s.Status != w.Status || len(s.Rewards) != 4 {
			t.Fatalf("row %d is %+v beside %s", i, s, w.TrajectoryID)
		}
		if !score.Scorable(w.Status) {
			failed++
			if s.Reward != nil || s.Failure != outcomes.RewardTrajectory || s.Rewards[2].Value != nil || s.Rewards[2].Failure != outcomes.RewardTrajectory {
				t.Errorf("row %d: a failed trajectory was scored: %+v", i, s)
			}
			continue
		}
		scored++
		prog := float64(len(w.Answer)%13)/13 + float64(len(w.Main()))
		want := float64(w.SampledTokens)*0.01 + 2*prog
		if len(w.Answer) < 60 {
			want++
		}
		if s.Reward == nil || math.Abs(*s.Reward-want) > 1e-9 || math.Abs(*s.Rewards[3].Value-*s.Rewards[0].Value-prog) > 1e-9 {
			t.Errorf("row %d is %+v, want %v", i, s, want)
		}
	}
	if failed == 0 || r.Counts["scored"] != scored || r.Counts["failed"] != failed || r.Counts["unscored"] != 0 || d.Failures["trajectory"] != failed ||
		d.Facts["attempted"] != float64(scored) {
		t.Errorf("counts %v, failures %v, facts %v; scored %d, failed %d", r.Counts, d.Failures, d.Facts, scored, failed)
	}
	if want := fmt.Sprintf("; no reward: %d failed before", failed); !strings.HasSuffix(r.Message, want) {
		t.Errorf("the report says %q, want %q", r.Message, want)
	}
	if again := run(t, options(t, in, out, "short=expr:len(answer) < 60", "tokens*0.01=expr:sampled_tokens", "prog*2="+"command:"+words("answer"),
		"sum*0=expr:rewards.short + rewards.prog")); !again.UpToDate || again.RowsDigest != r.RowsDigest || again.Counts["scored"] != scored {
		t.Errorf("the second run did not find it up to date: %+v", again)
	}
}

// TestHowItIsRunDoesNotMatter: workers, batches and shards give one rows
// digest, a crashing program included.
func TestHowItIsRunDoesNotMatter(t *testing.T) {
	in := "mem://how/rollout"
	base(t, in, trajectories())
	specs := []string{"short=expr:len(answer) < 60", "prog=command:" + words("crash")}
	digest, identity := "", ""
	for i, how := range []struct{ workers, batch, shards int }{{1, 1, 1}, {1, 64, 1}, {4, 7, 1}, {8, 1000, 1}, {1, 5, 4}, {8, 64, 4}, {3, 64, 4}, {2, 3, 5}} {
		if testing.Short() && i%2 == 1 && how.shards != 5 {
			continue // {1,1,1}, {4,7,1}, {1,5,4}, {3,64,4} and {2,3,5} vary each of the three
		}
		out := "mem://how/" + stringOf(how.workers, how.batch, how.shards)
		var r stages.Report
		for i := range how.shards {
			o := options(t, in, out, specs...)
			o.Concurrency, o.BatchRows, o.Out.Shard = how.workers, how.batch, stages.Shard{Index: i, Count: how.shards}
			r = run(t, o)
		}
		if digest == "" {
			digest, identity = r.RowsDigest, r.Identity
		}
		if !r.Sealed || r.RowsDigest != digest || r.Identity != identity {
			t.Errorf("%+v: sealed %v, rows %s of %s, want %s of %s", how, r.Sealed, r.RowsDigest, r.Identity, digest, identity)
		}
	}
	got, d := rows(t, "mem://how/1-1-1")
	crashed := int64(0)
	for _, s := range got {
		if s.Failure != outcomes.RewardComponent {
			continue
		}
		crashed++
		if c := s.Rewards[1]; c.Failure != outcomes.RewardCrashed || !strings.Contains(c.Error, "exit status 3; stderr ends: no board for "+s.TrajectoryID) ||
			!strings.HasPrefix(s.TrajectoryID, "0") || s.Rewards[0].Value == nil {
			t.Errorf("row %s is %+v", s.TrajectoryID, s)
		}
	}
	if crashed == 0 || d.Counts["unscored"] != crashed || d.Facts["rewards.prog.failed"] != float64(crashed) {
		t.Errorf("%d rows crashed; counts %v, facts %v", crashed, d.Counts, d.Facts)
	}
}

func TestAHungProgramTimesOut(t *testing.T) {
	t.Parallel()
	in, out := "mem://hang/rollout", "mem://hang/score"
	wide := trajectories()[:2*generations]
	wide[2].TrajectoryID, wide[2].Status = "0-hangs", outcomes.StatusOK
	base(t, in, wide)
	o := options(t, in, out, "prog=command:"+words("hang"))
	o.Timeout = 10 * time.Second // kept by a program that has to be started first
	run(t, o)
	got, d := rows(t, out)
	if d.Failures[outcomes.RewardTimeout] == 0 || d.Failures[outcomes.RewardTimeout] != d.Counts["unscored"] {
		t.Errorf("failures %v, counts %v", d.Failures, d.Counts)
	}
	for _, s := range got {
		if hung := strings.HasPrefix(s.TrajectoryID, "0") && score.Scorable(s.Status); hung != (s.Failure == outcomes.RewardTimeout) {
			t.Errorf("row %+v", s)
		}
	}
}

func TestIdentityIsWhatDecidesTheRows(t *testing.T) {
	in := "mem://identity/rollout"
	base(t, in, trajectories())
	dir := t.TempDir()
	program, data := filepath.Join(dir, "reward.sh"), filepath.Join(dir, "data.json")
	write(t, program, "#!/bin/sh\nexec "+words("answer")+"\n", 0o755)
	write(t, data, "{}", 0o644)
	n := 0
	identity := func(change func(*score.Options)) string {
		n++
		o := options(t, in, "mem://identity/score-"+stringOf(n), "prog=command:"+program)
		o.DependsOn = []string{data}
		change(&o)
		return run(t, o).Identity
	}
	first := identity(func(*score.Options) {})
	for what, change := range map[string]func(*score.Options){
		"workers": func(o *score.Options) { o.Concurrency = 7 },
		"batches": func(o *score.Options) { o.BatchRows = 3 },
		"timeout": func(o *score.Options) { o.Timeout = time.Hour },
		"gate":    func(o *score.Options) { rate := 0.9; o.MaxFailureRate = &rate },
	} {
		if got := identity(change); got != first {
			t.Errorf("another %s is another identity", what)
		}
	}
	changes := map[string]func(*score.Options){
		"weight":  func(o *score.Options) { o.Rewards[0].Weight = 2 },
		"name":    func(o *score.Options) { o.Rewards[0].Name = "p" },
		"words":   func(o *score.Options) { o.Rewards[0].Arguments += " more" },
		"seed":    func(o *score.Options) { o.Seed = 2 },
		"no file": func(o *score.Options) { o.DependsOn = nil },
		"program": func(*score.Options) { write(t, program, "#!/bin/sh\n# edited\nexec "+words("answer")+"\n", 0o755) },
	}
	for what, change := range changes {
		if got := identity(change); got == first {
			t.Errorf("another %s is the same identity", what)
		}
	}
	write(t, program, "#!/bin/sh\nexec "+words("answer")+"\n", 0o755)
	if identity(func(*score.Options) {}) != first {
		t.Error("the program put back is another identity")
	}
	write(t, data, "[]", 0o644)
	if identity(func(*score.Options) {}) == first {
		t.Error("an edited --uses file is the same identity")
	}
}

// TestAServiceMayMove between two shards, and be asked again for what failed;
// another version of it is another reward.
func TestAServiceMayMove(t *testing.T) {
	const in = "mem://moved/rollout"
	base(t, in, trajectories())
	serve := func(value float64) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return // the client has ended
			}
			for line := range bytes.Lines(body) {
				var row score.Request
				if err := json.Unmarshal(line, &row); err != nil {
					t.Error(err)
				}
				fmt.Fprintf(w, `{"id":%q,"reward":%v}`+"\n", row.ID, value)
			}
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	here, there := serve(1), serve(1)
	var r stages.Report
	for i, url := range []string{here, there} {
		o := options(t, in, "mem://moved/score", "svc=http:"+url+"/score")
		o.Out.Shard = stages.Shard{Index: i, Count: 2}
		r = run(t, o)
	}
	if !r.Sealed || r.Counts["unscored"] != 0 {
		t.Fatalf("%+v", r)
	}
	o := options(t, in, "mem://moved/score", "svc=http:"+here+"/score")
	if again := run(t, o); !again.UpToDate {
		t.Error("at its old address it is another reward")
	}
	if got := again(t, in, "mem://moved/score", "mem://moved/failed", []string{"failed"}, "svc=http:"+serve(2)+"/score"); got.RowsDigest != r.RowsDigest {
		t.Error("--only failed asked again about rows that have a reward")
	}
	if _, err := score.Run(t.Context(), options(t, in, "mem://moved/score", "svc=http:version=2,"+here+"/score")); err == nil {
		t.Error("another version is the same reward")
	}
	if got := again(t, in, "mem://moved/score", "mem://moved/two", []string{"changed"},
		"svc=http:version=2,"+serve(2)+"/score"); got.RowsDigest == r.RowsDigest {
		t.Error("--only changed did not notice another version")
	}
}

func write(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func TestAnotherIdentityIsRefusedUnlessOverwritten(t *testing.T) {
	in, out := "mem://over/rollout", "mem://over/score"
	base(t, in, trajectories())
	run(t, options(t, in, out, "expr:1"))
	o := options(t, in, out, "expr:2")
	if _, err := score.Run(t.Context(), o); err == nil {
		t.Fatal("another reward over an existing dataset is no error")
	}
	o.Out.Overwrite = true
	run(t, o)
	if got, _ := rows(t, out); *got[0].Rewards[0].Value != 2 {
		t.Errorf("overwritten, row 0 is %+v", got[0])
	}
}

func TestTooManyFailuresAreRefused(t *testing.T) {
	in, out := "mem://gate/rollout", "mem://gate/score"
	base(t, in, trajectories())
	o := options(t, in, out, `half=expr:generation < 2 ? 1 : example.question`)
	rate := 0.25
	o.MaxFailureRate = &rate
	r, err := score.Run(t.Context(), o)
	var refused *manifest.GateError
	if !errors.As(err, &refused) || refused.Gates[0].Name != "max-failure-rate" || r.Rows != groups*generations {
		t.Fatalf("report %+v, error %v", r, err)
	}
	_, d := rows(t, out)
	g := d.Gates[0]
	if want := float64(d.Counts["unscored"]) / float64(d.Counts["scored"]+d.Counts["unscored"]); g.Value != want ||
		d.Failures["answer"] != d.Counts["unscored"] {
		t.Errorf("gate %+v, want %v; failures %v", g, want, d.Failures)
	}
}

func TestInputOfAnotherKindIsInvalid(t *testing.T) {
	uri := "mem://kind/group"
	shard, err := shards.Begin(t.Context(), uri, manifest.Spec{Stage: "group", Kind: schema.KindGroups}, shards.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := shard.Commit(t.Context(), shards.Outcome{}); err != nil {
		t.Fatal(err)
	}
	if _, err := score.Run(t.Context(), options(t, uri, "mem://kind/score", "expr:1")); !errors.Is(err, fault.ErrInvalid) {
		t.Errorf("scoring groups ended with %v", err)
	}
}
