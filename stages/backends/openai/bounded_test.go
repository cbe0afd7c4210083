package openai

import (
	"context"
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

	"github.com/rollmill/rollmill/formats"
)

// limitServer takes the most tokens by one name and refuses the other, as
// OpenAI's current models or an older engine do. It may echo requests.
func limitServer(t *testing.T, takes string, broken *bool) (url string, asked *[]string) {
	t.Helper()
	asked = &[]string{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := map[string]json.RawMessage{}
		json.NewDecoder(r.Body).Decode(&body)
		for _, name := range []string{maxTokens, maxCompletionTokens} {
			if body[name] == nil {
				continue
			}
			*asked = append(*asked, name)
			if name != takes {
				w.WriteHeader(400)
				fmt.Fprintf(w, `{"error":{"message":"Unsupported parameter: '%s' is not supported with this model. Use '%s' instead.","type":"invalid_request_error","param":%q,"code":"unsupported_parameter"}}`, name, takes, name)
				return
			}
		}
		if broken != nil && *broken {
			w.WriteHeader(400)
			fmt.Fprintf(w, `{"detail":[{"loc":["body","messages"],"input":{"max_tokens":%s}}]}`, body[takes])
			return
		}
		fmt.Fprint(w, answered)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1", asked
}

func TestTheJudgeSendsTheLimitByTheNameThatTheServiceTakes(t *testing.T) {
	for takes, want := range map[string]string{
		maxCompletionTokens: "max_tokens max_completion_tokens max_completion_tokens",
		maxTokens:           "max_tokens max_tokens",
	} {
		url, asked := limitServer(t, takes, nil)
		for range 2 {
			if _, err := (Judge{URL: url, Tries: 1}).Ask(context.Background(), "m", question, map[string]any{"max_tokens": 7}); err != nil {
				t.Fatal(err)
			}
		}
		if got := strings.Join(*asked, " "); got != want {
			t.Errorf("%s: asked by %s", takes, got)
		}
	}
}

// TestARefusalThatEchoesTheRequestTeachesNothing: only the same request that
// is taken by the other name does.
func TestARefusalThatEchoesTheRequestTeachesNothing(t *testing.T) {
	broken := true
	url, asked := limitServer(t, maxTokens, &broken)
	j := Judge{URL: url, Tries: 1}
	if _, err := j.Ask(context.Background(), "m", question, map[string]any{"max_tokens": 7}); err == nil || strings.Contains(err.Error(), "Unsupported") {
		t.Errorf("%v", err)
	}
	broken = false
	*asked = nil
	if _, err := j.Ask(context.Background(), "m", question, map[string]any{"max_tokens": 7}); err != nil || strings.Join(*asked, " ") != maxTokens {
		t.Errorf("%v, %v", err, *asked)
	}
}

func TestTheProbeToo(t *testing.T) {
	url, _ := limitServer(t, maxCompletionTokens, nil)
	if _, err := Probe(context.Background(), url, "k", "m"); err != nil {
		t.Error(err)
	}
}

// A judge that says nothing is asked again, and then given up.
func TestSilentJudgeTimesOut(t *testing.T) {
	var asked atomic.Int64
	silent := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}))
	t.Cleanup(silent.Close)
	j := Judge{URL: silent.URL, Tries: 2, First: time.Millisecond, Limit: 30 * time.Millisecond}
	_, err := j.Ask(t.Context(), "judge", []formats.Message{{Role: "user", Content: "well?"}}, nil)
	if err == nil || !strings.Contains(err.Error(), "no answer within 30ms") || asked.Load() != 2 {
		t.Errorf("asked %d times: %v", asked.Load(), err)
	}
}

// A busy judge is asked again when it says, which is sooner than an hour, however it
// writes its errors.
func TestBusyJudgeRetryAfter(t *testing.T) {
	for _, body := range []string{`{"error":{"message":"busy"}}`, `{"error":"busy","error_type":"overloaded"}`, `busy`} {
		var asked atomic.Int64
		busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			w.Header().Set("Retry-After-Ms", "1")
			http.Error(w, body, http.StatusTooManyRequests)
		}))
		t.Cleanup(busy.Close)
		_, err := Judge{URL: busy.URL, Tries: 3, First: time.Hour}.Ask(t.Context(), "judge", question, nil)
		var refused *Error
		if !errors.As(err, &refused) || refused.Status != http.StatusTooManyRequests || !strings.Contains(refused.Text, "busy") || asked.Load() != 3 {
			t.Errorf("%s: asked %d times: %v", body, asked.Load(), err)
		}
	}
}
