package make

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

var long = flag.Bool("long", false, "run the tests that take minutes")

const (
	epochs   = 3
	examples = 24 // of each epoch, 8 generations each
	maxGame  = 5  // calls of one game
	inFlight = 8  // concurrency of the demo
)

// run is one demo in its own folder.
type run struct {
	t    *testing.T
	dir  string
	port int
}

func newRun(t *testing.T) run {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return run{t, t.TempDir(), l.Addr().(*net.TCPAddr).Port}
}

// make returns the command `make demo` with this run's settings, in its own process
// group.
func (r run) make(args ...string) (*exec.Cmd, *bytes.Buffer) {
	args = append(args, "DEMO="+r.dir, "DEMO_PORT="+strconv.Itoa(r.port), "DEMO_EPOCHS="+strconv.Itoa(epochs),
		"DEMO_EXAMPLES="+strconv.Itoa(examples), "DEMO_HELD_OUT=20", "VALIDATE_EVERY=2")
	cmd := exec.Command("make", args...)
	cmd.Dir = "../.."
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	// The test's own make flags must not reach the demo's.
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "MAKE") || strings.HasPrefix(e, "MFLAGS") }), "LC_ALL=C")
	out := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = out, out
	return cmd, out
}

func (r run) demo() string {
	r.t.Helper()
	cmd, out := r.make("demo")
	if err := cmd.Run(); err != nil {
		r.t.Fatalf("make demo: %v\n%s", err, out)
	}
	return out.String()
}

// digests maps each dataset of the run to its rows_digest.
func (r run) digests() map[string]string {
	r.t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(r.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "_dataset.json" {
			return err
		}
		var m struct {
			RowsDigest string                                 `json:"rows_digest"`
			Tables     map[string]struct{ RowsDigest string } `json:"tables"`
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(data, &m); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		name, _ := filepath.Rel(r.dir, filepath.Dir(path))
		out[name] = m.RowsDigest
		return nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return out
}

// counts starts the sandbox on the run's folder and returns the numbers of model
// calls and of trained batches.
func (r run) counts() (calls, trained int64) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bin/rollmill", "sandbox", "--dir", filepath.Join(r.dir, "sandbox"), "--listen", fmt.Sprintf("127.0.0.1:%d", r.port))
	cmd.Dir = "../.."
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	defer func() { cmd.Process.Signal(syscall.SIGTERM); cmd.Wait() }()
	var c struct {
		Chat    int64 `json:"chat"`
		Trained int64 `json:"trained"`
	}
	for ctx.Err() == nil {
		resp, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/_rollmill/counts", r.port))
		if err != nil {
			time.Sleep(20 * time.Millisecond)
			continue
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err == nil {
			err = json.Unmarshal(body, &c)
		}
		if err != nil {
			r.t.Fatalf("counts: %v: %s", err, body)
		}
		return c.Chat, c.Trained
	}
	r.t.Fatal("the sandbox did not come up")
	return 0, 0
}

func TestDemoKilled(t *testing.T) {
	if !*long {
		t.Skip("takes minutes: make chaos COUNT=20")
	}
	count := 3
	if s := os.Getenv("COUNT"); s != "" {
		count, _ = strconv.Atoi(s)
	}
	whole := newRun(t)
	build, out := whole.make("build")
	if err := build.Run(); err != nil {
		t.Fatalf("make build: %v\n%s", err, out)
	}
	started := time.Now()
	whole.demo()
	took := time.Since(started)
	want := whole.digests()
	calls, trained := whole.counts()
	if trained != epochs || len(want) != epochs*4+2*2 {
		t.Fatalf("an undisturbed run trained %d batches and left %d datasets: %v", trained, len(want), slices.Sorted(maps.Keys(want)))
	}
	for i := range count {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			random := rand.New(rand.NewPCG(uint64(i), 17))
			r := newRun(t)
			kills := r.killAtRandom(random, took)
			if got := r.digests(); !maps.Equal(got, want) {
				t.Errorf("after %d kills the rows differ:\n got %v\nwant %v", kills, got, want)
			}
			gotCalls, gotTrained := r.counts()
			t.Logf("%d kills: %d calls (%d undisturbed), %d batches trained", kills, gotCalls, calls, gotTrained)
			if gotTrained != epochs {
				t.Errorf("%d batches were trained, want %d", gotTrained, epochs)
			}
			if spare := int64(kills * allowance); gotCalls > calls+spare {
				t.Errorf("%d calls were paid for, %d are needed, and %d kills excuse %d more", gotCalls, calls, kills, spare)
			}
		})
	}
}

// allowance is the number of calls that one kill may repeat: the games in flight,
// and those that ended after the journal's last segment (100 ms in the demo, up to
// 24 games).
const allowance = (inFlight + 24) * maxGame

// killAtRandom runs the demo and kills it and all its processes at random moments,
// one to six times, and lets the last run finish.
func (r run) killAtRandom(random *rand.Rand, took time.Duration) (kills int) {
	r.t.Helper()
	for want := 1 + random.IntN(6); kills < want; {
		cmd, out := r.make("demo")
		if err := cmd.Start(); err != nil {
			r.t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		select {
		case err := <-done:
			if err != nil {
				r.t.Fatalf("make demo after %d kills: %v\n%s", kills, err, out)
			}
			if kills > 0 {
				return kills
			}
		case <-time.After(time.Duration(random.Int64N(int64(took)))):
			kills++
			syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			<-done
		}
	}
	r.demo()
	return kills
}

// TestDemo runs the demo. A second run does nothing, and the same epochs in one
// process give the same rows.
func TestDemo(t *testing.T) {
	r := newRun(t)
	out := r.demo()
	if !strings.Contains(out, "epoch") {
		t.Fatalf("no table:\n%s", out)
	}
	if next := "next: bin/rollmill view '" + r.dir + "'\n"; !strings.HasSuffix(out, next) {
		t.Errorf("the end is not %q:\n%s", next, out)
	}
	want := r.digests()
	t.Run("twice", func(t *testing.T) {
		if out := r.demo(); !strings.Contains(out, "up to date") {
			t.Errorf("a second `make demo` said:\n%s", out)
		}
		if got := r.digests(); !maps.Equal(got, want) {
			t.Errorf("a second `make demo` changed %v to %v", want, got)
		}
	})
	t.Run("train", func(t *testing.T) {
		one := newRun(t)
		cmd, out := one.make("demo-train")
		if err := cmd.Run(); err != nil {
			t.Fatalf("make demo-train: %v\n%s", err, out)
		}
		if got := one.digests(); !maps.Equal(got, want) {
			t.Errorf("rollmill train left other rows than epoch.mk:\n got %v\nwant %v", got, want)
		}
	})
}
