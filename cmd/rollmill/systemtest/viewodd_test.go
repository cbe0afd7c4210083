package systemtest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/schema"
)

// hostile is text that would run a script if a page did not escape it: in an
// element, in an attribute, in a script and in a URL.
const hostile = `</script><script>window.hit=1</script><img src=x onerror=window.hit=1>"'` + "`" + `{{7*7}}javascript:window.hit=1`

// hostileName is a file name of the same kind.
const hostileName = `<img src=x onerror=window.hit=1>"'&amp;`

// Ids of the odd run's examples.
const (
	oddLong     = "long"     // 1,000 messages
	oddMarkdown = "markdown" // Markdown, also of the kind that would load or run something
	oddTool     = "tool"     // a tool output of 1 MB
	oddHostile  = hostile    // hostile text in every field
	oddRTL      = "عربي"     // right-to-left text, and characters that change the direction
	oddImage    = "image"    // images in a message: one to show, others that must not be fetched
	oddTree     = "tree"     // branches and sub-agents
	oddFailures = "failures" // one trajectory of each class of failure
	oddTokens   = "tokens"   // tokens with texts, a prefix break, a recorded call that is not trained
)

// storeOdd makes a run with every odd conversation in epoch 0, ordinary groups in
// epoch 1, scores under a hostile name, other scores of the same rollouts (to
// compare), and a report. It returns the run's root, whose name is hostile too.
func storeOdd(t *testing.T, dir string) string {
	t.Helper()
	root := filepath.Join(dir, "run "+hostileName)
	ordinary := randomtest.Options{Run: "view", Groups: 12, Generations: 8, Messages: 6, SampledTokens: 80, PromptTokens: 60, Failures: 0.1, Branches: 0.2}
	if err := storeEpoch(t, root, 0, both(oddGroups(), randomtest.Trajectories(1, ordinary))); err != nil {
		t.Fatal(err)
	}
	ordinary.Epoch = 1
	if err := storeEpoch(t, root, 1, randomtest.Trajectories(2, ordinary)); err != nil {
		t.Fatal(err)
	}
	from := filepath.Join(root, "epoch-0", "rollout")
	for _, args := range [][]string{
		{"score", "--in", from, "--out", filepath.Join(root, "epoch-0", "again"), "--reward", "long*0.5=expr:min(len(answer), 200) / 200", "--reward",
			"odd*0.5=expr:generation % 2"},
		{"score", "--in", from, "--out", filepath.Join(root, "epoch-0", hostileName), "--reward", "one=expr:1.0"},
		{"report", "--root", root},
	} {
		if code, _, stderr := rollmill(t, append(args, "--quiet")...); code != 0 {
			t.Fatalf("%s: exit code %d:\n%s", args[0], code, stderr)
		}
	}
	return root
}

func both[T any](a, b iter.Seq[T]) iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, seq := range []iter.Seq[T]{a, b} {
			for v := range seq {
				if !yield(v) {
					return
				}
			}
		}
	}
}

// oddMaker makes the group of an example.
type oddMaker struct {
	id   string
	rows int
	fill func(r *formats.Trajectory, generation int)
}

func oddGroups() iter.Seq[[]formats.Trajectory] {
	makers := []oddMaker{
		{oddLong, 2, fillLong}, {oddTool, 2, fillTool}, {oddHostile, 3, fillHostile}, {oddRTL, 2, fillRTL}, {oddImage, 2, fillImage},
		{oddTree, 2, fillTree}, {oddMarkdown, 2, fillMarkdown}, {oddTokens, 3, fillTokens}, {oddFailures, len(outcomes.FailureClasses) + 2, fillFailure},
	}
	slices.SortFunc(makers, func(a, b oddMaker) int { return strings.Compare(a.id, b.id) })
	return func(yield func([]formats.Trajectory) bool) {
		for _, m := range makers {
			group := make([]formats.Trajectory, m.rows)
			for g := range group {
				r := &group[g]
				*r = formats.Trajectory{TrajectoryID: formats.TrajectoryID("view", m.id, 0, g), Run: "view", ExampleID: m.id, Generation: int32(g),
					Example: jsonText(map[string]any{"id": m.id, "question": "What follows?", "answer": "42"}),
					Status:  outcomes.StatusOK, StopReason: outcomes.StopDone, Model: "policy", Attempts: 1, StartedAt: 1_700_000_000_000_000,
					FinishedAt: 1_700_000_009_000_000}
				m.fill(r, g)
				if r.Answer == "" && len(r.Messages) > 0 {
					r.Answer = r.Messages[len(r.Messages)-1].Content
				}
				r.PayloadDigest = formats.PayloadDigest(r)
			}
			if !yield(group) {
				return
			}
		}
	}
}

func jsonText(v any) string {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return strings.TrimSpace(out.String())
}

// add appends a message after parent and returns its index; an assistant's is
// sampled by a call of its own.
func add(r *formats.Trajectory, parent int, m formats.Message) int {
	m.Parent, m.Call = int32(parent), -1
	if m.Role == "assistant" {
		version := int64(3)
		m.Sampled, m.Call, m.FinishReason = true, int32(len(r.Calls)), "stop"
		r.Calls = append(r.Calls,
			formats.Call{Model: "policy", PolicyVersion: &version, Sampling: `{"temperature":1}`, Tools: -1, PromptTokens: 20, CompletionTokens: 9,
				Target: true, LatencyMS: 120, Attempts: 1})
	}
	r.Messages = append(r.Messages, m)
	return len(r.Messages) - 1
}

func fillLong(r *formats.Trajectory, generation int) {
	at := add(r, -1, formats.Message{Role: "system", Content: "Count."})
	for i := 1; i < 1000; i++ {
		m := formats.Message{Role: "user", Content: fmt.Sprintf("What comes after %d?", i)}
		if i%2 == 0 {
			m = formats.Message{Role: "assistant", Content: fmt.Sprintf("After %d comes %d, in attempt %d.", i-1, i, generation),
				Reasoning: "One more than the number before."}
		}
		at = add(r, at, m)
	}
}

func fillMarkdown(r *formats.Trajectory, generation int) {
	at := add(r, -1, formats.Message{Role: "user", Content: "Write **bold**.\n\n- one\n- two\n"})
	at = add(r, at, formats.Message{Role: "assistant", Content: fmt.Sprintf("# Attempt %d\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n", generation) +
		"[link](javascript:window.hit=1) ![picture](https://images.example.com/track.png) <b onclick=window.hit=1>b</b>\n\n" +
		"<script>window.hit=1</script>\n\n```go\nfunc main() {}\n```\n",
		ToolCalls: []formats.ToolCall{{ID: "call-1", Name: "write", Arguments: `{"path":"a.py","text":"def f():\n    return 1\n"}`}}})
	at = add(r, at, formats.Message{Role: "tool", ToolCallID: "call-1", Content: strings.Repeat("a line of a result\n", 42)})
	add(r, at, formats.Message{Role: "assistant", Content: fmt.Sprintf("It is **written**, in attempt %d of two.", generation), PrefixBreak: "template"})
}

func fillTool(r *formats.Trajectory, generation int) {
	at := add(r, -1, formats.Message{Role: "user", Content: "List the files."})
	at = add(r, at, formats.Message{Role: "assistant", ToolCalls: []formats.ToolCall{
		{ID: "call-1", Name: "list", Arguments: `{"path":"/srv","depth":9,"filters":{"name":["*.go","*.md"],"size":{"min":1,"max":null}}}`},
		{ID: "call-2", Name: "list", Arguments: `{"path": not JSON`}}})
	var lines strings.Builder
	for i := 0; lines.Len() < 1<<20; i++ {
		fmt.Fprintf(&lines, "-rw-r--r-- 1 root root %d file-%d.txt\n", i, i)
	}
	at = add(r, at, formats.Message{Role: "tool", ToolCallID: "call-1", Content: lines.String()})
	at = add(r, at, formats.Message{Role: "tool", ToolCallID: "call-2",
		Content: `{"error":{"code":-32700,"message":"parse error"},"unbroken":"` + strings.Repeat("x", 2000) + `"}`})
	add(r, at, formats.Message{Role: "assistant", Content: fmt.Sprintf("There are many files (%d).", generation)})
}

func fillRTL(r *formats.Trajectory, generation int) {
	at := add(r, -1, formats.Message{Role: "user", Content: "ما هي عاصمة فرنسا؟ اشرح (Paris) باختصار."})
	add(r, at, formats.Message{Role: "assistant", Reasoning: "עיר הבירה של צרפת היא פריז.",
		Content: "باريس هي العاصمة.\u202egnp.exe\u202c \u2066hidden\u2069 \x1b[31mred\x1b[0m \x00 \u200b" + strings.Repeat("!", generation+1)})
}

func fillImage(r *formats.Trajectory, generation int) {
	picture := image.NewRGBA(image.Rect(0, 0, 320, 160))
	for x := range 320 {
		for y := range 160 {
			picture.Set(x, y, color.RGBA{R: uint8(x), G: uint8(y), B: 160, A: 255})
		}
	}
	var file bytes.Buffer
	if err := png.Encode(&file, picture); err != nil {
		panic(err)
	}
	part := func(url string) map[string]any {
		return map[string]any{"type": "image_url", "image_url": map[string]any{"url": url}}
	}
	at := add(r, -1, formats.Message{Role: "user", ContentParts: jsonText([]any{
		map[string]any{"type": "text", "text": "What is in these pictures?"},
		part("data:image/png;base64," + base64.StdEncoding.EncodeToString(file.Bytes())),
		part("https://images.example.com/picture.png"),
		part("data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString([]byte(`<svg xmlns="http://www.w3.org/2000/svg" onload="window.hit=1"/>`))),
		part("data:image/png;base64,not base64"),
		part("javascript:window.hit=1"),
	})})
	add(r, at, formats.Message{Role: "assistant", Content: fmt.Sprintf("A gradient, in attempt %d.", generation)})
}

func fillTree(r *formats.Trajectory, generation int) {
	root := add(r, -1, formats.Message{Role: "system", Content: "You plan; helpers search."})
	plan := add(r, root, formats.Message{Role: "user", Content: "Plan a trip."})
	first := add(r, plan, formats.Message{Role: "assistant", Content: "First I ask a helper."})
	add(r, plan, formats.Message{Role: "assistant", Content: "Another try of the first answer.", Branch: "retry"})
	for helper := range 2 {
		sub := add(r, -1, formats.Message{Role: "system", Content: fmt.Sprintf("You are helper %d.", helper)})
		sub = add(r, sub, formats.Message{Role: "user", Content: "Find a train.", Name: "planner"})
		sub = add(r, sub, formats.Message{Role: "assistant", Content: "There is one at nine."})
		r.Calls[len(r.Calls)-1].Function = fmt.Sprintf("helper-%d", helper)
		add(r, sub, formats.Message{Role: "assistant", Content: "Or at ten.", Branch: "choice"})
	}
	next := add(r, first, formats.Message{Role: "user", Content: "The helpers answered."})
	add(r, next, formats.Message{Role: "assistant", Content: fmt.Sprintf("Take the train at nine, plan %d.", generation)})
	r.Candidates = []formats.Candidate{{Message: int32(len(r.Messages) - 1), Content: "Take a plane.", Reason: outcomes.CandidateAlternative}}
}

func fillTokens(r *formats.Trajectory, generation int) {
	at := add(r, -1, formats.Message{Role: "user", Content: "Say it."})
	for turn := range 3 {
		texts := strings.SplitAfter(fmt.Sprintf("Turn %d of attempt %d says <b>so</b> and so and so on.\n", turn, generation), " ")
		m := formats.Message{Role: "assistant", Content: strings.Join(texts, ""), TokenTexts: texts, PromptDeltaIDs: []int32{1, 2, 3}}
		for i := range texts {
			m.TokenIDs, m.Logprobs = append(m.TokenIDs, int32(100+i)), append(m.Logprobs, -float32(i*i)/7)
		}
		if turn == 2 {
			m.PrefixBreak = "the template removed the reasoning"
		}
		at = add(r, at, m)
		r.SampledTokens += int32(len(texts))
		at = add(r, at, formats.Message{Role: "user", Content: "Again."})
	}
	r.TokenSource = schema.TokensChoice
	r.Calls[0].Target = generation != 0
	r.Answer = "so on"
}

func fillFailure(r *formats.Trajectory, generation int) {
	at := add(r, -1, formats.Message{Role: "user", Content: "Try."})
	switch generation {
	case len(outcomes.FailureClasses):
		r.Status, r.StopReason = outcomes.StatusTruncated, outcomes.StopLength
		add(r, at, formats.Message{Role: "assistant", Content: "I was cut"})
	case len(outcomes.FailureClasses) + 1:
		r.Status, r.StopReason, r.Messages = outcomes.StatusSkipped, outcomes.StopSkipped, nil
	default:
		class := outcomes.FailureClasses[generation]
		r.Status, r.StopReason, r.FailureClass = outcomes.StatusFailed, outcomes.StopError, class
		r.Error = class + ": exit status 1\nTraceback (most recent call last):\n  File \"agent.py\", line 7\n" +
			strings.Repeat("    a long line of a program's stderr ", 12)
	}
}

// fillHostile fills every text of the row, also in columns that are added later.
// Columns from closed lists stay valid; those that hold JSON hold hostile keys and
// values.
func fillHostile(r *formats.Trajectory, generation int) {
	at := add(r, -1, formats.Message{Role: "user"})
	at = add(r, at, formats.Message{Role: "assistant", ToolCalls: []formats.ToolCall{{}}, Logprobs: []float32{-1, -2}, TokenIDs: []int32{1, 2},
		TokenTexts: []string{"", ""}})
	at = add(r, at, formats.Message{Role: "tool"})
	add(r, at, formats.Message{Role: "assistant"})
	r.ToolSets, r.Candidates = []string{""}, []formats.Candidate{{Message: 1, ToolCalls: []formats.ToolCall{{}}}}
	fillTexts(reflect.ValueOf(r).Elem(), "", "hostile-"+strconv.Itoa(generation))
	r.TrajectoryID = fmt.Sprintf("%d%s", generation, hostile)
	if generation == 0 { // the other rows have both content and parts
		for i := range r.Messages {
			r.Messages[i].ContentParts = ""
		}
	}
	r.SampledTokens = 2
	if generation == 2 {
		r.Status, r.FailureClass, r.StopReason = outcomes.StatusFailed, outcomes.FailAgentExit, outcomes.StopError
	}
}

// unchangedColumns are those that a hostile row does not change: closed lists, ids that
// place the row, and roles.
var unchangedColumns = []string{"ExampleID", "Run", "Status", "StopReason", "FailureClass", "GroupID", "Role", "LogprobsMode", "TokenSource", "Reason",
	"PayloadDigest", "Carried"}

// jsonColumns hold JSON.
var jsonColumns = map[string]any{
	"Example": map[string]any{hostile: hostile, "id": hostile}, "Metadata": map[string]any{hostile: hostile}, "Sampling": map[string]any{hostile: hostile},
	"Arguments":    map[string]any{hostile: []any{hostile, nil, 1}},
	"ToolSets":     []any{map[string]any{"type": "function", "function": map[string]any{"name": hostile}}},
	"ContentParts": []any{map[string]any{"type": "text", "text": hostile}, map[string]any{"type": hostile, hostile: hostile}},
}

func fillTexts(v reflect.Value, name, tag string) {
	if slices.Contains(unchangedColumns, name) || !v.CanSet() {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fillTexts(v.Field(i), v.Type().Field(i).Name, tag)
		}
	case reflect.Slice:
		for i := range v.Len() {
			fillTexts(v.Index(i), name, tag)
		}
	case reflect.String:
		if value, ok := jsonColumns[name]; ok {
			v.SetString(jsonText(value))
			return
		}
		v.SetString(tag + "-" + name + hostile)
	}
}

// TestOddRun checks that the odd run has what the viewer's tests look for.
func TestOddRun(t *testing.T) {
	root := storeOdd(t, t.TempDir())
	for _, name := range []string{"epoch-0/curate/_dataset.json", "epoch-1/group/_dataset.json", "epoch-0/" + hostileName + "/_dataset.json",
		"report.json"} {
		if _, err := os.Stat(filepath.Join(root, name)); err != nil {
			t.Error(err)
		}
	}
	for group := range oddGroups() {
		for i := range group {
			if got := fmt.Sprintf("%+v", group[i]); group[i].ExampleID == oddHostile && strings.Count(got, "window.hit=1</script>") < 20 {
				t.Errorf("hostile text in few fields: %s", got)
			}
		}
	}
}
