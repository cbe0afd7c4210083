package secret

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/schema"
)

func TestRedact(t *testing.T) {
	s := &Set{}
	s.Add("API_KEY", "sk-canary-1234\n")
	s.Add("SHORT", "k3y9")
	s.Add("ODD", `p&ss "w/rd"`)
	for _, c := range []struct{ in, want string }{
		{"nothing here", "nothing here"},
		{"key sk-canary-1234, twice sk-canary-1234", "key [redacted:API_KEY], twice [redacted:API_KEY]"},
		{"xsk-canary-1234x", "x[redacted:API_KEY]x"},
		{"k3y9", "[redacted:SHORT]"},
		{"Bearer k3y9.", "Bearer [redacted:SHORT]."},
		{"ak3y9 k3y9b k3y9-c", "ak3y9 k3y9b k3y9-c"},
		{`{"m":"p\u0026ss \"w/rd\""}`, `{"m":"[redacted:ODD]"}`},
		{`{"m":"p&ss \"w/rd\""}`, `{"m":"[redacted:ODD]"}`},
		{`{"m":"\u0073k-canary\u002d1234 \u0022\\u0022"}`, `{"m":"[redacted:API_KEY] \u0022\\u0022"}`},
		{`{"m":"\\u0073k-canary-1234"}`, `{"m":"\\u0073k-canary-1234"}`},
		{"?q=p%26ss+%22w%2Frd%22", "?q=[redacted:ODD]"},
	} {
		if got := s.Redact(c.in); got != c.want {
			t.Errorf("%q becomes %q, want %q", c.in, got, c.want)
		}
	}
	if got := (*Set)(nil).Redact("x"); got != "x" {
		t.Error("a nil set changes a text")
	}
}

func TestPlaceholdersAreNotSecrets(t *testing.T) {
	s := &Set{}
	for _, v := range []string{"", "x", "EMPTY", "none", " rollmill\n"} {
		if s.Add("K", v) {
			t.Errorf("%q is taken for a secret", v)
		}
	}
	if s.Known() {
		t.Error("the set knows something")
	}
}

func TestASecretWithinAnother(t *testing.T) {
	s := &Set{}
	s.Add("A", "12345678")
	s.Add("B", "x12345678x")
	if got := s.Redact("12345678 x12345678x"); got != "[redacted:A] [redacted:B]" {
		t.Error(got)
	}
}

func TestValueRedactsEverythingItLeadsTo(t *testing.T) {
	const secret = "sk-canary-1234"
	s := &Set{}
	s.Add("K", secret)
	type inner struct {
		Text  string
		Raw   json.RawMessage
		Bytes []byte
		List  []string
		Map   map[string]any
		Any   any
		Ptr   *string
		IDs   []int32
	}
	own := "x " + secret
	v := inner{secret, json.RawMessage(`{"` + secret + `":1}`), []byte(own), []string{own}, map[string]any{secret: []any{own}}, map[string]string{"a": own},
		&own, []int32{1}}
	if n := s.Value(&v); n != 8 {
		t.Errorf("%d values were replaced, want 8", n)
	}
	if data, _ := json.Marshal(v); bytes.Contains(data, []byte(secret)) || bytes.Contains(v.Bytes, []byte(secret)) {
		t.Errorf("a secret is left: %s", data)
	}
}

// TestWhatOthersHoldIsNotChanged: a row that is redacted shares its lists with the one that is still in use.
func TestWhatOthersHoldIsNotChanged(t *testing.T) {
	const value = "sk-canary-1234"
	s := &Set{}
	s.Add("K", value)
	text := value
	row := func() *formats.Trajectory {
		return &formats.Trajectory{ToolSets: []string{value}, Messages: []formats.Message{
			{Content: value, TokenIDs: []int32{1}, ToolCalls: []formats.ToolCall{{Name: "send", Arguments: `{"key":"` + value + `"}`}}}}}
	}
	type others struct {
		Map   map[string]any
		Any   any
		Array []*string
	}
	live := row()
	queued := *live
	if n, said := s.Trajectory(&queued); n != 3 || !said || queued.Messages[0].TokenIDs != nil || strings.Contains(fmt.Sprint(queued), value) {
		t.Errorf("%d, %v: %+v", n, said, queued)
	}
	if !reflect.DeepEqual(live, row()) {
		t.Errorf("the row in use was changed: %+v", live)
	}
	kept := others{map[string]any{value: 1, "a": []any{value}}, &text, []*string{&text}}
	copied := kept
	if n := s.Value(&copied); n != 4 || text != value || kept.Map[value] != 1 || kept.Map["a"].([]any)[0] != value || *kept.Array[0] != value {
		t.Errorf("%d; what others hold was changed: %+v", n, kept)
	}
}

func TestInMessage(t *testing.T) {
	const value = `sk-"canary"-1234`
	s := &Set{}
	s.Add("K", value)
	quoted, _ := json.Marshal(map[string]string{"key": value})
	pieces := []string{"my ", "sk-", `"canary"`, "-1234"}
	for name, m := range map[string]formats.Message{
		"text": {Content: "my " + value}, "reasoning": {Reasoning: value}, "parts": {ContentParts: string(quoted)},
		"arguments": {ToolCalls: []formats.ToolCall{{Arguments: string(quoted)}}}, "name": {ToolCalls: []formats.ToolCall{{Name: value}}},
	} {
		if !s.InMessage(&m, nil) {
			t.Errorf("%s: not found", name)
		}
	}
	if !s.InMessage(&formats.Message{}, pieces) || s.InMessage(&formats.Message{Content: "my key"}, pieces[:3]) || (*Set)(nil).InMessage(&formats.Message{}, pieces) {
		t.Error("the texts of tokens")
	}
}

func TestJSONStaysValid(t *testing.T) {
	s := &Set{}
	s.Add("N", "123456789012")
	for in, want := range map[string]string{
		`{"a":123456789012,"b":"x123456789012"}`: `{"a":"[redacted:N]","b":"x[redacted:N]"}`,
		`{"a": 1}`:                               `{"a": 1}`,
		`not json 123456789012`:                  `not json [redacted:N]`,
	} {
		if got := string(s.JSON([]byte(in))); got != want {
			t.Errorf("%s becomes %s, want %s", in, got, want)
		}
	}
}

func TestSettingsKnowWhatTheConfigExpanded(t *testing.T) {
	s := &Set{}
	s.AddExpanded("MODEL", "llama-3.1-8b", true)
	s.AddExpanded("CANARY", "canary-7f3a9b", false)
	s.AddExpanded("N", "4", false)
	s.AddExpanded("DB_PASSWORD", "hunter2", true)
	if got := s.Redact("llama-3.1-8b canary-7f3a9b 4 hunter2"); got != "llama-3.1-8b [redacted:CANARY] 4 [redacted:DB_PASSWORD]" {
		t.Error(got)
	}
	v := map[string]any{"model": "llama-3.1-8b", "n": "4", "text": "4 of 5", "words": []any{"--x=canary-7f3a9b"}}
	s.Settings().Value(&v)
	want := map[string]any{"model": "[redacted:MODEL]", "n": "[redacted:N]", "text": "4 of 5", "words": []any{"--x=[redacted:CANARY]"}}
	a, _ := json.Marshal(v)
	if b, _ := json.Marshal(want); !bytes.Equal(a, b) {
		t.Errorf("%s, want %s", a, b)
	}
}

func TestNamesOfSecrets(t *testing.T) {
	for _, name := range []string{"API_KEY", "ROLLMILL_JUDGE_API_KEY", "hf_token", "X-Amz-Signature", "sig", "key", "accessToken", "DB_PASSWORD",
		"AWS_ACCESS_KEY_ID", "AZURE_STORAGE_CONNECTION_STRING", "DB_PASSWORDS", "COOKIES", "AUTHTOKEN", "CREDENTIALS"} {
		if !Looks(name) {
			t.Errorf("%q is not taken for a secret's name", name)
		}
	}
	for _, name := range []string{"max_tokens", "stop_token", "return_token_ids", "region", "endpoint", "tokenizer", "API_KEY_FILE", "keyboard", "monkey", "prompt_tokens", "sort_keys",
		"PWD", "PATH", ""} {
		if Looks(name) {
			t.Errorf("%q is taken for a secret's name", name)
		}
	}
}

func TestSecretsInURLs(t *testing.T) {
	for _, ok := range []string{"http://127.0.0.1:8000/v1", "s3://b/p?region=x&endpoint=http://h:1&s3ForcePathStyle=true", "runs/x"} {
		if err := InURL(ok); err != nil {
			t.Errorf("%q is refused: %v", ok, err)
		}
	}
	for _, bad := range []string{"http://user:canary1@h/v1", "http://canary1@h/v1", "http://h/v1?api_key=canary1", "http://h/?X-Amz-Credential=canary1",
		"https://h/?sig=canary1", "http://u:canary1%zz@h"} {
		if err := InURL(bad); err == nil || strings.Contains(err.Error(), "canary1") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestAssignedValues(t *testing.T) {
	s := &Set{}
	s.AddAssigned("trainer", `python t.py --api-key=canary-aaaa1 --token canary-bbbb1 --tokenizer qwen-long-name PASSWORD=canary-cccc1 --max-tokens=100000000 --key question`)
	s.AddAssigned("extra", `{"api_key": "canary-dddd1"}`)
	got := s.Redact("canary-aaaa1 canary-bbbb1 qwen-long-name canary-cccc1 canary-dddd1 question 100000000")
	if strings.Contains(got, "canary") || !strings.Contains(got, "qwen-long-name") || !strings.Contains(got, "100000000") {
		t.Error(got)
	}
}

func TestEnvironOfPrograms(t *testing.T) {
	t.Setenv("ROLLMILL_JUDGE_API_KEY", "canary1")
	t.Setenv("SOME_TOKEN", "canary2")
	t.Setenv("DATABASE", "postgres://u:canary3@h/db")
	t.Setenv("PLAIN", "stays")
	got := Environ("SOME_TOKEN")
	text := strings.Join(got, "\n")
	if strings.Contains(text, "canary1") || strings.Contains(text, "canary3") || !slices.Contains(got, "PLAIN=stays") ||
		!slices.Contains(got, "SOME_TOKEN=canary2") {
		t.Error(text)
	}
	if !slices.Contains(got, "PATH="+os.Getenv("PATH")) {
		t.Error("PATH is missing")
	}
}

func TestWriterFindsValuesAcrossWrites(t *testing.T) {
	const secret = "sk-canary-1234"
	s := &Set{}
	s.Add("K", secret)
	text := strings.Repeat("x", held-4) + secret + strings.Repeat("y", held) + secret + "\n" + secret
	for _, size := range []int{1, 7, 1000, len(text)} {
		var out bytes.Buffer
		w := s.NewWriter(&out)
		for rest := []byte(text); len(rest) > 0; rest = rest[min(size, len(rest)):] {
			if _, err := w.Write(rest[:min(size, len(rest))]); err != nil {
				t.Fatal(err)
			}
		}
		w.Close()
		if got := out.String(); got != strings.ReplaceAll(text, secret, "[redacted:K]") {
			t.Errorf("in pieces of %d: %d bytes, wrong", size, len(got))
		}
	}
}

func TestTrajectoryWithASecretLosesItsTokens(t *testing.T) {
	const secret = "sk-canary-1234"
	row := func() *formats.Trajectory {
		return &formats.Trajectory{Error: secret, SampledTokens: 2, TokenSource: schema.TokensChoice,
			Messages: []formats.Message{{Content: "q", PromptDeltaIDs: []int32{9}},
				{Content: "a", Sampled: true, TokenIDs: []int32{1, 2}, Logprobs: []float32{0, 0}}}}
	}
	s := &Set{}
	s.Add("K", secret)
	quiet := row()
	if n, said := s.Trajectory(quiet); n != 1 || said || quiet.Messages[1].TokenIDs == nil || quiet.Error != "[redacted:K]" {
		t.Errorf("%d %v %+v", n, said, quiet)
	}
	loud := row()
	loud.Messages[1].ToolCalls = []formats.ToolCall{{Arguments: `{"k":"` + secret + `"}`}}
	n, said := s.Trajectory(loud)
	if m := loud.Messages; n != 2 || !said || m[0].PromptDeltaIDs != nil || m[1].TokenIDs != nil || m[1].Logprobs != nil || loud.SampledTokens != 0 {
		t.Errorf("%d %v %+v", n, said, loud)
	}
}

func TestContext(t *testing.T) {
	if From(context.Background()).Known() {
		t.Error("a context without a set knows something")
	}
	s := &Set{}
	if From(With(context.Background(), s)) != s {
		t.Error("the set is not the context's")
	}
}

func TestNamesOfMembersWithSecrets(t *testing.T) {
	for _, name := range strings.Fields("api_key x-api-key openai_api_key OPENAI_API_KEY apiKey APIKey ApiKey Authorization " +
		"proxy-authorization set-cookie cookies Cookie session_cookies access_token accessToken token auth_token refresh_tokens password " +
		"db_password passwd headers extra_headers request-headers client_secret private_key secrets credentials") {
		if !Member(name, []byte(`"some"`)) || !Member(name, []byte(`{"a":"b"}`)) {
			t.Errorf("%s is kept", name)
		}
	}
	for _, name := range strings.Fields("token_ids max_tokens completion_tokens tokenizer tokens prompt_tokens stop_token eos_token signature " +
		"thought_signature key keys author authors keyword monkey_key header api_key_var headers_from_env tokens_per_second cache_key") {
		if Member(name, []byte(`"some"`)) {
			t.Errorf("%s is withheld", name)
		}
	}
	if Member("token", []byte("17")) || Member("password", []byte("true")) || Member("headers", []byte("{}")) {
		t.Error("a number, a bool or an empty object is withheld")
	}
}
