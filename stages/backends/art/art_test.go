package art_test

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/art"
	"github.com/rollmill/rollmill/stages/backends/art/arttest"
	"github.com/rollmill/rollmill/stages/backends/backendtest"
	"github.com/rollmill/rollmill/storage/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, d arttest.Dialect, f arttest.Faults) (*arttest.Server, art.Config) {
	t.Helper()
	server := arttest.New(d, f)
	t.Cleanup(server.Close)
	host, port := server.Addr()
	return server, art.Config{IP: host, Port: port, APIKey: "hush"}
}

func trainer(t *testing.T, cfg art.Config) *art.Trainer {
	t.Helper()
	tr, err := art.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func TestKind(t *testing.T) {
	backendtest.Kind(t, art.Kind, nil)
}

func TestConformance(t *testing.T) {
	for name, atomic := range map[string]bool{"plain": false, "atomic": true} {
		t.Run(name, func(t *testing.T) {
			backendtest.Run(t, func(t *testing.T) backendtest.Subject {
				server, cfg := start(t, arttest.Legacy, arttest.Faults{Atomic: atomic})
				return backendtest.Subject{Trainer: trainer(t, cfg), Jobs: server.Jobs, Secrets: []string{"hush"}, Sent: bodies(server)}
			})
		})
	}
}

// bodies returns the training requests that a server got.
func bodies(server *arttest.Server) func() []string {
	return func() (out []string) {
		for _, b := range server.Batches() {
			out = append(out, string(b.Raw))
		}
		return out
	}
}

// submit begins and submits the standard batch.
func submit(t *testing.T, tr *art.Trainer) (backends.Outcome, error) {
	t.Helper()
	before, err := tr.Begin(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return tr.Submit(t.Context(), backends.Submission{Token: "batch", Before: before, Tokens: 24}, backendtest.Batch(), func(backends.JobEvent) {})
}

func ptr[T any](v T) *T { return &v }

// TestHowATrainingEnds is the table of what the wire may show.
func TestHowATrainingEnds(t *testing.T) {
	for name, c := range map[string]struct {
		faults  arttest.Faults
		state   string
		clean   bool
		step    int64
		later   bool   // another look may help
		says    string // in the message
		refused string // in the error
	}{
		"trained":                    {state: receipts.JobCompleted, step: 1},
		"announced by the newer key": {faults: arttest.Faults{StepsKey: "data/step_num_gradient_steps"}, state: receipts.JobCompleted, step: 1},
		"a line of NaN":              {faults: arttest.Faults{NaN: true}, state: receipts.JobCompleted, step: 1, says: "loss was NaN in 1 of 3"},
		"a line of 200 kB":           {faults: arttest.Faults{LongLine: true}, state: receipts.JobCompleted, step: 1},
		"a line missing": {faults: arttest.Faults{LinesMissing: 1}, state: receipts.JobCompleted, step: 1,
			says: "of 2 of 3 gradient steps were seen"},
		"no line announces": {faults: arttest.Faults{StepsKey: "other"}, state: receipts.JobCompleted, step: 1, says: "announces"},
		"nothing trainable": {faults: arttest.Faults{Untrainable: true}, state: receipts.JobUntrained, step: 1},
		"the step stays": {faults: arttest.Faults{StepStays: true}, state: backends.JobUnknown, later: true,
			says: "the step is 0, as it was before"},
		"the step jumps":     {faults: arttest.Faults{StepJumps: true}, state: receipts.JobCompleted, step: 2, says: "something else trained"},
		"broken off at once": {faults: arttest.Faults{CloseAfter: ptr(0)}, state: backends.JobUnknown, later: true, says: "as it was before"},
		"broken off after two lines": {faults: arttest.Faults{CloseAfter: ptr(2)}, state: backends.JobUnknown, later: true,
			says: "after 2 gradient steps"},
		"failed at 100 %": {faults: arttest.Faults{CloseUnsaved: true}, state: backends.JobUnknown, later: true,
			says: "after 3 gradient steps"},
		"broken off after saving":   {faults: arttest.Faults{CloseSaved: true}, state: receipts.JobCompleted, step: 1, says: "from 0 to 1"},
		"dropped without an answer": {faults: arttest.Faults{CloseBefore: true}, state: receipts.JobCompleted, step: 1, says: "from 0 to 1"},
		"atomic, broken off": {faults: arttest.Faults{Atomic: true, CloseAfter: ptr(1)}, state: receipts.JobFailed, clean: true,
			says: "trained nothing"},
		"atomic, broken off after saving": {faults: arttest.Faults{Atomic: true, CloseSaved: true}, state: receipts.JobCompleted, step: 1,
			says: "it trained this submission"},
		"refused with 422":             {faults: arttest.Faults{TrainStatus: 422}, state: receipts.JobFailed, clean: true, refused: "422"},
		"a proxy's 422":                {faults: arttest.Faults{TrainStatus: 422, Proxy: true}, state: backends.JobUnknown, later: true, says: "422"},
		"refused with 500":             {faults: arttest.Faults{TrainStatus: 500}, state: backends.JobUnknown, later: true, says: "as it was before"},
		"a gateway's 502":              {faults: arttest.Faults{TrainStatus: 502}, state: backends.JobUnknown, later: true, says: "as it was before"},
		"a proxy's 404":                {faults: arttest.Faults{TrainStatus: 404, Proxy: true}, state: backends.JobUnknown, later: true, says: "404"},
		"a gateway's 503, and trained": {faults: arttest.Faults{StatusAfter: 503, Proxy: true}, state: receipts.JobCompleted, step: 1, says: "from 0 to 1"},
		"a gateway's 429, training": {faults: arttest.Faults{StatusAfter: 429, Proxy: true, TrainsOn: 2}, state: backends.JobUnknown, later: true,
			says: "may be training still"},
		"cut off, training": {faults: arttest.Faults{CloseAfter: ptr(1), TrainsOn: 2}, state: backends.JobUnknown, later: true,
			says: "after 1 gradient steps"},
		"ended cleanly, training": {faults: arttest.Faults{LinesMissing: 2, TrainsOn: 2}, state: backends.JobUnknown, later: true,
			says: "after 1 gradient steps"},
		"ended cleanly at once, training": {faults: arttest.Faults{LinesMissing: 3, TrainsOn: 2}, state: backends.JobUnknown, later: true,
			says: "as it was before"},
	} {
		t.Run(name, func(t *testing.T) {
			_, cfg := start(t, arttest.Legacy, c.faults)
			out, err := submit(t, trainer(t, cfg))
			if c.refused == "" && err != nil || c.refused != "" && (err == nil || !strings.Contains(err.Error(), c.refused)) {
				t.Errorf("error %v, want %q", err, c.refused)
			}
			if out.State != c.state || out.Clean != c.clean || out.MayChange != c.later || !strings.Contains(out.Message, c.says) {
				t.Errorf("%+v", out)
			}
			if c.step > 0 && (out.StepAfter == nil || *out.StepAfter != c.step || out.Policy == nil || out.Policy.Version != c.step) {
				t.Errorf("step %v, policy %+v", out.StepAfter, out.Policy)
			}
			for _, line := range out.MetricSteps {
				if !json.Valid(line) {
					t.Errorf("line %s", line)
				}
			}
		})
	}
}

// TestAStepAloneProvesNothing: ART 0.4 advances it without training. It counts
// when gradient steps were seen, or when the batch has tokens that ART trains.
func TestAStepAloneProvesNothing(t *testing.T) {
	server, cfg := start(t, arttest.Legacy, arttest.Faults{})
	tr := trainer(t, cfg)
	before, err := tr.Begin(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	server.Advance(1)
	for tokens, want := range map[int64]string{0: backends.JobUnknown, 24: receipts.JobCompleted} {
		out, err := tr.Resolve(t.Context(), backends.Submission{Token: "batch", Before: before, Tokens: tokens})
		if err != nil || out.State != want || out.MayChange {
			t.Errorf("%d tokens: %+v, %v", tokens, out, err)
		}
	}
}

// TestNothingToTrainOn: 0.3 leaves its step as it is then, and 0.5 says so in a
// line, even if the answer is cut off after it.
func TestNothingToTrainOn(t *testing.T) {
	_, cfg := start(t, arttest.V03, arttest.Faults{Untrainable: true, StayUntrained: true})
	if out, err := submit(t, trainer(t, cfg)); err != nil || out.State != receipts.JobUntrained {
		t.Errorf("%+v, %v", out, err)
	}
	_, cfg = start(t, arttest.Legacy, arttest.Faults{Untrainable: true, StayUntrained: true})
	if out, err := submit(t, trainer(t, cfg)); err != nil || out.State != backends.JobUnknown || !out.MayChange {
		t.Errorf("a later server advances its step: %+v, %v", out, err)
	}
}

// TestBranchesNeedAServerThatKnowsThem: 0.3 would drop them without a word.
func TestBranchesNeedAServerThatKnowsThem(t *testing.T) {
	rows := backendtest.Group(0)
	for i := range rows {
		more := rows[i].Messages[1]
		more.Parent = 2
		rows[i].Messages = append(rows[i].Messages, formats.Message{Parent: -1, Role: "user", Content: "sub-agent", Call: -1}, more)
	}
	batch := func(yield func([]formats.Trajectory, error) bool) { yield(rows, nil) }
	for dialect, want := range map[arttest.Dialect]int{arttest.V03: 4, arttest.Legacy: 0} {
		_, cfg := start(t, dialect, arttest.Faults{})
		n := 0
		stats, err := trainer(t, cfg).Preflight(t.Context(), batch, func(p backends.Problem) { n++ })
		if err != nil || n != want || stats.Sequences != 8 {
			t.Errorf("%s: %d problems, %+v, %v", dialect, n, stats, err)
		}
	}
}

func TestPrepareGivesAnAddressThatReachesTheEngine(t *testing.T) {
	for _, host := range []string{"0.0.0.0", "localhost", ""} {
		_, cfg := start(t, arttest.Legacy, arttest.Faults{PrepareHost: host})
		state, err := trainer(t, cfg).Begin(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		p := state.Policy
		if !strings.HasPrefix(p.URL, "http://127.0.0.1:") || !strings.HasSuffix(p.URL, "/v1") || p.Model != "trainer_run" || p.Version != 0 {
			t.Errorf("%s: %+v", host, p)
		}
	}
	_, cfg := start(t, arttest.Legacy, arttest.Faults{PrepareHost: "gpu-7.example"})
	state, err := trainer(t, cfg).Begin(t.Context(), nil)
	if err != nil || !strings.HasPrefix(state.Policy.URL, "http://gpu-7.example:") {
		t.Errorf("%+v, %v", state.Policy, err)
	}
}

// TestAServingEngineIsNotRestarted: preparing restarts it.
func TestAServingEngineIsNotRestarted(t *testing.T) {
	server, cfg := start(t, arttest.Legacy, arttest.Faults{})
	tr := trainer(t, cfg)
	state, err := tr.Begin(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tr.Begin(t.Context(), state.Policy); err != nil {
		t.Fatal(err)
	}
	if n := len(server.Bodies("/_prepare_backend_for_training")); n != 1 {
		t.Errorf("prepared %d times", n)
	}
}

func TestWhatIsUnsetIsAbsent(t *testing.T) {
	server, cfg := start(t, arttest.Legacy, arttest.Faults{})
	cfg.APIKey = ""
	if _, err := submit(t, trainer(t, cfg)); err != nil {
		t.Fatal(err)
	}
	b := server.Batches()[0]
	if head := b.Raw[:bytes.Index(b.Raw, []byte(`"trajectory_groups"`))]; bytes.Contains(head, []byte("null")) ||
		bytes.Contains(head, []byte("_internal_config")) {
		t.Errorf("%s", head)
	}
	if got := string(server.Bodies("/_prepare_backend_for_training")[0]); got != `{"config":{},"model":{"name":"trainer_run","project":"trainer_project","base_model":"Qwen/Qwen2.5-7B-Instruct","trainable":true}}` {
		t.Errorf("%s", got)
	}
	if b.Config["learning_rate"] != 5e-5 || b.Config["beta"] != 0.0 || len(b.Config) != 2 || len(b.Dev) != 0 {
		t.Errorf("config %v, dev %v", b.Config, b.Dev)
	}
}

func TestEveryFieldIsSent(t *testing.T) {
	server, cfg := start(t, arttest.Legacy, arttest.Faults{})
	cfg.Name, cfg.Project, cfg.BaseModel, cfg.DeleteOldCheckpoints = "run7", "demo", "tiny", true
	cfg.InitArgs = art.InitArgs{MaxSeqLength: ptr(8192), More: map[string]any{"load_in_4bit": false}}
	cfg.EngineArgs = art.EngineArgs{GPUMemoryUtilization: ptr(0.9), TensorParallelSize: ptr(2), More: map[string]any{"seed": 1, "nothing": nil}}
	cfg.PeftArgs, cfg.TrainArgs, cfg.Internal = map[string]any{"r": 16}, map[string]any{"max_grad_norm": 0.2}, map[string]any{"torchtune_args": map[string]any{"x": 1}}
	cfg.ServerArgs = map[string]any{"port": 8123}
	cfg.Training = art.Training{LearningRate: ptr(1e-6), Beta: ptr(0.1), KLPenalty: ptr(0.2)}
	cfg.DevConfig = map[string]any{"scale_rewards": false}
	if _, err := submit(t, trainer(t, cfg)); err != nil {
		t.Fatal(err)
	}
	b := server.Batches()[0]
	want := `{"engine_args":{"gpu_memory_utilization":0.9,"seed":1,"tensor_parallel_size":2},"init_args":{"load_in_4bit":false,"max_seq_length":8192},"peft_args":{"r":16},"torchtune_args":{"x":1},"trainer_args":{"max_grad_norm":0.2}}`
	if got, _ := json.Marshal(b.Model.InternalConfig); string(got) != want {
		t.Errorf("%s", got)
	}
	if b.Model.Name != "run7" || b.Model.Project != "demo" || b.Model.BaseModel != "tiny" || b.Token != "batch" {
		t.Errorf("%+v", b.Model)
	}
	if b.Config["learning_rate"] != 1e-6 || b.Config["beta"] != 0.1 || b.Config["kl_penalty_coef"] != 0.2 || b.Dev["scale_rewards"] != false {
		t.Errorf("%v %v", b.Config, b.Dev)
	}
	if got := string(server.Bodies("/_prepare_backend_for_training")[0]); !strings.HasPrefix(got, `{"config":{"server_args":{"api_key":"hush","port":8123}}`) {
		t.Errorf("%s", got)
	}
	if len(server.Bodies("/_delete_checkpoints")) != 1 {
		t.Error("old checkpoints were not deleted")
	}
	calls := server.Calls()
	train := slices.Index(calls, "POST /_train_model")
	if !slices.Contains(calls[:train], "POST /_get_step") || !slices.Contains(calls[train:], "POST /_get_step") {
		t.Errorf("the step is noted before and after: %v", calls)
	}
}

// TestEachTokenArrivesOnce compares what the server would train with the batch.
func TestEachTokenArrivesOnce(t *testing.T) {
	server, cfg := start(t, arttest.Legacy, arttest.Faults{})
	if _, err := submit(t, trainer(t, cfg)); err != nil {
		t.Fatal(err)
	}
	var want []int32
	for rows := range backendtest.Batch() {
		for _, r := range rows {
			want = append(want, r.Messages[1].TokenIDs...)
		}
	}
	if b := server.Batches()[0]; !slices.Equal(b.Tokens, want) || b.Plain != 0 {
		t.Errorf("%v, plain %d, want %v", b.Tokens, b.Plain, want)
	}
}

func TestReadTimeout(t *testing.T) {
	hold := make(chan struct{})
	_, cfg := start(t, arttest.Legacy, arttest.Faults{Hold: hold})
	cfg.ReadTimeout = 50 * time.Millisecond
	type end struct {
		out backends.Outcome
		err error
	}
	ended := make(chan end, 1)
	go func() {
		out, err := submit(t, trainer(t, cfg))
		ended <- end{out, err}
	}()
	got := <-ended
	close(hold)
	if got.err != nil || got.out.State != backends.JobUnknown || !strings.Contains(got.out.Message, "no news for 50ms") {
		t.Errorf("%+v, %v", got.out, got.err)
	}
}

func TestUnreachableServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	l.Close()
	n, _ := strconv.Atoi(port)
	_, err = trainer(t, art.Config{Port: n}).Begin(t.Context(), nil)
	if err == nil || !strings.Contains(err.Error(), "failed to connect to ART backend") {
		t.Fatal(err)
	}
	if e := err.(*art.Error); fault.KindOf(e) != fault.Temporary || !strings.Contains(fault.HintOf(e), "/healthcheck") || !strings.Contains(fault.HintOf(e), "--url") {
		t.Errorf("%+v", e)
	}
}

func TestConfigIsChecked(t *testing.T) {
	for _, cfg := range []art.Config{
		{Port: 70000}, {InitArgs: art.InitArgs{MaxSeqLength: ptr(0)}}, {EngineArgs: art.EngineArgs{GPUMemoryUtilization: ptr(1.5)}},
		{EngineArgs: art.EngineArgs{TensorParallelSize: ptr(0)}}, {Training: art.Training{LearningRate: ptr(-1.0)}}, {Training: art.Training{Beta: ptr(-1.0)}},
	} {
		if _, err := art.New(cfg); err == nil {
			t.Errorf("%+v is accepted", cfg)
		}
	}
}

// TestTheTestServerIsFaithful holds arttest to the habits that matter.
func TestTheTestServerIsFaithful(t *testing.T) {
	server, _ := start(t, arttest.Legacy, arttest.Faults{})
	host, port := server.Addr()
	post := func(path, body string) (int, string, http.Header) {
		resp, err := http.Post("http://"+net.JoinHostPort(host, strconv.Itoa(port))+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var b bytes.Buffer
		b.ReadFrom(resp.Body)
		return resp.StatusCode, strings.TrimSpace(b.String()), resp.Header
	}
	const model = `{"name":"a","project":"p","base_model":"b"}`
	for _, c := range []struct {
		path, body string
		code       int
		says       string
	}{
		{"/nowhere", `{}`, 404, `{"detail":"Not Found"}`},
		{"/healthcheck", `{}`, 405, `{"detail":"Method Not Allowed"}`},
		{"/_delete_checkpoint_files", `{}`, 404, "Not Found"},
		{"/_delete_checkpoints", model, 422, "benchmark"},
		{"/register", model, 200, "null"},
		{"/_get_step", model, 200, "0"},
		{"/_get_step", `{"name":"a","project":"p"}`, 500, "Internal Server Error"},
		{"/_get_step", `[]`, 422, "detail"},
		{"/_get_step", `{"name":"a","project":"p","base_model":"b","_internal_config":{"engine_args":null}}`, 500, "Internal Server Error"},
		{"/_train_model", `{"model":` + model + `}`, 422, "trajectory_groups"},
		{"/_train_model", `{"model":` + model +
			`,"config":{},"dev_config":{},"trajectory_groups":[{"trajectories":[{"messages_and_choices":[{"finish_reason":"stop","index":0,"message":{"role":"assistant"},"logprobs":{"content":[{"token":"token_id:1","logprob":-1}]}}],"reward":1}]}]}`, 422, "top_logprobs"},
	} {
		if code, body, _ := post(c.path, c.body); code != c.code || !strings.Contains(body, c.says) {
			t.Errorf("%s %s: %d %s", c.path, c.body, code, body)
		}
	}
	_, _, header := post("/_train_model", `{"model":`+model+`,"config":{},"dev_config":{},"trajectory_groups":[]}`)
	if header.Get("Content-Type") != "" {
		t.Errorf("the answer of a training has a content type: %v", header)
	}
}
