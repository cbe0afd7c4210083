package systemtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/pipelines/sandbox"
	"github.com/rollmill/rollmill/storage/storagetest"
)

const tracesGuide = "traces"

// said is a message as files of TRL have it.
type said struct{ Role, Content string }

// recording is a sandbox and what it answered, by the prompt.
type recording struct {
	mu      sync.Mutex
	answers map[string][]string
}

func (r *recording) serve(t *testing.T) string {
	t.Helper()
	server, err := sandbox.New(sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		var body, answer bytes.Buffer
		_, _ = body.ReadFrom(q.Body)
		q.Body = noClose{bytes.NewReader(body.Bytes())}
		server.ServeHTTP(tee{w, &answer}, q)
		var asked struct{ Messages []said }
		var got struct{ Choices []struct{ Message said } }
		if json.Unmarshal(body.Bytes(), &asked) == nil && json.Unmarshal(answer.Bytes(), &got) == nil && len(got.Choices) == 1 {
			r.mu.Lock()
			defer r.mu.Unlock()
			key := fmt.Sprint(asked.Messages)
			r.answers[key] = append(r.answers[key], got.Choices[0].Message.Content)
		}
	}))
	t.Cleanup(web.Close)
	return web.URL
}

type noClose struct{ *bytes.Reader }

func (noClose) Close() error { return nil }

type tee struct {
	http.ResponseWriter
	copy *bytes.Buffer
}

func (w tee) Write(p []byte) (int, error) {
	w.copy.Write(p)
	return w.ResponseWriter.Write(p)
}

// check holds each answer of a conversation to what the sandbox answered to the messages before it.
func (r *recording) check(t *testing.T, what string, messages []said) {
	t.Helper()
	for i, m := range messages {
		if key := fmt.Sprint(messages[:i]); m.Role == "assistant" && !slices.Contains(r.answers[key], m.Content) {
			t.Errorf("%s: the sandbox did not answer %q to %s, but %q", what, m.Content, key, r.answers[key])
		}
	}
}

// TestTraces runs the guide from production traces to a fine-tune, with a sandbox that is recorded: the files for TRL hold
// what it answered, and no file of the run has the gateway's key, or the id of an end user.
func TestTraces(t *testing.T) {
	venv, err := filepath.Abs("../../../.venv-litellm")
	if err != nil {
		t.Fatal(err)
	}
	if !exists(filepath.Join(venv, "made-from")) {
		t.Skip("run .ci/install litellm")
	}
	r := &recording{answers: map[string][]string{}}
	url, front, dir := r.serve(t), t.TempDir(), t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\nif [ \"$1\" = sandbox ]; then echo %s; exec sleep 600; fi\nexec '%s/rollmill' \"$@\"\n", url, programs)
	storagetest.Program(t, filepath.Join(front, "rollmill"), script)
	guides := allGuides(t)
	out := guides[slices.IndexFunc(guides, func(g guide) bool { return g.name == tracesGuide })].runIn(t, dir, front, filepath.Join(venv, "bin"))
	if t.Failed() {
		log, _ := os.ReadFile(filepath.Join(dir, "litellm.log"))
		t.Fatalf("%s", log[max(0, len(log)-4000):])
	}
	if sessions := 18; len(r.answers) == 0 || !strings.Contains(out, "nothing new to import") {
		t.Fatalf("%d prompts of %d sessions", len(r.answers), sessions)
	}

	root, pairs := filepath.Join(dir, "runs", "traces"), 0
	var examples int
	for epoch := range 2 {
		for _, line := range lines(t, root, epoch, "submit/trl-sft.jsonl") {
			var row struct{ Messages []said }
			if err := json.Unmarshal([]byte(line), &row); err != nil || len(row.Messages) != 4 {
				t.Fatalf("%v: %s", err, line)
			}
			r.check(t, "trl-sft", row.Messages)
			if examples++; row.Messages[1].Content != right(row.Messages[0].Content) {
				t.Errorf("an example that users did not like: %s", line)
			}
		}
		for _, line := range lines(t, root, epoch, "submit-pairs/trl-preference.jsonl") {
			var row struct{ Prompt, Chosen, Rejected []said }
			if err := json.Unmarshal([]byte(line), &row); err != nil || len(row.Prompt) != 1 {
				t.Fatalf("%v: %s", err, line)
			}
			r.check(t, "chosen", append(slices.Clone(row.Prompt), row.Chosen...))
			r.check(t, "rejected", append(slices.Clone(row.Prompt), row.Rejected...))
			pairs++
			if want := right(row.Prompt[0].Content); row.Chosen[0].Content != want || row.Rejected[0].Content == want {
				t.Errorf("a pair that users would not have made: %s", line)
			}
		}
		_, rows := trajectoriesAt(t, filepath.Join(root, fmt.Sprintf("epoch-%d", epoch), "rollout"))
		if want := []int{12, 6}[epoch]; len(rows) != want {
			t.Errorf("epoch %d has %d conversations, want %d", epoch, len(rows), want)
		}
		for i := range rows {
			r.check(t, "rollout", conversation(&rows[i]))
		}
		withoutNeedles(t, rows, "columns")
	}
	if examples == 0 || pairs == 0 {
		t.Errorf("%d examples and %d pairs: the test proves nothing", examples, pairs)
	}
	files := 0
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			data, bad := os.ReadFile(path)
			withoutNeedles(t, string(data), path)
			files, err = files+1, bad
		}
		return err
	})
	if err != nil || files < 20 {
		t.Errorf("%d files, %v", files, err)
	}
}

// TestTracesNightIsCompleted: a night that dies before any of its commands is completed by the next make, although that finds
// nothing new.
func TestTracesNightIsCompleted(t *testing.T) {
	t.Parallel()
	log, err := filepath.Abs("../../../testdata/importers/litellm/retry.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	front := t.TempDir()
	root, dying := filepath.Join(front, "run"), filepath.Join(front, "dying")
	script := "#!/bin/sh\n[ \"$1\" != \"$DIES\" ] || kill -9 $PPID $$\nexec rollmill \"$@\"\n" // with night.sh
	storagetest.Program(t, dying, script)
	night := func(dies string) (string, error) {
		cmd := exec.Command("make", "-C", "../../../pipelines/traces", "LOGS="+log, "ROOT="+root, "SETTLE=0s", "ROLLMILL="+dying)
		cmd.Env = append(slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "MAKE") || strings.HasPrefix(e, "MFLAGS") }), "DIES="+dies)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	sft := filepath.Join(root, "epoch-0", "submit", "trl-sft.jsonl")
	for _, dies := range []string{"import", "score", "submit"} {
		if out, err := night(dies); err == nil || exists(sft) {
			t.Fatalf("the night was to die before %s: %v %s", dies, err, out)
		}
	}
	out, err := night("")
	want, _ := os.ReadFile(sft)
	if err != nil || !strings.Contains(out, "nothing new to import") || !strings.Contains(out, "curate: up to date") || len(want) == 0 {
		t.Fatalf("the night is not completed: %v %s", err, out)
	}
	if err := os.RemoveAll(filepath.Join(root, ".stamps")); err != nil { // it died before it noted that the files are there
		t.Fatal(err)
	}
	out, err = night("")
	if got, _ := os.ReadFile(sft); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the files are %q, and were %q: %v %s", got, want, err, out)
	}
	if out, err = night("seal"); err == nil {
		t.Errorf("a run whose epochs cannot be listed is complete: %s", out)
	}
	if out, err = night("score"); err != nil || exists(filepath.Join(root, "epoch-1")) {
		t.Errorf("a complete night is done again: %v %s", err, out)
	}
}

// lines returns those of a file of an epoch, which need not be there.
func lines(t *testing.T, root string, epoch int, name string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, fmt.Sprintf("epoch-%d", epoch), name))
	if err != nil && epoch == 0 {
		t.Error(err)
	}
	return slices.DeleteFunc(strings.Split(string(data), "\n"), func(line string) bool { return line == "" })
}

// right returns the answer that the agent's users like.
func right(question string) string {
	var a, b int
	_, _ = fmt.Sscanf(question, "What is %d + %d?", &a, &b)
	return fmt.Sprint(a + b)
}

func conversation(row *formats.Trajectory) (out []said) {
	for _, i := range row.Main() {
		out = append(out, said{row.Messages[i].Role, row.Messages[i].Content})
	}
	return out
}

// withoutNeedles looks for the gateway's key and the end user's id.
func withoutNeedles(t *testing.T, v any, what string) {
	t.Helper()
	for _, needle := range []string{"sk-night", "ada@example.com", "default_user_id"} {
		if strings.Contains(fmt.Sprintf("%+v", v), needle) {
			t.Errorf("%s: %s is in it", what, needle)
		}
	}
}
