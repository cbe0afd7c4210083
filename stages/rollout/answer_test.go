package rollout_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/rollout/agents"
)

// asker posts one request and reads what comes.
type asker struct{ stream bool }

func (asker) Describe() agents.Description { return agents.Description{Kind: "asker"} }

func (asker) Close() error { return nil }

func (a asker) Attempt(ctx context.Context, at agents.Attempt) (agents.Result, error) {
	body := fmt.Sprintf(`{"model":%q,"stream":%t,"messages":[{"role":"user","content":"one"}]}`, at.Model, a.stream)
	resp, err := at.HTTP.Post(at.BaseURL+"/chat/completions", "application/json", strings.NewReader(body))
	if err != nil {
		return agents.Result{}, err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return agents.Result{}, err
}

// TestTheAnswerIsTheTextInEveryForm in which engines send it.
func TestTheAnswerIsTheTextInEveryForm(t *testing.T) {
	text, refusal := `{"type":"text","text":"4"}`, `{"refusal":"no","type":"refusal"}`
	thought := `{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}`
	for _, c := range []struct {
		name           string
		pieces         []string // of a stream; one without
		stream         bool
		content, parts string
		answer         string
	}{
		{"a list", []string{`{"content":[` + text + `,{"type":"text","text":"2"}]}`}, false, "", "[" + text + `,{"type":"text","text":"2"}]`, "42"},
		{"text and a refusal", []string{`{"content":"4","refusal":"no"}`}, false, "", `[{"text":"4","type":"text"},` + refusal + "]", "4"},
		{"a refusal and a list", []string{`{"refusal":"no","content":[` + text + "]}"}, false, "", "[" + text + "," + refusal + "]", "4"},
		{"a refusal", []string{`{"content":null,"refusal":"no"}`}, false, "", "[" + refusal + "]", ""},
		{"streamed lists", []string{`{"content":[` + text + `]}`, `{"content":[{"type":"text","text":"2"}]}`}, true, "42", "", "42"},
		{"equal streamed lists", []string{`{"content":[` + text + `]}`, `{"content":[` + text + `]}`, `{"content":[` + text + `]}`}, true, "444", "", "444"},
		{"lists and text, streamed", []string{`{"content":[` + text + `]}`, `{"content":"2"}`}, true, "42", "", "42"},
		{"a streamed thought", []string{`{"content":[` + thought + `]}`, `{"content":[` + text + `]}`, `{"content":[{"type":"text","text":"2"}]}`}, true, "",
			"[" + thought + `,{"text":"42","type":"text"}]`, "42"},
		{"streamed text and a refusal", []string{`{"content":[` + text + `]}`, `{"refusal":"no"}`}, true, "",
			`[{"text":"4","type":"text"},` + refusal + "]", "4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.URL.Path != "/v1/chat/completions":
					http.NotFound(w, r)
				case !c.stream:
					fmt.Fprintf(w, `{"model":"policy","choices":[{"index":0,"message":%s,"finish_reason":"stop"}]}`, c.pieces[0])
				default:
					w.Header().Set("Content-Type", "text/event-stream")
					for _, piece := range c.pieces {
						fmt.Fprintf(w, "data: {\"model\":\"policy\",\"choices\":[{\"index\":0,\"delta\":%s}]}\n\n", piece)
					}
					fmt.Fprint(w, "data: {\"model\":\"policy\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
				}
			}))
			defer server.Close()
			o := optionsAt(server.URL+"/v1", filepath.Join(t.TempDir(), "out"), 1)
			o.Generations, o.Agent, o.NoLogprobs = 1, asker{c.stream}, true
			run(t, o)
			row := rows(t, o.Out.URI)[0]
			if len(row.Messages) != 2 || row.Status != outcomes.StatusOK {
				t.Fatalf("%s: %s, %+v", row.Status, row.Error, row.Messages)
			}
			if m := row.Messages[1]; m.Content != c.content || m.ContentParts != c.parts || row.Answer != c.answer {
				t.Errorf("answer %q of content %q, parts %s; want %q of %q, %s", row.Answer, m.Content, m.ContentParts, c.answer, c.content, c.parts)
			}
		})
	}
}
