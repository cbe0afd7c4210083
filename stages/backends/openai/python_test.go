package openai_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends/openai"
	"github.com/rollmill/rollmill/stages/backends/openai/openaitest"
)

// TestPythonClient: OpenAI's own client sends the test server what ours sends,
// and sees what ours sees.
func TestPythonClient(t *testing.T) {
	python, _ := filepath.Abs("../../../.venv-data/bin/python")
	if p := os.Getenv("ROLLMILL_PYTHON_OPENAI"); p != "" {
		python = p
	}
	if exec.Command(python, "-c", "import openai").Run() != nil {
		t.Skip("no Python with openai: run .ci/venv data, or set ROLLMILL_PYTHON_OPENAI")
	}
	for _, m := range openai.Methods {
		t.Run(m, func(t *testing.T) {
			seed := int64(7)
			tr, server := start(t, openaitest.Faults{PageSize: 1}, method(m), func(c *openai.Config) {
				c.Suffix, c.Seed, c.Hyperparameters = "agent", &seed, map[string]any{"n_epochs": 2}
			})
			out, err := submit(t, tr)
			if err != nil {
				t.Fatal(err)
			}
			ours := follow(t, tr, out.Job)
			seen := ask(t, python, server)
			compareJobs(t, server)
			if seen.Model != strings.Replace(ours.Policy.Model, "-1", "-2", 1) || float64(seen.Tokens) != ours.Metrics["trained_tokens"] ||
				seen.Cancelled != receipts.JobCancelled {
				t.Errorf("%+v, ours %+v", seen, ours)
			}
			if want := []string{"validating_files", "queued", "running", "succeeded"}; !slices.Equal(slices.Compact(seen.States), want) ||
				!strings.HasPrefix(seen.Event, "Step ") {
				t.Errorf("%+v", seen)
			}
			if len(seen.Checkpoints) != len(ours.MetricSteps) || seen.Checkpoints[0].Loss != ours.Metrics["train_loss"] {
				t.Errorf("%+v, ours %s", seen, ours.MetricSteps)
			}
		})
	}
}

type seen struct {
	States      []string
	Model       string
	Tokens      int
	Event       string
	Cancelled   string
	Checkpoints []struct {
		Step  int
		Model string
		Loss  float64 `json:"train_loss"`
	}
}

// ask has the Python client repeat what ours did.
func ask(t *testing.T, python string, server *openaitest.Server) (s seen) {
	t.Helper()
	body := map[string]json.RawMessage{}
	for key, value := range server.Jobs()[0].Body {
		if key != "training_file" {
			body[key] = value
		}
	}
	dir := t.TempDir()
	job, _ := json.Marshal(body)
	for name, data := range map[string][]byte{"lines.jsonl": []byte(server.File("training")), "job.json": job} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(python, "../../../testdata/consumers/openai/check.py", filepath.Join(dir, "lines.jsonl"), filepath.Join(dir, "job.json"))
	cmd.Env = append(os.Environ(), "OPENAI_BASE_URL="+server.URL, "OPENAI_API_KEY="+openaitest.Key)
	var errors bytes.Buffer
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &s)
	}
	if err != nil {
		t.Fatalf("%v: %s\n%s", err, out, &errors)
	}
	return s
}

// compareJobs: what both clients sent is the same, but for the file's id.
func compareJobs(t *testing.T, server *openaitest.Server) {
	t.Helper()
	var bodies []map[string]any
	for _, j := range server.Jobs() {
		data, _ := json.Marshal(j.Body)
		var body map[string]any
		if err := json.Unmarshal(data, &body); err != nil {
			t.Fatal(err)
		}
		delete(body, "training_file")
		bodies = append(bodies, body)
	}
	if diff := cmp.Diff(bodies[0], bodies[1]); diff != "" {
		t.Errorf("-ours +theirs:\n%s", diff)
	}
}
