package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/pipelines/sandbox"
)

// TestMain runs the program itself if BE_TICTACTOE is set.
func TestMain(m *testing.M) {
	if os.Getenv("BE_TICTACTOE") == "1" {
		main()
		return
	}
	os.Exit(m.Run())
}

// tictactoe runs the program in its own process.
func tictactoe(t *testing.T, stdin string, env []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), append(env, "BE_TICTACTOE=1")...)
	cmd.Stdin = strings.NewReader(stdin)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// serve starts a sandbox on a free port.
func serve(t *testing.T, o sandbox.Options) (url string) {
	t.Helper()
	s, err := sandbox.New(o)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return "http://" + l.Addr().String()
}

func modelAt(url string) []string {
	return []string{"OPENAI_BASE_URL=" + url + "/v1", "OPENAI_MODEL=" + sandbox.DefaultBaseModel, "OPENAI_API_KEY=none"}
}

// asked returns an example as a runner sends it, with the row under "fields".
func asked(e Example) string {
	row, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{"id":%q,"question":%q,"answer":"","fields":%s,"generation":0,"epoch":0,"trajectory_id":"t","seed":7}`+"\n", e.ID, e.Question, row)
}

func TestPlayAgainstSandbox(t *testing.T) {
	url := serve(t, sandbox.Options{})
	outcomes := map[string]int{}
	for _, e := range set(1, 0, 12) {
		out, stderr, code := tictactoe(t, asked(e), modelAt(url), "play")
		if code != 0 {
			t.Fatalf("%s: exit code %d: %s", e.ID, code, stderr)
		}
		var r result
		if err := json.Unmarshal([]byte(out), &r); err != nil || r.Stop != "done" {
			t.Fatalf("%s: %q: %v", e.ID, out, err)
		}
		outcomes[r.Metadata["outcome"].(string)]++
	}
	for outcome := range outcomes {
		if !strings.Contains(" won lost drawn illegal ", " "+outcome+" ") {
			t.Errorf("outcome %q", outcome)
		}
	}
	if len(outcomes) < 2 {
		t.Errorf("twelve games all ended as %v", outcomes)
	}
}

// scripted serves a model that always gives the same answer, and keeps the requests.
func scripted(t *testing.T, status int, answer string) (url string, requests *[]question) {
	requests = &[]question{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var q question
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
			t.Error(err)
		}
		*requests = append(*requests, q)
		w.WriteHeader(status)
		fmt.Fprint(w, answer)
	}))
	t.Cleanup(s.Close)
	return s.URL, requests
}

func TestIllegalMoveLoses(t *testing.T) {
	url, requests := scripted(t, 200, `{"choices":[{"message":{"role":"assistant","content":"<move>B2</move>"}}]}`)
	out, stderr, code := tictactoe(t, asked(Example{ID: "a", Side: "X", Seed: 1}), modelAt(url), "play")
	if code != 0 || !strings.Contains(out, `"outcome":"illegal"`) || !strings.Contains(out, `"moves":1`) {
		t.Errorf("exit code %d, %s%s", code, out, stderr)
	}
	last := (*requests)[len(*requests)-1].Messages
	if len(*requests) != 2 || len(last) != 4 || last[0].Role != "system" || last[2].Role != "assistant" {
		t.Errorf("asked %d times, at last with %v", len(*requests), last)
	}
}

func TestOpponentMovesFirstForO(t *testing.T) {
	url, requests := scripted(t, 200, `{"choices":[{"message":{"role":"assistant","content":"I resign"}}]}`)
	tictactoe(t, asked(Example{ID: "a", Side: "O", Seed: 3}), modelAt(url), "play")
	b, ok := ReadBoard((*requests)[0].Messages[1].Content)
	if !ok || len(b.Moves()) != 8 || b != NewBoard().With(Reply(3, NewBoard()), X) {
		t.Errorf("the first board shown is\n%v", b)
	}
}

func TestModelFailureFailsAgent(t *testing.T) {
	url, _ := scripted(t, 500, `{"error":{"message":"out of memory"}}`)
	for name, c := range map[string]struct {
		env  []string
		in   string
		want string
		code int
	}{
		"error":     {modelAt(url), asked(Example{ID: "a", Side: "X", Seed: 1}), "out of memory", 1},
		"no url":    {[]string{"OPENAI_BASE_URL=", "OPENAI_API_BASE="}, asked(Example{ID: "a", Side: "X", Seed: 1}), "OPENAI_BASE_URL", 1},
		"no side":   {modelAt(url), `{"id":"a","fields":{"seed":1}}`, "side", 1},
		"no seed":   {modelAt(url), `{"id":"a","fields":{"side":"X"},"seed":1}`, "seed", 1},
		"no input":  {modelAt(url), ``, "example", 1},
		"not there": {modelAt("http://127.0.0.1:1"), asked(Example{ID: "a", Side: "X", Seed: 1}), "move 1", 1},
	} {
		if _, stderr, code := tictactoe(t, c.in, c.env, "play"); code != c.code || !strings.Contains(stderr, c.want) {
			t.Errorf("%s: exit code %d, %q", name, code, stderr)
		}
	}
	if _, stderr, code := tictactoe(t, "", nil, "fly"); code != 2 || !strings.Contains(stderr, "usage") {
		t.Errorf("unknown command: exit code %d, %q", code, stderr)
	}
}

// game1 was won by X in three moves.
const game1 = `{"id":"g1","example":{"id":"a","side":"X","seed":5},"messages":[
{"role":"system","content":"play"},
{"role":"user","content":"  1 2 3\nA . . .\nB . . .\nC . . ."},{"role":"assistant","content":"<move>B2</move>"},
{"role":"user","content":"  1 2 3\nA O . .\nB . X .\nC . . ."},{"role":"assistant","content":"<move>C1</move>"},
{"role":"user","content":"  1 2 3\nA O . .\nB O X .\nC X . ."},{"role":"assistant","content":"<move>A3</move>"}],
"answer":"<move>A3</move>","status":"ok","rewards":{}}`

func TestRewardsLineByLine(t *testing.T) {
	requests := strings.Join([]string{
		strings.ReplaceAll(game1, "\n", ""),
		`{"id":"g2","example":{"fields":{"side":"O","seed":5}},"messages":[{"role":"user","content":"A X . .\nB . . .\nC . . ."},{"role":"assistant","content":"<move>A1</move>"}]}`,
		`{"id":"g3","example":{"side":"X","seed":5},"messages":[]}`,
		`{"id":"g4","example":{"side":"?"},"messages":[]}`,
	}, "\n")
	answers := map[string]map[string]reward{}
	for _, command := range []string{"reward", "won"} {
		out, stderr, code := tictactoe(t, requests, nil, command)
		if code != 0 {
			t.Fatalf("exit code %d: %s", code, stderr)
		}
		answers[command] = map[string]reward{}
		for line := range strings.Lines(out) {
			var r reward
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatal(err)
			}
			answers[command][r.ID] = r
		}
	}
	tree := answers["reward"]["g1"]
	if len(tree.Shaped) != 3 || tree.Shaped[2] != 2 || *tree.Reward != Total(tree.Shaped) || *tree.Reward < 1.5 {
		t.Errorf("the won game: %v of %v", *tree.Reward, tree.Shaped)
	}
	if r := answers["reward"]["g2"]; len(r.Shaped) != 1 || *r.Reward != 0 {
		t.Errorf("the illegal move: %+v", r)
	}
	if w1, w2 := answers["won"]["g1"], answers["won"]["g2"]; *w1.Reward != 1 || *w2.Reward != 0 {
		t.Errorf("won: %v, %v", *w1.Reward, *w2.Reward)
	}
	for _, id := range []string{"g3", "g4"} {
		if r := answers["reward"][id]; r.Reward != nil || r.Error == "" {
			t.Errorf("%s: %+v, want no reward and a reason", id, r)
		}
	}
}

// TestRewardAgreesWithGame checks that the agent's result of a game agrees with the
// reward of its messages.
func TestRewardAgreesWithGame(t *testing.T) {
	s := newStudent(t, 1, 0)
	wins := 0
	for i, e := range set(3, 0, 100) {
		p := s.play(e, int64(i)*100)
		r := Won(request{Example: task{Side: e.Side}, Messages: conversation(t, p)})
		if r.Reward == nil || (*r.Reward == 1) != (p.game.outcome == "won") {
			t.Errorf("%s ended as %s and is valued %+v", e.ID, p.game.outcome, r)
		}
		if *r.Reward == 1 {
			wins++
		}
	}
	if wins == 0 || wins == 100 {
		t.Errorf("%d of 100 games won", wins)
	}
}

func TestExamplesAreJSONLines(t *testing.T) {
	out, _, code := tictactoe(t, "", nil, "examples", "--count", "3", "--seed", "4", "--offset", "2")
	if code != 0 || strings.Count(out, "\n") != 3 || !strings.HasPrefix(out, `{"id":"game-4-0002","question":"`) {
		t.Errorf("exit code %d\n%s", code, out)
	}
}
