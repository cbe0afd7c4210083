package sandbox

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The test binary serves a directory when it is asked to, to be killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("BE_A_SANDBOX_OF"); dir != "" {
		serveUntilKilled(dir, os.Getenv("HOLD") != "")
		return
	}
	os.Exit(m.Run())
}

func serveUntilKilled(dir string, holds bool) {
	s, err := New(Options{Dir: dir})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if holds {
		s.beforeCommit = func() { select {} }
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("http://" + l.Addr().String())
	s.Serve(context.Background(), l)
}

// spawn starts a sandbox as a process of its own.
func spawn(t *testing.T, dir string, env ...string) (host, *exec.Cmd) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), "BE_A_SANDBOX_OF="+dir), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill := func() { cmd.Process.Kill(); cmd.Wait() }
	t.Cleanup(kill)
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the process says nothing: %v", err)
	}
	return host{t, strings.TrimSpace(url), kill, nil}, cmd
}

// Killed after any line of the stream, or after its end, a server comes
// back with the weights before the call or with those after it.
func TestAKilledTrainingIsWholeOrWasNot(t *testing.T) {
	dir := t.TempDir()
	twin := start(t, Options{}) // is trained alike and never killed
	old, fresh := 0, 0
	before := ""
	for round := range 22 {
		key := fmt.Sprint("batch-", round)
		lines := min(round, 17) // there are 16, and the end
		var env []string
		if round%4 == 3 && lines < 17 {
			env = append(env, "HOLD=1")
		}
		h, _ := spawn(t, dir, env...)
		if round == 0 {
			h.do("POST", "/register", student).want(t, 200, nil)
			before = h.spoken("student")
		}
		step := h.step()
		killAfter(t, h, trainBody(t, batch(t, round), ""), key, lines)
		h, _ = spawn(t, dir)
		state := h.state(key)
		switch {
		case state.TrainedAtStep == nil:
			old++
			if state.Step != step || h.spoken("student") != before {
				t.Fatalf("round %d left no trace and yet step %d became %d, or the weights changed", round, step, state.Step)
			}
			h.do("POST", "/_train_model", trainBody(t, batch(t, round), ""), submissionHeader, key).want(t, 200, nil)
		default:
			fresh++
			if *state.TrainedAtStep != step+1 || state.Step != step+1 {
				t.Fatalf("round %d was trained at step %d of %d, from %d", round, *state.TrainedAtStep, state.Step, step)
			}
		}
		twin.train(round).want(t, 200, nil)
		if before = h.spoken("student"); before != twin.spoken("student") {
			t.Fatalf("round %d: the weights are neither the old nor the new ones", round)
		}
		h.stop()
	}
	t.Logf("killed %d times before the commit and %d times after it", old, fresh)
	if old == 0 || fresh < 5 {
		t.Error("the kills came on one side of the commit only")
	}
}

// killAfter sends a training call and kills the server after some lines.
func killAfter(t *testing.T, h host, body, key string, lines int) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(h.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "POST /_train_model HTTP/1.1\r\nHost: x\r\n%s: %s\r\nContent-Length: %d\r\n\r\n%s", submissionHeader, key, len(body), body)
	in := bufio.NewReader(conn)
	for seen := 0; seen < lines; {
		line, err := in.ReadString('\n')
		if err != nil {
			t.Fatalf("after %d lines: %v", seen, err)
		}
		if strings.HasPrefix(line, "{") || line == "0\r\n" { // the end of the stream counts as a line
			seen++
		}
	}
	h.stop()
}

func TestEverythingSurvivesARestart(t *testing.T) {
	dir := t.TempDir()
	h := start(t, Options{Dir: dir})
	h.do("POST", "/register", `{"name":"other/…","project":"..","base_model":"b"}`).want(t, 200, nil)
	first := h.train(1, submissionHeader, "one")
	h.train(2, submissionHeader, "two").want(t, 200, nil)
	h.chat(ask("student", "x", `"seed":9`))
	var spoken []string
	for step := range 3 {
		spoken = append(spoken, h.spoken(fmt.Sprintf("student@%d", step)))
	}
	counts := h.counts()
	h.stop()

	h = start(t, Options{Dir: dir})
	if again := h.counts(); counts != again {
		t.Errorf("counts were %+v and are %+v", counts, again)
	}
	for step, want := range spoken {
		if h.spoken(fmt.Sprintf("student@%d", step)) != want {
			t.Errorf("step %d no longer says what it said", step)
		}
	}
	h.chat(ask("../other/…", "x", ""))
	if s := h.state("one"); s.TrainedAtStep == nil || *s.TrainedAtStep != 1 || s.Step != 2 || !s.Atomic || s.Busy {
		t.Errorf("the state of a submission is %+v", s)
	}
	if r := h.train(1, submissionHeader, "one"); string(r.body) != string(first.body) || h.step() != 2 {
		t.Errorf("the submission answers %q after the restart, and %q before; step %d", r.body, first.body, h.step())
	}
}

func TestOneSubmissionIsTrainedOnce(t *testing.T) {
	h := start(t, Options{})
	first := h.train(1, submissionHeader, "k")
	spoken := h.spoken("student")
	for range 3 {
		if r := h.train(1, submissionHeader, "k"); string(r.body) != string(first.body) {
			t.Errorf("got %q, want %q", r.body, first.body)
		}
	}
	if h.step() != 1 || h.spoken("student") != spoken {
		t.Error("a submission was trained twice")
	}
	if c := h.counts(); c.Trained != 1 {
		t.Errorf("counts %+v", c)
	}
	h.train(1).want(t, 200, nil) // without a key, a call is a call
	if h.step() != 2 {
		t.Errorf("step %d, want 2", h.step())
	}
}

func TestTheSameBatchGivesTheSameWeightsInAnyOrder(t *testing.T) {
	groups := batch(t, 1)
	straight := start(t, Options{})
	straight.do("POST", "/_train_model", trainBody(t, groups, "")).want(t, 200, nil)
	want := straight.spoken("student")
	random := rand.New(rand.NewPCG(1, 1))
	for range 5 {
		random.Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
		for _, g := range groups {
			members := g.(map[string]any)["trajectories"].([]any)
			random.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		}
		h := start(t, Options{})
		h.do("POST", "/_train_model", trainBody(t, groups, "")).want(t, 200, nil)
		if h.spoken("student") != want {
			t.Fatal("the order of arrival changed the weights")
		}
	}
}

func TestLearningRateAndPenaltyAreTheClients(t *testing.T) {
	answers := map[string]string{}
	for _, config := range []string{`{"learning_rate":0}`, `{"learning_rate":0.01}`, `{"learning_rate":0.02}`, `{"learning_rate":0.01,"beta":0.5}`, `{}`} {
		h := start(t, Options{})
		untrained := h.spoken(DefaultBaseModel)
		h.do("POST", "/_train_model", trainBody(t, batch(t, 1), config)).want(t, 200, nil)
		answers[config] = h.spoken("student")
		if (answers[config] == untrained) != (config == `{"learning_rate":0}`) {
			t.Errorf("%s: changed is %v", config, answers[config] != untrained)
		}
	}
	seen := map[string]string{}
	for config, answer := range answers {
		if other, ok := seen[answer]; ok {
			t.Errorf("%s and %s give the same weights", config, other)
		}
		seen[answer] = config
	}
}

func TestModelsLearnSeparately(t *testing.T) {
	h := start(t, Options{Models: []string{"demo/other", "elsewhere/student"}})
	untrained := h.spoken("other")
	h.train(1).want(t, 200, nil)
	if h.spoken("other") != untrained || h.spoken("elsewhere/student") != untrained || h.spoken("demo/student") == untrained {
		t.Error("training one model changed another, or not itself")
	}
}

func TestADirectoryServesOneProcess(t *testing.T) {
	dir := t.TempDir()
	h, _ := spawn(t, dir)
	if _, err := New(Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "another sandbox") {
		t.Errorf("got %v", err)
	}
	h.stop()
	s, err := New(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
}

func TestDamagedStateIsAnError(t *testing.T) {
	dir := t.TempDir()
	h := start(t, Options{Dir: dir})
	h.train(1).want(t, 200, nil)
	h.stop()
	files, err := filepath.Glob(filepath.Join(dir, "models", "*", "*", "*"+checkpointSuffix))
	if err != nil || len(files) != 2 {
		t.Fatalf("%v, %v", files, err)
	}
	slices.Sort(files)
	body, err := os.ReadFile(files[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[1], body[:len(body)/2], 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := New(Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), filepath.Base(files[1])) {
		t.Errorf("got %v", err)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, o := range []Options{{Hidden: -1}, {GradientSteps: -1}, {LearningRateScale: -1}, {Models: []string{"student"}}} {
		if s, err := New(o); err == nil {
			s.Close()
			t.Errorf("%+v is accepted", o)
		}
	}
}
