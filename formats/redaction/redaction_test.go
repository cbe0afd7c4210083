package redaction

import (
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage/fault"
)

// listed has texts that each detector finds, with what is found between « and ».
var listed = map[string][]string{
	"anthropic": {"key «sk-ant-api03-R2D2abcdefghijklmnopqrstuvwxyz0123456789-_AA»!"},
	"openai": {"«sk-proj-abcDEF0123456789abcDEF0123456789»", `api_key="«sk-0123456789abcdef0123456789abcdef»"`,
		`{\n\"k\":\"\n«sk-0123456789abcdef0123456789abcdef»\"`},
	"aws": {"«AKIAABCDEFGH12345678» and", `aws_secret_access_key = «abcdefghij0123456789ABCDEFGHIJ+/klmnopqr»`,
		`\"SecretAccessKey\": \"«abcdefghij0123456789ABCDEFGHIJ+/klmnopqr»\"`},
	"github":      {"«ghp_abcdefghijABCDEFGHIJ0123456789abcdef»", "token «github_pat_11ABCDEFG0abcdefghijkl_abcdefghijklmnopqrstuvwxyz»."},
	"huggingface": {"HF_TOKEN=«hf_abcdefghijklmnopqrstuvwxyzABCDEFGH»"},
	"slack":       {"«xoxb-1234567890-abcdefghij»", "https://hooks.slack.com/services/«T01234567/B01234567/abcdefghijklmnop»"},
	"google":      {"key=«AIzaSyA0123456789abcdefghijklmnopqrstuv»", "«GOCSPX-abcdefghijklmnopqrstuvwxyz»", "«ya29.a0AfH6SMBabcdefghijklmnopq»"},
	"private-key": {"x «-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEAabcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKL\nabcd==\n-----END RSA PRIVATE " +
		"KEY-----» y", `«-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEAabcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKL\n-----END PRIVATE KEY-----»`},
	"jwt":           {"«eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P»."},
	"authorization": {"Authorization: Bearer «abcdef0123456789abcdef»", "authorization: basic «dXNlcjpwYXNzd29yZA==»"},
	"url-password":  {"postgres://app:«hunter2»@db/prod"},
	"email":         {"to «ada.lovelace+x@example.co.uk».", `{\"m\":\"\n«bob@example.com»\"}`},
	"card":          {"card «4111 1111 1111 1111», ok", "«5500-0000-0000-0004»", "«378282246310005»"},
	"iban":          {"IBAN «DE89 3704 0044 0532 0130 00» please", "«GB82WEST12345698765432»"},
	"phone":         {"call «+49 30 1234567».", "«(415) 555-0132»", "or «415-555-0132»"},
	"ipv4":          {"from «192.0.2.17»:80"},
	"ipv6":          {"from «2001:db8::8a2e:370:7334», ", "[«fe80::1»]", "«2001:db8::1»: up", "«fe80::1»:"},
}

// clean are texts in which no detector finds anything.
var clean = []string{
	"class=\"sk-text-repr-fallback sk-toggleable__label-arrow sk-estimator-doc-link\"", "task-0123456789abcdefghijk", "risk-free",
	"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", `aws_secret_access_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"`,
	`if strings.HasPrefix(x, "-----BEGIN PRIVATE KEY-----") {`, "-----BEGIN PUBLIC KEY-----\n" + strings.Repeat("A", 64) + "\n-----END PUBLIC KEY-----",
	"Bearer authentication_is_used_here", "the bearer of this letter", "a basic principle", "postgres://user:password@localhost/db",
	"https://user:${PASS}@host", "http://host:8080/a@b",
	"@everyone", "git@github.com:a/b.git", "user@localhost", "a@b.c", "3.141592653589793", "4111111111111112", "1234567890123456", "0.4111111111111111",
	"2026-11-22 20:11:23", "12:30:45", "127.0.0.1", "::1", "std::vec::Vec", "a::b", "10.0.1", "v1.2.3.4", "256.1.1.1", "aa:bb:cc:dd:ee:ff",
	"DE00 3704 0044 0532 0130 00",
	"1+1234567890", "100-200-3000", "[redacted:openai]", "hf_hub_download", "ghp_", "eyJ.eyJ.x",
}

func rules(t testing.TB, text string) *Rules {
	t.Helper()
	r, err := Load("rules.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const all = "detectors: [keys, personal]\n"

func TestDetectors(t *testing.T) {
	r := rules(t, all)
	for _, d := range Detectors() {
		if len(listed[d[0]]) == 0 {
			t.Errorf("%s has no example", d[0])
		}
		only := rules(t, "detectors: ["+d[0]+"]")
		for _, text := range listed[d[0]] {
			before, rest, _ := strings.Cut(text, "«")
			found, after, _ := strings.Cut(rest, "»")
			want := before + mark(d[0]) + after
			for _, r := range []*Rules{r, only} {
				var c Counts
				got := r.text(before+found+after, &c)
				if got != want || c.Found[d[0]] != 1 || c.Total() != 1 {
					t.Errorf("%s: %q becomes %q, %v", d[0], text, got, c.Found)
				}
				var again Counts
				if twice := r.text(got, &again); twice != got || again.Total() != 0 {
					t.Errorf("%s: the second time %q, %v", d[0], twice, again.Found)
				}
			}
		}
	}
	for _, text := range clean {
		var c Counts
		if got := r.text(text, &c); got != text {
			t.Errorf("%q becomes %q", text, got)
		}
	}
}

func TestJSONStaysJSON(t *testing.T) {
	r := rules(t, all+`patterns:
  - {name: employee, regexp: '^E-\d+$'}
`)
	for in, want := range map[string]string{
		`{"card": 4111111111111111, "x": [1.0 , "E-12"]}`:  `{"card": "[redacted:card]", "x": [1.0 , "[redacted:employee]"]}`,
		` {"bob@example.com": null}`:                       ` {"[redacted:email]": null}`,
		`{"a":"s\u006b-0123456789abcdef0123456789abcdef"}`: `{"a":"[redacted:openai]"}`,
		`{"a":"https:\/\/u:hunter2@h"}`:                    `{"a":"https://u:[redacted:url-password]@h"}`,
		`{"a":"{\"b\":\"E-12\",\"n\":5500000000000004}"}`:  `{"a":"{\"b\":\"[redacted:employee]\",\"n\":\"[redacted:card]\"}"}`,
		`[ "E-12" , "E-12 x" ]`:                            `[ "[redacted:employee]" , "E-12 x" ]`,
		`{not json, ada@example.com}`:                      `{not json, [redacted:email]}`,
	} {
		var c Counts
		if got := r.text(in, &c); got != want || json.Valid([]byte(in)) != json.Valid([]byte(got)) {
			t.Errorf("%s becomes %s, want %s", in, got, want)
		}
	}
}

// A pattern may match its own mark; what only looks like a mark may be a key.
func TestMarks(t *testing.T) {
	r := rules(t, "detectors: [keys]\npatterns: [{name: words, regexp: '[a-z]{4,}'}]")
	for in, want := range map[string]string{
		"some":                           "[redacted:words]",
		"[redacted:words]":               "[redacted:words]",
		"[redacted:words] some":          "[redacted:words] [redacted:words]",
		"[redacted:" + aKey + "]":        "[[redacted:words]:[redacted:openai]]",
		"[redacted:words " + aKey + " ]": "[[redacted:words]:[redacted:words] [redacted:openai] ]",
		"[redacted:words" + aKey:         "[[redacted:words]:[redacted:words]",
	} {
		var c Counts
		if got := r.text(in, &c); got != want && strings.Contains(got, aKey) || !strings.Contains(in, aKey) && got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

func TestOverlapsLeaveNothing(t *testing.T) {
	r := rules(t, "patterns: [{name: a, regexp: 'abcd'}, {name: b, regexp: 'cdef'}]")
	var c Counts
	if got := r.text("xabcdefx", &c); got != "x[redacted:a]x" {
		t.Error(got)
	}
}

const aKey = "sk-0123456789abcdef0123456789abcdef"

func row() *formats.Trajectory {
	t := &formats.Trajectory{TrajectoryID: "t", ExampleID: "ada@example.com", Example: `{"id": 1, "user": {"name": "Ada", "mail": "x"}, "tags": ["a", "b"]}`,
		Metadata: `{"host":"h1","n":2}`, SampledTokens: 2, TokenSource: schema.TokensChoice, Status: outcomes.StatusOK, StopReason: outcomes.StopDone,
		Calls: []formats.Call{{Target: true, Sampling: "{}", Tools: -1, CompletionTokens: 2}},
		Messages: []formats.Message{
			{Parent: -1, Call: -1, Role: "system", Content: "be good"},
			{Parent: 0, Call: -1, Role: "user", Content: "hello"},
			{Parent: 1, Role: "assistant", Sampled: true, ToolCalls: []formats.ToolCall{{ID: "c1", Name: "read_file", Arguments: `{"path":"x"}`}},
				TokenIDs: []int32{1, 2}, Logprobs: []float32{0, 0}, TokenTexts: []string{"a", "b"}, PromptDeltaIDs: []int32{3}},
			{Parent: 2, Call: -1, Role: "tool", ToolCallID: "c1", Content: "the file"},
		}}
	t.SetPayloadDigest()
	return t
}

func TestTrajectory(t *testing.T) {
	r := rules(t, "detectors: [keys]")
	same := row()
	if c := r.Trajectory(same); c.Total() != 0 || c.String() != "nothing" || same.Messages[2].TokenIDs == nil || same.PayloadDigest != row().PayloadDigest {
		t.Errorf("%v %+v", c, same)
	}
	quiet := row()
	quiet.Error, quiet.Answer = aKey, "x "+aKey
	quiet.SetPayloadDigest()
	if c := r.Trajectory(quiet); c.Tokens != 0 || c.Found["openai"] != 2 || quiet.Messages[2].TokenIDs == nil || quiet.Error != "[redacted:openai]" {
		t.Errorf("%v %+v", c, quiet)
	}
	for name, put := range map[string]func(*formats.Trajectory, string){
		"messages[1].content":       func(t *formats.Trajectory, s string) { t.Messages[1].Content = "my " + s },
		"messages[1].content_parts": func(t *formats.Trajectory, s string) { t.Messages[1].ContentParts = `[{"text":"` + s + `"}]` },
		"messages[2].tool_calls":    func(t *formats.Trajectory, s string) { t.Messages[2].ToolCalls[0].Arguments = `{"k":"` + s + `"}` },
		"candidates[0].content": func(t *formats.Trajectory, s string) {
			t.Candidates = []formats.Candidate{{Content: s, TokenIDs: []int32{1}}}
		},
		"tool_sets[0].definitions": func(t *formats.Trajectory, s string) { t.ToolSets = []string{`["` + s + `"]`} },
	} {
		loud := row()
		put(loud, aKey)
		loud.SetPayloadDigest()
		if found, ok := FindKey(loud); !ok || found != (Key{"openai", name}) {
			t.Errorf("%s: found %v, %v", name, found, ok)
		}
		c := r.Trajectory(loud)
		if c.Tokens != 1 || c.Rows != 1 || c.Total() != 1 || c.String() != "1 openai in 1 row; 1 row lost token ids and logprobs" {
			t.Errorf("%s: %v", name, c)
		}
		data, _ := json.Marshal(loud)
		if m := loud.Messages[2]; m.TokenIDs != nil || m.TokenTexts != nil || m.PromptDeltaIDs != nil || m.Logprobs != nil || loud.SampledTokens != 0 ||
			strings.Contains(string(data), aKey) {
			t.Errorf("%s: %s", name, data)
		}
		digest := loud.PayloadDigest
		if loud.SetPayloadDigest(); digest != loud.PayloadDigest {
			t.Errorf("%s: the digest is not that of the row", name)
		}
		if _, ok := FindKey(loud); ok {
			t.Errorf("%s: a key is left", name)
		}
	}
}

func TestIdsAreKeptAndSearched(t *testing.T) {
	r := rules(t, all)
	x := row()
	x.GroupID = aKey
	if c := r.Trajectory(x); c.Total() != 0 || x.ExampleID != "ada@example.com" {
		t.Errorf("%v %+v", c, x)
	}
	if found, ok := FindKey(x); !ok || found.Place != "group_id" {
		t.Error(found, ok)
	}
}

func TestFieldsAndMessages(t *testing.T) {
	x := row()
	c := rules(t, `
fields:
  - path: example.user.name
  - {path: example.user.mail, action: remove}
  - {path: example.tags.*, action: remove}
  - {path: metadata.host, action: remove}
  - {path: metadata.nothing}
messages:
  - {role: system, action: remove}
  - tool: read_file
`).Trajectory(x)
	if x.Example != `{"id": 1, "user": {"name": "[redacted:example.user.name]"}, "tags": []}` || x.Metadata != `{"n":2}` {
		t.Errorf("%s %s", x.Example, x.Metadata)
	}
	if x.Messages[0].Content != "" || x.Messages[3].Content != "[redacted:tool read_file]" || x.Messages[1].Content != "hello" || x.SampledTokens != 0 {
		t.Errorf("%+v", x.Messages)
	}
	if want := "2 example.tags.*, 1 example.user.mail, 1 example.user.name, 1 metadata.host, 1 system, 1 tool read_file in 1 row; 1 row lost token ids " +
		"and logprobs"; c.String() != want {
		t.Error(c)
	}
}

func TestPairsAndLabels(t *testing.T) {
	r := rules(t, "detectors: [keys]\nmessages: [{role: system, action: remove}, {tool: read_file}]")
	p := formats.Pair{
		Prompt: `[{"role":"system","content":"be good"},{"role":"user","content":"` + aKey +
			`"},{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"read_file"}}]}]`,
		Chosen:   `[{"role":"tool","tool_call_id":"c","content":"secret"}]`,
		Rejected: `[{"role":"tool","tool_call_id":"d","content":"other"}]`, Tools: `[]`,
	}
	if found, ok := FindKey(&p); !ok || found.Place != "prompt" {
		t.Error(found, ok)
	}
	c := r.Pair(&p)
	if p.Prompt != `[{"role":"system","content":""},{"role":"user","content":"[redacted:openai]"},{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"read_file"}}]}]` ||
		p.Chosen != `[{"role":"tool","tool_call_id":"c","content":"[redacted:tool read_file]"}]` || !strings.Contains(p.Rejected, "other") || c.Total() != 3 ||
		c.Rows != 1 {
		t.Errorf("%v %+v", c, p)
	}
	l := formats.Label{Prompt: `[]`, Completion: `[{"role":"assistant","content":"` + aKey + `"}]`}
	if c := r.Label(&l); c.Total() != 1 || strings.Contains(l.Completion, aKey) {
		t.Errorf("%v %+v", c, l)
	}
	if _, ok := FindKey(&l); ok {
		t.Error("a key is left")
	}
}

func TestNilRules(t *testing.T) {
	var r *Rules
	if c := r.Trajectory(row()); c.Total() != 0 || r.Digest() != "" {
		t.Error(c)
	}
}

func TestDigest(t *testing.T) {
	one := rules(t, "detectors: [email, keys]")
	for _, text := range []string{"# a comment\ndetectors:\n- keys\n- email\n", "detectors: [keys, email, openai]"} {
		if other := rules(t, text); other.Digest() != one.Digest() {
			t.Errorf("%q: %s and %s", text, one.Digest(), other.Digest())
		}
	}
	seen := map[string]string{one.Digest(): "one"}
	for _, text := range []string{"detectors: [keys]", "detectors: [keys, phone]", "patterns: [{name: a, regexp: b}]", "patterns: [{name: a, regexp: c}]",
		"fields: [{path: example.a}]", "fields: [{path: example.a, action: remove}]", "messages: [{role: a}]", "messages: [{tool: a}]"} {
		d := rules(t, text).Digest()
		if seen[d] != "" || len(d) != 24 {
			t.Errorf("%q has the digest of %q", text, seen[d])
		}
		seen[d] = text
	}
}

func TestLoadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "no rules",
		"detectors: []":                        "no rules",
		"- a":                                  `rules.yaml:1": not a mapping`,
		"a: b":                                 `rules.yaml:1": unknown key "a"`,
		"detectors: keys":                      `rules.yaml:1": detectors is not a list`,
		"detectors:\n  - email\n  - mail":      `rules.yaml:3": no detector "mail"`,
		"patterns:\n- name: a\n  regexp: '('":  "rules.yaml:2\": the pattern \"a\": error parsing regexp: missing closing )",
		"patterns:\n- name: a\n  regexp: 'x*'": "matches the empty text",
		"patterns:\n- name: a":                 "has no regexp",
		"patterns:\n- regexp: a":               "with the name",
		"patterns:\n- {name: a, regexp: a}\n- {name: a, regexp: b}": `rules.yaml:3": the name "a"`,
		"patterns:\n- {name: email, regexp: a}":                     `the name "email"`,
		"patterns:\n- {name: a, regexp: [a]}":                       "must be a text",
		"patterns:\n- {name: a, pattern: a}":                        `unknown key "pattern"`,
		"fields:\n- path: user.name":                                `no field "user.name"`,
		"fields:\n- path: example":                                  `no field "example"`,
		"fields:\n- path: example..a":                               `no field`,
		"fields:\n- {path: example.a, action: drop}":                `no action "drop"`,
		"messages:\n- {role: a, tool: b}":                           "by a role or by a tool",
		"messages:\n- {action: mask}":                               "by a role or by a tool",
		"detectors: [keys]\ndetectors: [email]":                     `rules.yaml:2": "detectors" is already set on line 1`,
		"detectors: [keys":                                          "not YAML",
		"detectors: [keys]\n---\ndetectors: [keys]":                 "more than one document",
	} {
		_, err := Load("dir/rules.yaml", []byte(text))
		if !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// The guide lists the detectors by hand.
func TestGuideListsDetectors(t *testing.T) {
	data, err := os.ReadFile("../../cmd/rollmill/doc/guides/redaction.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| `([a-z0-9-]+)` \\| (.*) \\|$").FindAllStringSubmatch(string(data), -1)
	all := Detectors()
	if len(rows) != len(all) {
		t.Fatalf("the guide lists %d detectors of %d", len(rows), len(all))
	}
	for i, row := range rows {
		if row[1] != all[i][0] || row[2] != all[i][1] {
			t.Errorf("the guide has %s: %s; the package %s: %s", row[1], row[2], all[i][0], all[i][1])
		}
	}
}

// Texts that nearly match everywhere take time in proportion to their length: if
// each place were followed to the end, this test would end at go test's limit.
func TestHostileTexts(t *testing.T) {
	r, size := rules(t, all), 300_000
	if testing.Short() {
		size = 100_000
	}
	for _, part := range []string{"sk-", "xoxb-", "-eyJ", "eyJaaaaaaaaaa.", "://a:", "AKIA", "cret_access_key", "cretAccessKey=", "-----BEGIN PRIVATE KEY-----",
		"-----BEGIN PRIVATE KEY----------END ",
		"Bearer ", "a@", "a.a@a.", ":", "1:", "fe80:", "1-", "1 ", "4111 ", "+1", "(", "1.", "GB82 ", "GB82WEST", `[{"`, `\"[`, "[", "[redacted:a"} {
		var c Counts
		r.text(strings.Repeat(part, size/len(part)), &c)
		r.text("[\""+strings.Repeat(part, size/len(part))+"\"]", &c)
	}
}
