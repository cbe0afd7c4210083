package serve

import (
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/pipelines/look/catalogue"
	"github.com/rollmill/rollmill/storage"
)

// written writes a dataset of a stage.
func written[T any](t testing.TB, uri string, spec manifest.Spec, groups [][]T, baseFirst int64) *dataset.Dataset {
	t.Helper()
	spec.Version = 1
	s, err := shards.Begin(t.Context(), uri, spec, shards.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := shards.NewTable[T](s, "", baseFirst)
	rows := int64(0)
	for _, g := range groups {
		rows += int64(len(g))
		if err := w.Write(t.Context(), g); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Commit(t.Context(), shards.Outcome{Counts: map[string]int64{"all": rows}}); err != nil {
		t.Fatal(err)
	}
	d, err := dataset.Open(t.Context(), uri, dataset.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

var rowsOfTests = randomtest.Options{Groups: 150, Generations: 4, Messages: 3, SampledTokens: 30, PromptTokens: 20, Failures: 0.2, Epoch: 0}

// scoredEpoch writes a rollout and two datasets of scores, of which the second moves
// the component style of some rows.
func scoredEpoch(t testing.TB, root string, change func([]formats.Trajectory)) []formats.Score {
	t.Helper()
	groups := slices.Collect(randomtest.Trajectories(1, rowsOfTests))
	for _, g := range groups {
		change(g)
	}
	base := written(t, storage.Join(root, "epoch-0", "rollout"), manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories}, groups, -1)
	var all []formats.Score
	for _, name := range []string{"score", "score-2"} {
		scores := slices.Collect(randomtest.Scores(1, rowsOfTests))
		at := 0
		for _, g := range scores {
			for i := range g {
				g[i].TrajectoryID = groups[at/4][at%4].TrajectoryID
				at++
				if name == "score-2" && at%10 == 0 && g[i].Reward != nil {
					moved, total := 0.125, 0.625
					g[i].Reward = &total
					g[i].Rewards[1].Value = &moved
				}
			}
			if name == "score" {
				all = append(all, slices.Clone(g)...)
			}
		}
		uri := storage.Join(root, "epoch-0", name)
		ref := base.Ref("base", uri)
		written(t, uri, manifest.Spec{Stage: "score", Kind: schema.KindScores, Inputs: []manifest.Ref{ref}, Base: &ref,
			Params: map[string]any{"name": name}}, scores, 0)
	}
	return all
}

// TestLists follows a user through the lists: sort, filter, a facet, the next page,
// and a condition with an error.
func TestLists(t *testing.T) {
	root := filepath.Join(t.TempDir(), "run")
	scores := scoredEpoch(t, root, func(rows []formats.Trajectory) {
		rows[0].TrajectoryID = strings.Replace(rows[0].TrajectoryID, "a", "<script>\u202e", 1)
	})
	b := reads(t, root)
	best := 0
	for i, s := range scores {
		if s.Reward != nil && (scores[best].Reward == nil || *s.Reward > *scores[best].Reward) {
			best = i
		}
	}
	has := func(path string, wants ...string) string {
		t.Helper()
		body := b.page(path)
		for _, want := range wants {
			if !strings.Contains(body, want) {
				t.Errorf("%s: no %q in\n%s", path, want, body)
			}
		}
		return body
	}
	const list = "/d/epoch-0%2Fscore/trajectories"
	body := has(list+"?sort=-reward", "600 trajectories, page 1 of 6", `aria-sort="descending"`)
	if first := strings.Index(body, "<td"); !strings.Contains(body[first:first+200], scores[best].TrajectoryID) &&
		!strings.Contains(scores[best].TrajectoryID, "<") {
		t.Errorf("the first row is not %s: %s", scores[best].TrajectoryID, body[first:first+200])
	}
	has(list+"?page=6", "page 6 of 6", "page=5")
	has(list, "status=failed", "sort=-reward", "page=2")
	failed := 0
	for _, s := range scores {
		if s.Status == outcomes.StatusFailed {
			failed++
		}
	}
	has(list+"?status=failed", fmt.Sprintf("%d trajectories, page 1", failed), `aria-current="true"`, `name="status" value="failed"`)
	has(list+"?where=rewrd+%3E+1", "unknown name rewrd (1:1)", `value="rewrd &gt; 1"`, `role="alert"`)
	// links of a refused condition leave it out, and the facet that was chosen can be taken back
	if body := has(list+"?where=rewrd+%3E+1&status=failed&sort=-reward", `href="`+list+`?sort=-reward" class="state" aria-current="true">failed`,
		`href="`+list+`?sort=-reward&amp;status=ok"`, `href="`+list+`?sort=reward&amp;status=failed"`); strings.Contains(body, "where=rewrd") {
		t.Errorf("a link keeps the refused condition:\n%s", body)
	}
	has(list+"?where=reward+%3E+9", "No trajectories like these")
	has("/d/epoch-0%2Fscore/groups?sort=-spread", "150 groups, page 1 of 2")
	second := scores[1].TrajectoryID
	band := regexp.MustCompile(`class="state">(below [0-9.]+) <b>`).FindStringSubmatch(b.page(list))[1]
	has(list, fmt.Sprintf(`title="%s"><a href="/d/epoch-0%%2Fscore/t/%[1]s" id="r1">%s</a>`, second, second[:8]), "texts=1", strings.ReplaceAll("rewards.style="+url.QueryEscape(band), "+", "&#43;"))
	if body := has(list+"?texts=1&rewards.style="+url.QueryEscape(band)+"&sort=-reward", `name="rewards.style" value="`+band+`"`, `class="first" dir="auto">`); strings.Contains(body,
		"hx-get") || strings.Count(body, `class="first" dir="auto"></td>`) > 150 {
		t.Errorf("the texts are not there:\n%s", body)
	}
	has("/d/epoch-0%2Fscore/groups?where=reward+%3E+1", "unknown name reward")
	if body := b.get(list+"?page=x", http.StatusBadRequest); !strings.Contains(body, "pages count from 1") {
		t.Error(body)
	}
	b.get(list+"?sort=mean", http.StatusUnprocessableEntity)
}

// TestExportsAreNoDatasets: a file that export wrote into a run's folder is no part of
// a dataset that waits for its other shards.
func TestExportsAreNoDatasets(t *testing.T) {
	l := &catalogue.Listing{ByKey: map[string]*catalogue.Entry{}, Reports: map[string]storage.Object{}}
	for _, key := range []string{"exported/sequences.parquet", "epoch-0/score/part-00000-of-00001-00000-1a2b3c4d.parquet"} {
		l.Add("run", storage.Object{Key: key})
	}
	if n := l.ByKey["exported"].Parts; n != 0 {
		t.Errorf("an export has %d parts", n)
	}
	if n := l.ByKey["epoch-0/score"].Parts; n != 1 {
		t.Errorf("a dataset of one part has %d", n)
	}
}
