package recorder_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
    with client.responses.stream(model="judge", input="hi", tools=[{"type": "custom", "name": "run"}]) as stream:
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
	answer := func(message, finish string, completion int) string {
		entries := strings.TrimSuffix(strings.Repeat(`{"token":"a","logprob":-1},`, completion), ",")
		return fmt.Sprintf(`{"id":"c","created":1,"model":"tiny","choices":[{"index":0,"message":%s,"logprobs":{"content":[%s]},"finish_reason":%q}],"usage":{"prompt_tokens":3,"completion_tokens":%d}}`,
			message, entries, finish, completion)
	}
	call := `"tool_calls":[{"id":"1","type":"function","function":{"name":%q,"arguments":%q}}]`
	_, s := playAs(t, "tiny", &tape{bodies: []string{
		answer(`{"role":"assistant","content":"The quick brown fox jumps over the lazy dog."}`, "stop", 11),
		answer(`{"role":"assistant","content":null,`+fmt.Sprintf(call, "add", `{"a": 1}`)+`}`, "tool_calls", 34),
		answer(`{"role":"assistant","content":"ab","reasoning":"so",`+fmt.Sprintf(call, "run", `{"input":"ls"}`)+`}`, "tool_calls", 2)}})
	out, err := exec.Command(python, "-c", streamAll, s.BaseURL()).CombinedOutput()
	want := "completed ['message'] 'The quick brown fox jumps over the lazy dog.' 11\n" +
		"completed ['function_call'] '' 34\n" +
		"completed ['reasoning', 'message', 'custom_tool_call'] 'ab' 2\n"
	if d := cmp.Diff(want, string(out)); err != nil || d != "" {
		t.Errorf("%v: %s", err, d)
	}
}
