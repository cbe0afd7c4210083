package otel

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/foreign/foreigntest"
	"github.com/rollmill/rollmill/formats/foreign/importers"
)

// about are members about an end user, by where a source has them.
var about = []struct{ begins, members string }{
	{`"attributes":\s*\[`, `{"key":"user.id","value":{"stringValue":"CANARY"}},{"key":"enduser.pseudo.id","value":{"stringValue":"CANARY"}},
		{"key":"client.address","value":{"stringValue":"CANARY"}},{"key":"http.request.header.x-forwarded-for","value":{"arrayValue":{"values":[{"stringValue":"CANARY"}]}}},
		{"key":"gen_ai.request.user","value":{"stringValue":"CANARY"}},{"key":"net.sock.peer.addr","value":{"stringValue":"CANARY"}},
		{"key":"metadata","value":{"stringValue":"{\"user_id\":\"CANARY\"}"}},{"key":"traceloop.association.properties.user_id","value":{"stringValue":"CANARY"}},
		{"key":"llm.invocation_parameters","value":{"stringValue":"{\"user\":\"CANARY\",\"metadata\":{\"user_id\":\"CANARY\"},\"safety_identifier\":\"CANARY\"}"}},`},
	{`"attributes":\s*\{`, `"user.id":"CANARY","user":{"email":"CANARY","name":"CANARY"},"enduser.id":"CANARY","user.full_name":"CANARY",
		"source.address":"CANARY","metadata":"{\"customer_id\":\"CANARY\"}","gen_ai.request.user":"CANARY","net.peer.ip":"CANARY",
		"llm.invocation_parameters":"{\"user\":\"CANARY\",\"extra_body\":{\"metadata\":{\"user_id\":\"CANARY\"}}}",`},
	{`(?=)"attributes\.llm\.model_name"`, `"attributes.user.id":"CANARY","attributes.user":{"email":"CANARY"},"attributes.metadata":{"requester_ip_address":"CANARY"},`},
	{`"(?:model_parameters|modelParameters)":\s*\{`, `"user":"CANARY","metadata":{"any":"CANARY"},"safety_identifier":"CANARY","prompt_cache_key":"CANARY",`},
	{`"metadata":\s*\{`, `"user_id":"CANARY","userId":4711999,"request":{"headers":{"x-forwarded-for":"CANARY"},"X-Forwarded-For":"CANARY","remoteAddr":"CANARY"},"emails":["CANARY"],`},
	{`(?=)"(?:sessionId|environment)"`, `"userId":"CANARY","user_id":"CANARY",`},
	{`(?=)"data_?[tT]ype"`, `"authorUserId":"CANARY","author_user_id":"CANARY",`},
}

// poisoned returns a file with members about end users wherever it may have them.
func poisoned(data string) string {
	for _, x := range about {
		begins, before := strings.CutPrefix(x.begins, "(?=)")
		data = regexp.MustCompile(begins).ReplaceAllStringFunc(data, func(found string) string {
			if before {
				return x.members + found
			}
			return found + x.members
		})
	}
	return regexp.MustCompile(`,(\s*[}\]])`).ReplaceAllString(data, "$1")
}

// imported returns the rows of a file as JSON, and what was left out and kept.
func imported(t *testing.T, path, data string, keep ...string) (rows string, leftOut map[string]int64, kept map[string]bool) {
	t.Helper()
	leftOut, kept = map[string]int64{}, map[string]bool{}
	file := importers.File{Name: path, R: strings.NewReader(data), Size: int64(len(data)), Options: &importers.Options{Keep: keep}}
	for _, name := range []string{strings.Replace(path, ".otlp", ".logs.otlp", 1)} {
		if logs, err := os.ReadFile(name); err == nil && !isLogs(path) {
			file.Companions = []importers.Companion{{Name: filepath.Base(name), Read: func() ([]byte, error) { return []byte(poisoned(string(logs))), nil }}}
		}
	}
	for p, err := range foreigntest.All(Importer, file) {
		if err != nil || p.Err != nil {
			t.Fatal(err, p.Err)
		}
		for i := range p.Items {
			text, err := json.Marshal(p.Items[i].Row)
			if err != nil {
				t.Fatal(err)
			}
			rows += string(text)
		}
		for name, n := range p.LeftOut {
			leftOut[name] += n
		}
		maps.Copy(kept, p.Kept)
	}
	return rows, leftOut, kept
}

// TestEndUsersAreLeftOut: no row has what a source says of an end user, unless its name is kept.
func TestEndUsersAreLeftOut(t *testing.T) {
	for _, path := range files {
		if strings.Contains(path, "conventions") || isLogs(path) {
			continue // traces of all sorts that are not meant to be read, and the half of one
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text := poisoned(string(data))
		rows, leftOut, _ := imported(t, path, text)
		if strings.Contains(rows, "CANARY") || strings.Contains(rows, "4711999") {
			at := strings.Index(rows, "CANARY")
			t.Errorf("%s: %s", path, rows[max(0, at-300):at+6])
		}
		if len(leftOut) < 3 {
			t.Errorf("%s: only %v are left out", path, leftOut)
		}
		before, _, _ := imported(t, path, string(data))
		if len(rows) < len(before) {
			t.Errorf("%s: more than that is left out", path)
		}
		names := slices.Sorted(maps.Keys(leftOut))
		rows, leftOut, kept := imported(t, path, text, names...)
		if len(leftOut) > 0 || len(kept) < 3 || !strings.Contains(rows, "CANARY") {
			t.Errorf("%s: %v are kept of %v, %v left out", path, kept, names, leftOut)
		}
	}
}

// TestKept: a name keeps what has it, in a source's own form too, and nothing else.
func TestKept(t *testing.T) {
	data := `{"context":{"trace_id":"a","span_id":"b"},"name":"x","attributes":{"gen_ai.operation.name":"chat","gen_ai.output.messages":"yes",` +
		`"user.id":"ID","user.email":"MAIL","session.id":"SESSION","user_agent.original":"AGENT","metadata":{"user":{"id":"OTHER","email":"POST"},"userId":"THIRD"}}}`
	for keep, want := range map[string]string{"": "", "user.id": "ID OTHER THIRD", "User_ID": "ID THIRD", "user": "ID MAIL OTHER POST", "metadata.user": "", "nobody": ""} {
		var names []string
		if keep != "" {
			names = []string{keep}
		}
		rows, _, kept := imported(t, "f.json", data, names...)
		var got []string
		for _, word := range []string{"ID", "MAIL", "OTHER", "POST", "THIRD"} {
			if strings.Contains(rows, `\"`+word+`\"`) {
				got = append(got, word)
			}
		}
		if text := strings.Join(got, " "); text != want || kept[keep] != (want != "") {
			t.Errorf("--keep-metadata %s keeps %q, want %q; used: %v", keep, text, want, kept)
		}
		if !strings.Contains(rows, "SESSION") || !strings.Contains(rows, "AGENT") {
			t.Errorf("the session or the program is left out: %s", rows)
		}
	}
}
