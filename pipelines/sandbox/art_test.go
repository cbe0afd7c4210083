package sandbox

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestControlRoutesAnswerAsART(t *testing.T) {
	h := start(t, Options{})
	for _, c := range []struct {
		name, method, path, body string
		status                   int
		answer                   string // "" is not compared
	}{
		{"health", "GET", "/healthcheck", "", 200, `{"status":"ok"}`},
		{"the health route of NAT's page", "GET", "/health", "", 404, `{"detail":"Not Found"}`},
		{"register", "POST", "/register", student, 200, `null`},
		{"register again", "POST", "/register", student, 200, `null`},
		{"register a model that is not trainable", "POST", "/register", `{"name":"a","project":"demo"}`, 200, `null`},
		{"unknown keys", "POST", "/register", `{"name":"b","project":"demo","trainable":true,"report_metrics":["x"],"config":null}`, 200, `null`},
		{"step", "POST", "/_get_step", student, 200, `0`},
		{"step of nobody", "POST", "/_get_step", `{"name":"x","project":"demo","base_model":"y"}`, 200, `0`},
		{"log", "POST", "/_log", `{"model":` + student + `,"trajectory_groups":[]}`, 200, `null`},
		{"delete", "POST", "/_delete_checkpoints?benchmark=val%2Freward&benchmark_smoothing=1.0", student, 200, `null`},
		{"close", "POST", "/close", "", 200, `null`},
		{"still there after close", "GET", "/healthcheck", "", 200, `{"status":"ok"}`},
		{"wrong method", "GET", "/register", "", 405, `{"detail":"Method Not Allowed"}`},

		{"no name", "POST", "/register", `{"project":"demo"}`, 422, ""},
		{"no base model", "POST", "/_get_step", `{"name":"a","project":"demo"}`, 422, ""},
		{"no base model inside", "POST", "/_prepare_backend_for_training", `{"model":{"name":"a","project":"demo"},"config":null}`, 422, ""},
		{"a list as a body", "POST", "/register", `[]`, 422, ""},
		{"no JSON as a body", "POST", "/register", `{`, 422, ""},
		{"name is a number", "POST", "/register", `{"name":1,"project":"demo"}`, 422, ""},
		{"model around the model", "POST", "/_get_step", `{"model":` + student + `}`, 422, ""},
		{"the key is a number", "POST", "/_prepare_backend_for_training", `{"model":` + student + `,"config":{"server_args":{"api_key":1}}}`, 422, ""},
		{"no benchmark", "POST", "/_delete_checkpoints", student, 422, ""},
		{"smoothing is a word", "POST", "/_delete_checkpoints?benchmark=x&benchmark_smoothing=x", student, 422, ""},
		{"nothing to train", "POST", "/_train_model", `{}`, 422, ""},
	} {
		r := h.do(c.method, c.path, c.body)
		r.want(t, c.status, nil)
		if got := strings.TrimSpace(string(r.body)); c.answer != "" && got != c.answer {
			t.Errorf("%s: %s, want %s", c.name, got, c.answer)
		}
		if c.status == 422 && !strings.HasPrefix(string(r.body), `{"detail":"`) {
			t.Errorf("%s: %s", c.name, r.body)
		}
	}
}

func TestPrepareSaysWhereThePolicyAnswers(t *testing.T) {
	body := `{"model":` + student + `,"config":{"server_args":{"api_key":"mine","port":4711},"engine_args":{}}}`
	h := start(t, Options{})
	var got []string
	h.do("POST", "/_prepare_backend_for_training", body).want(t, 200, &got)
	if want := []string{h.url + "/v1", "mine"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	h.do("POST", "/_prepare_backend_for_training", `{"model":`+student+`,"config":null}`).want(t, 200, &got)
	if got[1] != "default" {
		t.Errorf("key %q, want default", got[1])
	}
}

func TestTheRoutesAreListed(t *testing.T) {
	h := start(t, Options{})
	var doc struct{ Paths map[string]map[string]any }
	h.do("GET", "/openapi.json", "").want(t, 200, &doc)
	for path, listed := range map[string]bool{"/_train_model": true, "/_log": true, "/_delete_checkpoints": true, "/_delete_checkpoint_files": false} {
		if _, got := doc.Paths[path]["post"]; got != listed {
			t.Errorf("%s is listed: %v", path, got)
		}
		if r := h.do("POST", path, "{}"); (r.status == http.StatusNotFound) == listed {
			t.Errorf("%s answers %d and is listed: %v", path, r.status, listed)
		}
	}
}

func TestModelsAreServedByNameAndStep(t *testing.T) {
	h := start(t, Options{})
	h.do("POST", "/v1/chat/completions", ask("student", "x", "")).want(t, 404, nil)
	h.do("POST", "/register", student).want(t, 200, nil)
	untrained := h.spoken("some/base")
	if h.spoken("student") != untrained || h.spoken(DefaultBaseModel) != untrained {
		t.Error("an untrained model does not answer as its base")
	}
	h.train(1).want(t, 200, nil)
	if h.spoken("student") == untrained || h.spoken("student") != h.spoken("student@1") {
		t.Error("the name does not answer with the newest weights")
	}
	if h.spoken("student@0") != untrained || h.spoken("some/base") != untrained {
		t.Error("the old step and the base model are no longer untrained")
	}
	var list struct{ Data []struct{ ID string } }
	h.do("GET", "/v1/models", "").want(t, 200, &list)
	var ids []string
	for _, m := range list.Data {
		ids = append(ids, m.ID)
	}
	if want := []string{DefaultBaseModel, "some/base", "student", "student@0", "student@1"}; !slices.Equal(ids, want) {
		t.Errorf("models %v, want %v", ids, want)
	}
}

func TestTheTrainingStreamHasALinePerStep(t *testing.T) {
	h := start(t, Options{GradientSteps: 5})
	r := h.train(1)
	r.want(t, 200, nil)
	if kind, ok := r.header["Content-Type"]; ok {
		t.Errorf("content type %v, want none", kind)
	}
	lines := strings.Split(strings.TrimSuffix(string(r.body), "\n"), "\n")
	if len(lines) != 5 {
		t.Fatalf("%d lines, want 5", len(lines))
	}
	for _, line := range lines {
		var m map[string]float64
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if m["num_gradient_steps"] != 5 || m["learning_rate"] != 0.01 || m["grad_norm"] <= 0 || m["entropy"] <= 0 {
			t.Errorf("%v", m)
		}
	}
	if h.step() != 1 {
		t.Errorf("step %d, want 1", h.step())
	}
}

// edit changes the body of a training call by replacing text in it.
func edit(t *testing.T, old, new string) string {
	t.Helper()
	body := trainBody(t, batch(t, 1), "")
	if !strings.Contains(body, old) {
		t.Fatalf("%q is not in %s", old, body)
	}
	return strings.Replace(body, old, new, 1)
}

func TestWhatTheServerRefuses(t *testing.T) {
	h := start(t, Options{})
	for name, c := range map[string]struct{ old, new, says string }{
		"a token without a logprob": {`"logprob":`, `"log":`, "logprob"},
		"no reward":                 {`"reward":`, `"rewards":`, "trajectory_groups[0].trajectories[0]: reward"},
		"bytes in base64":           {`"bytes":[60,109,111,118,101,62]`, `"bytes":"PG1vdmU+"`, "bytes"},
		"an unknown role":           {`"role":"user"`, `"role":"environment"`, "role"},
		"groups that are no list":   {`"trajectory_groups":[`, `"trajectory_groups":7,"x":[`, "trajectory_groups"},
		"a config that is null":     {`"config":{"learning_rate":0.01}`, `"config":null`, "config"},
		"no base model":             {`,"base_model":"some/base"`, ``, "base_model"},
	} {
		r := h.do("POST", "/_train_model", edit(t, c.old, c.new))
		if r.want(t, 422, nil); !strings.Contains(string(r.body), c.says) {
			t.Errorf("%s: %s", name, r.body)
		}
	}
	if h.step() != 0 {
		t.Error("a refused call was trained on")
	}
}

func TestWhatBreaksTheTrainingStream(t *testing.T) {
	h := start(t, Options{})
	for name, c := range map[string]struct{ old, new string }{
		"a token that names no id":      {`"token":"token_id:261"`, `"token":"move"`},
		"a token without a number":      {`"token":"token_id:261"`, `"token":"token_id:x"`},
		"a token that does not exist":   {`"token":"token_id:261"`, `"token":"token_id:151643"`},
		"first bytes that are no UTF-8": {`"bytes":[60,109,111,118,101,62]`, `"bytes":[195]`},
		"a choice without logprobs before the last": {`{"content":"A . . .\nB . . .\nC . . .","role":"user"}`,
			`{"finish_reason":"stop","index":0,"message":{"role":"assistant","content":"x"},"logprobs":null}`},
		"empty logprobs": {`{"content":"A . . .\nB . . .\nC . . .","role":"user"}`,
			`{"finish_reason":"stop","index":0,"message":{"role":"assistant","content":"x"},"logprobs":{"content":[]}}`},
	} {
		r := h.do("POST", "/_train_model", edit(t, c.old, c.new))
		if r.status != 200 || r.err == nil || len(r.body) > 0 {
			t.Errorf("%s: status %d, %q, %v; want a stream that breaks", name, r.status, r.body, r.err)
		}
	}
	if h.step() != 0 {
		t.Error("a broken call was trained on")
	}
}

func TestABatchWithNothingToTeachAdvancesTheStepOnly(t *testing.T) {
	h := start(t, Options{})
	h.do("POST", "/register", student).want(t, 200, nil)
	before := h.spoken("student")
	groups := batch(t, 1)
	for _, m := range groups[0].(map[string]any)["trajectories"].([]any) {
		m.(map[string]any)["reward"] = 0.5
	}
	members := groups[1].(map[string]any)["trajectories"].([]any)
	groups[1] = map[string]any{"trajectories": members[:1]} // one has nothing to compare with
	r := h.do("POST", "/_train_model", trainBody(t, groups, ""))
	r.want(t, 200, nil)
	if len(r.body) != 0 || h.step() != 1 || h.spoken("student") != before {
		t.Errorf("%q, step %d, changed: %v", r.body, h.step(), h.spoken("student") != before)
	}
}

func TestOldCheckpointsAreDeleted(t *testing.T) {
	for _, c := range []struct {
		path string
		kept []int
	}{
		{"/_delete_checkpoints?benchmark=val%2Freward&benchmark_smoothing=1.0", []int{1, 3}},
		{"/_delete_checkpoints?benchmark=no%2Fsuch&benchmark_smoothing=1.0", []int{3}},
	} {
		dir := t.TempDir()
		trained := start(t, Options{Dir: dir})
		for n, reward := range []float64{0.9, 0.1, 0.2} { // after steps 1, 2 and 3
			trained.train(n).want(t, 200, nil)
			log := fmt.Sprintf(`{"model":%s,"split":"val","trajectory_groups":[{"trajectories":[{"messages_and_choices":[],"reward":%g}]}]}`, student, reward)
			trained.do("POST", "/_log", log).want(t, 200, nil)
		}
		trained.stop()
		h := start(t, Options{Dir: dir})
		h.do("POST", c.path, student).want(t, 200, nil)
		h.stop()
		h = start(t, Options{Dir: dir})
		for step := range 4 {
			r := h.do("POST", "/v1/chat/completions", ask(fmt.Sprintf("student@%d", step), "x", ""))
			if (r.status == 200) != slices.Contains(c.kept, step) {
				t.Errorf("%s: step %d answers %d, kept are %v", c.path, step, r.status, c.kept)
			}
		}
		if h.step() != 3 {
			t.Errorf("step %d after deleting, want 3", h.step())
		}
	}
}
