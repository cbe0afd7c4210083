package recorder_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/sequences"
	"github.com/rollmill/rollmill/stages/rollout/agents"
	"github.com/rollmill/rollmill/stages/rollout/recorder"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
)

// root is a path of the repository.
func root(path string) string {
	path, _ = filepath.Abs(filepath.Join("../../..", path))
	return path
}

// takes is how long the engine is silent before each answer. Clients then wait
// for 5 s at most, for streams of the APIs that keep them waiting with pings.
var takes = flag.Duration("takes", 0, "let the engine of clients and agents be silent for this long before each answer")

// harness is the engine that an agent asks: it calls a tool, and says something
// when the tool's result is there.
type harness struct {
	call formats.ToolCall
	says string
}

// begin starts an engine and a trajectory, perhaps one whose process died.
func (h harness) begin(t *testing.T, r recorder.Resume, change ...func(*recorder.Options)) (*recordertest.Engine, *recorder.Session) {
	e := &recordertest.Engine{Source: schema.TokensChoice, PromptIDs: true, Script: h.reply, Arrived: func(int, recordertest.Request) { time.Sleep(*takes) }}
	return e, record(t, e, change...).Begin(context.Background(), "t", "g", r)
}

// run runs a program in a folder, as agent command does, and returns its output.
func run(t *testing.T, dir string, s *recorder.Session, environ []string, command ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute) // against a program that hangs
	defer cancel()
	p := exec.CommandContext(ctx, command[0], command[1:]...)
	p.Dir = dir
	p.Env = append(append(os.Environ(), "PWD="+dir), environ...)
	if s != nil {
		p.Env = append(p.Env, agents.Attempt{BaseURL: s.BaseURL(), APIKey: "rollmill", Model: "policy"}.Environ()...)
	}
	var out, log bytes.Buffer
	p.Stdout, p.Stderr = &out, &log
	if err := p.Run(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, &out, &log)
	}
	return out.String()
}

// reply calls the tool until its result is there.
func (h harness) reply(q recordertest.Request) recordertest.Reply {
	if last := q.Messages[len(q.Messages)-1]; last.Role == "tool" {
		return recordertest.Reply{Content: h.says}
	}
	var tools []struct {
		Name     string
		Function struct{ Name string }
	}
	json.Unmarshal(q.Fields["tools"], &tools)
	for _, tool := range tools {
		if cmp.Or(tool.Function.Name, tool.Name) == h.call.Name {
			return recordertest.Reply{Content: "I use a tool.", ToolCalls: []formats.ToolCall{h.call}}
		}
	}
	return recordertest.Reply{Content: aTitle}
}

const aTitle = "A title" // what an agent gets that offers no such tool

// exact ends a trajectory and holds every sampled id and logprob to the engine's
// log: each is recorded once, and trains in exactly one sequence, after the prompt that the engine had. Titles
// train in none.
func exact(t *testing.T, s *recorder.Session, e *recordertest.Engine) recorder.Record {
	t.Helper()
	rec := s.End()
	if rec.Untrainable != nil || rec.LastCall != nil {
		t.Fatalf("unfit %v, last call %v\n%s", rec.Untrainable, rec.LastCall, strings.Join(outlines(rec), "\n"))
	}
	log, tokens := e.Sampled(), 0
	var trained []recordertest.Sample
	answers := sampled(rec)
	slices.SortStableFunc(answers, func(a, b formats.Message) int { return cmp.Compare(a.Call, b.Call) })
	if len(answers) != len(log) {
		t.Fatalf("%d answers recorded, %d sampled", len(answers), len(log))
	}
	for _, m := range answers {
		k := slices.IndexFunc(log, func(s recordertest.Sample) bool {
			return slices.Equal(s.IDs, m.TokenIDs) && slices.Equal(s.Logprobs, m.Logprobs)
		})
		if k < 0 {
			t.Fatalf("nothing was sampled like %s", outline(m))
		}
		if auxiliary := m.Content == aTitle; rec.Calls[m.Call].Target == auxiliary {
			t.Errorf("it trains: %v: %s", !auxiliary, outline(m))
		} else if !auxiliary {
			tokens += len(log[k].IDs)
			trained = append(trained, log[k])
		}
		log = slices.Delete(log, k, k+1)
	}
	row := formats.Trajectory{Messages: rec.Messages, Calls: rec.Calls}
	list, err := sequences.Of(&row)
	if err != nil {
		t.Fatal(err)
	}
	if tokens -= int(sequences.Tokens(list)); tokens != 0 {
		t.Errorf("%d sampled tokens train in no sequence, or twice", tokens)
	}
	for i, sample := range trained {
		if n := contexts(list, sample); n != 1 {
			t.Errorf("answer %d trains after its prompt in %d sequences", i, n)
		}
	}
	checkRow(t, rec)
	return rec
}

// contexts counts the sequences in which an answer's tokens train after exactly its prompt.
func contexts(list []sequences.Sequence, sample recordertest.Sample) (n int) {
	for _, s := range list {
		tokens, from := slices.Concat(s.Prompt, s.Response), len(sample.Prompt)-len(s.Prompt)
		end := from + len(sample.IDs)
		if from >= 0 && end <= len(s.Response) && slices.Equal(tokens[:len(sample.Prompt)], sample.Prompt) &&
			slices.Equal(s.Response[from:end], sample.IDs) && !slices.Contains(s.Mask[from:end], false) {
			n++
		}
	}
	return n
}

// TestClientsPython runs the clients of Anthropic and OpenAI, unmodified, through
// conversations with a tool, by every API and in both ways.
func TestClientsPython(t *testing.T) {
	python := root(".venv-clients/bin/python")
	if exec.Command(python, "-c", "import anthropic, openai").Run() != nil {
		t.Skip("no Python with the clients: run .ci/install clients")
	}
	clients(t, python, root("testdata/harnesses/clients.py"))
}

// TestClientsTypeScript does so with those for TypeScript.
func TestClientsTypeScript(t *testing.T) {
	if _, err := os.Stat(root(".stores/sdks/node_modules")); err != nil {
		t.Skip("no clients for TypeScript: run .ci/install sdks")
	}
	clients(t, "node", root("testdata/harnesses/clients.mjs"))
}

// Each conversation is held again without an engine, as by an agent whose process died: every
// client reads the answers that it had, and what is recorded is equal.
func clients(t *testing.T, command ...string) {
	again := slices.Clone(command)
	h := harness{call: formats.ToolCall{ID: "call_1", Name: "add", Arguments: "{\"b\": 25, \"a\":17 }"}, says: "It is 42."}
	type repetition struct {
		engine  *recordertest.Engine
		session *recorder.Session
	}
	replays := map[cell]repetition{}
	var begun []func() (*recordertest.Engine, *recorder.Session)
	var all []cell
	var checks []func(*testing.T)
	environ := []string{"NODE_MODULES=" + root(".stores/sdks"), "ANTHROPIC_API_KEY=x", "OPENAI_API_KEY=x"}
	if *takes > 0 {
		environ = append(environ, "IMPATIENT=1")
	}
	for c := range cells(t) {
		if *takes > 0 && (c.way != "stream" || c.row.Protocol == "chat") {
			continue
		}
		var kept []recorder.Answered
		e, s := h.begin(t, recorder.Resume{Keep: func(a recorder.Answered) { kept = append(kept, a) }})
		command = append(command, c.row.Protocol, c.way, s.BaseURL())
		second := func() (*recordertest.Engine, *recorder.Session) {
			return h.begin(t, recorder.Resume{Answered: kept, Strict: true})
		}
		all, checks = append(all, c), append(checks, func(t *testing.T) {
			rec := exact(t, s, e)
			if got := outlines(rec); len(got) != 5 || !strings.HasPrefix(got[3], "2 tool | 42 | answers call_1") {
				t.Errorf("%s", strings.Join(got, "\n"))
			}
			for i, m := range rec.Messages {
				if m.PrefixBreak != "" || m.Branch != "" {
					t.Errorf("message %d: %s", i, outline(m))
				}
			}
			if n := len(e.Sampled()); n != 2 {
				t.Errorf("%d answers", n)
			}
			repeated := replays[c]
			if got := repeated.session.End(); len(repeated.engine.Asked()) > 0 || got.Earlier != 2 || gocmp.Diff(outlines(rec), outlines(got)) != "" {
				t.Errorf("again: asked %d times, %d replayed, %s", len(repeated.engine.Asked()), got.Earlier, gocmp.Diff(outlines(rec), outlines(got)))
			}
		})
		begun = append(begun, second)
	}
	out := run(t, t.TempDir(), nil, environ, command...)
	if want := strings.Repeat("It is 42.\n", len(all)); out != want {
		t.Errorf("it printed %q", out)
	}
	for i, c := range all {
		e, s := begun[i]()
		replays[c] = repetition{e, s}
		again = append(again, c.row.Protocol, c.way, s.BaseURL())
	}
	if repeated := run(t, t.TempDir(), nil, environ, again...); repeated != out {
		t.Errorf("again it printed %q", repeated)
	}
	for i, c := range all {
		t.Run(c.name, checks[i])
	}
}
