package report

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
)

// writeEpoch writes a rollout, its scores and its groups, all of the first example's
// shape: the messages of a row come from say.
func writeEpoch(t *testing.T, dir string, groups, members int, say func(g, m int) formats.Trajectory) {
	t.Helper()
	var wide []formats.Trajectory
	var scores []formats.Score
	var grouped []formats.Member
	var stats []formats.GroupStats
	for g := range groups {
		example := fmt.Sprintf("example-%05d", g)
		low, high, mean, std, spread := 0.0, 1.0, float64(g%7)/7, float64(g%5)/10, 1.0
		stats = append(stats, formats.GroupStats{GroupID: example, ExampleID: example, FirstRow: int64(g * members), Count: int32(members),
			Valid: int32(members), Mean: &mean, StdPop: &std, Min: &low, Max: &high, Spread: &spread})
		for m := range members {
			row, reward := say(g, m), float64(m%2)
			row.TrajectoryID, row.ExampleID, row.Generation, row.SampledTokens = formats.TrajectoryID("run", example, 0, m), example, int32(m), int32(50+g%90)
			row.Status, row.StopReason = outcomes.StatusOK, outcomes.StopDone
			named := append([]formats.NamedReward{{Name: "won", Value: &reward, Weight: 1}}, row.Rewards...)
			row.Rewards = nil
			wide = append(wide, row)
			scores = append(scores, formats.Score{TrajectoryID: row.TrajectoryID, ExampleID: example, Generation: int32(m), Status: row.Status, Reward: &reward,
				Rewards: named})
			grouped = append(grouped,
				formats.Member{TrajectoryID: row.TrajectoryID, ExampleID: example, GroupID: example, Generation: int32(m), Status: row.Status, Reward: &reward,
					Rewards: named, Advantage: &reward})
		}
	}
	ctx := context.Background()
	base, err := dataset.Open(ctx,
		write(t, dir+"/rollout", manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories, Params: map[string]any{"run": "run"}}, wide, -1),
		dataset.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	r := base.Ref("base", dir+"/score")
	write(t, dir+"/score", manifest.Spec{Stage: "score", Kind: schema.KindScores, Inputs: []manifest.Ref{r}, Base: &r}, scores, 0)
	r = base.Ref("base", dir+"/group")
	s, err := shards.Begin(ctx, dir+"/group", manifest.Spec{Stage: "group", Kind: schema.KindGroups, Inputs: []manifest.Ref{r}, Base: &r}, shards.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := shards.NewTable[formats.Member](s, "", 0).Write(ctx, grouped); err != nil {
		t.Fatal(err)
	}
	if err := shards.NewTable[formats.GroupStats](s, schema.TableGroups, -1).Write(ctx, stats); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(ctx, shards.Outcome{Counts: map[string]int64{}}); err != nil {
		t.Fatal(err)
	}
}

// makePage returns report.html of a run. KEEP_PAGES names a folder that gets a copy,
// to look at.
func makePage(t *testing.T, root string) string {
	t.Helper()
	if _, err := Make(context.Background(), Options{Root: root, Page: true}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(root, "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	if dir := os.Getenv("KEEP_PAGES"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, t.Name()+".html"), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if len(data) > maxBytes {
		t.Errorf("report.html has %d bytes", len(data))
	}
	checkPage(t, string(data))
	return string(data)
}

// checkPage checks that a page runs nothing, requests nothing, and that its links and
// ids fit together.
func checkPage(t *testing.T, page string) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	ids, links, policy := map[string]bool{}, []string{}, ""
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.ElementNode {
			switch n.Data {
			case "script", "iframe", "object", "embed", "form", "link", "base", "video", "audio":
				t.Errorf("the page has an element %s", n.Data)
			}
			for _, a := range n.Attr {
				switch {
				case a.Key == "id" && ids[a.Val]:
					t.Errorf("the id %q appears twice", a.Val)
				case a.Key == "id":
					ids[a.Val] = true
				case a.Key == "href" && !strings.HasPrefix(a.Val, "#"):
					t.Errorf("a link leads to %q", a.Val)
				case a.Key == "href":
					links = append(links, a.Val[1:])
				case (a.Key == "src" || a.Key == "srcset") && !strings.HasPrefix(a.Val, "data:image/"):
					t.Errorf("%s requests %.80q", n.Data, a.Val)
				case strings.HasPrefix(a.Key, "on") || a.Key == "style":
					t.Errorf("%s has an attribute %s", n.Data, a.Key)
				case a.Key == "content" && strings.HasPrefix(a.Val, "default-src"):
					policy = a.Val
				}
			}
		}
		for c := range n.ChildNodes() {
			walk(c)
		}
	}
	walk(doc)
	for _, l := range links {
		if !ids[l] {
			t.Errorf("a link leads to %q, which is not there", l)
		}
	}
	if !strings.HasPrefix(policy, "default-src 'none'; img-src data:; style-src 'sha256-") {
		t.Errorf("policy: %q", policy)
	}
	if strings.ContainsRune(page, 0) || strings.Contains(page, "ZgotmplZ") {
		t.Error("the page has a NUL, or a value that the template refused")
	}
}

func TestPageEscapesHostileText(t *testing.T) {
	var small bytes.Buffer
	if err := png.Encode(&small, image.NewRGBA(image.Rect(0, 0, 40, 30))); err != nil {
		t.Fatal(err)
	}
	hostile := `<script>alert("x")</script></pre></style><img src=x onerror=alert(1)> {{.}} ` + "\x00\x1b[31m\u202egnp.exe\u2066 مرحبا بالعالم \xff"
	parts := fmt.Sprintf(`[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"data:image/png;base64,%s"}},
		{"type":"image_url","image_url":{"url":"https://example.com/track.png"}},
		{"type":"image_url","image_url":{"url":"data:image/svg+xml;base64,%s"}},
		{"type":"image_url","image_url":{"url":"javascript:alert(1)"}}]`, base64.StdEncoding.EncodeToString(small.Bytes()),
		base64.StdEncoding.EncodeToString([]byte(`<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>`)))
	root := t.TempDir()
	writeEpoch(t, root+"/epoch-0", 3, 2, func(int, int) formats.Trajectory {
		text := strings.ToValidUTF8(hostile, "\ufffd")
		return formats.Trajectory{Example: `{"q":"<b>"}`, Answer: text, Messages: []formats.Message{
			{Parent: -1, Role: "user<i>", Name: `"><script>`, Content: text, Call: -1},
			{Parent: 0, Role: "user", ContentParts: parts, Call: -1},
			{Parent: 1, Role: "assistant", Content: text, Reasoning: text, Sampled: true, Call: -1,
				ToolCalls: []formats.ToolCall{{ID: "1", Name: "<u>", Arguments: `{"a":"</pre><script>"}`}}},
		}}
	})
	page := makePage(t, root)
	for _, want := range []string{"&lt;script&gt;alert", "⟨U&#43;202E⟩", "⟨U&#43;001B⟩[31m", "⟨U&#43;0000⟩", "مرحبا", `src="data:image/png;base64,`,
		"<code dir=\"auto\">image, not loaded: https://example.com/track.png", "<code dir=\"auto\">image, not loaded: javascript:alert(1)"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
	for _, wrong := range []string{"<script", "\u202e", "\x1b"} {
		if strings.Contains(page, wrong) {
			t.Errorf("the page has %q", wrong)
		}
	}
	if again := makePage(t, root); again != page {
		t.Error("the same run gives another page")
	}
	if n := strings.Count(page, `alt="image in the message"`); n != 6 {
		t.Errorf("%d images, want the PNG of each trajectory", n)
	}
}

func TestPageOfLongMessages(t *testing.T) {
	long := strings.Repeat(`"<tool> & output' `, 1<<20/18)
	root := t.TempDir()
	for e := range 2 {
		writeEpoch(t, fmt.Sprintf("%s/epoch-%d", root, e), 5, 4, func(int, int) formats.Trajectory {
			return formats.Trajectory{Messages: []formats.Message{{Parent: -1, Role: "user", Content: "short", Call: -1},
				{Parent: 0, Role: "tool", Content: long, Call: -1}}}
		})
	}
	page := makePage(t, root)
	if !strings.Contains(page, "of 1,048,") {
		t.Error("the page does not give the length of a long message")
	}
	if n := strings.Count(page, `<div id="t`); n != 40 {
		t.Errorf("%d trajectories, want 40", n)
	}
	if n := strings.Count(page, "Outline of 2 messages"); n != 40 || strings.Contains(page, `id="outline"`) {
		t.Errorf("%d outlines, want 40 without an id that several have", n)
	}
	for _, part := range []string{`href="#t1-m0"`, `href="#t40-m1"`, ` id="t1-m0"`, ` id="t40-m1"`, "<dt>Question</dt>", "<dt>Reward</dt>"} {
		if !strings.Contains(page, part) {
			t.Errorf("the page lacks %s", part)
		}
	}
}

func TestPageOfLongErrors(t *testing.T) {
	var failed []formats.NamedReward
	for i := range 40 {
		failed = append(failed, formats.NamedReward{Name: fmt.Sprintf("reward-%d", i), Failure: outcomes.RewardMissing, Error: strings.Repeat(`"`, 1000)})
	}
	root := t.TempDir()
	writeEpoch(t, root+"/epoch-0", 30, 2, func(int, int) formats.Trajectory {
		return formats.Trajectory{Rewards: failed, Messages: []formats.Message{{Parent: -1, Role: "user", Content: "play", Call: -1}}}
	})
	if page := makePage(t, root); !strings.Contains(page, `<div id="t1"`) {
		t.Error("the page has no trajectory")
	}
}

func TestPageOfManyGroupsAndMessages(t *testing.T) {
	root := t.TempDir()
	messages := []formats.Message{{Parent: -1, Role: "user", Content: "play", Call: -1}}
	for i := range 200 {
		messages = append(messages, formats.Message{Parent: int32(i), Role: "assistant", Content: strings.Repeat("words & more ", 8), Sampled: true, Call: -1})
	}
	writeEpoch(t, root+"/epoch-0", 2_000, 2, func(g, m int) formats.Trajectory {
		if g%40 > 0 {
			return formats.Trajectory{Messages: messages[:1]}
		}
		return formats.Trajectory{Messages: messages}
	})
	page := makePage(t, root)
	if n := strings.Count(page, `<div id="t`); n != maxTrajectories {
		t.Errorf("%d trajectories, want %d", n, maxTrajectories)
	}
	if !strings.Contains(page, "200 of 4,000") {
		t.Error("the page does not say of how many trajectories it shows some")
	}
}

func TestPageOfValidationOnly(t *testing.T) {
	root := t.TempDir()
	writeScores(t, root+"/epoch-0/validation", [][]*float64{{ptr(0.25)}, {nil}})
	if page := makePage(t, root); !strings.Contains(page, "No epoch has groups") || !strings.Contains(page, "validation: a #0") {
		t.Error("the page of a validation has no trajectory")
	}
}
