package recorder_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages/rollout/recorder"
	"github.com/rollmill/rollmill/stages/rollout/recorder/recordertest"
)

// post sends a body to a URL and returns the answer's.
func post(t testing.TB, url string, body any, header ...string) (int, []byte) {
	t.Helper()
	data, ok := body.([]byte)
	if !ok {
		data, _ = json.Marshal(body)
	}
	req, _ := http.NewRequest("POST", url, bytes.NewReader(data))
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, out
}

// TestTargets: which calls are trained depends on their model and their
// function; all are recorded, and the others may lack logprobs.
func TestTargets(t *testing.T) {
	type want map[string]bool // by "model function"
	for name, c := range map[string]struct {
		options recorder.Options
		want    want
	}{
		"default": {recorder.Options{}, want{"policy ": true, "judge ": false, "policy plan": true, "policy act": true, "judge act": false}},
		"model": {recorder.Options{Target: "judge"},
			want{"policy ": false, "judge ": true, "policy plan": false, "policy act": false, "judge act": true}},
		"function": {recorder.Options{Functions: []string{"act"}},
			want{"policy ": false, "judge ": false, "policy plan": false, "policy act": true, "judge act": false}},
		"two": {recorder.Options{Functions: []string{"act", "plan"}},
			want{"policy ": false, "judge ": false, "policy plan": true, "policy act": true, "judge act": false}},
		"model and fn": {recorder.Options{Target: "judge", Functions: []string{"act"}},
			want{"policy ": false, "judge ": false, "policy plan": false, "policy act": false, "judge act": true}},
	} {
		t.Run(name, func(t *testing.T) {
			e := &recordertest.Engine{Source: schema.TokensChoice, PromptIDs: true}
			s := record(t, e, func(o *recorder.Options) { o.Target, o.Functions = c.options.Target, c.options.Functions }).Begin(context.Background(), "t", "g")
			for _, at := range [][2]string{{"policy", ""}, {"judge", ""}, {"policy", "plan"}, {"policy", "act"}, {"judge", "act"}} {
				url, header := s.BaseURL(), []string(nil)
				if at[1] == "plan" {
					header = []string{recorder.Function, at[1]}
				} else if at[1] != "" {
					url = strings.TrimSuffix(url, "/v1") + "/f/" + at[1] + "/v1"
				}
				if status, body := post(t, url+"/chat/completions", fields{"model": at[0], "messages": []fields{user(at[0] + at[1])}},
					header...); status != 200 {
					t.Fatalf("%d %s", status, body)
				}
			}
			rec := s.End()
			got := want{}
			for _, call := range rec.Calls {
				got[call.Model+" "+call.Function] = call.Target
			}
			if fmt.Sprint(got) != fmt.Sprint(c.want) || rec.Untrainable != nil {
				t.Errorf("targets %v, want %v; unfit %v", got, c.want, rec.Untrainable)
			}
			if n := len(sampled(rec)); n != 5 {
				t.Errorf("%d answers of 5 are recorded", n)
			}
			for _, q := range e.Asked() {
				if q.Header.Get(recorder.Function) != "" {
					t.Error("the function's header reached the engine")
				}
			}
		})
	}
}

// TestOthersNeedNoLogprobs: what is not trained need not be fit for it.
func TestOthersNeedNoLogprobs(t *testing.T) {
	e := &recordertest.Engine{Source: schema.TokensChoice, Fault: func(_ int, q recordertest.Request) recordertest.Fault {
		if q.Text("model") == "judge" {
			return recordertest.Fault{Kind: recordertest.NoLogprobs}
		}
		return recordertest.Fault{}
	}}
	s := record(t, e).Begin(context.Background(), "t", "g")
	ask(t, s, fields{"model": "judge"}, user("is it good?"))
	ask(t, s, nil, user("one"))
	rec := s.End()
	if rec.Untrainable != nil || rec.Calls[0].Target || !rec.Calls[1].Target || rec.TokenSource != schema.TokensChoice {
		t.Errorf("%+v", rec)
	}
}
