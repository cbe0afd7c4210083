package arttest

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestValidateRefusesWhatPydanticRefuses(t *testing.T) {
	const good = `{"trajectories":[{"messages_and_choices":[{"role":"user","content":"q"},{"finish_reason":"stop","index":0,` +
		`"message":{"role":"assistant","content":"a"},"logprobs":{"content":[{"token":"token_id:1","bytes":null,"logprob":-0.5,"top_logprobs":[]}],` +
		`"refusal":null}}],"reward":0.0,"metrics":{},"metadata":{"scenario_id":"e-1"}}]}`
	if _, err := validate(json.RawMessage("[" + good + "]")); err != nil {
		t.Error(err)
	}
	for name, edit := range map[string][2]string{
		"no top_logprobs":    {`,"top_logprobs":[]`, ``},
		"null finish_reason": {`"finish_reason":"stop"`, `"finish_reason":null`},
		"nested metadata":    {`"scenario_id":"e-1"`, `"scenario_id":{"a":1}`},
		"no reward":          {`"reward":0.0,`, ``},
		"unknown role":       {`"role":"user"`, `"role":"critic"`},
		"base64 bytes":       {`"bytes":null`, `"bytes":"ZTQ="`},
	} {
		if _, err := validate(json.RawMessage("[" + strings.ReplaceAll(good, edit[0], edit[1]) + "]")); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
