package serve

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/training"
)

// hostile is text that a page must show and never obey.
const hostile = `<script>alert("x")</script>"'><img src=x onerror=alert(1)> javascript:alert(2) {{.}} ` + "\u202egnp.exe\x1b[31m\x00"

// rightToLeft is Hebrew and Arabic.
const rightToLeft = "שלום עולם، مرحبا بالعالم (2 × 2)"

// readingRun writes a run of one epoch, scored, grouped and curated, whose
// trajectories have all that a page of one shows. Members of a group follow each other.
func readingRun(t *testing.T) (root string, ids map[string]string) {
	t.Helper()
	root = filepath.Join(t.TempDir(), "run")
	ids = map[string]string{}
	var wide []formats.Trajectory
	for _, g := range []struct {
		example string
		members []struct {
			name string
			row  formats.Trajectory
		}
	}{
		{"tools", []struct {
			name string
			row  formats.Trajectory
		}{{"tools", toolTrajectory("391")}, {"tree", treeTrajectory()}, {"failed", failedTrajectory()}, {"other", toolTrajectory("390")}}},
		{"odd", []struct {
			name string
			row  formats.Trajectory
		}{{"hostile", hostileTrajectory()}, {"plain", noTokens()}}},
		{"long", []struct {
			name string
			row  formats.Trajectory
		}{{"long", longTrajectory(200)}, {"big", bigTrajectory()}}},
	} {
		for k, m := range g.members {
			row := m.row
			row.TrajectoryID, row.ExampleID, row.Generation, row.Run = formats.TrajectoryID("run", g.example, 0, k), g.example, int32(k), "run"
			if row.Status == "" {
				row.Status, row.StopReason = outcomes.StatusOK, outcomes.StopDone
			}
			if row.Example == "" {
				row.Example = `{"question":"What is 17 times 23?","answer":"391"}`
			}
			ids[m.name] = row.TrajectoryID
			wide = append(wide, row)
		}
	}
	writeEpoch(t, filepath.Join(root, "epoch-0"), wide)
	return root, ids
}

// writeEpoch writes trajectories with scores, groups and decisions: the last member
// of each group is dropped.
func writeEpoch(t *testing.T, dir string, wide []formats.Trajectory) {
	t.Helper()
	var scores []formats.Score
	var members []formats.Member
	var decisions []decision.Decision
	var kept []formats.Trajectory
	for i := range wide {
		row := &wide[i]
		value, format := float64(i%2), 0.25
		reward, advantage, why := &value, new(float64), ""
		named := []formats.NamedReward{{Name: "correct", Value: &value, Weight: 1}, {Name: "format <b>", Value: &format, Weight: 0.5}}
		*advantage = value*2 - 1
		if row.Status == outcomes.StatusFailed {
			reward, advantage, why, named = nil, nil, training.NoAdvantageFailed, nil
		}
		s := formats.Score{TrajectoryID: row.TrajectoryID, ExampleID: row.ExampleID, Generation: row.Generation, Status: row.Status, Reward: reward,
			Rewards: named}
		if reward == nil {
			s.Failure = outcomes.RewardTrajectory
		}
		scores = append(scores, s)
		members = append(members,
			formats.Member{TrajectoryID: row.TrajectoryID, ExampleID: row.ExampleID, GroupID: formats.GroupID(row.ExampleID, 0), Generation: row.Generation,
				Status: row.Status, Reward: reward, Rewards: named, Advantage: advantage, NoAdvantage: why})
		d := decision.Decision{TrajectoryID: row.TrajectoryID, ExampleID: row.ExampleID, GroupID: formats.GroupID(row.ExampleID, 0),
			Generation: row.Generation, Kept: true}
		switch {
		case row.Status == outcomes.StatusFailed:
			d.Kept, d.Reason = false, decision.DropFailed
		case i == len(wide)-1 || wide[i+1].ExampleID != row.ExampleID:
			d.Kept, d.Reason, d.Detail = false, "length", "900 tokens <i>more</i> than 512"
		default:
			row := *row
			row.Reward, row.Rewards, row.Advantage, row.GroupID = reward, named, advantage, d.GroupID
			kept = append(kept, row)
		}
		decisions = append(decisions, d)
	}
	rollout := writeTable(t, dir+"/rollout", manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories}, wide, -1, "", []decision.Decision(nil))
	base := rollout.Ref("base", dir+"/score")
	score := writeTable(t, dir+"/score", manifest.Spec{Stage: "score", Kind: schema.KindScores, Inputs: []manifest.Ref{base}, Base: &base}, scores, 0, "",
		[]decision.Decision(nil))
	base = rollout.Ref("base", dir+"/group")
	group := writeTable(t, dir+"/group",
		manifest.Spec{Stage: "group", Kind: schema.KindGroups, Inputs: []manifest.Ref{base, score.Ref("scores", dir+"/group")}, Base: &base}, members, 0, "",
		[]decision.Decision(nil))
	writeTable(t, dir+"/curate", manifest.Spec{Stage: "curate", Kind: schema.KindTrajectories, Inputs: []manifest.Ref{group.Ref("in", dir+"/curate")}}, kept, -1,
		schema.TableDecisions, decisions)
}

// states are what the stages note in their manifests.
var states = map[string]string{"group": `{"estimator":"grpo","compat":"trl"}`, "curate": `{"order":["failed","length"]}`}

// writeTable writes a dataset, and one further table if it is named.
func writeTable[T, S any](t *testing.T, uri string, spec manifest.Spec, rows []T, base int64, table string, more []S) *dataset.Dataset {
	t.Helper()
	spec.Version = 1
	ctx := t.Context()
	shard, err := shards.Begin(ctx, uri, spec, shards.Options{})
	if err == nil {
		err = shards.NewTable[T](shard, "", base).Write(ctx, rows)
	}
	if err == nil && table != "" {
		err = shards.NewTable[S](shard, table, -1).Write(ctx, more)
	}
	if err == nil {
		_, err = shard.Commit(ctx, shards.Outcome{State: json.RawMessage(states[spec.Stage])})
	}
	if err != nil {
		t.Fatal(err)
	}
	d, err := dataset.Open(ctx, uri, dataset.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// sampled returns a message of the policy with a token for each word.
func sampled(parent int32, content string) formats.Message {
	m := formats.Message{Parent: parent, Role: "assistant", Content: content, Sampled: true, FinishReason: "stop", Call: 0, PromptDeltaIDs: []int32{1, 2, 3}}
	for i, word := range strings.SplitAfter(content, " ") {
		m.TokenIDs = append(m.TokenIDs, int32(1000+i))
		m.TokenTexts = append(m.TokenTexts, word)
		m.Logprobs = append(m.Logprobs, []float32{-0.01, -0.4, -1.5, -3.5, -7, -9999}[i%6])
	}
	return m
}

func said(parent int32, role, content string) formats.Message {
	return formats.Message{Parent: parent, Role: role, Content: content, Call: -1}
}

func calls() []formats.Call {
	version := int64(41)
	return []formats.Call{{Model: "policy-7b", Target: true, Tools: -1, PolicyVersion: &version}, {Model: "helper-1b", Tools: -1, Function: "search_agent"}}
}

func pngURL() string {
	picture := image.NewRGBA(image.Rect(0, 0, 120, 60))
	for x := range 120 {
		for y := range 60 {
			picture.Set(x, y, color.RGBA{R: uint8(2 * x), G: uint8(4 * y), B: 120, A: 255})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, picture); err != nil {
		panic(err) // it is written to memory
	}
	return "data:image/png;base64," + base64.StdEncoding.EncodeToString(b.Bytes())
}

// toolTrajectory has reasoning, two calls of tools in one message, an image, and a prefix
// break.
func toolTrajectory(answer string) formats.Trajectory {
	first := sampled(1, "Let me compute this with two tools.")
	first.Reasoning, first.FinishReason = "The product of 17 and 23.\nI could compute 17 × 20 + 17 × 3, but a tool is safer.", "tool_calls"
	first.ToolCalls = []formats.ToolCall{{ID: "call_1", Name: "multiply", Arguments: `{"a":17,"b":23,"options":{"exact":true,"unit":null}}`},
		{ID: "call_2", Name: "draw", Arguments: `not JSON: "17`}}
	last := sampled(4, "The answer is "+answer+" and the picture shows it.")
	last.PrefixBreak = "reasoning"
	tool := said(2, "tool", `{"result":391,"steps":[340,51]}`)
	tool.ToolCallID = "call_1"
	picture := formats.Message{Parent: 3, Role: "tool", Call: -1, ToolCallID: "call_2", Content: "the picture",
		ContentParts: fmt.Sprintf(`[{"type":"text","text":"the picture"},{"type":"image_url","image_url":{"url":%q}},{"type":"image_url","image_url":{"url":"https://example.com/track.png"}},{"type":"input_audio","input_audio":{}}]`, pngURL())}
	return formats.Trajectory{Messages: []formats.Message{said(-1, "system", "You are careful."), said(0, "user", "What is 17 times 23?"), first, tool,
		picture, last},
		Calls: calls(), Answer: answer, SampledTokens: int32(len(first.TokenIDs) + len(last.TokenIDs)), TokenSource: schema.TokensChoice}
}

// treeTrajectory has a branch, a sub-agent, and a candidate.
func treeTrajectory() formats.Trajectory {
	helper := sampled(4, "The helper found it.")
	helper.Call = 1
	other := sampled(1, "Another choice.")
	other.Branch = "choice"
	score := 0.5
	return formats.Trajectory{Messages: []formats.Message{said(-1, "system", "You are careful."), said(0, "user", "What is 17 times 23?"), other,
		sampled(1, "I ask a helper."),
		said(-1, "system", "You are the helper."), helper, said(3, "user", "It says 391."), sampled(6, "It is 391.")},
		Calls: calls(), Answer: "391", Candidates: []formats.Candidate{{Message: 3, Content: "I guess.", Score: &score}}}
}

func failedTrajectory() formats.Trajectory {
	return formats.Trajectory{Status: outcomes.StatusFailed, StopReason: outcomes.StopError, FailureClass: outcomes.FailAgentExit,
		Error:    "exit status 1: <b>Traceback</b>",
		Messages: []formats.Message{said(-1, "system", "You are careful."), said(0, "user", "What is 17 times 23?")}}
}

// hostileTrajectory has markup, control characters and text from right to left in each of
// its texts.
func hostileTrajectory() formats.Trajectory {
	m := sampled(0, "x "+rightToLeft+" y")
	m.Role, m.Reasoning, m.FinishReason, m.Name = "assistant", hostile, hostile, hostile
	m.ToolCalls = []formats.ToolCall{{ID: hostile, Name: hostile, Arguments: `{"html":` + fmt.Sprintf("%q", "<script>") + `}`}, {Name: "n", Arguments: hostile}}
	m.TokenTexts[1], m.Branch, m.PrefixBreak = hostile, hostile, hostile
	tool := said(1, "tool", hostile)
	tool.ToolCallID, tool.Name = hostile, hostile
	parts := said(2, hostile, "")
	parts.ContentParts = `[{"type":"text","text":"<script>alert(3)</script>"},{"type":"image_url","image_url":{"url":"javascript:alert(4)"}},{"type":"<script>"},{"type":"image_url","image_url":{"url":"data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9YWxlcnQoMSk+"}}]`
	version := int64(3)
	return formats.Trajectory{Example: `{"question":"<script>alert(5)</script>","answer":"<b>bold</b>"}`, Answer: hostile, Error: hostile, Model: hostile,
		TokenSource: hostile,
		Messages:    []formats.Message{said(-1, "user", rightToLeft+"\n"+hostile), m, tool, parts},
		Calls:       []formats.Call{{Model: hostile, Target: true, Tools: -1, Function: hostile, PolicyVersion: &version}},
		Candidates:  []formats.Candidate{{Message: 1, Content: hostile, Reason: hostile}}}
}

// noTokens is of an engine that gave neither ids nor log probabilities for one
// answer, and ids alone for another.
func noTokens() formats.Trajectory {
	ids := sampled(2, "with ids alone")
	ids.Logprobs, ids.TokenTexts = nil, nil
	return formats.Trajectory{Messages: []formats.Message{said(-1, "user", "hello"),
		{Parent: 0, Role: "assistant", Content: "bare", Sampled: true, Call: 0, FinishReason: "stop"}, said(1, "user", "again"), ids}, Calls: calls()}
}

func longTrajectory(n int) formats.Trajectory {
	t := formats.Trajectory{Calls: calls(), Answer: "done"}
	for i := range n {
		text := fmt.Sprintf("Turn %d: ", i) + strings.Repeat("the quick brown fox jumps over the lazy dog ", 30)
		if i%2 == 1 {
			t.Messages = append(t.Messages, sampled(int32(i-1), text))
		} else {
			t.Messages = append(t.Messages, said(int32(i-1), "user", text))
		}
	}
	return t
}

// bigTrajectory has a tool's output of 1 MB, and an answer of 20,000 tokens.
func bigTrajectory() formats.Trajectory {
	tool := said(1, "tool", strings.Repeat("0123456789abcdef line of a log <tag>\n", 1<<20/37))
	return formats.Trajectory{Messages: []formats.Message{said(-1, "user", "read the log"), sampled(0, "Reading."), tool,
		sampled(2, strings.TrimSpace(strings.Repeat("word ", 20_000)))}, Calls: calls(), Answer: "read"}
}

// reader asks a server for pages as a browser does.
type reader struct {
	t    *testing.T
	site string
	*http.Client
}

// reads serves a root at a loopback address.
func reads(t *testing.T, root string) *reader {
	t.Helper()
	s, err := New(t.Context(), Options{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	l, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(t.Context(), l) }()
	t.Cleanup(func() { <-done }) // the test's context ends before
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{t, "http://" + l.Addr().String(), &http.Client{Jar: jar}}
	link, err := url.Parse(s.Link(l))
	if err != nil {
		t.Fatal(err)
	}
	r.get(link.RequestURI(), http.StatusOK)
	return r
}

// get returns a page.
func (r *reader) get(path string, status int) string {
	r.t.Helper()
	answer, err := r.Get(r.site + path)
	if err != nil {
		r.t.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != status {
		r.t.Fatalf("%s: %s, %v\n%s", path, answer.Status, err, data)
	}
	return string(data)
}

// page returns a page, and checks that it loads nothing and runs nothing but the
// server's own.
func (r *reader) page(path string) string {
	r.t.Helper()
	text := r.get(path, http.StatusOK)
	doc, err := html.Parse(strings.NewReader(text))
	if err != nil {
		r.t.Fatal(err)
	}
	ids := map[string]bool{}
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		for _, a := range n.Attr {
			own := strings.HasPrefix(a.Val, "/") && !strings.HasPrefix(a.Val, "//") || strings.HasPrefix(a.Val, "#")
			switch {
			case strings.HasPrefix(a.Key, "on") || a.Key == "style":
				r.t.Errorf("%s: <%s %s=%q>", path, n.Data, a.Key, a.Val)
			case a.Key == "src" && n.Data == "img" && strings.HasPrefix(a.Val, "data:image/png;base64,"):
			case (a.Key == "src" || a.Key == "href" || a.Key == "action") && !own:
				r.t.Errorf("%s: <%s %s=%q>", path, n.Data, a.Key, a.Val)
			case a.Key == "id" && ids[a.Val]:
				r.t.Errorf("%s: two elements have the id %q", path, a.Val)
			case a.Key == "id":
				ids[a.Val] = true
			}
		}
		if n.Data == "script" && n.FirstChild != nil || n.Data == "style" || n.Data == "b" && n.FirstChild != nil && n.FirstChild.Data == "bold" {
			r.t.Errorf("%s: an element <%s> of its own", path, n.Data)
		}
	}
	for _, c := range "\u202e\x1b\x00" {
		if strings.ContainsRune(text, c) {
			r.t.Errorf("%s: it has the invisible character %U", path, c)
		}
	}
	return text
}

// has fails unless a page has texts, in this order.
func (r *reader) has(page string, texts ...string) {
	r.t.Helper()
	rest := page
	for _, text := range texts {
		_, after, found := strings.Cut(rest, text)
		if !found {
			r.t.Errorf("no %q after the others", text)
			continue
		}
		rest = after
	}
}
