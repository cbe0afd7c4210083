package inspect

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/random"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/counting"
	"github.com/rollmill/rollmill/storage/fault"
)

// scoredRun writes a rollout and its scores.
func scoredRun(t *testing.T, root string, o random.Options, change func(*formats.Trajectory, *formats.Score)) (rollout, score *dataset.Dataset) {
	t.Helper()
	rows, scores := slices.Collect(random.Trajectories(1, o)), slices.Collect(random.Scores(1, o))
	for g := range rows {
		for i := range rows[g] {
			change(&rows[g][i], &scores[g][i])
		}
	}
	rollout = written(t, storage.Join(root, "rollout"), manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories}, rows, -1)
	ref := rollout.Ref("base", storage.Join(root, "score"))
	spec := manifest.Spec{Stage: "score", Kind: schema.KindScores, Inputs: []manifest.Ref{ref}, Base: &ref}
	return rollout, written(t, storage.Join(root, "score"), spec, scores, 0)
}

// TestExplainReadsLittle checks that the trace of one trajectory among many reads
// only the ids of the rollout, the pages of its row, and those of the matching row
// in derived datasets.
func TestExplainReadsLittle(t *testing.T) {
	root := filepath.Join(t.TempDir(), "run")
	id := ""
	rollout, score := scoredRun(t, root, random.Options{Groups: 150, Scored: true}, func(r *formats.Trajectory, s *formats.Score) {
		if s.TrajectoryID = r.TrajectoryID; r.ExampleID == "example-000100" && r.Generation == 3 {
			id = r.TrajectoryID
		}
	})
	var moved counting.Counter
	s, err := Explain(storage.Wrapping(t.Context(), moved.Wrap), root, id)
	if err != nil {
		t.Fatal(err)
	}
	if s.Rollout == nil || s.Rollout.Row != 803 || len(s.Scores) != 1 || s.Scores[0].Row != 803 {
		t.Errorf("%+v", s)
	}
	if n, all := moved.Read(), rollout.Bytes+score.Bytes; n > all/5 {
		t.Errorf("%d of %d bytes were read", n, all)
	}
}

// TestOrderOfABucket: parameters of a URI do not change the order of datasets.
func TestOrderOfABucket(t *testing.T) {
	for _, query := range []string{"", "?endpoint=http://store"} {
		g := []string{"/run/score-2" + query, "/run/group" + query, "/run/score" + query}
		if slices.SortFunc(g, comparePaths); g[0] != "/run/group"+query || g[1] != "/run/score"+query {
			t.Errorf("%q", g)
		}
	}
}

// TestIDThatIsAPrefixOfAnother traces ids of other programs, which may be short
// and prefixes of one another.
func TestIDThatIsAPrefixOfAnother(t *testing.T) {
	at := 0
	root := "mem://explain-short/run"
	scoredRun(t, root, random.Options{Groups: 3, Generations: 4, SampledTokens: 20, PromptTokens: 20}, func(r *formats.Trajectory, s *formats.Score) {
		r.TrajectoryID = fmt.Sprintf("t%d", at)
		s.TrajectoryID = r.TrajectoryID
		at++
	})
	for _, c := range []struct{ asked, id string }{{"t1", "t1"}, {"t10", "t10"}, {"t7", "t7"}} {
		s, err := Explain(t.Context(), root, c.asked)
		if err != nil || s.Rollout == nil || s.TrajectoryID != c.id {
			t.Errorf("%s: %+v, %v", c.asked, s, err)
		}
	}
	for _, c := range []struct{ asked, says, hint string }{
		{"t", `more than 5 trajectories begin with "t"`, "give more of the id"},
		{"", `more than 5 trajectories begin with ""`, "give more of the id"},
		{"u", `none of the 2 datasets here has trajectory "u"`, "rollmill show"},
	} {
		_, err := Explain(t.Context(), root, c.asked)
		var bad *fault.Input
		if !errors.As(err, &bad) || !strings.Contains(bad.What, c.says) || !strings.Contains(bad.Help, c.hint) {
			t.Errorf("%q: %v", c.asked, err)
		}
	}
}

// TestExplainTextIsOneLine checks that a model's text is shown on one line without
// control characters.
func TestExplainTextIsOneLine(t *testing.T) {
	root := "mem://explain-line/run"
	scoredRun(t, root, random.Options{Groups: 1, Generations: 1, SampledTokens: 20, PromptTokens: 20}, func(r *formats.Trajectory, s *formats.Score) {
		s.TrajectoryID = r.TrajectoryID
		r.Answer = "one\n\ttwo \x1b]0;title\x07 thr\u00e9e\r\u202e"
		r.Messages[1].Content = r.Answer
	})
	s, err := Explain(t.Context(), root, "")
	if err != nil {
		t.Fatal(err)
	}
	v, err := Show(t.Context(), root+"/rollout", Options{Rows: 1})
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := errors.Join(s.WriteText(&text), v.WriteText(&text)); err != nil {
		t.Fatal(err)
	}
	const want = "one two ]0;title thr\u00e9e"
	if n := strings.Count(text.String(), want+"\n"); n != 3 || strings.ContainsAny(text.String(), "\x1b\x07\r\u202e") {
		t.Errorf("%d times %q: %q", n, want, text.String())
	}
}
