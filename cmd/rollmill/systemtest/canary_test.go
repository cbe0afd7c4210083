package systemtest

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/pipelines/sandbox"
	"github.com/rollmill/rollmill/storage/storagetest"
)

// echoing serves a sandbox that refuses a request whose body holds a word, and
// repeats the request's key in the error, as some gateways do.
func echoing(t *testing.T, word string) *httptest.Server {
	t.Helper()
	server, err := sandbox.New(sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, rest, below := strings.Cut(r.URL.Path, "/canary-"); below { // as a gateway with a key in its path
			_, r.URL.Path, _ = strings.Cut(rest, "/")
			r.URL.Path = "/" + r.URL.Path
		}
		body, _ := io.ReadAll(r.Body)
		if bytes.Contains(body, []byte(word)) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]string{"message": "refused: " + r.Header.Get("Authorization")}})
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		server.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// TestSecretsAreNeverWritten sets a secret in every place that can hold one, makes
// every peer repeat what it received, and searches for the secrets in all output:
// files, decoded columns, standard output and standard error.
func TestSecretsAreNeverWritten(t *testing.T) {
	const short = "k9z7"
	for name, value := range map[string]string{
		"ROLLMILL_API_KEY": "canary-engine-01", "ROLLMILL_JUDGE_API_KEY": "canary-judge-02", "ROLLMILL_REWARD_API_KEY": "canary-service-03",
		"OPENAI_API_KEY": short, "CANARY_ARG": "canary-arg-04", "CANARY_USER": "canary-user-05", "UNRELATED_TOKEN": "canary-child-06",
		"PASSED_TOKEN": "canary-passed-07",
	} {
		t.Setenv(name, value)
	}
	root := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(root, name)
		storagetest.Program(t, path, text)
		return path
	}
	dump := write("dump.sh", "#!/bin/sh\necho \"$@\" >&2\nenv >&2\nexit 3\n")
	trainer := write("trainer.sh",
		"#!/bin/sh\ncat >/dev/null\nenv >&2\necho \"{\\\"state\\\":\\\"failed\\\",\\\"message\\\":\\\"$* $(env | grep -c "+
			"canary)\\\",\\\"note\\\":\\\"$*\\\"}\"\n")
	tasks := write("tasks.jsonl", `{"id":"a","question":"Your move."}`+"\n"+`{"id":"b","question":"ECHO"}`+"\n")
	engine := echoing(t, "ECHO")
	const inPath = "canary-9f8e7d6c5b4a3f2e1d0c"
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1/"+inPath+"6a")
	judge := echoing(t, "")
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "refused: "+r.Header.Get("Authorization"), http.StatusBadRequest)
	}))
	t.Cleanup(service.Close)
	config := write("rollmill.yaml", `
rollout:
  model: rollmill/sandbox
  sampling: {user: "${CANARY_USER}"}
score:
  judge-url: `+judge.URL+`/v1
  max-failure-rate: 1
  reward:
    - len=expr:len(answer)
    - "dump=command:`+dump+` --for ${CANARY_ARG}"
    - judged=judge:model=m
    - service=http:`+service.URL+`/`+inPath+`5a/score
`)
	work := filepath.Join(root, "out")
	var stderr strings.Builder
	try := func(want int, args ...string) string {
		t.Helper()
		code, out, said := rollmill(t, append([]string{"--log-level", "debug", "--config", config}, args...)...)
		stderr.WriteString(out + "\n" + said)
		if code != want {
			t.Errorf("%s: exit code %d, want %d\n%s", args[0], code, want, said)
		}
		return out
	}
	url := engine.URL + "/" + inPath + "4a/v1"
	chat := try(0, "rollout", "--examples", tasks, "--url", url, "--generations", "2", "--extra", "cache_key=canary-extra-08", "--retries", "0", "--out",
		work+"/rollout")
	try(3, "rollout", "--examples", tasks, "--url", url, "--agent", "command: "+dump+" --api-key canary-words-09", "--agent-env", "MODE_KEY=canary-env-10",
		"--agent-env", "PASSED_TOKEN", "--agent-logs", work+"/logs", "--max-initial-failures", "-1", "--out", work+"/programs/rollout")
	scores := try(0, "score", "--in", chat, "--out", work+"/score")
	good := try(0, "score", "--in", chat, "--reward", "len=expr:len(answer)", "--out", work+"/good")
	groups := try(0, "group", "--in", good, "--out", work+"/group")
	curated := try(0, "curate", "--in", groups, "--out", work+"/curate", "--keep-flat")
	try(1, "submit", "--in", curated, "--backend", "command", "--trainer", trainer+" --token=canary-trainer-11 --for "+short, "--settings",
		"api-key=canary-setting-15", "--wait", "--out", work+"/submit", "--ledger", work)
	trained := write("trained.sh",
		"#!/bin/sh\ncat >/dev/null\necho '{\"state\":\"completed\",\"policy\":{\"url\":\"http://engine/"+inPath+"7a/v1\",\"model\":\"m\"}}'\n")
	try(0, "submit", "--in", curated, "--backend", "command", "--trainer", trained, "--wait", "--out", work+"/trained", "--ledger", work+"/second")
	if said := try(0, "sandbox", "--listen", "127.0.0.1:0", "--exec-env", "PASSED_TOKEN", "--exec",
		`echo "<$ROLLMILL_JUDGE_API_KEY$UNRELATED_TOKEN$OPENAI_API_KEY> ${#PASSED_TOKEN}"`); said != "<> 16" {
		t.Errorf("a command that the sandbox runs was given %q", said)
	}
	try(2, "submit", "--in", curated, "--backend", "art", "--url", "http://127.0.0.1:1/"+inPath+"3a", "--out", work+"/bad")
	try(2, "score", "--in", chat, "--out", "mem://bucket/sk-canary-abcdefghij1234567890")
	receipt := `{"format":"rollmill-receipt/1","policy":{"url":"` + engine.URL + `/[redacted:policy]/v1","model":"rollmill/sandbox"}}`
	if err := os.MkdirAll(work+"/kept", 0o777); err != nil {
		t.Fatal(err)
	}
	write("out/kept/_receipt.json", receipt)
	try(2, "rollout", "--examples", tasks, "--policy", work+"/kept", "--out", work+"/bad")
	if !strings.Contains(stderr.String(), "give the engine's URL with --url") {
		t.Error("no hint says how to give the engine's URL")
	}
	given := try(0, "rollout", "--examples", tasks, "--policy", work+"/kept", "--url", engine.URL+"/canary-child-06/v1", "--retries", "0", "--out",
		work+"/given")
	for _, bad := range []string{"http://canary-user-12:canary-pass-13@127.0.0.1:1/v1", url + "?api_key=canary-query-14"} {
		try(2, "rollout", "--examples", tasks, "--url", bad, "--out", work+"/bad")
	}

	clean := func(where, text string) {
		t.Helper()
		for _, value := range []string{"canary-", short} {
			if at := strings.Index(text, value); at >= 0 {
				t.Errorf("%s holds %q", where, text[max(0, at-60):min(len(text), at+40)])
			}
		}
	}
	clean("what was printed", stderr.String())
	if !strings.Contains(stderr.String(), "secrets were redacted") {
		t.Error("no warning says that rows held secrets")
	}
	files, kept := 0, ""
	err := filepath.WalkDir(work, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		clean(path, string(data))
		kept += string(data)
		return err
	})
	if err != nil || files < 20 {
		t.Errorf("%d files: %v", files, err)
	}
	clean("rollout", rowsOf[formats.Trajectory](t, chat))
	programs := rowsOf[formats.Trajectory](t, work+"/programs/rollout")
	clean("programs", programs)
	programs += rowsOf[formats.Trajectory](t, given)
	clean("rollout of a receipt", programs)
	clean("score", rowsOf[formats.Score](t, scores))
	clean("curate", rowsOf[formats.Trajectory](t, curated))
	for _, want := range []string{"[redacted:MODE_KEY]", "[redacted:PASSED_TOKEN]", "[redacted:agent]", "[redacted:OTEL_EXPORTER_OTLP_ENDPOINT]",
		"/[redacted:reward]/score", "/[redacted:UNRELATED_TOKEN]/v1", "http://engine/[redacted:policy]/v1", `"settings.api-key": "\"secret\""`} {
		if !strings.Contains(programs+kept, want) {
			t.Errorf("no %s in the output of a program that prints its arguments and environment: the test proves nothing", want)
		}
	}
}

// rowsOf returns a dataset's rows as JSON.
func rowsOf[T any](t *testing.T, uri string) string {
	t.Helper()
	d, err := dataset.Open(t.Context(), uri, dataset.OpenOptions{AcceptGates: []string{"max-failure-rate"}})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := dataset.ReadAll[T](t.Context(), d, "", d.All())
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(rows)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
