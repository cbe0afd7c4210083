package mlflow

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/cmd/internal/monitors"
	"github.com/rollmill/rollmill/stages"
)

// tracking answers as MLflow's server does, and keeps the bodies of requests by path.
// testdata/consumers/monitors has tests with the real server.
func tracking(t *testing.T, s Settings) (monitors.Monitor, map[string][]map[string]any) {
	t.Helper()
	got := map[string][]map[string]any{}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := strings.TrimPrefix(r.URL.Path, "/api/2.0/mlflow/")
		var body map[string]any
		_ = json.NewDecoder(r.Body).Decode(&body)
		got[path] = append(got[path], body)
		fmt.Fprint(w, map[string]string{
			"experiments/get-by-name": `{"experiment": {"experiment_id": "1"}}`, "runs/search": `{}`, "runs/create": `{"run": {"info": {"run_id": "r1"}}}`,
			"metrics/get-history": `{"metrics": [{"step": 0}]}`, "runs/log-batch": `{}`, "runs/update": `{}`,
		}[path])
	}))
	t.Cleanup(web.Close)
	s.URI = web.URL
	m, err := s.Open(monitors.Job{})
	if err != nil {
		t.Fatal(err)
	}
	return m, got
}

func figures(run string, epoch int, upToDate bool) monitors.Figures {
	f := monitors.Figures{Report: &stages.Report{Stage: "score", Rows: 5, UpToDate: upToDate, Facts: map[string]float64{"judge(x)=1": 2}}}
	f.Run, f.Epoch = run, &epoch
	return f
}

// TestUpdate: the run is looked for once; what is up to date is sent only if the
// server does not have it.
func TestUpdate(t *testing.T) {
	m, got := tracking(t, Settings{})
	for _, f := range []monitors.Figures{{}, figures("demo", 0, false), figures("demo", 0, true), figures("demo", 1, true)} {
		if err := m.Update(t.Context(), f); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(got["runs/log-batch"]); n != 2 || len(got["runs/create"]) != 1 || len(got["runs/search"]) != 1 {
		t.Errorf("%d batches, of %v", n, got)
	}
	if list := fmt.Sprint(got["runs/log-batch"][0]["metrics"]); !strings.Contains(list, "key:score/judge_x__1") {
		t.Errorf("a name that MLflow refuses: %s", list)
	}
}

func TestClose(t *testing.T) {
	for code, want := range map[int]string{0: "FINISHED", 1: "FAILED", 3: "FAILED", 130: "KILLED", 143: "KILLED"} {
		m, got := tracking(t, Settings{})
		_ = m.Update(t.Context(), figures("demo", 0, false))
		if err := m.Close(t.Context(), monitors.End{ExitCode: code, At: time.Now()}); err != nil || len(got["runs/update"]) != 1 ||
			got["runs/update"][0]["status"] != want {
			t.Errorf("exit code %d: %v, %v", code, got["runs/update"], err)
		}
	}
	m, got := tracking(t, Settings{})
	if err := m.Close(t.Context(), monitors.End{}); err != nil || len(got) != 0 {
		t.Errorf("a command without figures makes requests: %v, %v", got, err)
	}
	given, got := tracking(t, Settings{runID: "mine"})
	_ = given.Update(t.Context(), figures("", 0, false))
	if err := given.Close(t.Context(), monitors.End{}); err != nil || len(got) != 1 || got["runs/log-batch"][0]["run_id"] != "mine" {
		t.Errorf("the run of MLFLOW_RUN_ID: %v, %v", got, err)
	}
}

func TestNoName(t *testing.T) {
	m, got := tracking(t, Settings{})
	if err := m.Update(t.Context(), figures("", 0, false)); err == nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestOff(t *testing.T) {
	if m, err := (&Settings{}).Open(monitors.Job{}); m != nil || err != nil {
		t.Error("a monitor without a server")
	}
	if _, err := (&Settings{URI: "databricks"}).Open(monitors.Job{}); err == nil {
		t.Error("a server without an address")
	}
}
