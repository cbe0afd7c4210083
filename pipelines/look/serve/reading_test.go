package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
)

const rollouts = "/d/epoch-0%2Frollout"

func trajectoryPath(id string) string { return rollouts + "/t/" + url.PathEscape(id) }

func groupPath(example string) string {
	return rollouts + "/g/" + url.PathEscape(formats.GroupID(example, 0))
}

// TestTrajectoryPages looks at each kind of trajectory.
func TestTrajectoryPages(t *testing.T) {
	root, ids := readingRun(t)
	r := reads(t, root)
	for name, want := range map[string][]string{
		"tools": {"trains: yes", "curate kept it", "Question", "What is 17 times 23?", "Answer", "Reference answer", "391", "Reward", "Status", "ok, done",
			"Prefix breaks: 1. reasoning: earlier reasoning was left out", "next in group", "show tokens", "Conversation", "Reasoning, ", "I could compute 17 × 20", "multiply</b>", "\n  &#34;a&#34;: 17", "not JSON: &#34;17", "&#34;steps&#34;: [",
			"<img src=\"data:image/png;base64,",
			"image, not loaded: https://example.com/track.png", "part of type input_audio", "trains, advantage -1",
			"prefix break</b> reasoning</p>", "<td class=\"words\" dir=\"auto\">correct</td>", "format &lt;b&gt;", "Ids and facts", "grpo trl", "failed, length", "Sequences", "which token ids do not hold", "prefix_break"},
		"tree": {"Branches", "main path", "another choice of the same call", "sub-agent search_agent",
			"does not train: its call is not to the target: search_agent",
			"Candidates", "instead of", "I guess.", "in exactly one sequence"},
		"failed": {"trains: no", "curate dropped it, failed", "agent_exit", "exit status 1: &lt;b&gt;Traceback", "no reward: failed",
			"None: no token was sampled", "no_reward"},
		"other": {"trains: no", "curate dropped it, length", "900 tokens &lt;i&gt;more", "previous in group", "does not train: the trajectory does not"},
		"plain": {"trains: no", "bare"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &reader{t, r.site, r.Client}
			r.has(r.page(trajectoryPath(ids[name])), want...)
		})
	}
	if page := r.page(trajectoryPath(ids["tools"])); strings.Count(page, "<img") != 1 || strings.Contains(page, `class="run"`) {
		t.Error("another image, or tokens that were not asked for")
	}
	r.get(rollouts+"/t/nothing", http.StatusNotFound)
	r.get(trajectoryPath(ids["tools"])+"/message/6", http.StatusNotFound)
	r.get(trajectoryPath(ids["tools"])+"?from=-1", http.StatusBadRequest)
}

// TestHostileTrajectories checks that text stays text, wherever it is.
func TestHostileTrajectories(t *testing.T) {
	root, ids := readingRun(t)
	r := reads(t, root)
	path := trajectoryPath(ids["hostile"])
	page := r.page(path + "?tokens=1&formats=1")
	r.has(page, `<pre dir="auto">`+rightToLeft, "&lt;script&gt;alert(", "⟨U&#43;202E⟩", "⟨U&#43;001B⟩[31m", "⟨U&#43;0000⟩")
	if strings.Contains(page, "<img") {
		t.Error("an image that is none is shown")
	}
	if n := strings.Count(page, `dir="auto"`); n < 10 {
		t.Errorf("%d texts have a direction of their own", n)
	}
	for _, path := range []string{path, path + "/message/0", path + "/message/1", path + "/message/2", path + "/message/3", groupPath("odd"),
		groupPath("odd") + "?a=" + ids["hostile"] + "&b=" + ids["plain"], "/d/epoch-0%2Fcurate/t/" + ids["hostile"],
		"/d/epoch-0%2Fgroup/g/" + url.PathEscape(formats.GroupID("odd", 0))} {
		r.page(path)
	}
}

// TestTokens checks the values of tokens, and what is said when there are none.
func TestTokens(t *testing.T) {
	root, ids := readingRun(t)
	r := reads(t, root)
	page := r.page(trajectoryPath(ids["tools"]) + "?tokens=1")
	r.has(page, "hide tokens", `class="t p90 less" tabindex="-1" title="token 0, id 1000, logprob -0.01 (99 %), policy 41, trains, advantage -1">Let </span>`,
		`class="t p50 less"`, `class="t p10 less"`, `class="t p1 less"`, `class="t p0 less"`,
		`class="t bad less" tabindex="-1" title="token 5, id 1005, logprob -9999 (no valid log probability)`)
	page = r.page(trajectoryPath(ids["plain"]) + "?tokens=1")
	r.has(page, "0 tokens", "the engine gave no token ids", "the engine gave no log probabilities; the engine gave no token texts: ids are shown",
		">⟨1000⟩</span>")
	page = r.page(trajectoryPath(ids["plain"]) + "/message/3")
	r.has(page, "3 new tokens of its prompt", "1 2 3", "As a table", "<td>1002</td>")
}

// TestLargeTrajectories checks how much of a long trajectory a page has, and that all
// of it can be reached.
func TestLargeTrajectories(t *testing.T) {
	root, ids := readingRun(t)
	r := reads(t, root)
	timed := func(path string) string {
		start := time.Now()
		page := r.page(path)
		t.Logf("%s: %d kB in %v", path[len(rollouts):], len(page)>>10, time.Since(start))
		return page
	}
	page := timed(trajectoryPath(ids["long"]))
	if n := strings.Count(page, "<article"); n != 200 || len(page) > 2<<20 {
		t.Errorf("%d messages, %d bytes", n, len(page))
	}
	page = timed(trajectoryPath(ids["long"]) + "?tokens=1")
	if n := strings.Count(page, `class="t `); n < 4000 || n > 6100 {
		t.Errorf("%d tokens", n)
	}
	r.has(page, "further tokens are on the page of the message")
	page = timed(trajectoryPath(ids["big"]))
	r.has(page, "Cut: 1,0", "of 1,048,", "characters are not shown", "The whole message")
	if len(page) > 100<<10 {
		t.Errorf("%d bytes", len(page))
	}
	page = timed(trajectoryPath(ids["big"]) + "/message/2")
	if n := strings.Count(page, "line of a log"); n != 1<<20/37+1 { // and the first, in the summary
		t.Errorf("%d lines", n)
	}
	page = timed(trajectoryPath(ids["big"]) + "/message/3")
	if n := strings.Count(page, `class="t `); n != wholeTokens+9 { // and the legend
		t.Errorf("%d tokens", n)
	}
	r.has(page, "from=2000#tokens")
	page = timed(trajectoryPath(ids["big"]) + "/message/3?from=18000")
	r.has(page, "token 19999, id 20999", "from=16000#tokens")
	if strings.Contains(page, "Further tokens") {
		t.Error("there are tokens after the last")
	}
	timed(groupPath("long"))
	r.has(timed(trajectoryPath(ids["big"])+"?formats=1"), ">rows</td>", ">verifiers</td>")
	r.get(trajectoryPath(ids["big"])+"/raw", http.StatusOK)
}

// TestGroupSizes checks a group of one, and one of more members than a page has.
func TestGroupSizes(t *testing.T) {
	root := t.TempDir() + "/run"
	var rows []formats.Trajectory
	add := func(example string, members int) {
		for k := range members {
			row := toolTrajectory(fmt.Sprint(k))
			row.TrajectoryID, row.ExampleID, row.Generation = formats.TrajectoryID("run", example, 0, k), example, int32(k)
			row.Status, row.StopReason, row.Example = outcomes.StatusOK, outcomes.StopDone, "{}"
			rows = append(rows, row)
		}
	}
	add("one", 1)
	add("many", 300)
	writeEpoch(t, root+"/epoch-0", rows)
	r := reads(t, root)
	page := r.page(groupPath("one"))
	r.has(page, "1 trajectory", "6 messages that it has", "Their main paths have no further messages.")
	if strings.Contains(page, "<select") {
		t.Error("one member is to be compared")
	}
	page = r.page(groupPath("many"))
	r.has(page, "300 trajectories", ">255</a>", "44 further members", "5 messages that all have", "generation 7</a>", "?first=8#side")
	if strings.Contains(page, "generation 8</a>") {
		t.Error("more than eight are side by side")
	}
	r.has(r.page(groupPath("many")+"?first=296"), "generation 299</a>")
	r.has(r.page(groupPath("many")+"?first=900"), "300 trajectories")
}

// TestManyMessages checks the pages of a trajectory of more messages than a page has.
func TestManyMessages(t *testing.T) {
	root := t.TempDir() + "/run"
	row := longTrajectory(2250)
	row.TrajectoryID, row.ExampleID, row.Status, row.StopReason, row.Example = "many", "e", outcomes.StatusOK, outcomes.StopDone, "{}"
	writeEpoch(t, root+"/epoch-0", []formats.Trajectory{row})
	r := reads(t, root)
	r.has(r.page(trajectoryPath("many")), "Outline of 1000 messages", "?from=1000", `id="m0"`, `id="m999"`)
	r.has(r.page(trajectoryPath("many")+"?from=2000"), "Earlier messages", `id="m2000"`, `id="m2249"`)
	r.has(r.page(trajectoryPath("many")+"/message/2249"), "?from=2000#m2249")
	r.has(r.page(trajectoryPath("many")+"?from=99999"), "Earlier messages")
}

// TestRawRow checks that the row comes as JSON with every column, those of the scores
// in place of the base's.
func TestRawRow(t *testing.T) {
	root, ids := readingRun(t)
	r := reads(t, root)
	var row map[string]any
	if err := json.Unmarshal([]byte(r.get("/d/epoch-0%2Fscore/t/"+ids["tree"]+"/raw", http.StatusOK)), &row); err != nil {
		t.Fatal(err)
	}
	if row["trajectory_id"] != ids["tree"] || row["reward"] != 1.0 || len(row["messages"].([]any)) != 8 {
		t.Errorf("%v", row)
	}
}

// TestLinksBetweenTrajectories follows the links to the trajectories beside one.
func TestLinksBetweenTrajectories(t *testing.T) {
	root, ids := readingRun(t)
	r := reads(t, root)
	const list = "sort=-reward&amp;where=reward&#43;%3E&#43;0"
	page := r.page("/d/epoch-0%2Fscore/t/" + ids["other"] + "?where=reward+%3E+0&sort=-reward")
	r.has(page, "/d/epoch-0%2Fscore/t/"+ids["tree"]+"?"+list+`" rel="prev"`, "/d/epoch-0%2Fscore/t/"+ids["plain"]+"?"+list+`" rel="next"`,
		"/d/epoch-0%2Fscore/trajectories?"+list, "previous in group", "/d/epoch-0%2Frollout/t/"+ids["other"], "base dataset", ids["other"]+"/raw")
	page = r.page("/d/epoch-0%2Fscore/t/" + ids["tree"])
	r.has(page, ids["tools"]+`" rel="prev"`, ids["failed"]+`" rel="next"`)
	if page = r.page("/d/epoch-0%2Fscore/t/" + ids["tools"] + "?where=reward+%3E+0"); strings.Contains(page, `rel="next"`) {
		t.Error("it is not in the list, and has a neighbour")
	}
	r.page("/d/epoch-0%2Fscore/t/" + ids["tools"] + "?where=wrong")
	r.has(r.page("/d/epoch-0%2Fscore/trajectories?where=reward+%3E+0&sort=-reward"), ids["tree"]+"?"+list)
	page = r.page("/d/epoch-0%2Fscore/g/" + url.PathEscape(formats.GroupID("odd", 0)) + "?sort=-mean")
	r.has(page, "groups?sort=-mean", `?sort=-mean" rel="prev"`, `?sort=-mean" rel="next"`)
}

// TestGroupPages checks the table of a group, and how its members are aligned.
func TestGroupPages(t *testing.T) {
	root, ids := readingRun(t)
	r := reads(t, root)
	page := r.page(groupPath("tools"))
	r.has(page, "4 trajectories: 3 ok, 1 failed", "kept 2 of 4", ">correct</bdi>", "format &lt;b&gt;", "failed: agent_exit", "curate dropped it, length",
		"900 tokens &lt;i&gt;more",
		"2 messages that all have", "You are careful.", "What is 17 times 23?", "generation 0", "generation 3", "ended")
	if n := strings.Count(page, "You are careful."); n != 1 {
		t.Errorf("what all have is there %d times", n)
	}
	page = r.page(groupPath("tools") + "?a=" + ids["tools"] + "&b=" + ids["other"])
	r.has(page, "5 messages that all have", `<th scope="row">5</th>`, "The answer is <mark>391</mark>", "The answer is <mark>390</mark>")
	if strings.Contains(page, "I ask a helper.") {
		t.Error("a member that was not asked for")
	}
	page = r.page(groupPath("tools") + "?a=" + ids["tree"] + "&b=" + ids["tools"])
	r.has(page, `<th scope="row">2</th>`, "<mark>I ask a helper</mark>.", "Let me compute")
	page = r.page(groupPath("long"))
	r.has(page, "They differ from the first message on", `<th scope="row">7</th>`, "Further messages")
	r.has(r.page(groupPath("long")+"?from=8"), `<th scope="row">8</th>`)
	r.get(groupPath("tools")+"?a="+ids["tools"]+"&b="+ids["plain"], http.StatusBadRequest)
	r.get(groupPath("nothing"), http.StatusNotFound)
}

// TestThousandMessages logs how long a page of 1,000 messages takes that has Markdown,
// tool calls and results of 3 kB each.
func TestThousandMessages(t *testing.T) {
	root := t.TempDir() + "/run"
	row := longTrajectory(1000)
	markdown := strings.Repeat("## Step\n\nThe **plan** is:\n\n- read `a.go`\n- write [it](https://example.com)\n\n```go\nfunc main() {}\n```\n", 30)
	for i := range row.Messages {
		switch m := &row.Messages[i]; i % 4 {
		case 1:
			m.Content = markdown
			m.ToolCalls = []formats.ToolCall{{ID: fmt.Sprint(i), Name: "write", Arguments: fmt.Sprintf(`{"path":"a.go","text":%q}`, markdown)}}
			row.ShapedRewards = append(row.ShapedRewards, float64(i))
		case 2:
			m.Role, m.ToolCallID, m.Content = "tool", fmt.Sprint(i-1), strings.Repeat("a line of a log of a program\n", 100)
		case 3:
			row.ShapedRewards = append(row.ShapedRewards, -0.5)
		}
	}
	row.TrajectoryID, row.ExampleID, row.Status, row.StopReason, row.Example = "many", "e", outcomes.StatusOK, outcomes.StopDone, "{}"
	writeTable(t, root+"/epoch-0/rollout", manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories}, []formats.Trajectory{row}, -1, "",
		[]decision.Decision(nil))
	r := reads(t, root)
	r.get(trajectoryPath("many"), http.StatusOK) // the index is built
	start := time.Now()
	page := r.get(trajectoryPath("many"), http.StatusOK)
	t.Logf("%d kB in %v (aim: at most 200 ms)", len(page)>>10, time.Since(start))
	r.has(page, "Outline of 1000 messages", `<b dir="auto">write</b>`, `title="sampled tokens">`, `title="reward of the step">-0.5<`, `href="#m999"`,
		"<h5>Step</h5>", "<summary>100 lines, 2.9 kB")
	if strings.Contains(page, "Step rewards of the main path") {
		t.Error("the rewards of steps are there twice")
	}
}
