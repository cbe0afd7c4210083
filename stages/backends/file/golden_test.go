package file_test

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/parquet"
	"github.com/rollmill/rollmill/formats/sequences"
	"github.com/rollmill/rollmill/formats/training"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/backendtest"
	"github.com/rollmill/rollmill/stages/backends/file"
)

// The files of testdata/consumers are what each kind makes of one batch. The
// Python checks beside them let the trainers' own code load those very bytes.
var update = flag.Bool("update", false, "rewrite the golden files")

const golden = "../../../testdata/consumers/golden"

// varied is a batch with what trainers stumble over: plain answers, a system
// prompt, tools, several turns, a sub-agent's branch, text that needs escapes,
// a logprob of minus infinity, a member without tokens to spare.
func varied() backends.Groups {
	return func(yield func([]formats.Trajectory, error) bool) {
		for _, rows := range [][]formats.Trajectory{backendtest.Group(0), backendtest.Group(1), spoken(), withTools(), withBranch()} {
			for i := range rows {
				finish(&rows[i])
			}
			if !yield(rows, nil) {
				return
			}
		}
	}
}

// finish fills in what rollout and group leave on every row.
func finish(t *formats.Trajectory) {
	version := int64(3)
	t.PolicyVersion, t.Model = &version, "policy"
	t.SampledTokens, t.CompletionTokens = 0, 0
	for i := range t.Messages {
		t.SampledTokens += int32(len(t.Messages[i].TokenIDs))
		if t.Trained(i) {
			t.Answer = t.Messages[i].Content
			t.Calls[t.Messages[i].Call].CompletionTokens = int32(len(t.Messages[i].TokenIDs))
		}
	}
	t.CompletionTokens = t.SampledTokens
	advantage := *t.Reward - 0.5
	t.Advantage = &advantage
	for i := range t.Calls {
		t.Calls[i].PolicyVersion = &version
	}
	t.SetPayloadDigest()
}

func says(parent, call int32, text string, ids ...int32) formats.Message {
	m := formats.Message{Parent: parent, Role: "assistant", Content: text, Sampled: true, Call: call, FinishReason: "stop", TokenIDs: ids}
	m.PromptDeltaIDs = []int32{7, 8}
	for i := range ids {
		m.Logprobs = append(m.Logprobs, -0.25*float32(i+1))
	}
	return m
}

func input(parent int32, role, text string) formats.Message {
	return formats.Message{Parent: parent, Role: role, Content: text, Call: -1}
}

func attempt(example string, generation int, reward float64, messages ...formats.Message) formats.Trajectory {
	t := formats.Trajectory{
		TrajectoryID: formats.TrajectoryID("run", example, 0, generation), Run: "run", ExampleID: example, GroupID: formats.GroupID(example, 0),
		Generation: int32(generation), Example: fmt.Sprintf(`{"id":%q,"answer":"4"}`, example), Status: outcomes.StatusOK, StopReason: outcomes.StopDone,
		Reward: &reward, Rewards: []formats.NamedReward{{Name: "match", Value: &reward, Weight: 1}}, Messages: messages,
	}
	for i := range messages {
		if messages[i].Call >= 0 {
			t.Calls = append(t.Calls, formats.Call{Model: "policy", Sampling: `{"temperature":1}`, Tools: -1, Target: true, PromptTokens: 9})
		}
	}
	return t
}

func spoken() []formats.Trajectory {
	ask := []formats.Message{input(-1, "system", "Answer briefly.\nNo \"quotes\" \\ tabs\t."), input(0, "user", "héllo <b>&amp;</b> \u2028 日本 🙂")}
	rows := []formats.Trajectory{
		attempt("spoken", 0, 1, ask[0], ask[1], says(1, 0, "日本 <ok> 🙂", 11, 12, 13)),
		attempt("spoken", 1, 0, ask[0], ask[1], says(1, 0, "no\n", 14, 15)),
		attempt("spoken", 2, 0.25, ask[0], ask[1], says(1, 0, "maybe", 16)),
	}
	rows[1].Messages[2].Logprobs[1] = -12.5
	return rows
}

const searchTool = `[{"type":"function","function":{"name":"search","description":"look it up","parameters":{"type":"object","properties":{"q":{"type":"string"}}}}}]`

func withTools() []formats.Trajectory {
	var rows []formats.Trajectory
	for g := range 2 {
		asks := says(0, 0, "", 21, 22, 23)
		asks.FinishReason = "tool_calls"
		asks.ToolCalls = []formats.ToolCall{{ID: fmt.Sprint("call_", g), Name: "search", Arguments: fmt.Sprintf(`{"q":"two plus two","n":%d}`, g)}}
		result := input(1, "tool", "4")
		result.ToolCallID = asks.ToolCalls[0].ID
		t := attempt("tools", g, float64(g), input(-1, "user", "look up 2+2"), asks, result, says(2, 1, fmt.Sprint("it is ", 3+g), 24, int32(25+g)))
		t.ToolSets = []string{searchTool}
		for i := range t.Calls {
			t.Calls[i].Tools = 0
		}
		rows = append(rows, t)
	}
	return rows
}

func withBranch() []formats.Trajectory {
	var rows []formats.Trajectory
	for g := range 2 {
		rows = append(rows, attempt("branch", g, 1-float64(g),
			input(-1, "user", "plan, then ask the sub-agent"), says(0, 0, "sub-plan", 31, 32),
			input(-1, "user", "what is the whole?"), says(2, 1, fmt.Sprint("the whole ", g), 33, 34)))
	}
	return rows
}

// compared is the tables of the varied batch: a group without any pair,
// several of one group, one that shares turns with tools, and those that
// trainers have no room for.
func compared() formats.Tables {
	chat, tables := backendtest.Chat, [][]formats.Trajectory{}
	for rows := range varied() {
		tables = append(tables, rows)
	}
	plain, spoken, tools, branch := tables[0], tables[2], tables[3], tables[4]
	pairs := []formats.Pair{backendtest.PairOf(plain, 3, 0), backendtest.PairOf(plain, 3, 1), backendtest.PairOf(plain, 2, 0)}
	system := backendtest.PairOf(spoken, 0, 2)
	system.Prompt, system.Chosen, system.Rejected = chat(spoken[0].Messages[:2]...), chat(spoken[0].Messages[2]), chat(spoken[2].Messages[2],
		input(-1, "user", "not trained on"))
	turn := backendtest.PairOf(tools, 1, 1) // two candidates of one turn
	turn.Turn, turn.Tools, turn.ChosenScore, turn.RejectedScore, turn.Margin = "the sum", searchTool, 0.75, 0.5, 0.25
	turn.Prompt, turn.Chosen, turn.Rejected = chat(tools[1].Messages[:3]...), chat(tools[1].Messages[3]), chat(says(-1, 0, "it is five"))
	asked := backendtest.PairOf(tools, 1, 0) // at the first difference: two calls of a tool
	asked.Tools = searchTool
	asked.Prompt, asked.Chosen, asked.Rejected = chat(tools[1].Messages[:1]...), chat(tools[1].Messages[1]), chat(tools[0].Messages[1])
	long := backendtest.PairOf(tools, 1, 0)
	parted := backendtest.PairOf(branch, 0, 1)
	parted.Prompt = `[{"role":"user","content":[{"type":"text","text":"q"}]}]`
	unasked := backendtest.PairOf(branch, 0, 1)
	unasked.Prompt = "[]"
	var labels []formats.Label
	for _, rows := range [][]formats.Trajectory{plain, spoken, tools} {
		for i := range rows {
			t, end := &rows[i], len(rows[i].Messages)-1
			if len(rows) == 2 { // the whole of it: two turns
				end = 1
			}
			labels = append(labels, formats.Label{
				TrajectoryID: t.TrajectoryID, ExampleID: t.ExampleID, GroupID: t.GroupID, Generation: t.Generation, Desirable: *t.Reward >= 1,
				Reward: *t.Reward,
				Prompt: chat(t.Messages[:end]...), Completion: chat(t.Messages[end:]...),
			})
		}
	}
	return backendtest.TablesOf(append(pairs, system, turn, asked, long, parted, unasked), labels)
}

func TestTheGoldenFiles(t *testing.T) {
	all := file.Config{Kinds: file.Kinds()}
	theGoldenFiles(t, golden, all, formats.Tables{})
	if problems := refused(t, all); len(problems) > 0 {
		t.Errorf("%+v", problems)
	}
}

// TestTheGoldenFilesOfTables: the same batch with pairs and labels of its own.
func TestTheGoldenFilesOfTables(t *testing.T) {
	cfg := file.Config{Kinds: []string{"trl-preference", "trl-preference.parquet", "trl-kto", "openrlhf-preference", "openrlhf-kto", "nemo-rl-preference",
		"customizer-dpo"}}
	theGoldenFiles(t, golden+"-tables", cfg, compared())
}

// TestTheGoldenFilesOfWeights: the same batch, each trajectory worth the same.
func TestTheGoldenFilesOfWeights(t *testing.T) {
	theGoldenFiles(t, golden+"-weights", file.Config{Kinds: []string{"slime", "sequences", "prime-rl"}, RowWeight: sequences.Trajectory}, formats.Tables{})
}

// TestTheGoldenFilesOfSteps: the same batch, with advantages of messages and of tokens.
func TestTheGoldenFilesOfSteps(t *testing.T) {
	theGoldenFilesOf(t, golden+"-steps", file.Config{Kinds: []string{"slime", "sequences", "prime-rl"}}, stepped(false), formats.Tables{})
}

// TestTheGoldenFilesOfLosses: the same, with the three losses, alone and together.
func TestTheGoldenFilesOfLosses(t *testing.T) {
	cfg := file.Config{Kinds: []string{"sequences", "prime-rl"}, RowWeight: sequences.EachSequence}
	theGoldenFilesOf(t, golden+"-losses", cfg, stepped(true), formats.Tables{})
}

// stepped is the varied batch with what messages may have of their own: two of three have an
// advantage, every second of these one for each token.
func stepped(losses bool) backends.Groups {
	return func(yield func([]formats.Trajectory, error) bool) {
		n := 0
		for rows, err := range varied() {
			for i := range rows {
				t := &rows[i]
				for at := range t.Messages {
					if !t.Messages[at].Sampled {
						continue
					}
					n++
					message, tokens := int32(at), len(t.Messages[at].TokenIDs)
					if n%3 > 0 {
						t.Advantages = append(t.Advantages, credit(message, n, tokens))
					}
					reference := make([]float32, tokens)
					for k := range reference {
						reference[k] = -0.125 * float32(k+n%4)
					}
					for k, l := range []training.MessageLoss{{Message: message, Loss: training.LossRL, Weight: 0.5}, {Message: message, Loss: training.LossCE,
						Weight: 0.1}, {Message: message, Loss: training.LossRefKL, Weight: 2, Reference: reference}} {
						if losses && n>>k&1 == 1 {
							t.Losses = append(t.Losses, l)
						}
					}
				}
			}
			if !yield(rows, err) {
				return
			}
		}
	}
}

func credit(message int32, n, tokens int) training.MessageAdvantage {
	a := training.MessageAdvantage{Message: message, Value: float64(n%5) - 1.75}
	if n%2 > 0 {
		a.Value = 0
		for k := range tokens {
			each := float32(n%7) - 3.25 + float32(k)
			a.Tokens, a.Value = append(a.Tokens, each), a.Value+float64(each)/float64(tokens)
		}
	}
	return a
}

func theGoldenFiles(t *testing.T, golden string, cfg file.Config, tables formats.Tables) {
	t.Helper()
	theGoldenFilesOf(t, golden, cfg, varied(), tables)
}

func theGoldenFilesOf(t *testing.T, golden string, cfg file.Config, batch backends.Groups, tables formats.Tables) {
	t.Helper()
	dir := write(t, cfg, batch, tables)
	files, err := filepath.Glob(dir + "/*")
	if kinds := cmp.Or(len(cfg.Kinds), len(file.Kinds())); err != nil || len(files) != kinds+1 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		name := filepath.Base(f)
		got, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			if err := os.WriteFile(filepath.Join(golden, name), got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(filepath.Join(golden, name))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is not the golden one (%v): look at the difference, then run with -update", name, err)
		}
	}
}

// TestTheGoldenDataset: the same batch as a curated dataset has it, for the
// trainers of testdata/consumers that read that themselves.
func TestTheGoldenDataset(t *testing.T) {
	var got bytes.Buffer
	w := parquet.NewWriter[formats.Trajectory](&got)
	rows := int64(0)
	for group := range varied() {
		if err := w.Write(group); err != nil {
			t.Fatal(err)
		}
		rows += int64(len(group))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	const name = "../../../testdata/consumers/curated/varied.parquet"
	if *update {
		if err := os.WriteFile(name, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	opened, err := parquet.Open(f, info.Size(), name)
	if err != nil {
		t.Fatal(err)
	}
	r, err := parquet.NewReader[formats.Trajectory](opened, 0, rows)
	if err != nil {
		t.Fatal(err)
	}
	for want := range varied() {
		there := make([]formats.Trajectory, len(want))
		if n, err := r.Read(there); n != len(want) || err != nil && err != io.EOF {
			t.Fatal(n, err)
		}
		if diff := gocmp.Diff(want, there, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s is not the golden one: look at the difference, then run with -update: %s", name, diff)
		}
	}
}

func refused(t *testing.T, cfg file.Config) (out []backends.Problem) {
	t.Helper()
	if _, err := trainer(t, cfg, place(t, t.TempDir())).Preflight(t.Context(), varied(), func(p backends.Problem) { out = append(out, p) }); err != nil {
		t.Fatal(err)
	}
	return out
}
