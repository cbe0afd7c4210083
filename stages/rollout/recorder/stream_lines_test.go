package recorder_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats/apis"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/rollout/recorder"
)

// TestStreamsAsTheSpecificationSays: lines end with LF, CR LF or CR, also mixed, a byte order mark may begin them, and the
// network may cut them anywhere. Events are passed on as they come.
func TestStreamsAsTheSpecificationSays(t *testing.T) {
	paths := map[string]fields{"/chat/completions": {"model": "policy", "stream": true, "messages": list{user("hi")}}}
	for _, api := range made {
		paths[api.path] = api.ask
	}
	text := "\xef\xbb\xbf: hello\n\n\nevent: x\n" + role + strings.Replace(chunk(`{"content":"one"}`, 3), `"model"`, "\ndata: \"model\"", 1) + chunk(`{"content":" two"}`, 4)
	rest := ending("stop", 2)
	for _, ends := range [][]string{{"\n"}, {"\r\n"}, {"\r"}, {"\r", "\n"}, {"\r\n", "\r"}, {"\n", "\r", "\r\n"}} {
		k := 0
		other := func(text string) string {
			lines := strings.SplitAfter(text, "\n")
			for i, line := range lines {
				if strings.HasSuffix(line, "\n") {
					lines[i] = strings.TrimSuffix(line, "\n") + ends[k%len(ends)]
					if strings.HasSuffix(lines[i], "\n") && i > 0 && strings.HasSuffix(lines[i-1], "\r") && len(lines[i]) == 1 {
						lines[i] = "\r" // CR and LF were one end
					}
					k++
				}
			}
			return strings.Join(lines, "")
		}
		first, last := other(text), other(rest)
		for _, size := range []int{1, 2, 3, 5, 1000} {
			for path, ask := range paths {
				heard := make(chan bool)
				s := engineOf(t, recorder.Options{PingEvery: time.Hour}, func(_ int, _ map[string]json.RawMessage, w http.ResponseWriter, _ *http.Request) {
					begins(w)
					for rest := first; rest != ""; rest = rest[min(size, len(rest)):] {
						says(w, rest[:min(size, len(rest))])
					}
					<-heard
					io.WriteString(w, last)
				})
				a := open(t, s, path, ask)
				a.until(" two") // before the engine says more
				heard <- true
				a.rest()
				rec := s.End()
				if rec.Untrainable != nil || rec.LastCall != nil || len(rec.Messages) != 2 {
					t.Errorf("%q by %d, %s: %v %v", ends, size, path, rec.Untrainable, rec.LastCall)
				} else if m := rec.Messages[1]; m.Content != "one two" || len(m.TokenIDs) != 2 || len(m.PromptDeltaIDs) != 2 {
					t.Errorf("%q by %d, %s: %v", ends, size, path, outlines(rec))
				}
			}
		}
	}
}

// TestStreamsWithoutAFinishReason are whole at [DONE] if the run accepts that, and at no other end.
func TestStreamsWithoutAFinishReason(t *testing.T) {
	paths := map[string]fields{"/chat/completions": {"model": "policy", "stream": true, "messages": list{user("hi")}}}
	for _, api := range made {
		paths[api.path] = api.ask
	}
	null := strings.Replace(ending("stop", 1), `"finish_reason":"stop"`, `"finish_reason":null`, 1)
	for path, ask := range paths {
		for _, c := range []struct {
			accept bool
			end    string
			whole  bool
		}{{true, null, true}, {false, null, false}, {true, strings.Replace(null, "data: [DONE]\n\n", "", 1), false}, {true, ending("stop", 1), true}} {
			s := engineOf(t, recorder.Options{Defaults: apis.Defaults{AcceptNoFinish: c.accept}}, func(_ int, _ map[string]json.RawMessage, w http.ResponseWriter, _ *http.Request) {
				begins(w)
				says(w, role, chunk(`{"content":"one"}`, 3), c.end)
			})
			a := open(t, s, path, ask)
			out, _ := io.ReadAll(a.lines)
			rec := s.End()
			if c.whole != (rec.LastCall == nil) || rec.Untrainable != nil || c.whole && (rec.Messages[1].Content != "one" || len(rec.Messages[1].TokenIDs) != 1) {
				t.Errorf("%s, %+v: %v %v %s", path, c, rec.LastCall, rec.Untrainable, out)
			}
			if end := map[string]string{"/messages": "message_stop", "/responses": "response.completed"}[path]; c.whole != strings.Contains(string(out), end) && end != "" ||
				c.whole && end == "" && !strings.Contains(string(out), "[DONE]") {
				t.Errorf("%s, %+v: the agent got %s", path, c, out)
			}
			if !c.whole && !strings.Contains(rec.LastCall.Text, "no finish reason") && !strings.Contains(rec.LastCall.Text, "unexpected EOF") {
				t.Error(rec.LastCall)
			}
			if rec.LastCall != nil && rec.LastCall.Class != outcomes.FailEngine {
				t.Error(rec.LastCall.Class)
			}
		}
	}
}
