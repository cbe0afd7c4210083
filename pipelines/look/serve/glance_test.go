package serve

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
)

// TestGlance checks that a trajectory's page begins with question, answer, reference, reward and status, which
// are found by the names of the task file's columns, and that no name is guessed.
func TestGlance(t *testing.T) {
	root := filepath.Join(t.TempDir(), "run")
	why := "The judge says: " + strings.Repeat("a long reason, ", 60) + "at last."
	rows := make([]formats.Trajectory, 30)
	scores := make([]formats.Score, len(rows))
	for i := range rows {
		last := sampled(0, "Shipped on Monday.")
		if i == 0 {
			last.PrefixBreak = "template"
		}
		rows[i] = formats.Trajectory{TrajectoryID: formats.TrajectoryID("run", "order", 0, i), ExampleID: "order", Generation: int32(i), Run: "run",
			Example: `{"prompt":"Where is order 7?","expected":{"status":"shipped"},"task":"a guess"}`, Status: outcomes.StatusOK, StopReason: outcomes.StopDone,
			Messages: []formats.Message{said(-1, "user", "Look up order 7."), last}, Calls: calls()[:1], Answer: "Shipped on Monday.", SampledTokens: 3}
		for n := range 24 {
			if i == 0 {
				again := sampled(int32(n+1), "Again.")
				again.PrefixBreak = "template"
				rows[i].Messages = append(rows[i].Messages, again)
			}
		}
		rows[i].SetPayloadDigest()
		value := float64(i) / 40
		scores[i] = formats.Score{TrajectoryID: rows[i].TrajectoryID, ExampleID: "order", Generation: int32(i), Status: outcomes.StatusOK, Reward: &value,
			Rewards: []formats.NamedReward{{Name: "judge", Value: &value, Weight: 1, Reason: map[bool]string{true: why}[i == 0]}}}
	}
	names := formats.FieldNames{Question: "prompt", Answer: "expected"}
	for epoch, columns := range []formats.FieldNames{names, {}} {
		dir := fmt.Sprintf("%s/epoch-%d", root, epoch)
		rollout := writeTable(t, dir+"/rollout", manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories, Columns: columns}, rows, -1, "",
			[]decision.Decision(nil))
		base := rollout.Ref("base", dir+"/score")
		writeTable(t, dir+"/score", manifest.Spec{Stage: "score", Kind: schema.KindScores, Inputs: []manifest.Ref{base}, Base: &base, Columns: columns}, scores, 0,
			"", []decision.Decision(nil))
	}
	r := reads(t, root)
	path := "/t/" + rows[0].TrajectoryID
	page := r.page("/d/epoch-0%2Fscore" + path)
	r.has(page, "<h1>order, epoch 0, generation 0</h1>", "Question", "Where is order 7?", "Answer", "Shipped on Monday.", "Reference answer", "shipped", "Reward",
		"<b>0.0000</b>", "Status", "ok, done", "Prefix breaks: 25. template: the chat template rendered the same messages otherwise", "Conversation", `id="m0"`,
		"prefix break</b> template</p>", "Rewards", "failure or reason", "<details><summary>The judge says:", why, "Ids and facts", rows[0].TrajectoryID)
	if n := strings.Count(page, "do not continue the earlier tokens"); n != 1 {
		t.Errorf("what a prefix break means is said %d times", n)
	}
	if page := r.page("/d/epoch-0%2Fscore/t/" + rows[1].TrajectoryID); strings.Contains(page, "failure or reason") || strings.Contains(page, "Prefix breaks") {
		t.Error("a reward without a reason has an empty column, or there is a note of no prefix break")
	}
	if page := r.page("/d/epoch-1%2Fscore" + path); !strings.Contains(page, "Look up order 7.</pre></dd>") || strings.Contains(page, "Reference answer") {
		t.Error("without names of columns the question is not what the user said, or a reference was guessed")
	}
	r.has(r.page("/d/epoch-0%2Fscore/trajectories?texts=1"), `dir="auto">Where is order 7?</td>`)
	if list := r.page("/d/epoch-1%2Fscore/trajectories?texts=1"); strings.Contains(list, `dir="auto">Where`) || strings.Contains(list, `dir="auto">a guess`) {
		t.Error("the list guesses the name of the question")
	}
}
