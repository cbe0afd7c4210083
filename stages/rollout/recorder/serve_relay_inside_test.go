package recorder

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/apis"
	"github.com/rollmill/rollmill/formats/completion"
	"github.com/rollmill/rollmill/stages/rollout/recorder/engines"
)

// arriving is the body of a stream: each read returns what arrived meanwhile.
type arriving struct {
	pieces [][]byte
	log    *[]string
}

func (a *arriving) Read(p []byte) (int, error) {
	if len(a.pieces) == 0 {
		return 0, io.EOF
	}
	*a.log = append(*a.log, "read")
	n := copy(p, a.pieces[0])
	if a.pieces[0] = a.pieces[0][n:]; len(a.pieces[0]) == 0 {
		a.pieces = a.pieces[1:]
	}
	return n, nil
}

// logged is an agent's connection, of which the writes and flushes are noted.
type logged struct {
	*httptest.ResponseRecorder
	log *[]string
}

func (l *logged) Write(b []byte) (int, error) {
	*l.log = append(*l.log, "write")
	return l.ResponseRecorder.Write(b)
}

func (l *logged) Flush() { *l.log = append(*l.log, "flush") }

// TestEventsAreForwardedAtOnce: what arrived together is sent together, and
// before the recorder waits for more; a lone event does not wait for the next.
func TestEventsAreForwardedAtOnce(t *testing.T) {
	events := longStream(8)
	half := len(events[3]) / 2
	var log []string
	body := &arriving{log: &log, pieces: [][]byte{
		events[0],
		bytes.Join(events[1:3], nil),
		events[3][:half],
		append(slices.Clone(events[3][half:]), events[4][:1]...),
		events[4][1:],
		bytes.Join(events[5:], nil),
	}}
	rec, err := New(Options{Settings: engines.Settings{Endpoints: []string{"http://127.0.0.1:1"}}, Defaults: apis.Defaults{Model: "policy"}})
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Close()
	s := rec.Begin(t.Context(), "t", "g")
	q, err := apis.ParseRequest(apis.Chat, []byte(`{"model":"policy","stream":true,"messages":[{"role":"user","content":"hi"}]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	w := &logged{httptest.NewRecorder(), &log}
	s.relay(t.Context(), w, q, s.begin(q, "", ""), &engines.Result{Status: http.StatusOK, Answer: &completion.Answer{}, Events: completion.NewEventReader(body, func() {})}, false)
	want := "read write flush, read write flush, read, read write flush, read write flush, read write"
	if got := strings.ReplaceAll(strings.Join(log, " "), " read", ", read"); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	var text string
	for i := range 8 {
		text += fmt.Sprintf(`"content":"word%d "`, i)
	}
	var got string
	for line := range strings.Lines(w.Body.String()) {
		if _, after, ok := strings.Cut(line, `"delta":{`); ok {
			content, _, _ := strings.Cut(after, "}")
			got += content
		}
	}
	if got != text {
		t.Errorf("%s\nwant %s", got, text)
	}
	if out := s.End(); out.Untrainable != nil || len(out.Messages) != 2 || len(out.Messages[1].TokenIDs) != 8 {
		t.Errorf("%+v", out)
	}
}
