package validate

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/outcomes"
)

func TestKeysAreNamedAndNeverShown(t *testing.T) {
	const key = "ghp_abcdefghijABCDEFGHIJ0123456789abcdef"
	d := NewDoctor([]Check{{Name: Keys, Severity: Warning, Inferred: true, row: keys}})
	for i := range 4 {
		t := row()
		if i == 2 {
			t.Messages[1].Content = "my token is " + key
		}
		if i == 3 {
			t.Status, t.Metadata = outcomes.StatusFailed, `{"url":"https://app:hunter22@db"}`
		}
		r := WideRow(int64(i), t)
		d.Row(&r)
	}
	found := d.Found("uri")
	if len(found) != 1 || found[0].Refuses() || found[0].Count != 2 || found[0].Of != 4 || found[0].First[0].Row != 2 {
		t.Fatalf("%+v", found)
	}
	text, _ := json.Marshal(found)
	for _, want := range []string{"messages[1].content: github", "metadata: url-password", "1 github, 1 url-password"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s lacks %q", text, want)
		}
	}
	if strings.Contains(string(text), key) || strings.Contains(string(text), "hunter22") {
		t.Errorf("the key is shown: %s", text)
	}
}
