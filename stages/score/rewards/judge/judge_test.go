package judge_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/prices"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/backends/openai"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/stages/score/rewards/judge"
	"github.com/rollmill/rollmill/stages/score/rewards/judge/judgetest"
	"github.com/rollmill/rollmill/stages/score/rewards/rewardtest"
	"github.com/rollmill/rollmill/storage/fault"
)

// ask is how the command line asks: see cmd/rollmill/settings/judge.go.
func ask(ctx context.Context, url string, q score.Question) (score.Reply, error) {
	j, err := openai.Judge{URL: url, Key: "none", Tries: 3, First: time.Millisecond}.Ask(ctx, q.Model, q.Messages, q.Fields)
	var refused *openai.Error
	if errors.As(err, &refused) && refused.TooLong() {
		err = fmt.Errorf("%w: %w", score.ErrTooLong, err)
	} else if errors.As(err, &refused) && refused.OfRequest() {
		err = fmt.Errorf("%w: %w", score.ErrRefused, err)
	}
	return score.Reply(j), err
}

const bad = "a bad answer"

// about tells whether a question is about the row with the bad answer.
func about(r judgetest.Request) bool { return strings.Contains(r.User(), bad) }

func TestConformance(t *testing.T) {
	for name, answer := range map[string]func(r judgetest.Request, say string) (int, string){
		"plain": nil,
		"broken": func(r judgetest.Request, say string) (int, string) {
			return http.StatusOK, map[bool]string{true: "{", false: say}[about(r)]
		},
		"refused": func(r judgetest.Request, say string) (int, string) {
			return map[bool]int{true: 400, false: 200}[about(r)], say
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := judgetest.New(t)
			s.Answer = answer
			suite := rewardtest.Suite{Kind: judge.Kind, Arguments: "model=m", Judging: s.Judging(ask)}
			if suite.Judging.Store = nil; answer != nil {
				suite.Bad = bad
			}
			t.Cleanup(http.DefaultClient.CloseIdleConnections)
			rewardtest.Run(t, suite)
		})
	}
}

func made(t *testing.T, j score.Judging, seed int64, arguments string) score.Reward {
	t.Helper()
	r, err := judge.Kind.Make(arguments, score.Setup{Name: "tried", Judging: j, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestAnswersArePaidForOnce: by model, rubric and content, whatever the
// trajectory is called.
func TestAnswersArePaidForOnce(t *testing.T) {
	s := judgetest.New(t)
	j := s.Judging(ask)
	first := rewardtest.Score(t, made(t, j, 1, "model=m,repeats=3"), rewardtest.Rows())
	asked := s.Asked.Load()
	if asked != 36 || j.Ledger.Spent() != (score.Spent{Calls: 36, Spend: stages.Spend{PromptTokens: 3600, CompletionTokens: 360}}) {
		t.Fatalf("asked %d times, spent %+v", asked, j.Ledger.Spent())
	}
	renamed := rewardtest.Rows()
	for i := range renamed {
		renamed[i].TrajectoryID = fmt.Sprint("another-", i)
	}
	for i, v := range rewardtest.Score(t, made(t, j, 1, "model=m,repeats=3"), renamed) {
		if v.Reward != first[i].Reward {
			t.Errorf("row %d is %v, before %v", i, v, first[i])
		}
	}
	if s.Asked.Load() != asked || j.Ledger.Spent().Known != 36 {
		t.Errorf("asked %d times again; %+v", s.Asked.Load()-asked, j.Ledger.Spent())
	}
	rubric := filepath.Join(t.TempDir(), "rubric.md")
	if err := os.WriteFile(rubric, []byte("Is it short?"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, arguments := range []string{"model=m2,repeats=3", "model=m,repeats=3,rubric=" + rubric, "model=m,repeats=3,temperature=0.5"} {
		before := s.Asked.Load()
		rewardtest.Score(t, made(t, j, 1, arguments), rewardtest.Rows())
		if s.Asked.Load()-before != 36 {
			t.Errorf("%s: asked %d times", arguments, s.Asked.Load()-before)
		}
	}
	if files := made(t, j, 1, "model=m,rubric="+rubric).Describe().Files; len(files) != 1 || files[0] != rubric {
		t.Errorf("files %v", files)
	}
}

// TestAnswersAreMended: what can be read is, what cannot is sent back once.
func TestAnswersAreMended(t *testing.T) {
	for text, want := range map[string]float64{
		"Let me think. {draft}\n```json\n{\"explanation\": \"fine {\", \"score\": 0.25}\n```\nThat is all.": 0.25,
		"<think>{\"score\": 1}</think>{\"score\": 0.5}":                                                     0.5,
		"{\"score\": 0.1} no, wait: {\"score\": 0.75}":                                                      0.75,
		"{\"score\": \"0.5\"}": -1, "{\"score\": 1.5}": -1, "{\"score\": null}": -1, "{\"score\": NaN}": -1, "0.5": -1, "": -1, "[0.5]": -1,
	} {
		s := judgetest.New(t)
		s.Answer = func(r judgetest.Request, say string) (int, string) {
			if r.SentBack() {
				return 200, "{\"score\": 1}"
			}
			return 200, text
		}
		v := rewardtest.Score(t, made(t, s.Judging(ask), 0, "model=m"), rewardtest.Rows()[:1])[0]
		asked := s.Asked.Load()
		if want >= 0 && (v.Reward != want || asked != 1) || want < 0 && (v.Reward != 1 || asked != 2) || v.Failure != "" {
			t.Errorf("%q became %+v in %d questions", text, v, asked)
		}
		v = rewardtest.Score(t, made(t, s.Judging(ask), 0, "model=m,repairs=0"), rewardtest.Rows()[:1])[0]
		if want < 0 && (v.Failure != outcomes.RewardAnswer || v.Error == "") {
			t.Errorf("%q, not sent back, became %+v", text, v)
		}
	}
	s := judgetest.New(t)
	s.Answer = func(judgetest.Request, string) (int, string) { return 200, "{\"score\": -3}" }
	if v := rewardtest.Score(t, made(t, s.Judging(ask), 0, "model=m,outside=clamp"), rewardtest.Rows()[:1])[0]; v.Failure != "" || v.Reward != 0 {
		t.Errorf("clamped: %+v", v)
	}
}

// TestStructuredOutputIsAskedFor as far as the server has it.
func TestStructuredOutputIsAskedFor(t *testing.T) {
	for format, want := range map[string]string{"": "json_schema", ",format=schema": "json_schema", ",format=object": "json_object", ",format=none": ""} {
		s := judgetest.New(t)
		s.Answer = func(r judgetest.Request, say string) (int, string) {
			schema := string(r.Format.Schema.Schema)
			if r.Format.Type != want ||
				want == "json_schema" && (!r.Format.Schema.Strict || !strings.Contains(schema, `"additionalProperties":false`) ||
					!strings.Contains(schema, `"score"`)) {
				t.Errorf("judge:model=m%s asked for %+v: %s", format, r.Format, schema)
			}
			return 200, say
		}
		if v := rewardtest.Score(t, made(t, s.Judging(ask), 0, "model=m"+format), rewardtest.Rows()[:1])[0]; v.Failure != "" {
			t.Errorf("%+v", v)
		}
	}
}

// TestRepeatsHaveToAgree: the mean of a majority counts, and nothing when they
// differ by more than they may.
func TestRepeatsHaveToAgree(t *testing.T) {
	for _, c := range []struct {
		answers   []string
		arguments string
		want      float64
		failure   string
	}{
		{[]string{"0.2", "0.4", "0.6"}, "", 0.4, ""},
		{[]string{"0.2", "0.4", "0.6"}, ",agree=0.5", 0.4, ""},
		{[]string{"0.2", "0.4", "0.6"}, ",agree=0.3", 0, outcomes.RewardAnswer},
		{[]string{"0.2", "0.4", "oops"}, "", 0.3, ""},
		{[]string{"0.2", "oops", "oops"}, "", 0, outcomes.RewardAnswer},
	} {
		s := judgetest.New(t)
		var n atomic.Int64
		s.Answer = func(judgetest.Request, string) (int, string) {
			return 200, `{"score":` + c.answers[n.Add(1)-1] + `}`
		}
		v := rewardtest.Score(t, made(t, s.Judging(ask), 0, "model=m,repairs=0,repeats=3"+c.arguments), rewardtest.Rows()[:1])[0]
		if math.Abs(v.Reward-c.want) > 1e-9 || v.Failure != c.failure {
			t.Errorf("%v%s: %+v", c.answers, c.arguments, v)
		}
	}
}

// TestTheBudgetStops before it is overrun, as an error of its kind; what was
// paid for is kept.
func TestTheBudgetStops(t *testing.T) {
	for name, ledger := range map[string]*score.Ledger{
		"tokens": {BudgetTokens: 1000},
		"cost":   {BudgetMoney: 0.001, Prices: prices.Table{"*": {Input: 1, Output: 1}}},
	} {
		s := judgetest.New(t)
		j := s.Judging(ask)
		j.Ledger, j.Concurrency = ledger, 1
		rows := rewardtest.Rows()
		err := made(t, j, 0, "model=m,max-tokens=100").Score(t.Context(), rows, make([]score.Value, len(rows)))
		var staged *fault.Error
		spent := ledger.Spent()
		if !errors.As(err, &staged) || staged.Kind != fault.Budget || spent.Calls == 0 || spent.Calls >= 12 ||
			spent.PromptTokens+spent.CompletionTokens > 1000 || spent.Cost > 0.001 {
			t.Fatalf("%s: %v, spent %+v", name, err, spent)
		}
		asked := s.Asked.Load()
		*ledger = score.Ledger{}
		rewardtest.Score(t, made(t, j, 0, "model=m,max-tokens=100"), rows)
		if again := s.Asked.Load() - asked; again != 12-asked {
			t.Errorf("%s: asked %d and then %d times about 12 rows", name, asked, again)
		}
	}
}

// TestAnAnswerUnderWayIsKept although the stage is ended meanwhile.
func TestAnAnswerUnderWayIsKept(t *testing.T) {
	s := judgetest.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	s.Answer = func(_ judgetest.Request, say string) (int, string) {
		cancel()
		return 200, say
	}
	j := s.Judging(ask)
	_ = made(t, j, 0, "model=m").Score(ctx, rewardtest.Rows()[:1], make([]score.Value, 1))
	s.Answer = nil
	if v := rewardtest.Score(t, made(t, j, 0, "model=m"), rewardtest.Rows()[:1])[0]; v.Failure != "" || s.Asked.Load() != 1 {
		t.Errorf("%+v after %d questions", v, s.Asked.Load())
	}
}

// TestServerFaults: what may pass is tried again, what lasts ends the
// stage, and what concerns one question is that row's.
func TestServerFaults(t *testing.T) {
	s := judgetest.New(t)
	var n atomic.Int64
	s.Answer = func(_ judgetest.Request, say string) (int, string) {
		return map[bool]int{true: 503, false: 200}[n.Add(1) < 3], say
	}
	if v := rewardtest.Score(t, made(t, s.Judging(ask), 0, "model=m"), rewardtest.Rows()[:1])[0]; v.Failure != "" || n.Load() != 3 {
		t.Errorf("busy twice: %+v after %d questions", v, n.Load())
	}
	s.Answer = func(judgetest.Request, string) (int, string) { return 401, "no such key" }
	if err := made(t, s.Judging(ask), 0, "model=m").
		Score(t.Context(), rewardtest.Rows()[:1], make([]score.Value, 1)); err == nil || !strings.Contains(err.Error(), "401") {
		t.Errorf("a wrong key: %v", err)
	}
	s.Answer = func(judgetest.Request, string) (int, string) {
		return 400, "This model's maximum context length is 10 tokens"
	}
	if v := rewardtest.Score(t, made(t, s.Judging(ask), 0, "model=m"), rewardtest.Rows()[:1])[0]; v.Failure != outcomes.RewardError ||
		!strings.Contains(v.Error, "too long") {
		t.Errorf("too long for the server: %+v", v)
	}
	asked := s.Asked.Load()
	if v := rewardtest.Score(t, made(t, s.Judging(ask), 0, "model=m,context=1000,max-tokens=900"),
		rewardtest.Rows()[:1])[0]; v.Failure != outcomes.RewardError || s.Asked.Load() != asked {
		t.Errorf("too long to be asked: %+v", v)
	}
}

func TestBadOptionsAreErrors(t *testing.T) {
	s := judgetest.New(t)
	for arguments, want := range map[string]string{
		"": "model=", "m": `"m" is not one of the options min, max, model`, "model=m,min=2": "not a range", "model=m,repeats=0": "repeats=0",
		"model=m,outside=drop":    "outside=drop",
		"model=m,rubric=/no/such": `"/no/such": there is no such rubric`, "model=m,format=xml": "format=xml", "model=m,colour=red": "colour",
	} {
		if _, err := judge.Kind.Make(arguments, score.Setup{Judging: s.Judging(ask)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("judge:%s: %v does not mention %q", arguments, err, want)
		}
	}
	if _, err := judge.Kind.Make("model=m", score.Setup{}); err == nil || !strings.Contains(err.Error(), "--judge-url") {
		t.Errorf("no server: %v", err)
	}
}

// TestAKeyTwiceIsRefused, and one in other letters.
func TestAKeyTwiceIsRefused(t *testing.T) {
	for text, says := range map[string]string{
		`{"score":1,"score":0}`:            `the key "score" is there twice`,
		`{"Score":1}`:                      `the key "Score" has to be written "score"`,
		`{"score":1,"Why":"","why":"yes"}`: "",
	} {
		var v struct {
			Score *float64 `json:"score"`
		}
		if err := judge.Object(text, &v); (err == nil) != (says == "") || err != nil && !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// FuzzObject: whatever a model writes ends in an object or an error.
func FuzzObject(f *testing.F) {
	for _, text := range []string{"{}", "{\"score\": 0.5}", "<think>{</think>{\"score\":1}", "```json\n{\"score\":1}\n```", "{{{{",
		"{\"scores\":[{\"trajectory_id\":\"t1\",\"score\":1}]}"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var v struct {
			Score  *float64
			Scores []struct{ Score *float64 }
		}
		if err := judge.Object(text, &v); err == nil && v.Score != nil && (math.IsNaN(*v.Score) || math.IsInf(*v.Score, 0)) {
			t.Errorf("%q gave %v", text, *v.Score)
		}
	})
}

// TestACompressedAnswerOfAJudge is read, with its errors.
func TestACompressedAnswerOfAJudge(t *testing.T) {
	for _, encoding := range []string{"gzip", "zstd"} {
		s := judgetest.New(t)
		s.Answer = func(r judgetest.Request, say string) (int, string) {
			return map[bool]int{true: 400, false: 200}[about(r)], map[bool]string{true: "no such thing", false: say}[about(r)]
		}
		want := rewardtest.Score(t, made(t, s.Judging(ask), 1, "model=m"), rewardtest.Rows()[:1])[0]
		s.URL = rewardtest.Compressing(t, s.URL, encoding)
		rows := rewardtest.Rows()[:2]
		rows[1].Answer, rows[1].Messages = bad, nil
		rows[1].Messages = append(rows[1].Messages, formats.Message{Role: "user", Parent: -1, Call: -1, Content: bad})
		for i, v := range rewardtest.Score(t, made(t, s.Judging(ask), 1, "model=m"), rows) {
			if i == 0 && (v.Failure != "" || v.Reward != want.Reward) || i == 1 && !strings.Contains(v.Error, "no such thing") {
				t.Errorf("%s: row %d is %+v", encoding, i, v)
			}
		}
	}
}
