package process

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats/secret"
)

func shell(script string) Program { return Program{Words: []string{"sh", "-c", script}} }

func start(t *testing.T, ctx context.Context, p Program) *Process {
	t.Helper()
	s, err := p.Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestEnvironment(t *testing.T) {
	t.Setenv("ROLLMILL_API_KEY", "hush")
	t.Setenv("TRAINER_TOKEN", "passed")
	t.Setenv("PLAIN", "here")
	var out bytes.Buffer
	p := shell(`echo "$ROLLMILL_API_KEY,$TRAINER_TOKEN,$PLAIN,$MORE,$(pwd)"`)
	p.Dir, p.PassEnv, p.Env, p.Stdout = "/", []string{"TRAINER_TOKEN"}, []string{"PLAIN=over", "MORE=more"}, &out
	if err := start(t, t.Context(), p).Wait(); err != nil || out.String() != ",passed,over,more,/\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

func TestStatus(t *testing.T) {
	for script, want := range map[string]string{"exit 0": "exit status 0", "exit 3": "exit status 3", "kill -9 $$": "signal: killed"} {
		s := start(t, t.Context(), shell(script))
		if err := s.Wait(); s.Status() != want || err != nil && err.Error() != want || (err == nil) != (script == "exit 0") {
			t.Errorf("%s: %s, %v", script, s.Status(), err)
		}
	}
	if _, err := (Program{Words: []string{"./no-such-program"}}).Start(t.Context()); err == nil {
		t.Error("a program that is not there was started")
	}
}

// TestStop ends a program that listens to SIGTERM by that, and another one
// after the grace; a context that ends does the same.
func TestStop(t *testing.T) {
	for _, byContext := range []bool{false, true} {
		for script, want := range map[string]string{
			"trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done": "exit status 7",
			"trap '' TERM; echo ready; while :; do sleep 0.01; done":       "signal: killed",
		} {
			ctx, cancel := context.WithCancel(t.Context())
			p := shell(script)
			p.Grace = 10 * time.Second
			if want != "exit status 7" {
				p.Grace = 50 * time.Millisecond
			}
			s, in, out, err := p.StartPiped(ctx, 0)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := out.Read(make([]byte, 8)); err != nil {
				t.Error(err)
			}
			if byContext {
				cancel()
			} else {
				s.Stop()
			}
			if err := s.Wait(); err == nil || s.Status() != want {
				t.Errorf("%s: %s, %v", script, s.Status(), err)
			}
			s.Stop() // again does nothing
			cancel()
			in.Close()
			out.Close()
		}
	}
}

// TestWaitDoesNotHang on output that a child holds open, which is killed with
// its program.
func TestWaitDoesNotHang(t *testing.T) {
	for name, command := range map[string]string{"in the group": "sleep 600", "in a session of its own": "setsid sleep 600"} {
		if _, err := exec.LookPath(strings.Fields(command)[0]); err != nil {
			t.Skip(err)
		}
		var out bytes.Buffer
		p := shell(command + " & echo done")
		p.Stdout, p.Grace = &out, 50*time.Millisecond
		if err := start(t, t.Context(), p).Wait(); err != nil || out.String() != "done\n" {
			t.Errorf("%s: %q, %v", name, out.String(), err)
		}
	}
}

// TestSessionsAreKept until they are to be killed.
func TestSessionsAreKept(t *testing.T) {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip(err)
	}
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip(err)
	}
	p := shell("setsid sh -c 'echo here; exec sleep 600' & read line")
	p.KeepSessions = true
	s, in, out, err := p.StartPiped(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if _, err := out.Read(make([]byte, 8)); err != nil {
		t.Error(err)
	}
	in.Close()
	_ = s.Wait() // read found the end of its input
	out.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	if _, err := out.Read(make([]byte, 1)); !os.IsTimeout(err) {
		t.Errorf("the session was not kept: %v", err)
	}
	s.KillSessions()
	out.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := out.Read(make([]byte, 1)); os.IsTimeout(err) {
		t.Error("the session lives on")
	}
}

func TestTail(t *testing.T) {
	known := &secret.Set{}
	known.Add("KEY", "a-secret-value")
	ctx := secret.With(t.Context(), known)
	tail := NewTail(ctx, 64)
	if tail.String() != "" {
		t.Error(tail)
	}
	for _, part := range []string{"\n  using a-sec", "ret-value\n", "\xff end"} {
		fmt.Fprint(tail, part)
	}
	if got := tail.String(); got != "using [redacted:KEY]\n\uFFFD end" {
		t.Errorf("%q", got)
	}
	for i := range 1000 {
		fmt.Fprintln(tail, "line", i, "a-secret-value")
	}
	got := tail.String()
	if !strings.HasPrefix(got, "…") || !strings.HasSuffix(got, "line 999 [redacted:KEY]") || len(got) > 70 || strings.Contains(got, "value") {
		t.Errorf("%q", got)
	}
}

// TestTailSaysHowToInstallTheModule when a program misses the Python package.
func TestTailSaysHowToInstallTheModule(t *testing.T) {
	for _, text := range []string{"/usr/bin/python3: No module named rollmill\n", "ModuleNotFoundError: No module named 'rollmill'\n"} {
		tail := NewTail(t.Context(), 64)
		fmt.Fprint(tail, text)
		if !strings.Contains(tail.String(), "pip install rollmill") {
			t.Error(tail)
		}
	}
}

// TestTailKeepsThePlaceInTheUsersCode when libraries' lines push it out.
func TestTailKeepsThePlaceInTheUsersCode(t *testing.T) {
	tail := NewTail(t.Context(), 256)
	fmt.Fprint(tail, "loading\nTraceback (most recent call last):\n  File \"agent.py\", li", "ne 7, in play\n    post()\n")
	for i := range 40 {
		fmt.Fprintf(tail, "  File \"/venv/lib/python3.12/site-packages/httpx/_client.py\", line %d, in post\n", i)
	}
	fmt.Fprintln(tail, "httpx.ReadTimeout")
	if got := tail.String(); !strings.HasPrefix(got, "in agent.py, line 7, in play: …") || !strings.HasSuffix(got, "httpx.ReadTimeout") {
		t.Errorf("%q", got)
	}
	short := NewTail(t.Context(), 256)
	fmt.Fprint(short, "Traceback (most recent call last):\n  File \"agent.py\", line 7, in play\nKeyError: 'exmaple'")
	if got := short.String(); !strings.HasPrefix(got, "Traceback") {
		t.Errorf("%q", got)
	}
}

// TestLoggedTail logs whole lines without secrets, and the beginning of too many.
func TestLoggedTail(t *testing.T) {
	known := &secret.Set{}
	known.Add("KEY", "a-secret-value")
	ctx := secret.With(t.Context(), known)
	logged := func(level slog.Level, write func(*Tail)) string {
		var out bytes.Buffer
		tail := NewLoggedTail(ctx, 64,
			slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: level, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.TimeKey {
					return slog.Attr{}
				}
				return a
			}})).With("reward", "mine"))
		write(tail)
		tail.Close()
		if tail.String() == "" {
			t.Error("the tail is empty")
		}
		return out.String()
	}
	some := func(tail *Tail) {
		for _, part := range []string{"one\r\n\ntw", "o a-sec", "ret-value\nthree"} {
			fmt.Fprint(tail, part)
		}
	}
	want := `level=DEBUG msg=stderr reward=mine line=one
level=DEBUG msg=stderr reward=mine line="two [redacted:KEY]"
level=DEBUG msg=stderr reward=mine line=three
`
	if got := logged(slog.LevelDebug, some); got != want {
		t.Errorf("%s", got)
	}
	if got := logged(slog.LevelInfo, some); got != "" {
		t.Errorf("at level info: %s", got)
	}
	flood := logged(slog.LevelDebug, func(tail *Tail) {
		fmt.Fprintln(tail, strings.Repeat("x", 3*maxLogged))
	})
	if x := strings.Count(flood, "x"); x != maxLogged || strings.Count(flood, "the rest is not logged") != 1 {
		t.Errorf("%d bytes of a flood", x)
	}
}
