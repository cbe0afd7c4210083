package serve

import (
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage"
)

// TestForkPages: a trajectory links to the other endings of its calls, which their page shows side by
// side, and a fork to the one that it continues.
func TestForkPages(t *testing.T) {
	root := filepath.Join(t.TempDir(), "run")
	rows := []formats.Trajectory{toolTrajectory("391"), toolTrajectory("390"), toolTrajectory("389")}
	for i := range rows {
		row := &rows[i]
		row.ExampleID, row.Run, row.Generation, row.Example, row.Status, row.StopReason = "e", "run", int32(i), "{}", outcomes.StatusOK, outcomes.StopDone
		row.TrajectoryID = formats.TrajectoryID("run", "e", 0, i)
		call := formats.Call{Model: "m", Sampling: "{}", Tools: -1, Target: true, Attempts: 1}
		row.Calls = []formats.Call{call, call}
		row.Messages[len(row.Messages)-1].Call = 1
		if i > 0 {
			row.ForkedFrom, row.ForkCall = rows[0].TrajectoryID, new(int32(1))
			row.Calls[0].Target, row.Calls[0].Attempts = false, 0
		}
		row.SetPayloadDigest()
	}
	written(t, storage.Join(root, "epoch-0", "rollout"), manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories}, [][]formats.Trajectory{rows}, -1)
	origins := manifest.Ref{Role: "origins", URI: "../../epoch-0/rollout"}
	written(t, storage.Join(root, "epoch-1", "rollout"), manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories, Inputs: []manifest.Ref{origins}},
		[][]formats.Trajectory{rows[1:]}, -1)
	r := reads(t, root)
	group := "/d/epoch-0%2Frollout/g/" + url.PathEscape(formats.GroupOf("e", 0, rows[0].TrajectoryID, new(int32(1))))
	r.has(r.page(trajectoryPath(rows[0].TrajectoryID)), `href="`+group+`">2 other endings from call 1 on`)
	r.has(r.page(trajectoryPath(rows[1].TrajectoryID)), "its origin",
		"does not train: repeated, it trains where it was sampled", "forked from", rows[0].TrajectoryID+", at call 1")
	origin := trajectoryPath(rows[0].TrajectoryID)
	r.has(r.page(strings.Replace(trajectoryPath(rows[1].TrajectoryID), "epoch-0", "epoch-1", 1)), `href="`+origin+`">its origin`)
	r.has(r.page(group), "5 messages that all have", "The answer is <mark>390</mark>", "The answer is <mark>389</mark>")
	r.has(r.page("/d/epoch-0%2Frollout/g/"+url.PathEscape("e@0")), "1 trajectory")
}
