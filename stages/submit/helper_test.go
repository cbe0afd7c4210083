package submit_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/runroot"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/art"
	"github.com/rollmill/rollmill/stages/backends/art/arttest"
	"github.com/rollmill/rollmill/stages/backends/backendtest"
	"github.com/rollmill/rollmill/stages/backends/command"
	"github.com/rollmill/rollmill/stages/backends/customizer"
	"github.com/rollmill/rollmill/stages/backends/customizer/customizertest"
	"github.com/rollmill/rollmill/stages/backends/file"
	"github.com/rollmill/rollmill/stages/backends/openai"
	"github.com/rollmill/rollmill/stages/backends/openai/openaitest"
	"github.com/rollmill/rollmill/stages/submit"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/fault"
)

// order is what a helper process is told to do.
type order struct {
	In, Out, Ledger string // without a ledger, it is found by the id of the input's run
	Host            string
	Port            int
	URL             string   // of a fine-tuning service, instead of ART
	Entity, Data    string   // of NeMo Customizer, instead of ART
	Words           []string // of a program that trains, instead of ART
	Files           bool     // write files, instead of ART
	Wire            bool     // make ART's wire form of the batch, and nothing of it
	Kill            string   // "before N" or "after N" of the store's operations, "group N", "begin", "submit", "event", "sent N", ""
	Stop            string   // where it stops as by ctrl-Z, in the same words
	Resubmit        bool
	AssumeTrained   bool
	Wait            bool
	Machine         string        // another than the other helpers'
	Skew            time.Duration // of its clock
	Lease           time.Duration
}

// answer is what it came to.
type answer struct {
	State    string
	Kind     fault.Kind
	Err      string
	Attached bool
	Ops      int64
	Bytes    int64   // of the wire form
	Seconds  float64 // that Wire took
	Peak     int64   // the most memory that the process has had
	killed   bool
}

func TestMain(m *testing.M) {
	if text := os.Getenv("ROLLMILL_TEST_SUBMIT"); text != "" {
		var o order
		if err := json.Unmarshal([]byte(text), &o); err != nil {
			panic(err)
		}
		do := obey
		if o.Wire {
			do = convert
		}
		a := do(o)
		a.Peak = peak()
		json.NewEncoder(os.Stdout).Encode(a)
		os.Exit(0)
	}
	flag.Set("test.parallel", "8") // the tests wait more than they compute; the command line still decides
	os.Exit(m.Run())
}

func die() {
	syscall.Kill(os.Getpid(), syscall.SIGKILL)
	time.Sleep(time.Hour) // select {} may be found to be a deadlock
}

// halt stops this process, once, until it is told to go on.
var halt = sync.OnceFunc(func() { syscall.Kill(os.Getpid(), syscall.SIGSTOP) })

// obey submits in this process, and dies where it is told to.
func obey(o order) answer {
	ctx := context.Background()
	receipts, _ := storage.Open(ctx, o.Out)
	if o.Ledger == "" {
		o.Ledger = ledgerOf(ctx, o.In)
	}
	ledger, _ := storage.Open(ctx, o.Ledger)
	tr, err := o.trainer()
	if err != nil {
		panic(err)
	}
	var ops atomic.Int64
	die := die
	if o.Stop != "" {
		o.Kill, die = o.Stop, halt
	}
	if o.Machine != "" {
		submit.Foreign(o.Machine)
	}
	when, count, _ := strings.Cut(o.Kill, " ")
	n, _ := strconv.ParseInt(count, 10, 64)
	step := func(op func() error) error {
		k := ops.Add(1)
		if when == "before" && k == n {
			die()
		}
		err := op()
		if when == "after" && k == n {
			die()
		}
		return err
	}
	result, err := submit.Run(ctx, submit.Options{
		In: stages.Input{URI: o.In}, Out: o.Out, Receipt: stepped{receipts, step}, Ledger: stepped{ledger, step},
		Env: stages.Env{Now: func() time.Time { return time.Now().Add(o.Skew) }}, LeaseTTL: o.Lease,
		Stall:   o.stall(),
		Trainer: dying(tr, when, n, die), Run: "run", Resubmit: o.Resubmit, AssumeTrained: o.AssumeTrained, Wait: o.Wait, PollInterval: time.Millisecond,
	})
	return answered(result, err, ops.Load())
}

// ledgerOf finds the ledger of a dataset as the command line does.
func ledgerOf(ctx context.Context, in string) string {
	d, err := dataset.Open(ctx, in, dataset.OpenOptions{})
	if err != nil {
		panic(err)
	}
	root, err := runroot.Find(ctx, in, d.Run)
	if err != nil {
		panic(err)
	}
	return root
}

func dying(tr backends.Trainer, when string, n int64, die func()) backends.Trainer {
	return mortal{tr, when, n, die}
}

func answered(result submit.Result, err error, ops int64) answer {
	a := answer{Ops: ops, Attached: result.Attached}
	if result.Receipt != nil {
		a.State = result.Receipt.State
	}
	if err != nil {
		a.Err = err.Error()
		var e *fault.Error
		if errors.As(err, &e) {
			a.Kind = e.Kind
		}
	}
	return a
}

// settle is longer than a test's server takes for what a killed sender sent.
const settle = 600 * time.Millisecond

// stall is how long a look at ART's step is repeated; jobs have no limit.
func (o order) stall() time.Duration {
	if o.Host == "" {
		return 0
	}
	return 300 * time.Millisecond
}

func (o order) trainer() (backends.Trainer, error) {
	switch {
	case o.Entity != "":
		return customizer.New(customizer.Config{EntityURL: o.Entity, DatastoreURL: o.Data, APIKey: customizertest.Key, DatastoreToken: customizertest.Token,
			Config: customizertest.Config, Settle: settle})
	case o.URL != "":
		return openai.New(openai.Config{BaseURL: o.URL, APIKey: openaitest.Key, Model: "gpt-test", MinRows: 1, Settle: settle, Poll: time.Millisecond})
	case o.Files:
		b, err := storage.Open(context.Background(), o.Out)
		if err != nil {
			return nil, err
		}
		place := backends.Place{URI: o.Out, Read: b.Read, Begin: func(ctx context.Context) (backends.Draft, error) { return b.Draft(ctx) }}
		return file.New(file.Config{Kinds: []string{"art", "trl-prompts"}}, place)
	case o.Words != nil:
		return command.New(command.Config{Words: o.Words}, backends.Place{})
	}
	return art.New(art.Config{IP: o.Host, Port: o.Port})
}

// stepped counts the operations that write.
type stepped struct {
	submit.Store
	step func(func() error) error
}

func (s stepped) Create(ctx context.Context, key string, data []byte) error {
	return s.step(func() error { return s.Store.Create(ctx, key, data) })
}

func (s stepped) Write(ctx context.Context, key string, data []byte) error {
	return s.step(func() error { return s.Store.Write(ctx, key, data) })
}

// mortal dies between and within the calls of a trainer.
type mortal struct {
	backends.Trainer
	when string
	n    int64
	die  func()
}

func (m mortal) Begin(ctx context.Context, known *receipts.Policy) (backends.TrainerState, error) {
	state, err := m.Trainer.Begin(ctx, known)
	if m.when == "begin" {
		m.die()
	}
	return state, err
}

func (m mortal) Submit(ctx context.Context, s backends.Submission, groups backends.Groups, event func(backends.JobEvent)) (backends.Outcome, error) {
	out, err := m.Trainer.Submit(ctx, s, func(yield func([]formats.Trajectory, error) bool) {
		k := int64(0)
		groups(func(rows []formats.Trajectory, err error) bool {
			if k++; m.when == "group" && k == m.n {
				m.die()
			}
			return yield(rows, err)
		})
	}, func(e backends.JobEvent) {
		if m.when == "event" && (e.Metrics != nil || e.Job != "") || m.when == "sent" && e.Sent == m.n {
			m.die()
		}
		event(e)
	})
	if m.when == "submit" {
		m.die()
	}
	return out, err
}

// helper starts a process that obeys.
func helper(t *testing.T, o order) (*exec.Cmd, func() answer) {
	t.Helper()
	return helperIn(t, "", o)
}

// helperIn starts it in a working folder.
func helperIn(t *testing.T, dir string, o order) (*exec.Cmd, func() answer) {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "ROLLMILL_TEST_SUBMIT="+string(text))
	out := &strings.Builder{}
	cmd.Stdout, cmd.Stderr = out, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, func() answer {
		err := cmd.Wait()
		var a answer
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL {
			a.killed = true
			return a
		}
		if err != nil {
			t.Fatalf("helper: %v: %s", err, out)
		}
		if err := json.Unmarshal([]byte(out.String()), &a); err != nil {
			t.Fatalf("helper said %q: %v", out, err)
		}
		return a
	}
}

func run(t *testing.T, o order) answer {
	t.Helper()
	_, wait := helper(t, o)
	return wait()
}

// curated writes a dataset of groups and returns its URI.
func curated(t *testing.T, uri string, groups ...[]formats.Trajectory) string {
	t.Helper()
	return curatedIn(t, manifest.Run{}, uri, groups...)
}

// curatedIn writes one that belongs to a run.
func curatedIn(t *testing.T, r manifest.Run, uri string, groups ...[]formats.Trajectory) string {
	t.Helper()
	s, err := shards.Begin(t.Context(), uri,
		manifest.Spec{Stage: "curate", Version: 1, Kind: schema.KindTrajectories, Params: map[string]any{"groups": fmt.Sprint(len(groups))}, Run: r},
		shards.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := shards.NewTable[formats.Trajectory](s, "", -1)
	for _, g := range groups {
		if err := w.Write(t.Context(), g); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Commit(t.Context(), shards.Outcome{}); err != nil {
		t.Fatal(err)
	}
	return uri
}

// place is a server, a batch, and where to submit it from.
func place(t *testing.T, f arttest.Faults) (*arttest.Server, order) {
	t.Helper()
	server := arttest.New(arttest.Legacy, f)
	t.Cleanup(server.Close)
	host, port := server.Addr()
	dir := t.TempDir()
	in := curated(t, dir+"/curate", backendtest.Group(0), backendtest.Group(1), backendtest.Group(2))
	return server, order{In: in, Out: dir + "/submit", Ledger: dir, Host: host, Port: port}
}

func walk(t *testing.T, files fs.FS, f func([]byte)) {
	t.Helper()
	err := fs.WalkDir(files, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, path)
		f(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
