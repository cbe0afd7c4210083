package agents

import (
	"bufio"
	"bytes"
	"encoding/json"
	"testing"

	"github.com/rollmill/rollmill/formats/jsontext"
)

// Whatever a worker writes while it is asked, its answer is a JSON object that
// echoes the trajectory's id, or an error.
func FuzzWorkerLines(f *testing.F) {
	for _, text := range []string{`{"trajectory_id":"t-2","status":"ok"}`, `{"trajectory_id":"t-1"}` + "\n" + `{"trajectory_id":"t-2"}`, `{"level":"info"}`,
		"{", "log\n\n{}\n", `{"trajectory_id":null}`, `{"trajectory_id":"t-2"} x`} {
		f.Add([]byte(text + "\n"))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		q := &question{id: "t-2", answer: make(chan reply, 1)}
		w := &Worker{asked: q, before: "t-1"}
		lines := bufio.NewReaderSize(bytes.NewReader(text), 16)
		for {
			line, err := jsontext.ReadLine(lines, maxOutput, errLine)
			if err != nil {
				break
			}
			w.handle(line, nil)
		}
		select {
		case a := <-q.answer:
			var object struct {
				ID string `json:"trajectory_id"`
			}
			if a.err == nil && (json.Unmarshal(a.line, &object) != nil || object.ID != "t-2") {
				t.Fatalf("%q is taken for the answer", a.line)
			}
		default:
			if bytes.Contains(text, []byte("\n"+`{"trajectory_id":"t-2"}`+"\n")) {
				t.Fatalf("no answer in %q", text)
			}
		}
	})
}
