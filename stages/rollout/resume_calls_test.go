package rollout_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/parquet"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/rollout"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/stages/rollout/recorder"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
	"github.com/rollmill/rollmill/storage"
)

// talker is an agent that asks turn after turn; what it says depends on the answers, and
// with a clock on the time too. Speakers hold conversations of their own at once.
type talker struct {
	turns, speakers, n  int
	clock, stream, once bool
}

func (talker) Describe() agents.Description { return agents.Description{Kind: "talker"} }

func (talker) Close() error { return nil }

func (a talker) Attempt(ctx context.Context, at agents.Attempt) (agents.Result, error) {
	var g errgroup.Group
	for k := range max(1, a.speakers) {
		g.Go(func() error {
			messages := []map[string]any{{"role": "system", "content": fmt.Sprint("you are speaker ", k)}, {"role": "user", "content": at.Example.Question}}
			for turn := range a.turns {
				answer, err := a.ask(ctx, at, messages)
				if err != nil {
					return err
				}
				said := fmt.Sprintf("turn %d: you said %s", turn, answer)
				if a.clock && turn == 1 {
					said += fmt.Sprint(" at ", time.Now().UnixNano())
				}
				messages = append(messages, map[string]any{"role": "assistant", "content": answer}, map[string]any{"role": "user", "content": said})
			}
			return nil
		})
	}
	return agents.Result{}, g.Wait()
}

func (a talker) ask(ctx context.Context, at agents.Attempt, messages []map[string]any) (string, error) {
	body, _ := json.Marshal(map[string]any{"model": at.Model, "messages": messages, "stream": a.stream, "n": max(1, a.n)})
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at.BaseURL+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	if a.once {
		req.Header.Set(recorder.ResumeHeader, "off")
	}
	resp, err := at.HTTP.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("HTTP %d: %s", resp.StatusCode, data)
	}
	text := ""
	for _, line := range strings.Split(string(data), "\n") {
		var answer struct {
			Choices []struct{ Message, Delta struct{ Content string } }
		}
		if json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &answer) == nil && len(answer.Choices) > 0 {
			text += answer.Choices[0].Message.Content + answer.Choices[0].Delta.Content
		}
	}
	return text, err
}

// talking are the options of one attempt of a talker.
func talking(url, out string, a talker) rollout.Options {
	o := optionsAt(url, out, 1)
	o.Generations, o.Agent, o.JournalEvery = 1, a, time.Millisecond
	return o
}

// talkingVictim is the process that TestCallsOutliveTheProcess kills.
func talkingVictim(turns string) {
	n, _ := strconv.Atoi(turns)
	o := talking(os.Getenv("ROLLOUT_TEST_VICTIM"), os.Getenv("ROLLOUT_TEST_OUT"), talker{turns: n})
	o.Lease = 50 * time.Millisecond
	o.JournalEvery, _ = time.ParseDuration(os.Getenv("ROLLOUT_TEST_EVERY"))
	if _, err := rollout.Run(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// answeredCalls returns how many calls the journal has; -1 if no journal is left.
func answeredCalls(t *testing.T, out string) int {
	t.Helper()
	b, err := storage.Open(t.Context(), out)
	check(t, err)
	n := -1
	for o, err := range b.List(t.Context(), ".rollmill/") {
		check(t, err)
		switch {
		case strings.Contains(o.Key, "/journal-0-calls/"):
			data, err := b.Read(t.Context(), o.Key)
			check(t, err)
			f, err := parquet.Open(bytes.NewReader(data), int64(len(data)), o.Key)
			check(t, err)
			n = max(n, 0) + int(f.Rows())
		case strings.Contains(o.Key, "/journal-"):
			n = max(n, 0)
		}
	}
	return n
}

// TestCallsOutliveTheProcess kills an agent of many calls at every one of them, once those
// before are durable. None is answered twice; the call under way is asked again. The row is the
// one of an undisturbed run. COUNT calls.
func TestCallsOutliveTheProcess(t *testing.T) {
	calls := 12
	if text := os.Getenv("COUNT"); text != "" {
		calls, _ = strconv.Atoi(text)
	}
	for place, out := range places(t) {
		t.Run(place, func(t *testing.T) { killAtEachCall(t, out, calls, true) })
	}
	t.Run("before a segment", func(t *testing.T) { killAtEachCall(t, filepath.Join(t.TempDir(), "out"), min(calls, 12), false) })
}

// killAtEachCall kills the agent at every call. If segments are written, no call is paid twice;
// otherwise a kill loses what its process was answered since its segment, and that alone: a call
// is paid for at most once in each process that came so far.
func killAtEachCall(t *testing.T, out string, calls int, segments bool) {
	every := map[bool]string{true: "1ms", false: "1h"}[segments]
	quiet := newEngine(t, &engine{})
	want := run(t, talking(quiet.URL(), filepath.Join(t.TempDir(), "out"), talker{turns: calls}))
	var mu sync.Mutex
	limit, answered, killed := 0, make([]int, calls), make(chan bool)
	waiting := make(chan bool, 1)
	e := newEngine(t, &engine{Arrived: func(_ int, q recordertest.Request) {
		call := (len(q.Messages) - 2) / 2
		mu.Lock()
		until := killed
		if call < limit {
			until = nil
			answered[call]++
		}
		mu.Unlock()
		if until == nil {
			return
		}
		select {
		case waiting <- true:
		default:
		}
		<-until
	}})
	for k := range calls {
		mu.Lock()
		limit, killed = k, make(chan bool)
		mu.Unlock()
		cmd, ended := victimOf(t, "ROLLOUT_TEST_VICTIM="+e.URL(), "ROLLOUT_TEST_OUT="+out, "ROLLOUT_TEST_EVERY="+every, fmt.Sprint("ROLLOUT_TEST_TURNS=", calls))
		select {
		case <-waiting:
		case err := <-ended:
			t.Fatalf("the victim ended by itself before call %d: %v", k, err)
		}
		for segments && max(0, answeredCalls(t, out)) < k {
			time.Sleep(5 * time.Millisecond)
		}
		cmd.Process.Kill()
		<-ended
		close(killed)
		select {
		case <-waiting: // it asked twice
		default:
		}
	}
	mu.Lock()
	limit = calls
	mu.Unlock()
	report := run(t, talking(e.URL(), out, talker{turns: calls}))
	if report.RowsDigest != want.RowsDigest {
		t.Errorf("digest %s, undisturbed %s", report.RowsDigest, want.RowsDigest)
	}
	repeats := 0
	for call, n := range answered {
		most := 1
		if !segments {
			most = calls - call
		}
		if n < 1 || n > most {
			t.Errorf("call %d was answered %d times, at most %d", call, n, most)
		}
		repeats += n - 1
	}
	t.Logf("%d calls, killed at each: %d answers were paid for again", calls, repeats)
	if segments && report.Facts["replayed_calls"] != float64(calls-1) || !segments && repeats == 0 {
		t.Errorf("%v calls were replayed", report.Facts["replayed_calls"])
	}
	if answeredCalls(t, out) >= 0 {
		t.Error("a journal is left behind")
	}
}

// TestCallsOutliveAnInterruption ends the run after every call: what was answered is never asked
// again, of speakers at once too, and in streams.
func TestCallsOutliveAnInterruption(t *testing.T) {
	for _, a := range []talker{{turns: 8}, {turns: 4, speakers: 3}, {turns: 6, stream: true}} {
		quiet := newEngine(t, &engine{})
		alone := filepath.Join(t.TempDir(), "out")
		run(t, talking(quiet.URL(), alone, a))
		calls := a.turns * max(1, a.speakers)
		out := filepath.Join(t.TempDir(), "out")
		var ctx context.Context
		var cancel context.CancelFunc
		stopAt := 0
		e := newEngine(t, &engine{Arrived: func(n int, _ recordertest.Request) {
			if n == stopAt {
				cancel()
			}
		}})
		kills := 0
		for k := 1; ; k += 2 {
			ctx, cancel = context.WithCancel(t.Context())
			stopAt = len(e.Asked()) + 2
			o := talking(e.URL(), out, a)
			o.JournalEvery = time.Hour
			_, err := rollout.Run(ctx, o)
			cancel()
			if err == nil {
				break
			}
			kills++
			if !errors.Is(err, context.Canceled) || kills > 2*calls {
				t.Fatal(err)
			}
		}
		got, want := rows(t, out), rows(t, alone)
		if len(got) != 1 || len(got[0].Calls) != calls || got[0].Answer == "" || got[0].Status != outcomes.StatusOK || len(got[0].Messages) != len(want[0].Messages) {
			t.Fatalf("%+v: %d calls of %d, %s: %s", a, len(got[0].Calls), calls, got[0].Status, got[0].Error)
		}
		paid := int32(0)
		for _, c := range got[0].Calls {
			paid += c.PromptTokens + c.CompletionTokens
		}
		if asked := len(e.Asked()); asked > calls+kills*max(1, a.speakers) || kills < 2 {
			t.Errorf("%+v: asked %d times for %d calls, with %d interruptions", a, asked, calls, kills)
		}
	}
}

// An agent may say that its tools must not run twice: then its calls are kept for what they cost alone, and no answer is given again.
func TestAnAgentBeginsAnew(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	e := newEngine(t, &engine{Arrived: func(n int, _ recordertest.Request) {
		if n == 4 {
			cancel()
		}
	}})
	out := filepath.Join(t.TempDir(), "out")
	o := talking(e.URL(), out, talker{turns: 6, once: true})
	if _, err := rollout.Run(ctx, o); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if n := answeredCalls(t, out); n != 4 {
		t.Errorf("the cost of %d calls is kept, want 4", n)
	}
	if asked := len(e.Asked()); run(t, o).Facts["replayed_calls"] != 0 || len(e.Asked())-asked != 6 {
		t.Error("it was given answers")
	}
}

// TestDivergedAttempts: an agent that looks at the clock goes on with the engine, and is counted;
// with strict it fails, and with off nothing is kept.
func TestDivergedAttempts(t *testing.T) {
	for mode, want := range map[string]string{
		rollout.ResumeOn: outcomes.StatusOK, rollout.ResumeStrict: outcomes.StatusFailed, rollout.ResumeOff: outcomes.StatusOK,
	} {
		out := filepath.Join(t.TempDir(), "out")
		ctx, cancel := context.WithCancel(t.Context())
		e := newEngine(t, &engine{Arrived: func(n int, _ recordertest.Request) {
			if n == 4 {
				cancel()
			}
		}})
		o := talking(e.URL(), out, talker{turns: 6, clock: true})
		o.Resume, o.MaxInitialFailures = mode, -1
		one := 1.0
		o.MaxFailureRate = &one
		if _, err := rollout.Run(ctx, o); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if n := answeredCalls(t, out); (n <= 0) != (mode == rollout.ResumeOff) {
			t.Errorf("%s: %d calls are kept", mode, n)
		}
		report := run(t, o)
		row := rows(t, out)[0]
		if row.Status != want || mode == rollout.ResumeStrict && row.FailureClass != outcomes.FailDiverged {
			t.Errorf("%s: %s, %s: %s", mode, row.Status, row.FailureClass, row.Error)
		}
		diverged := map[string]float64{rollout.ResumeOn: 1, rollout.ResumeStrict: 1}[mode]
		if report.Facts["diverged_prompt"] != diverged || report.Facts["replayed_calls"] != 2*diverged {
			t.Errorf("%s: %v", mode, report.Facts)
		}
	}
}

// TestRetryWithAnswers: a retry of what the engine ended goes on there, also when the dataset is
// finished; one of what the agent ended begins anew.
func TestRetryWithAnswers(t *testing.T) {
	for _, resume := range []bool{false, true} {
		broken := true
		e := newEngine(t, &engine{Fault: func(n int, q recordertest.Request) recordertest.Fault {
			if broken && len(q.Messages) > 6 {
				return recordertest.Fault{Status: http.StatusInternalServerError}
			}
			return recordertest.Fault{}
		}})
		out := filepath.Join(t.TempDir(), "out")
		o := talking(e.URL(), out, talker{turns: 5})
		none, all := 0, 1.0
		o.Retries, o.MaxFailureRate, o.MaxInitialFailures = &none, &all, -1
		run(t, o)
		if row := rows(t, out)[0]; row.Status != outcomes.StatusFailed {
			t.Fatal(row.Status)
		}
		before := len(e.Asked())
		broken, o.RetryFailed, o.ResumeFailed = false, true, resume
		report := run(t, o)
		row, want := rows(t, out)[0], map[bool]int{false: 5, true: 2}[resume]
		if asked := len(e.Asked()) - before; row.Status != outcomes.StatusOK || asked != want || report.Facts["replayed_calls"] != float64(5-want) {
			t.Errorf("resume %v: %s, asked %d times, want %d; %v", resume, row.Status, asked, want, report.Facts)
		}
	}
}

// TestReplayOfADataset: an agent on recorded answers, without an engine. What it does otherwise
// is named.
func TestReplayOfADataset(t *testing.T) {
	e := newEngine(t, &engine{})
	out := filepath.Join(t.TempDir(), "out")
	o := optionsAt(e.URL(), out, 3)
	o.Agent = talker{turns: 4, speakers: 2}
	run(t, o)
	asked := len(e.Asked())
	for name, c := range map[string]struct {
		agent talker
		want  rollout.Differing
	}{
		"same":      {talker{turns: 4, speakers: 2}, rollout.Differing{Again: 8}},
		"streams":   {talker{turns: 4, speakers: 2, stream: true}, rollout.Differing{Again: 8}},
		"ends":      {talker{turns: 3, speakers: 2}, rollout.Differing{Again: 6, Cause: recorder.DivergedEnd}},
		"asks more": {talker{turns: 5, speakers: 1}, rollout.Differing{Again: 4, Cause: recorder.DivergedPrompt, Role: "user"}},
		"says more": {talker{turns: 4, speakers: 1, clock: true}, rollout.Differing{Again: 2, Cause: recorder.DivergedPrompt, Role: "user"}},
	} {
		o := rollout.Options{Agent: c.agent, Concurrency: 4}
		got, err := rollout.Replay(t.Context(), o, stages.Input{URI: out})
		check(t, err)
		if got.Rows != 9 || got.Calls != 9*8 || got.Again != 9*int64(c.want.Again) || (got.Same == 9) != (c.want.Cause == "") {
			t.Errorf("%s: %+v", name, got)
		}
		for _, d := range got.Differ {
			if d.Cause != c.want.Cause || d.Again != c.want.Again || d.Role != c.want.Role || d.Role != "" && !strings.Contains(d.Is, "you said") {
				t.Errorf("%s: %+v", name, d)
			}
		}
		var text bytes.Buffer
		check(t, got.WriteText(&text))
		if c.want.Cause != "" && strings.Count(text.String(), c.want.Cause+" after") != 9 {
			t.Errorf("%s: %s", name, &text)
		}
	}
	if n := len(e.Asked()) - asked; n > 0 {
		t.Errorf("the engine was asked %d times", n)
	}
}

// rooted is a talker that says where its folder is and which seed it has.
type rooted struct{ talker }

func (a rooted) Attempt(ctx context.Context, at agents.Attempt) (agents.Result, error) {
	at.Example.Question += fmt.Sprint(" in ", at.Work, " with ", *at.Seed)
	return a.talker.Attempt(ctx, at)
}

// TestReplayGivesWhatRolloutGives: the attempt's folder, with its path, and its seed. A call of several answers is not replayed.
func TestReplayGivesWhatRolloutGives(t *testing.T) {
	e := newEngine(t, &engine{})
	out := filepath.Join(t.TempDir(), "out")
	o := optionsAt(e.URL(), out, 2)
	o.Agent = rooted{talker{turns: 2}}
	run(t, o)
	got, err := rollout.Replay(t.Context(), rollout.Options{Agent: o.Agent}, stages.Input{URI: out})
	if check(t, err); got.Same != 6 || got.Again != 12 {
		t.Errorf("%+v", got)
	}
	several := filepath.Join(t.TempDir(), "out")
	o = optionsAt(e.URL(), several, 2)
	o.Agent = talker{turns: 2, n: 2}
	run(t, o)
	got, err = rollout.Replay(t.Context(), rollout.Options{Agent: o.Agent}, stages.Input{URI: several})
	if check(t, err); got.Skipped != 6 || len(got.Differ) > 0 {
		t.Errorf("%+v", got)
	}
}
