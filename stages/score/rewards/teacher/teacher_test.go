package teacher_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/stages/score/rewards/rewardtest"
	"github.com/rollmill/rollmill/stages/score/rewards/teacher"
	"github.com/rollmill/rollmill/stages/score/rewards/teacher/teachertest"
	"github.com/rollmill/rollmill/storage/fault"
)

// attempt is two turns and a branch of the first answer, with a hint.
func attempt() *score.Row {
	return &score.Row{Trajectory: &formats.Trajectory{TrajectoryID: "t", Status: outcomes.StatusOK, Example: `{"solution":"no"}`, PayloadDigest: "d",
		Calls: []formats.Call{{Target: true}, {Target: true}, {Target: true}},
		Messages: []formats.Message{
			{Parent: -1, Role: "user", Call: -1, Content: "q"},
			{Parent: 0, Role: "assistant", Sampled: true, Call: 0, Content: "a b", PromptDeltaIDs: []int32{1, 2}, TokenIDs: []int32{3, 4}, Logprobs: []float32{-0.5, -1}},
			{Parent: 1, Role: "user", Call: -1, Content: "r"},
			{Parent: 2, Role: "assistant", Sampled: true, Call: 1, Content: "c", PromptDeltaIDs: []int32{5}, TokenIDs: []int32{6}, Logprobs: []float32{-2}},
			{Parent: 0, Role: "assistant", Sampled: true, Call: 2, Content: "d", PromptDeltaIDs: []int32{1, 2}, TokenIDs: []int32{7}, Logprobs: []float32{-1}, Branch: "retry"},
		}}}
}

func value(t *testing.T, arguments string, row *score.Row, judging score.Judging) (score.Value, error) {
	t.Helper()
	r, err := teacher.Kind.Make(arguments, score.Setup{Name: "t", Judging: judging, Timeout: 20 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	values := make([]score.Value, 1)
	err = r.Score(t.Context(), []*score.Row{row}, values)
	return values[0], err
}

// TestTeacher: every sampled token has the log probability that the engine gives it after
// the recorded ids, those of a branch after its own, with alternatives and a hint.
func TestTeacher(t *testing.T) {
	e := teachertest.Start(t)
	for arguments, hint := range map[string][]int32{
		e.URL + "/v1,model=m": nil, e.URL + "/v1,model=m,top-k=3": nil, e.URL + ",model=m,server=sglang": nil,
		e.URL + "/,model=m,server=sglang,top-k=2": nil, e.URL + "/v1,model=m,hint=solution": {1, 'n', 'o'},
	} {
		got, err := value(t, arguments, attempt(), score.Judging{})
		if err != nil {
			t.Fatal(err)
		}
		k := 0
		if at := strings.Index(arguments, "top-k="); at >= 0 {
			k = int(arguments[at+6] - '0')
		}
		want, sum := score.Value{}, 0.0
		for _, m := range []struct {
			message int32
			before  []int32
			ids     []int32
			policy  []float64
		}{{1, []int32{1, 2}, []int32{3, 4}, []float64{-0.5, -1}}, {3, []int32{1, 2, 3, 4, 5}, []int32{6}, []float64{-2}}, {4, []int32{1, 2}, []int32{7}, []float64{-1}}} {
			s, ids := formats.Signal{Message: m.message}, slices.Concat(hint, m.before)
			for n, id := range m.ids {
				for _, best := range teachertest.Ranked(ids, k) {
					s.TopIDs, s.TopLogprobs = append(s.TopIDs, best), append(s.TopLogprobs, float32(teachertest.Logprob(append(slices.Clone(ids), best))))
				}
				ids = append(ids, id)
				v := teachertest.Logprob(ids)
				s.Values, s.Value, sum = append(s.Values, float32(v)), s.Value+v/float64(len(m.ids)), sum+v-m.policy[n]
			}
			want.Signals = append(want.Signals, s)
		}
		want.Reward = sum / 4
		near := cmp.Comparer(func(a, b float64) bool { return a-b < 1e-6 && b-a < 1e-6 })
		if d := cmp.Diff(want, got, near); d != "" {
			t.Errorf("%s: -want +got: %s", arguments, d)
		}
	}
}

type memory struct{ sync.Map }

func (m *memory) Get(_ context.Context, key string) ([]byte, bool, error) {
	v, ok := m.Load(key)
	if !ok {
		return nil, false, nil
	}
	return v.([]byte), true, nil
}

func (m *memory) Put(_ context.Context, key string, value []byte) error {
	m.Store(key, value)
	return nil
}

// TestAnswersAreKept: a second run asks nothing, whatever the trajectory's name; another
// model, K or hint does.
func TestAnswersAreKept(t *testing.T) {
	e := teachertest.Start(t)
	store, ledger := &memory{}, &score.Ledger{BudgetTokens: 52}
	judging := score.Judging{Store: store, Ledger: ledger}
	first, _ := value(t, e.URL+"/v1,model=m", attempt(), judging)
	if e.Asked.Load() != 2 || ledger.Spent().PromptTokens != 9 {
		t.Fatalf("asked %d times, %+v", e.Asked.Load(), ledger.Spent())
	}
	row := attempt()
	row.TrajectoryID, row.Epoch = "u", 4
	if again, _ := value(t, e.URL+"/v1,model=m", row, judging); cmp.Diff(first, again) != "" || e.Asked.Load() != 2 || ledger.Spent().Known != 2 {
		t.Errorf("asked %d times, %s", e.Asked.Load(), cmp.Diff(first, again))
	}
	for _, other := range []string{"model=n", "model=m,top-k=1", "model=m,hint=solution"} {
		before := e.Asked.Load()
		if _, err := value(t, e.URL+"/v1,"+other, attempt(), judging); e.Asked.Load() != before+2 {
			t.Errorf("%s: asked %d times, %v", other, e.Asked.Load()-before, err)
		}
	}
	var spent *fault.Error
	if _, err := value(t, e.URL+"/v1,model=o", attempt(), judging); !errors.As(err, &spent) || spent.Kind != fault.Budget {
		t.Errorf("%v", err)
	}
}

// TestOtherTokenizer ends the stage with the first id that differs.
func TestOtherTokenizer(t *testing.T) {
	e := teachertest.Start(t)
	same := map[int32]string{3: "a", 4: " b", 6: "c", 7: "d"}
	e.Texts = func(id int32) string { return same[id] }
	if v, err := value(t, e.URL+"/v1,model=m", attempt(), score.Judging{}); err != nil || v.Failure != "" {
		t.Errorf("%+v %v", v, err)
	}
	thought := attempt()
	thought.Messages[1].Content = "b" // the engine's parser took the rest away
	if v, err := value(t, e.URL+"/v1,model=m", thought, score.Judging{}); err != nil || v.Failure != "" {
		t.Errorf("%+v %v", v, err)
	}
	broken := attempt()
	broken.Messages[1].Content = "\ufffd b" // the policy sampled a part of a character
	if v, err := value(t, e.URL+"/v1,model=m", broken, score.Judging{}); err != nil || v.Failure != "" {
		t.Errorf("%+v %v", v, err)
	}
	e.Texts = func(id int32) string { return map[bool]string{true: "X", false: same[id]}[id == 4] }
	texts := attempt()
	texts.Messages[1].TokenTexts = []string{"a", " b"}
	for _, row := range []*score.Row{attempt(), texts} {
		for _, server := range []string{"/v1,model=m", ",model=m,server=sglang"} {
			if _, err := value(t, e.URL+server, row, score.Judging{}); err == nil || !strings.Contains(err.Error(), `id 4 of message 1 is "X"`) {
				t.Errorf("%s: %v", server, err)
			}
		}
	}
}

// TestEnginesThatMisbehave: what concerns a row is its failure, and what concerns all
// ends the stage.
func TestEnginesThatMisbehave(t *testing.T) {
	says := func(code int, body string) func(http.ResponseWriter) bool {
		return func(w http.ResponseWriter) bool {
			w.WriteHeader(code)
			fmt.Fprint(w, body)
			return true
		}
	}
	for name, c := range map[string]struct {
		spoil func(http.ResponseWriter) bool
		want  string // of the row's failure, or the error
		fatal bool
	}{
		"too long":  {says(400, `{"error":{"message":"maximum context length is 10"}}`), "maximum context length", false},
		"no model":  {says(404, `{"error":{"message":"no model m"}}`), "no model m", true},
		"other API": {says(200, `{"choices":[{"text":""}]}`), "no prompt_logprobs", false},
		"too few":   {says(200, `{"choices":[{"prompt_logprobs":[null,{"2":{"logprob":-1}}]}]}`), "2 places for a prompt of", false},
		"above 0":   {says(200, `{"choices":[{"prompt_logprobs":[null,{"2":{"logprob":-1,"rank":1},"9":{"logprob":7.5,"rank":2}},{},{},{},{}]}]}`), "log probability 7.5", false},
		"no id":     {says(200, `{"choices":[{"prompt_logprobs":[null,{"2":{"logprob":-1,"rank":1},"-9":{"logprob":-7,"rank":2}},{},{},{},{}]}]}`), "id -9", false},
		"null":      {says(200, `{"choices":[{"prompt_logprobs":[null,{},{},{},{},{}]}]}`), "", false},
		"not JSON":  {says(200, `<html>`), "invalid character", false},
		"no token":  {says(401, `who are you`), "who are you", true},
		"hung up":   {func(w http.ResponseWriter) bool { panic(http.ErrAbortHandler) }, "EOF", true},
	} {
		e := teachertest.Start(t)
		e.Spoil = c.spoil
		v, err := value(t, e.URL+"/v1,model=m,top-k=2", attempt(), score.Judging{})
		if c.fatal != (err != nil) || !strings.Contains(fmt.Sprint(v.Error, err), c.want) || !c.fatal && v.Failure == "" {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
	}
	busy := teachertest.Start(t)
	tries := 0
	busy.Spoil = func(w http.ResponseWriter) bool {
		if tries++; tries > 2 {
			return false
		}
		w.WriteHeader(503)
		return true
	}
	one := attempt()
	one.Messages = one.Messages[:2]
	if v, err := value(t, busy.URL+"/v1,model=m", one, score.Judging{}); err != nil || v.Failure != "" || tries != 3 {
		t.Errorf("busy: %+v, %v after %d tries", v, err, tries)
	}
}

func TestRowsWithoutIDsAreNotSent(t *testing.T) {
	e := teachertest.Start(t)
	row := attempt()
	row.Messages[1].TokenIDs = nil
	if v, err := value(t, e.URL+"/v1,model=m", row, score.Judging{}); err != nil || v.Failure != outcomes.RewardMissing || e.Asked.Load() > 0 {
		t.Errorf("%+v %v", v, err)
	}
	if v, err := value(t, e.URL+"/v1,model=m,hint=answer", attempt(), score.Judging{}); err != nil || v.Failure != outcomes.RewardMissing {
		t.Errorf("%+v %v", v, err)
	}
}

func TestBadSettings(t *testing.T) {
	for _, arguments := range []string{"", "model=m", "http://u:p@h/v1,model=m", "ftp://h,model=m", "http://h/v1", "http://h/v1,model=m,top-k=1.5",
		"http://h,model=m,server=sglang,hint=f", "http://h/v1,model=m,server=tgi"} {
		if _, err := teacher.Kind.Make(arguments, score.Setup{}); err == nil {
			t.Errorf("%q is accepted", arguments)
		}
	}
}

func TestConforms(t *testing.T) {
	e := teachertest.Start(t)
	rewardtest.Run(t, rewardtest.Suite{Kind: teacher.Kind, Arguments: e.URL + "/v1,model=m"})
}

// TestACompressedAnswerOfATeacher is read.
func TestACompressedAnswerOfATeacher(t *testing.T) {
	e := teachertest.Start(t)
	want, err := value(t, e.URL+"/v1,model=m,top-k=3", attempt(), score.Judging{})
	if err != nil {
		t.Fatal(err)
	}
	for _, encoding := range []string{"gzip", "zstd"} {
		got, err := value(t, rewardtest.Compressing(t, e.URL+"/v1", encoding)+",model=m,top-k=3", attempt(), score.Judging{})
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("%s: %v %s", encoding, err, d)
		}
	}
}
