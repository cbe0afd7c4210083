package submit_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat/trainset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/redaction"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/backendtest"
	"github.com/rollmill/rollmill/stages/backends/command"
	"github.com/rollmill/rollmill/stages/backends/customizer"
	"github.com/rollmill/rollmill/stages/backends/customizer/customizertest"
	"github.com/rollmill/rollmill/stages/backends/openai"
	"github.com/rollmill/rollmill/stages/backends/openai/openaitest"
	"github.com/rollmill/rollmill/stages/submit"
	"github.com/rollmill/rollmill/storage/fault"
)

const (
	leaked  = "ghp_abcdefghijABCDEFGHIJ0123456789abcdef"
	private = "the secret word"
)

// leaking writes a batch with a key, an address and a word in the conversation of its first row,
// and its pairs, whose second has the key.
func leaking(t *testing.T) string {
	t.Helper()
	uri := filepath.Join(t.TempDir(), "curate")
	s, err := shards.Begin(t.Context(), uri, manifest.Spec{Stage: "curate", Version: 1, Kind: schema.KindTrajectories}, shards.Options{})
	if err != nil {
		t.Fatal(err)
	}
	rows, pairs := shards.NewTable[formats.Trajectory](s, "", -1), shards.NewTable[formats.Pair](s, schema.TablePairs, -1)
	first := true
	for group := range backendtest.Batch() {
		if first {
			first = false
			m := &group[0].Messages[0]
			m.Content += " " + private + " " + leaked + " ada@example.com"
			group[0].SetPayloadDigest()
		}
		if err == nil {
			err = rows.Write(t.Context(), group)
		}
	}
	n := 0
	for pair := range backendtest.Tables().Pairs {
		if n++; n == 2 {
			pair.Chosen = `[{"role":"assistant","content":"` + leaked + `"}]`
		}
		if err == nil {
			err = pairs.Write(t.Context(), []formats.Pair{pair})
		}
	}
	if err == nil {
		_, err = s.Commit(t.Context(), shards.Outcome{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return uri
}

func loaded(t *testing.T, text string) *redaction.Rules {
	t.Helper()
	r, err := redaction.Load("rules.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// upload returns options that submit to a trainer.
func upload(t *testing.T, in string, tr backends.Trainer, err error) submit.Options {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "submit")
	return submit.Options{In: stages.Input{URI: in}, Out: out, Receipt: bucket(t, out), Ledger: bucket(t, t.TempDir()), Trainer: tr, Run: "run"}
}

func TestABatchWithAKeyIsNotUploaded(t *testing.T) {
	in := leaking(t)
	store := customizertest.New(customizertest.Faults{})
	t.Cleanup(store.Close)
	service := openaitest.New(openaitest.Faults{})
	t.Cleanup(service.Close)
	toOpenAI := func() submit.Options {
		tr, err := openai.New(openai.Config{BaseURL: service.URL, APIKey: openaitest.Key, Model: "gpt-test", MinRows: 1, Poll: time.Millisecond, Choice: trainset.Choice{Best: -1}})
		return upload(t, in, tr, err)
	}
	toCustomizer, err := customizer.New(customizer.Config{EntityURL: store.URL, DatastoreURL: store.Datastore.URL, APIKey: customizertest.Key,
		DatastoreToken: customizertest.Token, Config: customizertest.Config})
	for name, o := range map[string]submit.Options{"customizer": upload(t, in, toCustomizer, err), "openai": toOpenAI()} {
		for _, dry := range []bool{false, true} {
			o.DryRun = dry
			result, err := submit.Run(t.Context(), o)
			var input *fault.Error
			if !errors.As(err, &input) || !strings.Contains(err.Error(), "row 0") || !strings.Contains(err.Error(), "messages[0].content: github") ||
				!strings.Contains(fault.HintOf(input), "--allow-secrets") || !strings.Contains(fault.HintOf(input), "--redact") {
				t.Errorf("%s: %v, %+v", name, err, result.Receipt)
			}
			if err != nil && strings.Contains(err.Error(), leaked) {
				t.Errorf("%s: the key is shown: %v", name, err)
			}
		}
	}
	accepted := toOpenAI()
	accepted.AcceptFindings = []string{"keys"}
	if _, err := submit.Run(t.Context(), accepted); err == nil {
		t.Error("a finding that is accepted is no permission to upload a key")
	}
	if len(store.Hub.Repositories()) != 0 || service.File("training") != "" || len(service.Jobs()) != 0 {
		t.Errorf("uploaded: %v", store.Hub.Repositories())
	}
	allowed := toOpenAI()
	allowed.AllowSecrets, allowed.Wait, allowed.PollInterval = true, true, time.Millisecond
	if result := completes(t, allowed); !strings.Contains(result.Receipt.Message, "keys (inferred): 1 of") || result.Receipt.Redacted != nil {
		t.Errorf("%+v", result.Receipt)
	}
}

// The rows are without keys; only a pair has one.
func TestAKeyInATableIsNotUploaded(t *testing.T) {
	in := leaking(t)
	service := openaitest.New(openaitest.Faults{})
	t.Cleanup(service.Close)
	with := func(rules, method string) (submit.Result, error) {
		tr, err := openai.New(openai.Config{BaseURL: service.URL, APIKey: openaitest.Key, Model: "gpt-test", MinRows: 1, Method: method})
		o := upload(t, in, tr, err)
		o.Redact = loaded(t, rules)
		return submit.Run(t.Context(), o)
	}
	// A message's rule masks what has the key in the rows, and not the pair.
	const inRows = "messages: [{role: user}, {role: system}]"
	_, err := with(inRows, "dpo")
	if err == nil || !strings.Contains(err.Error(), "rows of _pairs") || !strings.Contains(err.Error(), "row 1 ") ||
		!strings.Contains(err.Error(), "chosen: github") || len(service.Jobs()) != 0 {
		t.Errorf("%v", err)
	}
	if _, err := with(inRows, "supervised"); err != nil {
		t.Errorf("the pairs are not uploaded: %v", err)
	}
	result, err := with("detectors: [keys]", "dpo")
	if err != nil || result.Receipt.Redacted["github"] != 2 {
		t.Errorf("%v %+v", err, result.Receipt)
	}
	if strings.Contains(service.File("training"), leaked) {
		t.Error("the file has the key")
	}
}

func TestRedactedRowsAreSent(t *testing.T) {
	in := leaking(t)
	service := openaitest.New(openaitest.Faults{})
	t.Cleanup(service.Close)
	o := func(rules string) submit.Options {
		tr, err := openai.New(openai.Config{BaseURL: service.URL, APIKey: openaitest.Key, Model: "gpt-test", MinRows: 1, Choice: trainset.Choice{Best: -1}})
		o := upload(t, in, tr, err)
		if rules != "" {
			o.Redact = loaded(t, rules)
		}
		return o
	}
	dry := o("detectors: [keys, email]\npatterns: [{name: word, regexp: 'the secret word'}]")
	dry.DryRun = true
	result, err := submit.Run(t.Context(), dry)
	if err != nil || result.Stats.Redacted == nil || result.Stats.Redacted.String() != "1 email, 1 github, 1 word in 1 row; 1 row lost token ids and logprobs" {
		t.Fatalf("%v %+v", err, result.Stats)
	}
	sent := o("detectors: [keys, email]\npatterns: [{name: word, regexp: 'the secret word'}]")
	result, err = submit.Run(t.Context(), sent)
	if err != nil || result.Receipt.Redacted["github"] != 1 || result.Receipt.Redacted["word"] != 1 ||
		!strings.Contains(result.Receipt.Message, "redacted: 1 email") {
		t.Fatalf("%v %+v", err, result.Receipt)
	}
	if file := service.File("training"); strings.Contains(file, leaked) || strings.Contains(file, private) || !strings.Contains(file, "[redacted:github]") {
		t.Error(file)
	}

	// The rules are part of the submission's key; without any it is what it was.
	keys := map[string]string{}
	for _, rules := range []string{"", "detectors: [keys]", "detectors: [keys, email]"} {
		o := o(rules)
		o.DryRun, o.AllowSecrets = true, true
		result, err := submit.Run(t.Context(), o)
		if err != nil || keys[result.Identity] != "" {
			t.Errorf("%q: %v, the key of %q", rules, err, keys[result.Identity])
		}
		keys[result.Identity] = rules
		plain := submit.Key(result.RowsDigest, o.Trainer.Identity(), o.Trainer.Target())
		if (plain == result.Identity) != (rules == "") {
			t.Errorf("%q: %s, without rules %s", rules, result.Identity, plain)
		}
	}
}

func TestWhoKeepsTheBatch(t *testing.T) {
	tr, err := customizer.New(customizer.Config{EntityURL: "http://a", DatastoreURL: "http://b", Config: customizertest.Config})
	if err != nil || tr.Describe().Private {
		t.Errorf("the data store of Customizer keeps the batch: %v", err)
	}
	in := leaking(t)
	files := toFiles(t, in, t.TempDir(), "trl-sft")
	completes(t, files)
	program, err := command.New(command.Config{Words: []string{"true"}}, backends.Place{})
	o := upload(t, in, program, err)
	o.Redact = loaded(t, "detectors: [keys]")
	kind(t, o, fault.Usage)
	redacted := toFiles(t, in, t.TempDir(), "trl-preference")
	redacted.Redact = o.Redact
	completes(t, redacted)
	if data, err := os.ReadFile(filepath.Join(redacted.Out, "trl-preference.jsonl")); err != nil || strings.Contains(string(data), leaked) ||
		!strings.Contains(string(data), "[redacted:github]") {
		t.Errorf("%v %s", err, data)
	}
}
