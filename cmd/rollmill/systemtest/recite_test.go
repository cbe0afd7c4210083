package systemtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// serveRecital starts an engine with scripted answers and sets $ENGINE to its base
// URL. The last message is a JSON list of texts; the request's seed selects the
// answer. A request that selects an empty text is refused:
//
//	recital
func serveRecital(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: recital")
	}
	web := httptest.NewServer(http.HandlerFunc(answerFromList))
	ts.Defer(web.Close)
	ts.Setenv("ENGINE", web.URL+"/v1")
}

func answerFromList(w http.ResponseWriter, r *http.Request) {
	var q struct {
		Seed     int
		Model    string
		Messages []struct{ Content string }
	}
	var texts []string
	err := json.NewDecoder(r.Body).Decode(&q)
	if err == nil && len(q.Messages) > 0 {
		err = json.Unmarshal([]byte(q.Messages[len(q.Messages)-1].Content), &texts)
	}
	if err != nil || q.Seed < 0 || q.Seed >= len(texts) || texts[q.Seed] == "" {
		http.Error(w, fmt.Sprintf("text %d of %d: %v", q.Seed, len(texts), err), http.StatusBadRequest)
		return
	}
	type entry struct {
		Token   string  `json:"token"`
		Logprob float64 `json:"logprob"`
		Bytes   []int   `json:"bytes"`
	}
	entries, ids := []entry{}, []int{}
	for i, word := range strings.Fields(texts[q.Seed]) {
		entries, ids = append(entries, entry{Token: word, Logprob: -0.5}), append(ids, 100+i)
	}
	choice := map[string]any{"index": 0, "finish_reason": "stop", "token_ids": ids, "logprobs": map[string]any{"content": entries},
		"message": map[string]any{"role": "assistant", "content": texts[q.Seed]}}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{ // a client that disconnected reports its own error
		"id": "recital", "object": "chat.completion", "created": 1, "model": q.Model, "choices": []any{choice}, "prompt_token_ids": []int{1, 2, 3},
		"usage": map[string]any{"prompt_tokens": 3, "completion_tokens": len(ids), "total_tokens": 3 + len(ids)}})
}

// recite is an agent's worker for that engine. It requests the example's text for
// the generation, so that all members of a group have the same prompt. If the
// example has further texts, it requests one in a second turn.
func recite() {
	if err := reciteAll(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func reciteAll(tasks io.Reader, out io.Writer) error {
	lines := json.NewDecoder(tasks)
	for {
		var task struct {
			Fields       struct{ Says, Then []string }
			Generation   int
			TrajectoryID string `json:"trajectory_id"`
			BaseURL      string `json:"base_url"`
			Model        string
		}
		if err := lines.Decode(&task); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		var stderr []any
		for _, says := range [][]string{task.Fields.Says, task.Fields.Then} {
			if says == nil {
				break
			}
			text, err := json.Marshal(says)
			if err != nil {
				return err
			}
			stderr = append(stderr, map[string]any{"role": "user", "content": string(text)})
			answer, err := asks(task.BaseURL, map[string]any{"model": task.Model, "seed": task.Generation, "messages": stderr})
			if err != nil {
				return err
			}
			stderr = append(stderr, map[string]any{"role": "assistant", "content": answer})
		}
		if _, err := fmt.Fprintf(out, "{\"trajectory_id\":%q}\n", task.TrajectoryID); err != nil {
			return err
		}
	}
}

// asks returns the model's answer, or "" if the request was refused.
func asks(url string, request map[string]any) (string, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return "", err
	}
	resp, err := http.Post(url+"/chat/completions", "application/json", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	var said struct {
		Choices []struct{ Message struct{ Content string } }
	}
	if json.NewDecoder(resp.Body).Decode(&said) != nil || len(said.Choices) == 0 {
		return "", nil // the recorder records the reason
	}
	return said.Choices[0].Message.Content, nil
}
