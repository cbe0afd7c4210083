package recorder_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// streamAll streams three responses with OpenAI's own client, which puts each
// together from its events and compares it with the last one.
const streamAll = `
import sys
from openai import OpenAI
client = OpenAI(base_url=sys.argv[1], api_key="x", max_retries=0)
for _ in range(3):
    with client.responses.stream(model="judge", input="hi") as stream:
        text = "".join(e.delta for e in stream if e.type == "response.output_text.delta")
        r = stream.get_final_response()
    assert text == r.output_text, (text, r.output_text)
    print(r.status, [o.type for o in r.output], repr(text), r.usage.output_tokens)
`

func TestOpenAIPythonReadsTheStreams(t *testing.T) {
	python, _ := filepath.Abs("../../../.venv-data/bin/python")
	if p := os.Getenv("ROLLMILL_PYTHON_OPENAI"); p != "" {
		python = p
	}
	if exec.Command(python, "-c", "import openai").Run() != nil {
		t.Skip("no Python with openai: run .ci/venv data, or set ROLLMILL_PYTHON_OPENAI")
	}
	_, text := vllmSample(t, "resp")
	_, call := vllmSample(t, "resp-tools")
	every := `{"id":"resp_9","object":"response","created_at":1,"model":"tiny","status":"completed","parallel_tool_calls":true,"tool_choice":"auto","tools":[],"output":[` +
		`{"type":"reasoning","id":"r","summary":[{"type":"summary_text","text":"hm"}],"content":[{"type":"reasoning_text","text":"so"}]},` +
		`{"type":"message","id":"m","role":"assistant","status":"completed","content":[{"type":"output_text","text":"ab","annotations":[],"logprobs":[]}]},` +
		`{"type":"custom_tool_call","id":"f","call_id":"1","name":"run","input":"ls"}],` +
		`"usage":{"input_tokens":3,"input_tokens_details":{"cached_tokens":0},"output_tokens":2,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":5}}`
	_, s := playAs(t, "tiny", &tape{bodies: []string{text, call, every}})
	out, err := exec.Command(python, "-c", streamAll, s.BaseURL()).CombinedOutput()
	want := "completed ['message'] 'The quick brown fox jumps over the lazy dog.' 11\n" +
		"completed ['function_call'] '' 34\n" +
		"completed ['reasoning', 'message', 'custom_tool_call'] 'ab' 2\n"
	if d := cmp.Diff(want, string(out)); err != nil || d != "" {
		t.Errorf("%v: %s", err, d)
	}
}
