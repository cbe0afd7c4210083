package rollout_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/seal"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/dataset/workspaces"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/rollout"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// keeping is an agent that leaves workspaces: those of one example's attempts are equal, those of others larger than
// a piece, or were not kept.
type keeping struct {
	agents.Agent
	kill string // "harness 3": before the third workspace is kept; "archive 3": after it
	n    atomic.Int32
}

func (k *keeping) Describe() agents.Description {
	d := k.Agent.Describe()
	d.Workspaces = true
	return d
}

// left returns what an attempt left.
func left(id, example string) (w formats.Workspace, archive string) {
	w = formats.Workspace{Runtime: "podman", ImageDigest: "sha256:1", Paths: 1}
	switch n, _ := strconv.Atoi(strings.TrimPrefix(example, "ex-")); {
	case n%3 == 0:
		archive = "the same of " + example
	case n%3 == 1:
		r, noise := rand.New(rand.NewPCG(uint64(formats.Seed(1, id)), 1)), make([]byte, 1<<20)
		if n == 1 {
			noise = make([]byte, 7<<20)
		}
		for i := 0; i < len(noise); i += 8 {
			binary.LittleEndian.PutUint64(noise[i:], r.Uint64())
		}
		archive = string(noise)
	default:
		w.Paths, w.LeftOut = 0, []string{"more than 67108864 bytes"}
		return w, ""
	}
	sum := sha256.Sum256([]byte(archive))
	w.Digest, w.Size = hex.EncodeToString(sum[:]), int64(len(archive))
	return w, archive
}

func (k *keeping) Attempt(ctx context.Context, a agents.Attempt) (agents.Result, error) {
	r, err := k.Agent.Attempt(ctx, a)
	if err != nil || a.Keep == nil {
		return r, err
	}
	n := k.n.Add(1)
	k.die("harness", n)
	w, archive := left(a.TrajectoryID, a.Example.ID)
	if err := a.Keep(ctx, w, strings.NewReader(archive)); err != nil {
		return r, err
	}
	k.die("archive", n)
	r.Metadata, err = json.Marshal(map[string]string{workspaces.KeyName: w.Key()})
	return r, err
}

func (k *keeping) die(at string, n int32) {
	if k.kill == fmt.Sprint(at, " ", n) {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

func keepingOptions(e *engine, out string, n int) rollout.Options {
	o := options(e, out, n)
	o.Agent, o.KeepWorkspace = &keeping{Agent: o.Agent}, true
	return o
}

// whole checks that a dataset has the workspaces of its rows, and returns how many bytes they take.
func whole(t *testing.T, uri string) (bytes int64) {
	t.Helper()
	d := opened(t, uri)
	check(t, dataset.Verify(t.Context(), d))
	check(t, workspaces.Check(t.Context(), d))
	s, err := workspaces.Open(t.Context(), d)
	check(t, err)
	for _, row := range rows(t, uri) {
		want, archive := left(row.TrajectoryID, row.ExampleID)
		w, has := s.Of(row.TrajectoryID)
		if !has || w.Key() != want.Key() {
			t.Fatalf("%s: %v %+v", row.TrajectoryID, has, w)
		}
		if w.Digest != "" {
			r := s.Archive(t.Context(), w)
			text, err := io.ReadAll(r)
			check(t, err)
			if string(text) != archive {
				t.Errorf("%s has %d bytes of another archive", row.TrajectoryID, len(text))
			}
		}
	}
	if list, err := filepath.Glob(filepath.Join(uri, ".rollmill", "*", "journal-*-workspaces", "*")); err != nil || len(list) > 0 {
		t.Errorf("left are %v, %v", list, err)
	}
	for _, p := range d.PartsOf(schema.TableWorkspaces) {
		bytes += p.Bytes
	}
	return bytes
}

// Workspaces are those of the rows in one shard and in several, extended, compacted and with failures retried.
func TestWorkspaces(t *testing.T) {
	e := newEngine(t, &engine{})
	at := func(name string) string { return filepath.Join(t.TempDir(), name) }
	o := keepingOptions(e, at("one"), 5)
	one := run(t, o)
	n := whole(t, o.Out.URI)
	if n > 30<<20 {
		t.Errorf("%d bytes: equal archives are stored again", n)
	}
	groups := 0
	for _, p := range opened(t, o.Out.URI).PartsOf(schema.TableWorkspaces) {
		groups += len(p.RowGroups)
	}
	if int64(groups)*(6<<20) < n { // a row group is in memory until it ends
		t.Errorf("%d bytes are in %d row groups", n, groups)
	}
	for i := range 3 {
		s := o
		s.Out.URI, s.Out.Shard = filepath.Join(filepath.Dir(o.Out.URI), "three"), stages.Shard{Index: i, Count: 3}
		if report := run(t, s); i == 2 && report.RowsDigest != one.RowsDigest {
			t.Error("shards have other rows")
		}
		if i == 2 {
			whole(t, s.Out.URI)
			d, err := shards.Compact(t.Context(), opened(t, s.Out.URI), 64<<20)
			check(t, err)
			if len(d.PartsOf(schema.TableWorkspaces)) != 1 {
				t.Error("it was not compacted")
			}
			whole(t, s.Out.URI)
		}
	}
	p := planOf(t, o.Out.URI, at("curate"), planRow{example: "ex-0", n: 2}, planRow{example: "ex-1", n: 1})
	x := extending(keepingOptions(e, "", 5), o.Out.URI, p, at("extended"))
	run(t, x)
	whole(t, x.Out.URI)
}

// A fork has a workspace of its own, not its origin's; in an extended rollout the attempts before have theirs, also
// where new ones leave none.
func TestWorkspacesOfForks(t *testing.T) {
	e := newEngine(t, &engine{})
	o := talking(e.URL(), "", talker{turns: 2})
	base := filepath.Join(t.TempDir(), "kept")
	o.Examples, o.Generations, o.Out.URI, o.Agent, o.KeepWorkspace = set(questions(2)), 2, base, &keeping{Agent: o.Agent}, true
	run(t, o)
	whole(t, base)
	before, origins := opened(t, base).Fingerprint(), rows(t, base)
	p := planOf(t, base, filepath.Join(t.TempDir(), "curate"), planRow{example: "ex-0", n: 1},
		planRow{example: "ex-1", n: 2, from: origins[2].TrajectoryID, call: 1}, planRow{example: "ex-1", n: 1, from: origins[3].TrajectoryID, call: 1})
	x := extending(o, base, p, filepath.Join(t.TempDir(), "extended"))
	if report := run(t, x); report.Facts["forks"] != 3 {
		t.Fatalf("%+v", report)
	}
	whole(t, x.Out.URI)
	whole(t, base)
	s, err := workspaces.Open(t.Context(), opened(t, x.Out.URI))
	check(t, err)
	digests := map[string]string{}
	for _, row := range rows(t, x.Out.URI) {
		if w, _ := s.Of(row.TrajectoryID); row.ExampleID == "ex-1" {
			if digests[w.Digest] != "" {
				t.Errorf("%s, forked from %q, has the archive of %s", row.TrajectoryID, row.ForkedFrom, digests[w.Digest])
			}
			digests[w.Digest] = row.TrajectoryID
		}
	}
	if len(digests) != 5 || opened(t, base).Fingerprint() != before {
		t.Errorf("%d archives; the dataset that was extended is another", len(digests))
	}

	x.KeepWorkspace, x.Out.URI = false, filepath.Join(t.TempDir(), "without")
	run(t, x)
	check(t, workspaces.Check(t.Context(), opened(t, x.Out.URI)))
	s, err = workspaces.Open(t.Context(), opened(t, x.Out.URI))
	check(t, err)
	for _, row := range rows(t, x.Out.URI) {
		want, _ := left(row.TrajectoryID, row.ExampleID)
		if w, has := s.Of(row.TrajectoryID); has != (row.Generation < 2) || has && w.Key() != want.Key() {
			t.Errorf("%s:%d, forked from %q: %v %+v", row.ExampleID, row.Generation, row.ForkedFrom, has, w)
		}
	}
}

// Rows whose workspaces were pruned are extended without these, and not as if they were kept.
func TestPrunedWorkspacesAreNotExtended(t *testing.T) {
	o := keepingOptions(newEngine(t, &engine{}), filepath.Join(t.TempDir(), "kept"), 2)
	run(t, o)
	b, err := storage.Open(t.Context(), o.Out.URI)
	check(t, err)
	f, err := seal.Survey(t.Context(), b, nil, time.Now())
	check(t, err)
	check(t, f.RemoveWorkspaces(t.Context(), nil, time.Now()))
	x := extending(o, o.Out.URI, planOf(t, o.Out.URI, filepath.Join(t.TempDir(), "curate"), planRow{example: "ex-0", n: 1}), filepath.Join(t.TempDir(), "extended"))
	if _, err := rollout.Run(t.Context(), x); err == nil || !strings.Contains(err.Error(), "was removed by prune") {
		t.Errorf("%v", err)
	}
	x.KeepWorkspace = false
	run(t, x)
	if _, has := opened(t, x.Out.URI).Tables[schema.TableWorkspaces]; has {
		t.Error("it has workspaces")
	}
}

// Rows that are carried over to a dataset with fewer failures keep their workspaces.
func TestWorkspacesAreCarriedOver(t *testing.T) {
	failed := atomic.Bool{}
	e := newEngine(t, &engine{})
	o := keepingOptions(e, filepath.Join(t.TempDir(), "out"), 4)
	o.Agent = refusing{o.Agent, &failed}
	o.MaxFailureRate = new(1.0)
	if r := run(t, o); r.Counts["failed"] == 0 {
		t.Fatal(r)
	}
	failed.Store(true)
	o.RetryFailed = true
	if r := run(t, o); r.Counts["failed"] != 0 {
		t.Fatal(r)
	}
	whole(t, o.Out.URI)
}

// refusing fails the attempts at one example until it is told not to, after they kept what they left.
type refusing struct {
	agents.Agent
	mended *atomic.Bool
}

func (f refusing) Attempt(ctx context.Context, a agents.Attempt) (agents.Result, error) {
	r, err := f.Agent.Attempt(ctx, a)
	if err == nil && a.Example.ID == "ex-2" && !f.mended.Load() {
		return r, agents.Failf("verifier", "no reward")
	}
	return r, err
}

// Killed before a workspace is kept, after it or after its row, the same command keeps each once. COUNT is how often.
func TestKillKeeping(t *testing.T) {
	count, _ := strconv.Atoi(os.Getenv("COUNT"))
	e := newEngine(t, &engine{})
	out := filepath.Join(t.TempDir(), "out")
	r := rand.New(rand.NewPCG(51, 1))
	for i := range max(count, 2) {
		moment := fmt.Sprint([]string{"harness", "archive"}[i%2], " ", 1+r.IntN(killExamples*3/(2*max(count, 2))))
		_, ended := victimOf(t, "ROLLOUT_TEST_VICTIM="+e.URL(), "ROLLOUT_TEST_OUT="+out, "ROLLOUT_TEST_KEEP="+moment)
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "killed") {
			t.Fatalf("%s: %v", moment, err)
		}
	}
	o := keepingOptions(e, out, killExamples)
	run(t, o)
	whole(t, out)
}

func TestWorkspacesNeedContainers(t *testing.T) {
	o := optionsAt("http://127.0.0.1:1/v1", filepath.Join(t.TempDir(), "out"), 1)
	o.KeepWorkspace = true
	_, err := rollout.Run(t.Context(), o)
	if kind(err) != fault.Usage || !strings.Contains(err.Error(), "agent chat has no workspace") {
		t.Error(err)
	}
}
