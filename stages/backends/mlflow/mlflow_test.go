package mlflow

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// The tests in testdata/consumers/monitors use MLflow's own server. These are about
// what it seldom answers.

func client(t *testing.T, l Login, answer func(path string, w http.ResponseWriter, r *http.Request)) *Client {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, ok := strings.CutPrefix(r.URL.Path, "/base/api/2.0/mlflow/")
		if !ok {
			http.NotFound(w, r)
			return
		}
		answer(path, w, r)
	}))
	t.Cleanup(web.Close)
	c, err := New(web.URL+"/base/", l)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"error_code": %q, "message": "no"}`, code)
}

// TestRace: two processes that make the experiment at once get the same one.
func TestRace(t *testing.T) {
	asked := 0
	c := client(t, Login{}, func(path string, w http.ResponseWriter, _ *http.Request) {
		switch asked++; {
		case path == "experiments/get-by-name" && asked == 1:
			refuse(w, http.StatusNotFound, "RESOURCE_DOES_NOT_EXIST")
		case path == "experiments/create":
			refuse(w, http.StatusBadRequest, "RESOURCE_ALREADY_EXISTS")
		default:
			fmt.Fprint(w, `{"experiment": {"experiment_id": "7"}}`)
		}
	})
	if id, err := c.Experiment(t.Context(), "x"); id != "7" || err != nil || asked != 3 {
		t.Errorf("%q after %d requests: %v", id, asked, err)
	}
}

// TestName: a name with quotes and other characters is one value of a filter, the same
// in the tag.
func TestName(t *testing.T) {
	var filter, value string
	c := client(t, Login{}, func(path string, w http.ResponseWriter, r *http.Request) {
		var body struct {
			Filter string `json:"filter"`
			Tags   []tag  `json:"tags"`
		}
		_ = json.NewDecoder(r.Body).Decode(&body)
		if path == "runs/search" {
			filter = body.Filter
			fmt.Fprint(w, `{}`)
			return
		}
		value = body.Tags[0].Value
		fmt.Fprint(w, `{"run": {"info": {"run_id": "r"}}}`)
	})
	if id, err := c.Run(t.Context(), "0", `it's a "run" \ %27`); id != "r" || err != nil {
		t.Fatal(id, err)
	}
	if want := "tags.`rollmill.run` = '" + value + "'"; filter != want || strings.ContainsAny(value, `'"\ `) {
		t.Errorf("filter %s, tag %s", filter, value)
	}
}

// TestLog: metrics are sent in requests of as many as MLflow takes.
func TestLog(t *testing.T) {
	var sizes []int
	c := client(t, Login{}, func(_ string, w http.ResponseWriter, r *http.Request) {
		var body struct {
			Metrics []Metric `json:"metrics"`
		}
		_ = json.NewDecoder(r.Body).Decode(&body)
		sizes = append(sizes, len(body.Metrics))
		fmt.Fprint(w, `{}`)
	})
	if err := c.Log(t.Context(), "r", make([]Metric, 2*maxMetrics+1)); err != nil || fmt.Sprint(sizes) != "[1000 1000 1]" {
		t.Errorf("%v: %v", sizes, err)
	}
}

// TestHas reads every page of a history, with steps as numbers or as texts.
func TestHas(t *testing.T) {
	c := client(t, Login{}, func(_ string, w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("page_token") == "" {
			fmt.Fprint(w, `{"metrics": [{"step": 1}, {"step": "2"}], "next_page_token": "more"}`)
		} else {
			fmt.Fprint(w, `{"metrics": [{"step": 3}]}`)
		}
	})
	for step, want := range map[int64]bool{1: true, 2: true, 3: true, 4: false} {
		if got, err := c.Has(t.Context(), "r", "k", step); got != want || err != nil {
			t.Errorf("step %d: %v, %v", step, got, err)
		}
	}
}

// TestLogin: a server gets what it asks for, and no error shows it.
func TestLogin(t *testing.T) {
	for _, l := range []Login{{Token: "top-secret"}, {User: "me", Password: "top-secret"}} {
		var got string
		c := client(t, l, func(_ string, w http.ResponseWriter, r *http.Request) {
			got = r.Header.Get("Authorization")
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, "not top-secret: "+got)
		})
		err := c.SetStatus(t.Context(), "r", Finished, time.Now())
		if kind, _, _ := strings.Cut(got, " "); kind != map[bool]string{true: "Bearer", false: "Basic"}[l.Token != ""] {
			t.Errorf("it got %q", got)
		}
		_, sent, _ := strings.Cut(got, " ")
		if err == nil || strings.Contains(err.Error(), "top-secret") || strings.Contains(err.Error(), sent) {
			t.Errorf("the error is %v", err)
		}
	}
}

func TestAddress(t *testing.T) {
	for _, uri := range []string{"databricks", "./mlruns", "sqlite:///x.db", ""} {
		if _, err := New(uri, Login{}); err == nil {
			t.Errorf("%q is taken for a server", uri)
		}
	}
}
