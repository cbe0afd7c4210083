package search_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/datasettest"
	"github.com/rollmill/rollmill/formats/dataset/journals"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/pipelines/look/catalogue"
	"github.com/rollmill/rollmill/pipelines/look/looktest"
	"github.com/rollmill/rollmill/pipelines/look/search"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/countingtest"
	"github.com/rollmill/rollmill/storage/fault"
)

// run searches what is at a URI.
func run(ctx context.Context, t *testing.T, uri, pattern string, isRegexp bool, limit int, report func(*search.Result, *search.Hit)) (*search.Result, error) {
	t.Helper()
	p, err := search.NewPattern(pattern, isRegexp)
	if err != nil {
		t.Fatal(err)
	}
	b, err := storage.Open(t.Context(), uri)
	if err != nil {
		t.Fatal(err)
	}
	l, err := (&catalogue.Catalogue{Root: uri, Bucket: b}).List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if report == nil {
		report = func(*search.Result, *search.Hit) {}
	}
	return search.Run(ctx, l.Entries, search.Options{Pattern: p, Limit: limit, Report: report,
		Open: func(ctx context.Context, f *catalogue.Entry) (*dataset.Dataset, error) {
			return dataset.Open(ctx, f.URI, dataset.OpenOptions{IgnoreGates: true})
		}})
}

// finds searches, and returns the hits in short.
func finds(t *testing.T, uri, pattern string, isRegexp bool) (out []string, r *search.Result) {
	t.Helper()
	r, err := run(t.Context(), t, uri, pattern, isRegexp, 1000, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range r.Hits {
		reward := "null"
		if h.Reward != nil {
			reward = fmt.Sprint(*h.Reward)
		}
		out = append(out, fmt.Sprintf("%s %s %s %s", reward, h.TrajectoryID, h.Dataset, h.Place))
	}
	return out, r
}

// places returns the texts of the hits.
func places(r *search.Result) (out []string) {
	for _, h := range r.Hits {
		out = append(out, h.Before+h.Match+h.After)
	}
	return out
}

var wide = manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories}

// rows are trajectories, the texts of each in another place.
func rows(run string) []formats.Trajectory {
	own := 0.25
	out := []formats.Trajectory{
		{Messages: []formats.Message{{Parent: -1, Role: "user", Content: "STRASSE straße Ünïcode"}, {Role: "assistant", Content: "Straße again"}},
			Answer: "straße", Reward: &own},
		{Messages: []formats.Message{{Parent: -1, Role: "user", Content: "go"}, {Role: "assistant", Reasoning: "think of Quokka",
			ToolCalls: []formats.ToolCall{{ID: "1", Name: "map", Arguments: `{"q":"Gr\u00f6\u00dfe \"quoted\" \ud83d\ude00"}`}}}}},
		{Messages: []formats.Message{{Parent: -1, Role: "user", Content: "go"}, {Role: "assistant", Content: "one"},
			{Parent: 0, Role: "assistant", Content: "a platypus", Branch: "retry"}}},
		{Messages: []formats.Message{{Parent: -1, Role: "tool", ContentParts: `[{"type":"text","text":"` + strings.Repeat("é", 500) + `wombat\nend"}]`}}},
		{Answer: "an emu", Error: "TimeoutError: koala\x1b[31m",
			Candidates: []formats.Candidate{{Message: -1, Content: "a bilby"}, {Message: 2, Content: "no", Reasoning: "dingo?",
				ToolCalls: []formats.ToolCall{{Name: "hop", Arguments: `{"far":"\u00fcber"}`}}}},
			Artifacts: []formats.Artifact{{Name: "x.bin", Content: "data:;base64,bnVtYmF0"}, {Name: "out.log", Content: "saw a bnVtYmF0"}}},
	}
	for i := range out {
		out[i].TrajectoryID, out[i].ExampleID, out[i].Generation, out[i].Status = fmt.Sprintf("%s-%d", run, i), "e", int32(i), "ok"
	}
	return out
}

// write writes a rollout, and scores, members and a curated dataset of it.
func write(t *testing.T, dir, run string) (rollout *dataset.Dataset) {
	t.Helper()
	all := rows(run)
	rollout = looktest.Write(t, dir+"/rollout", wide, [][]formats.Trajectory{all}, -1)
	var scores []formats.Score
	var members []formats.Member
	for i, r := range all {
		score, member := float64(i), float64(10+i)
		scores = append(scores, formats.Score{TrajectoryID: r.TrajectoryID, ExampleID: "e", Generation: r.Generation, Status: "ok", Reward: &score})
		members = append(members, formats.Member{TrajectoryID: r.TrajectoryID, GroupID: "e@0", Generation: r.Generation, Status: "ok", Reward: &member})
	}
	base := rollout.Ref("base", dir+"/score")
	looktest.Write(t, dir+"/score", manifest.Spec{Stage: "score", Kind: schema.KindScores, Inputs: []manifest.Ref{base}, Base: &base},
		[][]formats.Score{scores}, 0)
	group := looktest.Write(t, dir+"/group", manifest.Spec{Stage: "group", Kind: schema.KindGroups, Inputs: []manifest.Ref{base}, Base: &base},
		[][]formats.Member{members}, 0)
	looktest.Write(t, dir+"/curate", manifest.Spec{Stage: "curate", Kind: schema.KindTrajectories,
		Inputs: []manifest.Ref{group.Ref("groups", dir+"/curate")}}, [][]formats.Trajectory{all[:2]}, -1)
	return rollout
}

// TestPlaces finds each trajectory once, at the first place that has the text.
func TestPlaces(t *testing.T) {
	root := t.TempDir()
	write(t, root+"/epoch-0", "a")
	for _, c := range []struct {
		pattern  string
		isRegexp bool
		want     string
	}{
		{"STRASSE", false, "10 a-0 epoch-0/rollout message 0, user, content"},
		{"straße again", false, "10 a-0 epoch-0/rollout message 1, assistant, content"},
		{"üNÏCODE", false, "10 a-0 epoch-0/rollout message 0, user, content"},
		{"quokka", false, "11 a-1 epoch-0/rollout message 1, assistant, reasoning"},
		{"größe \"quoted\" 😀", false, "11 a-1 epoch-0/rollout message 1, assistant, tool's arguments"},
		{"map", false, "11 a-1 epoch-0/rollout message 1, assistant, tool's name"},
		{"platypus", false, "12 a-2 epoch-0/rollout message 2, assistant, content, branch retry"},
		{"wombat\nEND", false, "13 a-3 epoch-0/rollout message 0, tool, content part"},
		{"emu", false, "14 a-4 epoch-0/rollout answer"},
		{"koala", false, "14 a-4 epoch-0/rollout error"},
		{"bilby", false, "14 a-4 epoch-0/rollout candidate 0, content"},
		{"DINGO", false, "14 a-4 epoch-0/rollout candidate 1, reasoning"},
		{"über", false, "14 a-4 epoch-0/rollout candidate 1, tool's arguments"},
		{"bnVtYmF0", false, "14 a-4 epoch-0/rollout file out.log"},
		{"q.okka", false, ""},
		{"Q.okka", true, "11 a-1 epoch-0/rollout message 1, assistant, reasoning"},
		{"q.okka", true, ""},
		{"(?i)q.OKKA", true, "11 a-1 epoch-0/rollout message 1, assistant, reasoning"},
		{`Größe\s`, true, "11 a-1 epoch-0/rollout message 1, assistant, tool's arguments"},
		{"^go$", true, "11 a-1 epoch-0/rollout message 0, user, content; 12 a-2 epoch-0/rollout message 0, user, content"},
	} {
		got, r := finds(t, root, c.pattern, c.isRegexp)
		if strings.Join(got, "; ") != c.want || r.AtLeast || len(r.Problems) > 0 || r.Datasets != 1 || r.Searched != 5 || r.Rows != 5 {
			t.Errorf("%q: %q, %+v", c.pattern, got, r)
		}
		for _, h := range r.Hits {
			if !utf8.ValidString(h.Before+h.Match+h.After) || utf8.RuneCountInString(h.Before) > 60 {
				t.Errorf("%+v", h)
			}
		}
	}
	for _, pattern := range []string{"", "(", "a*"} {
		if _, err := search.NewPattern(pattern, true); fault.KindOf(err) != fault.Usage {
			t.Errorf("%.10q: %v", pattern, err)
		}
	}
}

// TestRewardsOfTheDatasetThatIsNamed: of scores it is theirs, of what has no scores the agent's own.
func TestRewardsOfTheDatasetThatIsNamed(t *testing.T) {
	root := t.TempDir()
	write(t, root+"/epoch-0", "a")
	for uri, want := range map[string]string{"/epoch-0/score": "0 a-0", "/epoch-0/group": "10 a-0", "/epoch-0/rollout": "10 a-0",
		"/epoch-0/curate": "0.25 a-0"} {
		if got, _ := finds(t, root+uri, "straße", false); len(got) != 1 || !strings.HasPrefix(got[0], want+" - message 0") {
			t.Errorf("%s: %q", uri, got)
		}
	}
}

// gated writes a rollout that a gate refuses.
func gated(t *testing.T, uri string, all []formats.Trajectory) {
	t.Helper()
	zero, spec := 0.0, wide
	spec.Gates = []manifest.Gate{{Name: "max-rows", Count: "rows", Max: &zero}}
	shard, err := shards.Begin(t.Context(), uri, spec, shards.Options{})
	if err == nil {
		err = shards.NewTable[formats.Trajectory](shard, "", -1).Write(t.Context(), all)
	}
	if err != nil {
		t.Fatal(err)
	}
	var refused *manifest.GateError
	if _, err := shard.Commit(t.Context(), shards.Outcome{Counts: map[string]int64{"rows": 5}}); !errors.As(err, &refused) {
		t.Fatal(err)
	}
}

// damage changes the texts of a dataset on disk.
func damage(t *testing.T, d *dataset.Dataset) {
	t.Helper()
	part := filepath.Join(d.URI(), d.Parts[0].Name)
	data, err := os.ReadFile(part)
	if err != nil {
		t.Fatal(err)
	}
	for i := 4; i < len(data)/2; i++ {
		data[i] ^= 0x55
	}
	if err := os.WriteFile(part, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestProblems: what cannot be searched is named, and the rest is searched.
func TestProblems(t *testing.T) {
	root := t.TempDir()
	write(t, root+"/good/epoch-0", "a")
	damage(t, write(t, root+"/bad/epoch-0", "b"))
	damage(t, looktest.Write(t, root+"/lone", wide, [][]formats.Trajectory{rows("l")}, -1))
	gated(t, root+"/gated/epoch-0/rollout", rows("c"))
	if _, err := datasettest.Newer(t.Context(), root+"/newer/epoch-0/rollout", 3); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"/torn/epoch-0/rollout/" + manifest.FileName: "{", "/begun/epoch-0/rollout/part-00000.parquet": "PAR1"} {
		if err := os.MkdirAll(filepath.Dir(root+name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(root+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, r := finds(t, root, "straße", false)
	want := []string{"0.25 c-0 gated/epoch-0/rollout message 0, user, content",
		"10 a-0 good/epoch-0/rollout message 0, user, content"}
	if !slices.Equal(got, want) || r.AtLeast {
		t.Errorf("%q", got)
	}
	sort := slices.Sorted(slices.Values(r.Problems))
	want = []string{"bad/epoch-0/rollout: searched up to row 0 of 5: ", "begun/epoch-0/rollout: not complete",
		"gated/epoch-0/rollout was searched although gate max-rows refused it", "lone: searched up to row 0 of 5: ",
		"newer/epoch-0/rollout: ", "torn/epoch-0/rollout: "}
	if !slices.EqualFunc(sort, want, strings.HasPrefix) || !r.Partial {
		t.Errorf("%q", sort)
	}
	if _, r := finds(t, root+"/gated", "straße", false); r.Partial || len(r.Problems) != 1 {
		t.Errorf("%+v", r)
	}
}

// TestRolloutsUnderWay: the attempts in the journals are searched, and what is in finished shards is named.
func TestRolloutsUnderWay(t *testing.T) {
	root := t.TempDir()
	write(t, root+"/epoch-0", "a")
	begin := func(shard int, rows []formats.Trajectory) *shards.Shard {
		w, err := shards.Begin(t.Context(), root+"/epoch-1/rollout", wide, shards.Options{Shard: shard, Of: 2})
		if err != nil {
			t.Fatal(err)
		}
		j, err := journals.Open[formats.Trajectory](t.Context(), w.Journal())
		for _, r := range rows { // a segment each
			if err == nil {
				err = j.Append(t.Context(), []formats.Trajectory{r})
			}
		}
		if err == nil {
			err = shards.NewTable[formats.Trajectory](w, "", -1).Write(t.Context(), rows)
		}
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	first := begin(0, rows("b")[:1])
	again := rows("c")[1]
	again.TrajectoryID = "c-4"
	failed := rows("c")[4]
	failed.Status = "failed"
	begin(1, []formats.Trajectory{rows("c")[0], failed, again})
	got, r := finds(t, root, "straße", false)
	want := []string{"10 a-0 epoch-0/rollout message 0, user, content", "0.25 b-0 epoch-1/rollout message 0, user, content",
		"0.25 c-0 epoch-1/rollout message 0, user, content"}
	if !slices.Equal(got, want) || r.Partial || r.Searched != 8 || r.Rows != 8 || r.Datasets != 2 || len(r.Problems) != 1 ||
		!strings.Contains(r.Problems[0], "epoch-1/rollout is not complete: the attempts in its journals were searched") {
		t.Errorf("%q, %+v", got, r)
	}
	if got, _ := finds(t, root+"/epoch-1/rollout", "koala", false); len(got) != 0 {
		t.Errorf("an attempt that was made again is searched: %q", got)
	}
	if _, err := first.Commit(t.Context(), shards.Outcome{Counts: map[string]int64{}}); err != nil {
		t.Fatal(err)
	}
	got, r = finds(t, root+"/epoch-1", "straße", false)
	if len(got) != 1 || !strings.Contains(got[0], "c-0") || !r.Partial || len(r.Problems) != 2 || !strings.Contains(r.Problems[0], "1 of its rows, of finished shards, are not searched") {
		t.Errorf("%q, %+v", got, r)
	}
}

// TestRewardsThatAreDamaged: the trajectory is found, its reward is not known, and that is said.
func TestRewardsThatAreDamaged(t *testing.T) {
	root := t.TempDir()
	write(t, root+"/epoch-0", "a")
	group, err := dataset.Open(t.Context(), root+"/epoch-0/group", dataset.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	damage(t, group)
	got, r := finds(t, root, "straße", false)
	if len(got) != 1 || !strings.HasPrefix(got[0], "null a-0 ") || len(r.Problems) != 1 || !strings.Contains(r.Problems[0], "the rewards of what was found are not known") {
		t.Errorf("%q, %q", got, r.Problems)
	}
}

// TestLimit: a search stops at its limit, and says so; without more to find it does not.
func TestLimit(t *testing.T) {
	root := t.TempDir()
	write(t, root+"/one/epoch-0", "a")
	write(t, root+"/two/epoch-0", "b")
	for limit, want := range map[int]string{1: "at least 1 trajectory; 1 of 10 rows searched, in 1 dataset", 2: "at least 2 trajectories; 6 of 10 rows searched, in 2 datasets",
		3: "2 trajectories; 10 of 10 rows searched, in 2 datasets"} {
		r, err := run(t.Context(), t, root, "straße", false, limit, nil)
		if err != nil || r.Found() != want {
			t.Errorf("%d: %s, %v", limit, r.Found(), err)
		}
	}
}

// TestCancelled: what was found before the context ended is returned with its error.
func TestCancelled(t *testing.T) {
	root := t.TempDir()
	write(t, root+"/one/epoch-0", "a")
	write(t, root+"/two/epoch-0", "b")
	ctx, cancel := context.WithCancel(t.Context())
	r, err := run(ctx, t, root, "straße", false, 100, func(_ *search.Result, found *search.Hit) {
		if found != nil {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || !r.AtLeast || len(r.Hits) != 1 || len(r.Problems) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err = run(ctx, t, root, "straße", false, 100, nil); !errors.Is(err, context.Canceled) || !r.AtLeast || len(r.Hits)+len(r.Problems) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestSecretsAreNotFound: a key that the process knows is redacted before the text around it is cut.
func TestSecretsAreNotFound(t *testing.T) {
	uri := t.TempDir()
	key := strings.Repeat("k3y", 40)
	all := rows("a")
	all[0].Answer = "koala " + key + " quoll"
	looktest.Write(t, uri, wide, [][]formats.Trajectory{all}, -1)
	set := &secret.Set{}
	set.Add("ENGINE_KEY", key)
	ctx := secret.With(t.Context(), set)
	for pattern, n := range map[string]int{"k3yk3y": 0, "koala": 2, "quoll": 1} {
		r, err := run(ctx, t, uri, pattern, false, 100, nil)
		if err != nil || len(r.Hits) != n || strings.Contains(fmt.Sprint(places(r)), "k3y") {
			t.Errorf("%s: %+v, %v", pattern, r, err)
		}
	}
}

// TestOnlyTextsAreRead: tokens and their log probabilities, most of the bytes, are not.
func TestOnlyTextsAreRead(t *testing.T) {
	uri := t.TempDir()
	var all [][]formats.Trajectory
	for group := range randomtest.Trajectories(1, randomtest.Options{Groups: 200, Messages: 4, SampledTokens: 400, PromptTokens: 300}) {
		all = append(all, group)
	}
	d := looktest.Write(t, uri, wide, all, -1)
	size := func(columns ...string) int64 {
		n, err := d.ColumnBytes(t.Context(), columns)
		if err != nil || n == 0 {
			t.Fatal(n, err)
		}
		return n
	}
	others := size("messages.token_ids", "messages.logprobs", "messages.prompt_delta_ids", "calls", "example")
	texts := size("trajectory_id", "example_id", "answer", "error", "messages.role", "messages.content", "messages.content_parts",
		"messages.reasoning", "messages.tool_calls")
	var moved countingtest.Counter
	r, err := run(storage.Wrapping(t.Context(), moved.Wrap), t, uri, "\x00", false, 100, nil)
	t.Logf("%d of %d bytes were read, %d are texts, %d others", moved.Read(), d.Bytes, texts, others)
	const ahead = 20 * 256 << 10 // the last request of each column may go beyond it
	if err != nil || r.Searched != d.Rows || moved.Read() < texts || moved.Read() > texts+ahead || moved.Read() > d.Bytes-others/2 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestMuchIsSaidBefore: the bytes of the columns that are read are known before the first row is.
func TestMuchIsSaidBefore(t *testing.T) {
	root := t.TempDir()
	write(t, root+"/epoch-0", "a")
	before := search.Much
	t.Cleanup(func() { search.Much = before })
	for _, c := range []struct {
		much int64
		says bool
	}{{100, true}, {1 << 30, false}} {
		search.Much = c.much
		reports := 0
		r, err := run(t.Context(), t, root, "nothing has this", false, 100, func(r *search.Result, _ *search.Hit) {
			if reports++; reports == 1 && (r.Searched > 0 || (r.Bytes > search.Much) != c.says || strings.Contains(r.Found(), ", up to ") != c.says) {
				t.Errorf("%+v", r)
			}
		})
		if err != nil || reports == 0 || c.says && r.Bytes >= 20_000 {
			t.Errorf("%d reports, %+v, %v", reports, r, err)
		}
	}
}

// TestABaseThatIsGone: what curate kept of a rollout that is gone is found there.
func TestABaseThatIsGone(t *testing.T) {
	root := t.TempDir()
	write(t, root+"/epoch-0", "a")
	if err := os.RemoveAll(root + "/epoch-0/rollout"); err != nil {
		t.Fatal(err)
	}
	got, r := finds(t, root, "straße", false)
	if len(got) != 1 || got[0] != "0.25 a-0 epoch-0/curate message 0, user, content" || len(r.Problems) != 2 || !r.Partial {
		t.Errorf("%q, %q", got, r.Problems)
	}
}
