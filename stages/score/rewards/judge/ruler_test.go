package judge_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/backends/openai"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/stages/score/rewards/judge"
	"github.com/rollmill/rollmill/stages/score/rewards/judge/judgetest"
	"github.com/rollmill/rollmill/stages/score/rewards/rewardtest"
)

// rulerAsk is how the command line asks: see cmd/rollmill/settings/judge.go.
func rulerAsk(ctx context.Context, url string, q score.Question) (score.Reply, error) {
	j, err := openai.Judge{URL: url, Key: "none", Tries: 3, First: time.Millisecond}.Ask(ctx, q.Model, q.Messages, q.Fields)
	var refused *openai.Error
	if errors.As(err, &refused) && refused.TooLong() {
		err = fmt.Errorf("%w: %w", score.ErrTooLong, err)
	} else if errors.As(err, &refused) && refused.OfRequest() {
		err = fmt.Errorf("%w: %w", score.ErrRefused, err)
	}
	return score.Reply(j), err
}

func rulerMade(t *testing.T, j score.Judging, seed int64, arguments string) score.Reward {
	t.Helper()
	r, err := judge.Ruler.Make(arguments, score.Setup{Name: "tried", Judging: j, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRulerConformance(t *testing.T) {
	s := judgetest.New(t)
	j := s.Judging(rulerAsk)
	j.Store = nil
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	rewardtest.Run(t, rewardtest.Suite{Kind: judge.Ruler, Arguments: "model=m,repeats=2", Judging: j})
}

// group are three trajectories of one example.
func group() []*score.Row { return rewardtest.Rows()[:3] }

// TestKnownWeaknesses plays each way in which a judge of groups goes wrong. Sent
// back once, the answer is right; with no second chance the whole group has no
// reward.
func TestKnownWeaknesses(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(r judgetest.Request, say string) string
		want   string
	}{
		"too many scores": {func(r judgetest.Request, say string) string {
			return strings.Replace(say, `]}`, fmt.Sprintf(`,{"trajectory_id":%q,"score":0.5}]}`, r.Labels()[0]), 1)
		}, "has two scores"},
		"one more, of nothing": {func(_ judgetest.Request, say string) string {
			return strings.Replace(say, `]}`, `,{"trajectory_id":"t99","score":0.5}]}`, 1)
		}, `no trajectory "t99"`},
		"too few scores": {func(r judgetest.Request, _ string) string {
			return fmt.Sprintf(`{"scores":[{"trajectory_id":%q,"score":0.5}]}`, r.Labels()[0])
		}, "1 scores for 3 trajectories"},
		"no scores": {func(judgetest.Request, string) string { return `{"scores":[]}` }, "0 scores for 3"},
		"wrong ids": {func(_ judgetest.Request, say string) string {
			return strings.NewReplacer(`"t1"`, `"1"`, `"t2"`, `"2"`, `"t3"`, `"3"`).Replace(say)
		}, "no trajectory"},
		"no ids": {func(judgetest.Request, string) string { return `{"scores":[{"score":1},{"score":0},{"score":0.5}]}` }, "no trajectory"},
		"out of range": {func(r judgetest.Request, _ string) string {
			l := r.Labels()
			return fmt.Sprintf(`{"scores":[{"trajectory_id":%q,"score":7},{"trajectory_id":%q,"score":1},{"trajectory_id":%q,"score":-1}]}`, l[0], l[1], l[2])
		}, "is not from 0 to 1"},
		"null scores": {func(r judgetest.Request, _ string) string {
			l := r.Labels()
			return fmt.Sprintf(`{"scores":[{"trajectory_id":%q,"score":null},{"trajectory_id":%q,"score":1},{"trajectory_id":%q,"score":1}]}`, l[0], l[1], l[2])
		}, "there is no score"},
		"broken JSON": {func(_ judgetest.Request, say string) string { return say[:len(say)-9] }, "no JSON object"},
		"prose":       {func(judgetest.Request, string) string { return "The second one is best." }, "no JSON object"},
		"a list":      {func(judgetest.Request, string) string { return `{"scores":[0.1,0.2,0.3]}` }, "cannot unmarshal"},
	} {
		t.Run(name, func(t *testing.T) {
			s := judgetest.New(t)
			want := rewardtest.Score(t, rulerMade(t, s.Judging(rulerAsk), 0, "model=m"), group())
			s.Answer = func(r judgetest.Request, say string) (int, string) {
				if r.SentBack() {
					return 200, say
				}
				return 200, c.answer(r, say)
			}
			s.Asked.Store(0)
			for i, v := range rewardtest.Score(t, rulerMade(t, s.Judging(rulerAsk), 0, "model=m"), group()) {
				if v.Failure != "" || v.Reward != want[i].Reward {
					t.Errorf("sent back, row %d is %+v, want %+v", i, v, want[i])
				}
			}
			if s.Asked.Load() != 2 {
				t.Errorf("%d questions, not 2", s.Asked.Load())
			}
			for i, v := range rewardtest.Score(t, rulerMade(t, s.Judging(rulerAsk), 0, "model=m,repairs=0"), group()) {
				if v.Failure != outcomes.RewardAnswer || !strings.Contains(v.Error, c.want) {
					t.Errorf("refused, row %d is %+v, want %q", i, v, c.want)
				}
			}
		})
	}
}

func TestOutOfRangeMayBeClamped(t *testing.T) {
	s := judgetest.New(t)
	s.Answer = func(r judgetest.Request, _ string) (int, string) {
		l := r.Labels()
		return 200, fmt.Sprintf(`{"scores":[{"trajectory_id":%q,"score":7},{"trajectory_id":%q,"score":0.5},{"trajectory_id":%q,"score":-1}]}`,
			l[0], l[1], l[2])
	}
	var got []float64
	for _, v := range rewardtest.Score(t, rulerMade(t, s.Judging(rulerAsk), 0, "model=m,outside=clamp"), group()) {
		if got = append(got, v.Reward); v.Failure != "" {
			t.Errorf("%+v", v)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, []float64{0, 0.5, 1}) {
		t.Errorf("clamped to %v", got)
	}
}

// TestAContextTooLong is told before it is asked, or by the server, and costs
// its own group alone.
func TestAContextTooLong(t *testing.T) {
	s := judgetest.New(t)
	rows := rewardtest.Rows()[:6]
	rows[4].Messages[4].Content = strings.Repeat("and so on ", 2000)
	values := rewardtest.Score(t, rulerMade(t, s.Judging(rulerAsk), 0, "model=m,context=6000"), rows)
	s.Answer = func(r judgetest.Request, say string) (int, string) {
		if len(r.User()) > 10000 {
			return 400, "This model's maximum context length is 4096 tokens"
		}
		return 200, say
	}
	for name, values := range map[string][]score.Value{"before": values, "server": rewardtest.Score(t, rulerMade(t, s.Judging(rulerAsk), 0, "model=m"), rows)} {
		for i, v := range values {
			if tooLong := i >= 3; tooLong != (v.Failure == outcomes.RewardError && strings.Contains(v.Error, "too long")) || !tooLong && v.Failure != "" {
				t.Errorf("%s: row %d is %+v", name, i, v)
			}
		}
	}
	if len(s.Questions()) != 3 {
		t.Errorf("%d questions", len(s.Questions()))
	}
}

// TestScoresAreMatchedByLabel: the rows' order does not matter, each repeat
// shows another one, and the common beginning is sent once.
func TestScoresAreMatchedByLabel(t *testing.T) {
	s := judgetest.New(t)
	rows := group()
	for _, row := range rows {
		row.Messages[1].Content = "the question of all of them"
	}
	values := rewardtest.Score(t, rulerMade(t, s.Judging(rulerAsk), 3, "model=m,repeats=6"), rows)
	for i, v := range values {
		tail := ""
		for _, q := range s.Questions()[:1] {
			for part := range strings.SplitSeq(q, "<trajectory ") {
				if strings.Contains(part, rows[i].Answer) && !strings.Contains(part, "<context>") {
					_, tail, _ = strings.Cut(part, ">\n")
					tail, _, _ = strings.Cut(tail, "\n</trajectory>")
				}
			}
		}
		if v.Failure != "" || math.Abs(v.Reward-judgetest.Points(tail)) > 1e-9 {
			t.Errorf("row %d is %+v, want %v", i, v, judgetest.Points(tail))
		}
	}
	orders := map[string]bool{}
	for _, q := range s.Questions() {
		if strings.Count(q, "the question of all of them") != 1 || !strings.Contains(q, "<context>") || strings.Contains(q, rows[0].TrajectoryID) {
			t.Errorf("question %s", q)
		}
		order := ""
		for _, row := range rows {
			order += fmt.Sprint(strings.Index(q, row.Answer) > strings.Index(q, rows[0].Answer), " ")
		}
		orders[order] = true
	}
	if len(s.Questions()) != 6 || len(orders) < 2 {
		t.Errorf("%d questions in %d orders", len(s.Questions()), len(orders))
	}
}

// TestRulerRepeatsHaveToAgree on every member; one of which they differ has no
// reward, and costs the others nothing.
func TestRulerRepeatsHaveToAgree(t *testing.T) {
	s := judgetest.New(t)
	var asked atomic.Int64
	s.Answer = func(r judgetest.Request, say string) (int, string) {
		second := asked.Add(1) == 2
		var scores []string
		for _, label := range r.Labels() {
			score := 0.5
			if _, after, _ := strings.Cut(r.User(), fmt.Sprintf("<trajectory id=%q>", label)); second &&
				strings.Contains(strings.SplitN(after, "</trajectory>", 2)[0], "The answer is 1.") {
				score = 0.9
			}
			scores = append(scores, fmt.Sprintf(`{"trajectory_id":%q,"explanation":"so","score":%v}`, label, score))
		}
		if !strings.Contains(string(r.Format.Schema.Schema), `"trajectory_id"`) || !r.Format.Schema.Strict {
			t.Errorf("it asked for %+v", r.Format)
		}
		return 200, `{"scores":[` + strings.Join(scores, ",") + `]}`
	}
	for i, v := range rewardtest.Score(t, rulerMade(t, s.Judging(rulerAsk), 0, "model=m,repeats=2,agree=0.3"), group()) {
		if odd := i == 1; odd != (v.Failure == outcomes.RewardAnswer) || !odd && v.Reward != 0.5 {
			t.Errorf("row %d is %+v", i, v)
		}
	}
	asked.Store(0)
	if v := rewardtest.Score(t, rulerMade(t, s.Judging(rulerAsk), 1, "model=m,repeats=2"), group())[1]; v.Failure != "" || math.Abs(v.Reward-0.7) > 1e-9 {
		t.Errorf("any difference allowed: %+v", v)
	}
}

// TestTheSameIsSentOnce, and a group of the same has one score.
func TestTheSameIsSentOnce(t *testing.T) {
	s := judgetest.New(t)
	rows := group()
	rows[2].Messages = rows[0].Messages
	values := rewardtest.Score(t, rulerMade(t, s.Judging(rulerAsk), 0, "model=m"), rows)
	if values[0].Reward != values[2].Reward || values[0].Failure != "" || strings.Count(s.Questions()[0], "<trajectory ") != 2 {
		t.Errorf("%+v\n%s", values, s.Questions()[0])
	}
}
