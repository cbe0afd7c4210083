package art_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	foreignart "github.com/rollmill/rollmill/formats/foreign/art"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/art"
	"github.com/rollmill/rollmill/stages/backends/art/arttest"
	"github.com/rollmill/rollmill/stages/backends/backendtest"
	"github.com/rollmill/rollmill/storage/fault"
)

// textAlone is the switch for training without what was sampled.
func textAlone(cfg art.Config) art.Config {
	cfg.DevConfig = map[string]any{"allow_training_without_logprobs": true}
	return cfg
}

func TestDialects(t *testing.T) {
	for _, c := range []struct {
		dialect arttest.Dialect
		faults  arttest.Faults
		text    bool
		refused string
	}{
		{dialect: arttest.V03},
		{dialect: arttest.Legacy},
		{dialect: arttest.Legacy, text: true},
		{dialect: arttest.Legacy, faults: arttest.Faults{NoOpenAPI: true}},
		{dialect: arttest.V05, refused: "0.5.2 to 0.5.7"},
		{dialect: arttest.V05, text: true},
		{dialect: arttest.Frontend, refused: "frontend dialect"},
		{dialect: arttest.Frontend, faults: arttest.Faults{NoOpenAPI: true}, refused: "frontend dialect"},
		{dialect: arttest.Frontend, text: true},
		{dialect: arttest.Frontend, faults: arttest.Faults{NoOpenAPI: true}, text: true},
		{dialect: arttest.Later, refused: "cannot be told to train"},
		{dialect: arttest.Later, text: true, refused: "cannot be told to train"},
		{dialect: arttest.Later, faults: arttest.Faults{NoOpenAPI: true}, refused: "cannot be told to train"},
	} {
		server, cfg := start(t, c.dialect, c.faults)
		if c.text {
			cfg = textAlone(cfg)
		}
		tr := trainer(t, cfg)
		_, err := tr.Preflight(t.Context(), backendtest.Batch(), func(p backends.Problem) { t.Errorf("%+v", p) })
		_, begun := tr.Begin(t.Context(), nil)
		out, sent := tr.Submit(t.Context(), backends.Submission{Token: "batch"}, backendtest.Batch(), func(backends.JobEvent) {})
		for _, err := range []error{err, begun, sent} {
			if c.refused == "" && err != nil || c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)) {
				t.Errorf("%s %+v: %v, want %q", c.dialect, c.faults, err, c.refused)
			}
		}
		if c.refused != "" && (!out.Clean || len(server.Batches()) > 0) {
			t.Errorf("%s: %d batches were sent, %+v", c.dialect, len(server.Batches()), out)
		}
		if e, ok := err.(*art.Error); ok {
			if orPlain := strings.Contains(fault.HintOf(e), "allow_training_without_logprobs=true"); orPlain != (c.dialect != arttest.Later) ||
				!strings.Contains(fault.HintOf(e), "--trainer 'python -m rollmill.art JOBS'") {
				t.Errorf("%s: hint %s", c.dialect, fault.HintOf(e))
			}
		}
	}
}

func TestConformanceOfAFrontendServer(t *testing.T) {
	backendtest.Run(t, func(t *testing.T) backendtest.Subject {
		server, cfg := start(t, arttest.Frontend, arttest.Faults{StepsKey: "data/step_num_gradient_steps"})
		return backendtest.Subject{Trainer: trainer(t, textAlone(cfg)), Jobs: server.Jobs, Secrets: []string{"hush"}, Sent: bodies(server)}
	})
}

// TestAFrontendServerTrainsOnTheText: plain messages, the server's own switch,
// and names with a step.
func TestAFrontendServerTrainsOnTheText(t *testing.T) {
	for _, f := range []arttest.Faults{{}, {BareNames: true}} {
		server, cfg := start(t, arttest.Frontend, f)
		cfg = textAlone(cfg)
		cfg.Name, cfg.Training.Beta = "run7", ptr(0.1)
		before, after := "run7@0", "run7@1"
		if f.BareNames {
			before, after = "run7", "run7"
		}
		tr := trainer(t, cfg)
		state, err := tr.Begin(t.Context(), nil)
		if err != nil || state.Policy.Model != before {
			t.Fatalf("%+v, %v", state.Policy, err)
		}
		stats, err := tr.Preflight(t.Context(), backendtest.Batch(), func(p backends.Problem) { t.Errorf("%+v", p) })
		if err != nil || !strings.Contains(strings.Join(stats.Notes, "; "), "text alone") || !strings.Contains(strings.Join(stats.Notes, "; "), "ignore beta") {
			t.Errorf("%+v, %v", stats, err)
		}
		out, err := tr.Submit(t.Context(), backends.Submission{Token: "batch", Before: state}, backendtest.Batch(), func(backends.JobEvent) {})
		if err != nil || out.State != receipts.JobCompleted || out.Policy.Model != after || out.Policy.URL != state.Policy.URL {
			t.Errorf("%+v, %v", out.Policy, err)
		}
		b := server.Batches()[0]
		if b.Plain != 12 || len(b.Tokens) != 0 || b.Texts[3] != "answer 3" || b.Dev["allow_training_without_logprobs"] != true ||
			int64(len(b.Raw)) != stats.Bytes {
			t.Errorf("%d plain, %d tokens, %v, %d bytes of %d", b.Plain, len(b.Tokens), b.Dev, len(b.Raw), stats.Bytes)
		}
		// The next epoch goes on where it stands: the engine is not prepared anew.
		if again, err := tr.Begin(t.Context(), out.Policy); err != nil || *again.Policy != *out.Policy ||
			len(server.Bodies("/_prepare_backend_for_training")) != 1 {
			t.Errorf("%+v, %v", again.Policy, err)
		}
	}
}

func TestAFrontendServerThatFindsNothingToTrainOn(t *testing.T) {
	_, cfg := start(t, arttest.Frontend, arttest.Faults{Untrainable: true})
	if out, err := submit(t, trainer(t, textAlone(cfg))); err != nil || out.State != receipts.JobUntrained || len(out.MetricSteps) != 1 {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestTextCannotExpressIsRefused: such a server would raise, or show the
// model other tools than it had.
func TestTextCannotExpressIsRefused(t *testing.T) {
	_, cfg := start(t, arttest.Frontend, arttest.Faults{})
	rows := backendtest.Group(0)
	rows[0].Messages[1].ToolCalls = []formats.ToolCall{{ID: "c", Name: "f", Arguments: "{}"}}
	rows[1].ToolSets = []string{"[]"}
	rows[2].Messages[1].TokenIDs, rows[2].Messages[1].Logprobs = nil, nil // no hindrance: they do not travel
	found := map[string]string{}
	_, err := trainer(t, textAlone(cfg)).
		Preflight(t.Context(), func(yield func([]formats.Trajectory, error) bool) { yield(rows, nil) }, func(p backends.Problem) {
			found[p.TrajectoryID] = p.Reason
		})
	if err != nil || len(found) != 2 || found[rows[0].TrajectoryID] != foreignart.PlainToolCalls || found[rows[1].TrajectoryID] != foreignart.ToolsWrapped {
		t.Errorf("%v, %v", found, err)
	}
}

func TestOldCheckpointsAreDeletedInEachDialect(t *testing.T) {
	for dialect, path := range map[arttest.Dialect]string{arttest.V03: "/_delete_checkpoints", arttest.Legacy: "/_delete_checkpoints",
		arttest.V05: "/_delete_checkpoints", arttest.Frontend: "/_delete_checkpoint_files"} {
		server, cfg := start(t, dialect, arttest.Faults{})
		server.Advance(9)
		cfg = textAlone(cfg)
		cfg.DeleteOldCheckpoints, cfg.KeepCheckpoints = true, []int64{7, 4, 7}
		if dialect == arttest.V03 || dialect == arttest.Legacy {
			cfg.DevConfig = nil
		}
		tr := trainer(t, cfg)
		before, err := tr.Begin(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var notes []string
		out, err := tr.Submit(t.Context(), backends.Submission{Token: "batch", Before: before}, backendtest.Batch(), func(e backends.JobEvent) {
			if e.Note != "" {
				notes = append(notes, e.Note)
			}
		})
		bodies := server.Bodies(path)
		if err != nil || out.State != receipts.JobCompleted || len(bodies) != 1 || notes != nil {
			t.Fatalf("%s: %+v, %v; %d requests, %v", dialect, out, err, len(bodies), notes)
		}
		if dialect != arttest.Frontend {
			continue
		}
		var body struct {
			Keep []int64 `json:"steps_to_keep"`
		}
		if json.Unmarshal(bodies[0], &body) != nil || !slices.Equal(body.Keep, []int64{4, 7, 9}) {
			t.Errorf("%s", bodies[0])
		}
	}
}

// TestARandomInferencePortIsFollowed: each prepare starts another engine, and
// the address that counts is the one that the server gave last.
func TestARandomInferencePortIsFollowed(t *testing.T) {
	server, cfg := start(t, arttest.Legacy, arttest.Faults{NewPort: true})
	tr := trainer(t, cfg)
	first, err := tr.Begin(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	second, err := tr.Begin(t.Context(), nil) // by somebody who does not know the first
	if err != nil || second.Policy.URL == first.Policy.URL {
		t.Fatalf("%+v, %v", second.Policy, err)
	}
	third, err := tr.Begin(t.Context(), first.Policy) // which is gone
	if err != nil || third.Policy.URL == first.Policy.URL || len(server.Bodies("/_prepare_backend_for_training")) != 3 {
		t.Errorf("%+v, %v", third.Policy, err)
	}
	if fourth, err := tr.Begin(t.Context(), third.Policy); err != nil || *fourth.Policy != *third.Policy {
		t.Errorf("%+v, %v", fourth.Policy, err)
	}
	out, err := tr.Submit(t.Context(), backends.Submission{Token: "batch", Before: third}, backendtest.Batch(), func(backends.JobEvent) {})
	if err != nil || out.Policy.URL != third.Policy.URL {
		t.Errorf("%+v, %v", out.Policy, err)
	}
}
