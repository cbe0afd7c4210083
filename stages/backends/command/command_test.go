package command_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/backendtest"
	"github.com/rollmill/rollmill/stages/backends/command"
	"github.com/rollmill/rollmill/storage/fault"
)

const secret = "hush-hush"

// TestMain is also the program: with ROLLMILL_TEST_TRAINER it answers one
// request, keeping its jobs as folders there.
func TestMain(m *testing.M) {
	if dir := os.Getenv("ROLLMILL_TEST_TRAINER"); dir != "" {
		os.Exit(program(dir, strings.Join(os.Args[1:], " ")))
	}
	os.Exit(m.Run())
}

func program(dir, behaviour string) int {
	var r struct {
		Request, Token, Job, Curated, Model string
		Forms                               map[string]struct{ URI, SHA256 string }
	}
	if err := json.NewDecoder(os.Stdin).Decode(&r); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	say := func(format string, args ...any) { fmt.Printf(format+"\n", args...) }
	jobs, _ := os.ReadDir(dir)
	switch r.Request {
	case "begin":
		if behaviour == "cannot begin" {
			say(`{"state":"failed","message":"no GPU is free"}`)
			return 0
		}
		say(`{"step":%d,"policy":{"url":"http://engine/v1","model":%q,"version":%d}}`, len(jobs), r.Model, len(jobs))
		return 0
	case "submit":
	case "status", "resolve", "cancel":
		if _, err := os.Stat(filepath.Join(dir, r.Token+r.Job)); err != nil {
			say(`{"state":"failed","clean":true,"message":"no such job"}`)
			return 0
		}
		switch behaviour {
		case "unknown word":
			say(`{"state":"pondering","message":"well"}`)
		case "runs":
			state := "running"
			if r.Request == "cancel" {
				state = "canceled"
			}
			say(`{"state":%q}`, state)
		default:
			say(`{"state":"completed","step":%d}`, len(jobs))
		}
		return 0
	default:
		return 0
	}
	switch behaviour {
	case "reads sequences":
		data, err := os.ReadFile(r.Forms["sequences"].URI)
		if sum := fmt.Sprintf("%x", sha256.Sum256(data)); err != nil || sum != r.Forms["sequences"].SHA256 || len(r.Forms) != 1 {
			say(`{"state":"failed","message":"%v, %d forms"}`, err, len(r.Forms))
			return 1
		}
	case "fails before":
		fmt.Fprintln(os.Stderr, "no GPU here")
		say(`{"state":"failed","clean":true,"message":"no GPU"}`)
		return 3
	case "does not know":
		say(`{"state":"unknown","message":"the node was lost"}`)
		return 0
	case "not JSON":
		say(`epoch 1 loss 0.3`)
		return 0
	case "loads":
		say("loading\n42%%")
		say(`{"state":"completed","step":1,"message":"done"}`)
		return 0
	case "a key twice":
		say(`{"state":"completed","state":"failed"}`)
		return 0
	case "lines without end":
		for {
			if _, err := fmt.Printf(`{"metrics":{"loss":1,"text":"%s"}}`+"\n", strings.Repeat("x", 100<<10)); err != nil {
				return 1
			}
		}
	case "a line without end":
		for range 1 << 12 {
			fmt.Print(strings.Repeat("x", 1<<10))
		}
		return 0
	}
	if err := os.Mkdir(filepath.Join(dir, r.Token), 0o755); err != nil {
		say(`{"state":"completed","message":"it was trained before"}`)
		return 0
	}
	say(`{"job":%q}`, r.Token)
	switch behaviour {
	case "dies after":
		fmt.Fprintln(os.Stderr, "CUDA out of memory")
		return 1
	case "no state":
		return 0
	case "runs":
		say(`{"state":"running"}`)
		return 0
	case "hangs":
		fmt.Fprint(os.Stderr, strings.Repeat("noise\n", 1<<16))
		os.Stdout.Sync()
		time.Sleep(time.Hour)
	}
	for i := range 3 {
		say(`{"metrics":{"loss":%d,"note":"text"},"note":"step %d"}`, i+1, i)
	}
	say(`{"state":"completed","step":%d,"message":"done"}`, len(jobs)+1)
	return 0
}

// trainer is the program with a behaviour, and the folder of its jobs.
func trainer(t *testing.T, behaviour ...string) (*command.Trainer, string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("ROLLMILL_TEST_TRAINER", dir)
	t.Setenv("TRAINER_KEY", secret)
	tr, err := command.New(command.Config{Words: append([]string{os.Args[0]}, behaviour...)}, backends.Place{})
	if err != nil {
		t.Fatal(err)
	}
	return tr, dir
}

func TestKind(t *testing.T) {
	backendtest.Kind(t, command.Kind, map[string]string{"trainer": "trainer"})
}

func TestConformance(t *testing.T) {
	backendtest.Run(t, func(t *testing.T) backendtest.Subject {
		tr, dir := trainer(t)
		return backendtest.Subject{Trainer: tr, Secrets: []string{secret}, Jobs: func() int {
			jobs, _ := os.ReadDir(dir)
			return len(jobs)
		}}
	})
}

func submit(t *testing.T, tr *command.Trainer) (backends.Outcome, []backends.JobEvent, error) {
	t.Helper()
	var events []backends.JobEvent
	out, err := tr.Submit(t.Context(), backends.Submission{Token: "t1", Guard: func() error { return nil }}, backendtest.Batch(), func(e backends.JobEvent) {
		events = append(events, e)
	})
	return out, events, err
}

func TestSubmissionReportsEvents(t *testing.T) {
	tr, _ := trainer(t)
	out, events, err := submit(t, tr)
	if err != nil || out.State != receipts.JobCompleted || out.Job != "t1" || out.Metrics["loss"] != 2 || len(out.MetricSteps) != 3 || out.Message != "done" {
		t.Errorf("%+v, %v", out, err)
	}
	if len(events) != 5 || events[0].Job != "t1" || events[1].Metrics == nil || events[1].Note != "step 0" || events[4].Sent != 3 {
		t.Errorf("%+v", events)
	}
	again, _, err := submit(t, tr)
	if err != nil || again.Message != "it was trained before" {
		t.Errorf("%+v, %v", again, err)
	}
}

func TestProgramFaults(t *testing.T) {
	for _, c := range []struct {
		behaviour, state string
		clean            bool
		err, hint        string
	}{
		{"fails before", receipts.JobFailed, true, "exit status 3", "no GPU here"},
		{"dies after", backends.JobUnknown, false, "exit status 1", "CUDA out of memory"},
		{"no state", backends.JobUnknown, false, "ended without a state", ""},
		{"does not know", backends.JobUnknown, false, `answered with the state "unknown": the node was lost`, ""},
		{"not JSON", backends.JobUnknown, false, `ended without a state; it printed "epoch 1 loss 0.3"`, ""},
		{"a key twice", backends.JobUnknown, false, `line 1 is not the expected JSON: the key "state" is there twice`, ""},
		{"a line without end", backends.JobUnknown, false, "token too long", ""},
	} {
		t.Run(c.behaviour, func(t *testing.T) {
			tr, _ := trainer(t, c.behaviour)
			out, _, err := submit(t, tr)
			if out.State != c.state || out.Clean != c.clean || err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%+v, %v", out, err)
			}
			if c.hint != "" && (fault.HintOf(err) == "" || !strings.Contains(fault.HintOf(err), c.hint)) {
				t.Errorf("hint of %v", err)
			}
		})
	}
}

// TestPrintsArePassedOver: they are named once, and what follows them counts, in the
// answer to every request. Those of a job that runs are no news of it.
func TestPrintsArePassedOver(t *testing.T) {
	const named = `it printed "loading" (lines that are no answer: 2)`
	tr, _ := trainer(t, "loads")
	out, _, err := submit(t, tr)
	if err != nil || out.State != receipts.JobCompleted || *out.StepAfter != 1 || out.Message != "done; "+named {
		t.Errorf("%+v, %v", out, err)
	}
	says := func(line string) *command.Trainer {
		script := "cat >/dev/null; echo loading; echo now; echo '" + line + "'"
		tr, err := command.New(command.Config{Words: []string{"sh", "-c", script}}, backends.Place{})
		if err != nil {
			t.Fatal(err)
		}
		return tr
	}
	if state, err := says(`{"step":3}`).Begin(t.Context(), nil); err != nil || state.Step == nil || *state.Step != 3 {
		t.Errorf("%+v, %v", state, err)
	}
	for line, want := range map[string]backends.Outcome{
		"":                      {State: backends.JobUnknown, Message: named},
		`{"state":"running"}`:   {State: receipts.JobRunning},
		`{"state":"cancelled"}`: {State: receipts.JobCancelled, Message: named},
	} {
		tr := says(line)
		status, err := tr.Status(t.Context(), "j")
		resolved, err2 := tr.Resolve(t.Context(), backends.Submission{Token: "t1"})
		cancelled, err3 := tr.Cancel(t.Context(), "j")
		for _, out := range []backends.Outcome{status, resolved, cancelled} {
			if out.State != want.State || out.Message != want.Message {
				t.Errorf("%q: %+v", line, out)
			}
		}
		if err != nil || err2 != nil || (err3 != nil) != (line == "") || err3 != nil && !strings.Contains(err3.Error(), named) {
			t.Errorf("%q: %v, %v, %v", line, err, err2, err3)
		}
	}
}

// A trainer that prints what is no JSON, or a NaN, has trained.
func TestOneBadLineIsNotTheEnd(t *testing.T) {
	says := func(lines string) (backends.Outcome, error) {
		tr, err := command.New(command.Config{Words: []string{"sh", "-c", "cat >/dev/null; cat <<'END'\n" + lines + "\nEND"}}, backends.Place{})
		if err != nil {
			t.Fatal(err)
		}
		return tr.Resolve(t.Context(), backends.Submission{Token: "t1"})
	}
	const end = "\n" + `{"state":"completed","step":1,"policy":{"url":"http://127.0.0.1:1/v1","model":"m","version":2}}`
	for lines, want := range map[string]string{
		`{"metrics":{"loss":1}}` + "\n" + `{"metrics":{"loss":NaN}}` + "\n" + `{"metrics":{"loss":3,"grad_norm":-Infinity}}`: "metrics.grad_norm was " +
			"NaN or infinite in 1 line; metrics.loss was NaN or infinite in 1 line",
		`{'loss': 0.5}`:         "line 1 is not the expected JSON",
		`{"state":"completed",`: "line 1 is not the expected JSON",
	} {
		out, err := says(lines + end)
		if err != nil || out.State != receipts.JobCompleted || out.Policy == nil || out.Policy.Version != 2 || !strings.Contains(out.Message, want) {
			t.Errorf("%s: %+v, %v", lines, out, err)
		}
		if strings.Contains(lines, "metrics") && (len(out.MetricSteps) != 3 || out.Metrics["loss"] != 2) {
			t.Errorf("%s, %v", out.MetricSteps, out.Metrics)
		}
	}
	if out, err := says(`{"state":"completed"}` + "\n" + `{"state":"failed","step":"x"}`); err != nil || out.State != backends.JobUnknown {
		t.Errorf("the last state cannot be read, and is %+v, %v", out, err)
	}
}

func TestBeginMayFailInItsOwnWords(t *testing.T) {
	tr, _ := trainer(t, "cannot begin")
	if _, err := tr.Begin(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "no GPU is free") {
		t.Error(err)
	}
}

func TestAProgramThatHangsIsKilled(t *testing.T) {
	tr, _ := trainer(t, "hangs")
	ctx, cancel := context.WithCancel(t.Context())
	out, err := tr.Submit(ctx, backends.Submission{Token: "t1", Guard: func() error { return nil }}, backendtest.Batch(), func(e backends.JobEvent) {
		if e.Job != "" {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || out.State != backends.JobUnknown || out.Job != "t1" {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestAJobIsFollowedAndCancelled(t *testing.T) {
	tr, _ := trainer(t, "runs")
	out, _, err := submit(t, tr)
	if err != nil || out.State != receipts.JobRunning {
		t.Fatalf("%+v, %v", out, err)
	}
	if out, err := tr.Status(t.Context(), out.Job); err != nil || out.State != receipts.JobRunning {
		t.Errorf("%+v, %v", out, err)
	}
	if out, err := tr.Cancel(t.Context(), out.Job); err != nil || out.State != receipts.JobCancelled {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestAnUnknownStateCountsAsRunning(t *testing.T) {
	tr, _ := trainer(t, "unknown word")
	submit(t, tr)
	out, err := tr.Status(t.Context(), "t1")
	if err != nil || out.State != receipts.JobRunning || !strings.Contains(out.Message, `"pondering"`) {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestMissingProgram(t *testing.T) {
	tr, err := command.New(command.Config{Words: []string{filepath.Join(t.TempDir(), "trainer")}}, backends.Place{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tr.Preflight(t.Context(), backendtest.Batch(), nil); fault.KindOf(err) != fault.Usage {
		t.Error(err)
	}
	if out, _, err := submit(t, tr); err == nil || !out.Clean {
		t.Errorf("%+v, %v", out, err)
	}
	if _, err := command.New(command.Config{}, backends.Place{}); fault.KindOf(err) != fault.Usage {
		t.Error(err)
	}
}

// TestMetricLinesWithoutEndAreBounded: the program is killed, what is kept of
// its lines is a little, and nobody says that it trained.
func TestMetricLinesWithoutEndAreBounded(t *testing.T) {
	tr, _ := trainer(t, "lines without end")
	kept := 0
	out, err := tr.Submit(t.Context(), backends.Submission{Token: "t1", Guard: func() error { return nil }}, backendtest.Batch(), func(backends.JobEvent) {})
	for _, line := range out.MetricSteps {
		kept += len(line)
	}
	if err == nil || !strings.Contains(err.Error(), "more than 64 MiB of answers") || out.State != backends.JobUnknown || kept == 0 || kept > 8<<20 {
		t.Errorf("%s, %v; %d bytes kept", out.State, err, kept)
	}
}

// TestWhatIsLeftInASessionOfItsOwnIsKilled: unless it works on a job or serves a
// policy that was named.
func TestWhatIsLeftInASessionOfItsOwnIsKilled(t *testing.T) {
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skip(err)
	}
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Skip(err)
	}
	const policy = `{"policy":{"url":"http://127.0.0.1:8000/v1","model":"m","version":0}}`
	for _, c := range []struct {
		request, says string
		survives      bool
	}{
		{"submit", `{"state":"failed"}`, false},
		{"submit", `{"job":"j","state":"running"}`, true},
		{"begin", `{"step":0}`, false},
		{"begin", policy, true},
		{"status", `{"state":"running"}`, false},
		{"status", `{"job":"j","state":"running"}`, true}, // it may have begun the job again
	} {
		file := filepath.Join(t.TempDir(), "pid")
		script := `cat >/dev/null; setsid sh -c 'echo $$ > ` + file + `; exec sleep 600' >/dev/null 2>&1 & while ! [ -s ` + file +
			` ]; do sleep 0.01; done; echo '` + c.says + `'`
		tr, err := command.New(command.Config{Words: []string{"sh", "-c", script}}, backends.Place{})
		if err != nil {
			t.Fatal(err)
		}
		switch c.request {
		case "submit":
			_, _ = tr.Submit(t.Context(), backends.Submission{Token: "t1", Guard: func() error { return nil }}, backendtest.Batch(), func(backends.JobEvent) {})
		case "begin":
			_, _ = tr.Begin(t.Context(), nil)
		case "status":
			_, _ = tr.Status(t.Context(), "j")
		}
		data, _ := os.ReadFile(file)
		pid, err := strconv.Atoi(strings.TrimSpace(string(data)))
		if err != nil {
			t.Fatal(err)
		}
		alive := func() bool {
			line, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
			return err == nil && len(line) > 0
		}
		for end := time.Now().Add(5 * time.Second); !c.survives && alive() && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
		if alive() != c.survives {
			t.Errorf("%s, %s: alive %t", c.request, c.says, alive())
		}
		if p, err := os.FindProcess(pid); err == nil {
			_ = p.Kill()
		}
	}
}
