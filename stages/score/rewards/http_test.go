package rewards_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/stages/score/rewards"
	"github.com/rollmill/rollmill/stages/score/rewards/rewardtest"
	"github.com/rollmill/rollmill/storage/fault"
)

const bad = "bad"

// service answers each line; misbehave may answer in its stead, and says
// whether it did, when a bad row is among the lines.
func service(t *testing.T, misbehave func(w http.ResponseWriter, rows []score.Request) bool) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client has ended
		}
		var rows []score.Request
		for line := range bytes.Lines(body) {
			var row score.Request
			if err := json.Unmarshal(line, &row); err != nil {
				t.Error(err)
			}
			rows = append(rows, row)
		}
		for _, row := range rows {
			if row.Answer == bad && misbehave != nil && misbehave(w, rows) {
				return
			}
		}
		for i := len(rows) - 1; i >= 0; i-- {
			fmt.Fprintf(w, `{"id":%q,"reward":%d}`+"\n", rows[i].ID, len(rows[i].Answer)%7)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

var misbehaviours = map[string]struct {
	do   func(w http.ResponseWriter, rows []score.Request) bool
	want score.Value
}{
	"500": {func(w http.ResponseWriter, _ []score.Request) bool { http.Error(w, "no board", 500); return true },
		score.Value{Failure: outcomes.RewardError, Error: `HTTP 500: "no board"`}},
	"prose": {func(w http.ResponseWriter, _ []score.Request) bool { fmt.Fprintln(w, "Good."); return true },
		score.Value{Failure: outcomes.RewardAnswer, Error: `"Good." is not an answer`}},
	"nothing": {func(http.ResponseWriter, []score.Request) bool { return true }, score.Value{Failure: outcomes.RewardAnswer, Error: "did not answer"}},
	"dropped": {func(w http.ResponseWriter, _ []score.Request) bool { panic(http.ErrAbortHandler) }, score.Value{Failure: outcomes.RewardCrashed, Error: "EOF"}},
	"half": {func(w http.ResponseWriter, _ []score.Request) bool {
		w.Header().Set("Content-Length", "100")
		fmt.Fprint(w, `{"id":`)
		return true
	}, score.Value{Failure: outcomes.RewardCrashed, Error: "reading the response"}},
	"stranger": {func(w http.ResponseWriter, _ []score.Request) bool {
		fmt.Fprintln(w, `{"id":"someone else","reward":1}`)
		return true
	}, score.Value{Failure: outcomes.RewardAnswer, Error: "not asked about"}},
	"nan": {func(w http.ResponseWriter, rows []score.Request) bool {
		for _, r := range rows {
			if r.Answer == bad {
				fmt.Fprintf(w, `{"id":%q,"reward":NaN}`+"\n", r.ID)
			}
		}
		return len(rows) == 1
	}, score.Value{Failure: outcomes.RewardNotFinite, Error: "NaN"}},
}

func TestHTTPConformance(t *testing.T) {
	rewardtest.Run(t, rewardtest.Suite{Kind: rewards.HTTP, Arguments: service(t, nil), Known: []string{"tree"}})
	for name, m := range misbehaviours {
		t.Run(name, func(t *testing.T) {
			rewardtest.Run(t, rewardtest.Suite{Kind: rewards.HTTP, Arguments: service(t, m.do), Bad: bad})
		})
	}
}

// TestFailures: one bad row in the middle of a batch costs its neighbours
// nothing, and its failure says what happened.
func TestFailures(t *testing.T) {
	for name, m := range misbehaviours {
		t.Run(name, func(t *testing.T) {
			rows := rewardtest.Rows()
			rows[5].Answer = bad
			for i, v := range rewardtest.Score(t, rewardtest.New(t, rewards.HTTP, service(t, m.do)), rows) {
				if i == 5 && (v.Failure != m.want.Failure || !strings.Contains(v.Error, m.want.Error)) {
					t.Errorf("the bad row is %+v, want %+v", v, m.want)
				}
				if i != 5 && (v.Failure != "" || v.Reward != float64(len(rows[i].Answer)%7)) {
					t.Errorf("row %d is %+v although only row 5 is bad", i, v)
				}
			}
		})
	}
}

func made(t *testing.T, url string, timeout time.Duration) score.Reward {
	t.Helper()
	r, err := rewards.HTTP.Make(url, score.Setup{Name: "tried", Timeout: timeout})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func TestAServiceThatHangsTimesOut(t *testing.T) {
	stop := make(chan struct{})
	url := service(t, func(http.ResponseWriter, []score.Request) bool { <-stop; return true })
	t.Cleanup(func() { close(stop) })
	rows := rewardtest.Rows()[:1]
	rows[0].Answer = bad
	if v := rewardtest.Score(t, made(t, url, 100*time.Millisecond), rows)[0]; v.Failure != outcomes.RewardTimeout {
		t.Errorf("%+v", v)
	}
}

// TestServiceFaults: what may pass is tried again, what lasts ends the
// stage with its kind.
func TestServiceFaults(t *testing.T) {
	t.Setenv("ROLLMILL_REWARD_API_KEY", "sk-secret")
	var n atomic.Int64
	key := ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key = r.Header.Get("Authorization") + " " + r.Header.Get("Rollmill-Reward")
		switch n.Add(1) {
		case 1:
			w.Header().Set("Retry-After", "0")
			http.Error(w, "busy", http.StatusTooManyRequests)
		case 2:
			http.Error(w, "busy", http.StatusServiceUnavailable)
		default:
			fmt.Fprintf(w, `{"id":%q,"reward":1}`, rewardtest.Rows()[0].TrajectoryID)
		}
	}))
	if v := rewardtest.Score(t, made(t, s.URL, time.Minute), rewardtest.Rows()[:1])[0]; v.Reward != 1 || n.Load() != 3 || key != "Bearer sk-secret tried" {
		t.Errorf("busy twice: %+v after %d requests, %q", v, n.Load(), key)
	}
	s.Close()
	denied := httptest.NewServer(http.NotFoundHandler())
	defer denied.Close()
	kinds := map[string]fault.Kind{s.URL: fault.Temporary, denied.URL: fault.Budget}
	for status, kind := range map[int]fault.Kind{401: fault.Budget, 402: fault.Budget, 403: fault.Budget, 503: fault.Temporary} {
		closed := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After-Ms", "1")
			http.Error(w, "closed", status)
		}))
		defer closed.Close()
		kinds[closed.URL] = kind
	}
	for url, kind := range kinds {
		err := made(t, url, time.Minute).Score(t.Context(), rewardtest.Rows(), make([]score.Value, 12))
		var staged *fault.Error
		if !errors.As(err, &staged) || staged.Kind != kind || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, want kind %s", url, err, kind)
		}
	}
}

// TestAnAddressIsNoVersion: where a service runs does not decide the values;
// which of its rewards is asked for does, and the version that one says.
func TestAnAddressIsNoVersion(t *testing.T) {
	decides := rewards.HTTP.Decides
	for _, same := range []string{"https://other.example:8443/score", "http://127.0.0.1/score"} {
		if decides(same) != decides("http://rewards.example/score") {
			t.Errorf("%s is another reward: %s", same, decides(same))
		}
	}
	seen := map[string]string{}
	for _, other := range []string{"http://x/score", "http://x/score/", "http://x/", "http://x/score?model=a", "http://x/score?model=b",
		"version=2,http://x/score", "version=3,http://x/score"} {
		if was, twice := seen[decides(other)]; twice {
			t.Errorf("%s and %s are the same reward", other, was)
		}
		seen[decides(other)] = other
	}
	if v := rewardtest.Score(t, made(t, "version=2,"+service(t, nil), time.Minute), rewardtest.Rows()[:1])[0]; v.Failure != "" {
		t.Errorf("%+v", v)
	}
}

func TestBadURLsAreErrors(t *testing.T) {
	for arguments, want := range map[string]string{"": "not an HTTP", "ftp://x": "not an HTTP", "localhost:80": "not an HTTP",
		"http://me:secret@x/": "ROLLMILL_REWARD_API_KEY", "http://x/?api_key=s": "looks like a secret", "version=,http://x/": "names none",
		"version=2": "not an HTTP"} {
		_, err := rewards.HTTP.Make(arguments, score.Setup{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "me:secret") {
			t.Errorf("http:%s: %v does not mention %q", arguments, err, want)
		}
	}
}

// A response is read up to a bound, and one beyond it is named as such.
func TestAResponseOverTheBoundIsNamed(t *testing.T) {
	blank := bytes.Repeat([]byte("\n"), 1<<20)
	url := service(t, func(w http.ResponseWriter, _ []score.Request) bool {
		for range 65 {
			if _, err := w.Write(blank); err != nil {
				break
			}
		}
		return true
	})
	rows := rewardtest.Rows()[:1]
	rows[0].Answer = bad
	if v := rewardtest.Score(t, rewardtest.New(t, rewards.HTTP, url), rows)[0]; v.Failure == "" || !strings.Contains(v.Error, "longer than 64 MiB") {
		t.Errorf("%+v", v)
	}
}

// TestACompressedAnswerOfAService is read, with its errors.
func TestACompressedAnswerOfAService(t *testing.T) {
	for _, encoding := range []string{"gzip", "zstd"} {
		rows := rewardtest.Rows()
		rows[5].Answer = bad
		url := rewardtest.Compressing(t, service(t, misbehaviours["500"].do), encoding)
		for i, v := range rewardtest.Score(t, rewardtest.New(t, rewards.HTTP, url), rows) {
			if i == 5 && !strings.Contains(v.Error, "no board") || i != 5 && (v.Failure != "" || v.Reward != float64(len(rows[i].Answer)%7)) {
				t.Errorf("%s: row %d is %+v", encoding, i, v)
			}
		}
	}
}
