package foreign

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/foreign/chat"
	"github.com/rollmill/rollmill/formats/foreign/foreigntest"
	"github.com/rollmill/rollmill/formats/foreign/importers"
)

// account returns what became of the members of records, in so many accounts that are
// merged as those of the workers of an import are.
func account(f *importers.Format, values bool, workers int, records ...string) string {
	var all importers.Account
	some := make([]importers.Account, workers)
	for i, data := range records {
		p := f.Convert(importers.Record{Data: []byte(data)})
		if some[i%workers].Add(p.Data, p.Err == nil) {
			all.Try(f, &p.Record)
		}
	}
	for i := range some {
		all.Merge(&some[i])
	}
	var b strings.Builder
	for _, m := range all.Members(values) {
		if !m.Within {
			fmt.Fprintf(&b, "%d %s %s %s %s\n", m.Records, m.Type, m.Path, m.Became, m.Value)
		}
	}
	return strings.ReplaceAll(b.String(), " \n", "\n")
}

func TestAccountOfMembers(t *testing.T) {
	records := []string{
		`{"messages":[{"role":"user","content":"Q","weight":1},{"role":"assistant","content":"A","weight":0,"note":{"a":[{"b":1}],"Headers":{"h":"v"}}}],` +
			`"tools":[{"name":"f","parameters":{}}],"max_tokens":9,"completion_tokens":[1],"x-api-key":"abc","none":null}`,
		`{"messages":"[{\"role\":\"user\",\"content\":\"Q\"},{\"role\":\"assistant\",\"content\":\"A\",\"odd\":1}]","max_tokens":8}`,
		`{"messages":7,"late":1}`,
	}
	const want = `1 list messages read
1 text messages[].role read
1 text messages[].content read
1 number messages[].weight read, kept in metadata
1 object messages[].note kept in metadata
1 list messages[].note.a kept in metadata
1 object messages[].note.Headers withheld: the name of a secret
1 list tools read
2 number max_tokens kept in metadata
1 list completion_tokens kept in metadata
1 text x-api-key withheld: the name of a secret
1 text messages read
1 text messages.role read
1 text messages.content read
1 number messages.odd kept in metadata
1 number messages in refused records only
1 number late in refused records only
`
	for workers := 1; workers <= 3; workers++ {
		if got := account(&chat.Importer, false, workers, records...); got != want {
			t.Errorf("%d workers:\n%s", workers, got)
		}
	}
	values := account(&chat.Importer, true, 1, `{"messages":[{"role":"user","content":"Q"}],"a":"key sk-ant-api03-abcdefghij1234567890abcdefghij","password":"hunter2"}`)
	if !strings.Contains(values, `a kept in metadata "key [redacted:anthropic]"`) || strings.Contains(values, "hunter2") {
		t.Error(values)
	}
}

// Names that are data are one path, and there are not too many paths.
func TestAccountIsBounded(t *testing.T) {
	var records []string
	for i := range 600 {
		records = append(records, fmt.Sprintf(`{"messages":[{"role":"user","content":"Q"}],"by_id":{"id-%d":{"n":1},"jd-%d":{"n":2}},"c%d":{"d":%s}}`,
			i, i, i, strings.Repeat(`{"e":`, 30)+"1"+strings.Repeat("}", 30)))
	}
	if got := account(&chat.Importer, false, 2, records...); !strings.Contains(got, "\n600 object by_id kept in metadata\n") {
		t.Error(got[:200])
	}
	var all importers.Account
	for _, data := range records {
		all.Add([]byte(data), true)
	}
	var merged importers.Account
	merged.Merge(&all)
	members := merged.Members(false)
	if len(members) > importers.MaxPaths || len(members) < importers.MaxPaths/2 {
		t.Errorf("%d members", len(members))
	}
	for _, m := range members {
		if strings.HasPrefix(m.Path, "by_id.") && (!strings.HasPrefix(m.Path, "by_id.*") || m.Records != 600) {
			t.Errorf("%+v", m)
		}
	}
}

// What is withheld is nowhere in a row, whichever reader made it.
func TestSecretsAreWithheld(t *testing.T) {
	const secrets = `"openai_api_key":"SSSS","Authorization":"SSSS","deep":[{"access_token":"SSSS","text":"{\"password\":\"SSSS\"}"}],`
	for _, c := range []struct{ format, path, in string }{
		{"chat", "trl/messages.jsonl", "{"},
		{"chat", "trl/messages.jsonl", `[{`},
		{"sharegpt", "sharegpt/llama-factory-by-docs.jsonl", "{"},
		{"rows", "trl/messages.jsonl", "{"},
		{"atif", "atif/tools-1.json", `"agent": {`},
		{"art", "art/trajectories.jsonl", `"metadata": {`},
		{"nemo-gym", "gym/blackjack.jsonl", "{"},
		{"openenv", "openenv/capture.json", `"metadata": {`},
	} {
		file, err := os.ReadFile("../../testdata/importers/" + c.path)
		if err != nil {
			t.Fatal(err)
		}
		data := strings.Replace(string(file), c.in, c.in+secrets, 1)
		f := Importers[slices.IndexFunc(Importers, func(f importers.Format) bool { return f.Name == c.format })]
		withheld := 0
		for p, err := range foreigntest.All(f, importers.File{Name: c.path, R: strings.NewReader(data), Size: int64(len(data)), Options: &importers.Options{}}) {
			if err = cmp.Or(err, p.Err); err != nil {
				t.Fatalf("%s: %v", c.path, err)
			}
			withheld += p.Withheld
			for i := range p.Items {
				if row := fmt.Sprintf("%+v", p.Items[i].Row); strings.Contains(row, "SSSS") {
					t.Errorf("%s: %s", c.path, row)
				}
			}
		}
		if withheld < 4 {
			t.Errorf("%s %s: %d members are withheld", c.path, c.in, withheld)
		}
	}
}
