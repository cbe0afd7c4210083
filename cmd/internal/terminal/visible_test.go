package terminal

import (
	"encoding/json"
	"testing"
)

func TestVisible(t *testing.T) {
	for _, c := range []struct{ text, text2, json string }{
		{"plain, thrée\t日本\n", "plain, thrée\t日本\n", "plain, thrée\t日本\n"},
		{"a\x1b[31mb\u009bc", `a\x1b[31mb\u009bc`, `a\u001b[31mb\u009bc`},
		{"\u202egnp.exe\u200b", `\u202egnp.exe\u200b`, `\u202egnp.exe\u200b`},
		{"\U000e0041", `\U000e0041`, `\udb40\udc41`},
		{"\xff\r", `\xff\x0d`, `\ufffd\u000d`},
	} {
		if got := Visible(c.text); got != c.text2 {
			t.Errorf("visible(%q) = %q, want %q", c.text, got, c.text2)
		}
		if got := visibleJSON(c.text); got != c.json {
			t.Errorf("visibleJSON(%q) = %q, want %q", c.text, got, c.json)
		}
	}
	var back string
	if err := json.Unmarshal([]byte(visibleJSON("\"\U000e0041\u009b\"")), &back); err != nil || back != "\U000e0041\u009b" {
		t.Errorf("%q, %v", back, err)
	}
}
