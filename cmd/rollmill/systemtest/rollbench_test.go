package systemtest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rollmill/rollmill/formats/outcomes"
)

const (
	benchTokens      = 2000 // of an answer
	benchConcurrency = 16
	benchWorkers     = 4
)

// TestRolloutCost measures a recorded agent of two turns, whose answers have 2000
// tokens with logprobs from memory, and compares it with the same calls sent
// directly to the engine and with the same work in Python. Each runs in its own
// process, as does the engine: only their own processor time is counted, including
// the agent's processes. BENCH_EPISODES is the number of episodes; without it the
// test runs a few, without Python.
func TestRolloutCost(t *testing.T) {
	episodes, full := 8, false
	if n, err := strconv.Atoi(os.Getenv("BENCH_EPISODES")); err == nil {
		episodes, full = n, true
	}
	url := startBenchEngine(t)
	dir := t.TempDir()
	var examples bytes.Buffer
	for i := range episodes {
		fmt.Fprintf(&examples, `{"id":"%d","question":"what is %d + 1?"}`+"\n", i, i)
	}
	if err := os.WriteFile(filepath.Join(dir, "examples.jsonl"), examples.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	number := strconv.Itoa(episodes)
	table := []benchRow{
		measure(t, "rollmill, recorded", "rollmill", "rollout", "--examples", filepath.Join(dir, "examples.jsonl"), "--agent", "command: twoturns worker",
			"--agent-workers", strconv.Itoa(benchWorkers), "--concurrency", strconv.Itoa(benchConcurrency), "--url", url, "--model", "policy", "--out",
			filepath.Join(dir, "rollout")),
		measure(t, "directly to the engine", "twoturns", "direct", url, number),
	}
	checkBench(t, filepath.Join(dir, "rollout"), episodes)
	if full {
		root := filepath.Join("..", "..", "..")
		python, err := filepath.Abs(filepath.Join(root, ".venv-bench-rollout", "bin", "python"))
		if err != nil {
			t.Fatal(err)
		}
		table = append(table, measure(t, "in Python", python, filepath.Join(root, "testdata", "bench", "rollout", "harness.py"), url, number,
			strconv.Itoa(benchConcurrency), filepath.Join(dir, "python.json")))
	}
	printBench(t, table, episodes)
}

type benchRow struct {
	name      string
	wall, cpu time.Duration
}

// measure runs a program and returns its time, including that of its children.
func measure(t *testing.T, name string, words ...string) benchRow {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Stdout, cmd.Stderr = &stderr, &stderr
	from := time.Now()
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v: %s", name, err, stderr.String())
	}
	return benchRow{name, time.Since(from), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
}

// checkBench compares the dataset with the engine's answers.
func checkBench(t *testing.T, uri string, episodes int) {
	t.Helper()
	_, rows := trajectoriesAt(t, uri)
	for _, r := range rows {
		if r.Status != outcomes.StatusOK || r.SampledTokens != 2*benchTokens || len(r.Messages) != 4 || len(r.Messages[3].TokenIDs) != benchTokens {
			t.Fatalf("%s: %s, %d messages, %d tokens: %s", r.TrajectoryID, r.Status, len(r.Messages), r.SampledTokens, r.Error)
		}
	}
	if len(rows) != episodes {
		t.Errorf("%d rows of %d", len(rows), episodes)
	}
}

func printBench(t *testing.T, table []benchRow, episodes int) {
	var out strings.Builder
	last := table[len(table)-1]
	fmt.Fprintf(&out, "%d episodes of two calls, %d tokens with logprobs each, %d at once, %d processors\n", episodes, benchTokens, benchConcurrency,
		runtime.NumCPU())
	fmt.Fprintf(&out, "%-24s %12s %14s %22s %12s\n", "", "episodes/s", "cpu ms/call", "episodes/s and core", "of the last")
	for _, r := range table {
		n := float64(episodes)
		fmt.Fprintf(&out, "%-24s %12.1f %14.3f %22.1f %11.1fx\n", r.name, n/r.wall.Seconds(), 1e3*r.cpu.Seconds()/n/2, n/r.cpu.Seconds(),
			last.cpu.Seconds()/r.cpu.Seconds())
	}
	if len(table) > 2 {
		fmt.Fprintf(&out, "recorded episodes per core, rollmill to Python: %.1f (aim: at least 20)\n", last.cpu.Seconds()/table[0].cpu.Seconds())
	}
	t.Log("\n" + out.String())
}

// startBenchEngine starts the engine in its own process.
func startBenchEngine(t *testing.T) (url string) {
	t.Helper()
	cmd := exec.Command("longanswers")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	if url, err = bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(url)
}

// serveLongAnswers is the engine. Its answers are in memory, in vLLM's format, and
// the same for every prompt. It stops when its standard input ends.
func serveLongAnswers() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	plain, withIDs := longChat(false), longChat(true)
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q, _ := io.ReadAll(r.Body)
		body := plain
		if bytes.Contains(q, []byte(`"return_token_ids":true`)) {
			body = withIDs
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.Write(body)
	}))
	fmt.Printf("http://%s/v1\n", l.Addr())
	io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

func longChat(ids bool) []byte {
	type entry struct {
		Token   string  `json:"token"`
		Logprob float64 `json:"logprob"`
		Bytes   []int   `json:"bytes"`
		Top     []int   `json:"top_logprobs"`
	}
	var content strings.Builder
	var entries []entry
	var tokens []int
	for i := range benchTokens {
		word := fmt.Sprintf("word%d ", i)
		content.WriteString(word)
		e := entry{Token: word, Logprob: -float64(float32(i*4211%10000000) / 3333333), Top: []int{}}
		if ids {
			e.Token = fmt.Sprintf("token_id:%d", 7*i)
		}
		for _, b := range []byte(word) {
			e.Bytes = append(e.Bytes, int(b))
		}
		entries, tokens = append(entries, e), append(tokens, 7*i)
	}
	choice := map[string]any{"index": 0, "message": map[string]any{"role": "assistant", "content": content.String()}, "finish_reason": "stop",
		"logprobs": map[string]any{"content": entries}}
	answer := map[string]any{"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "policy", "choices": []any{choice},
		"usage": map[string]any{"prompt_tokens": 3, "completion_tokens": benchTokens, "total_tokens": 3 + benchTokens}}
	if ids {
		choice["token_ids"], answer["prompt_token_ids"] = tokens, []int{1, 2, 3}
	}
	body, err := json.Marshal(answer)
	if err != nil {
		panic(err)
	}
	return body
}

// twoTurns is the agent: it asks a question, then whether the answer is right. As
// a worker it receives the engine's URL; in direct mode it plays a number of
// episodes against the engine.
func twoTurns() {
	if err := playTwoTurns(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func playTwoTurns(mode string, args []string) error {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: benchConcurrency, ReadBufferSize: 64 << 10}}
	if mode == "worker" {
		lines := json.NewDecoder(os.Stdin)
		for {
			var task struct {
				Question     string
				BaseURL      string `json:"base_url"`
				TrajectoryID string `json:"trajectory_id"`
			}
			if err := lines.Decode(&task); err == io.EOF {
				return nil
			} else if err != nil {
				return err
			}
			if err := twoCalls(client, task.BaseURL, task.Question, ""); err != nil {
				return err
			}
			fmt.Printf("{\"trajectory_id\":%q}\n", task.TrajectoryID)
		}
	}
	episodes, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	var group errgroup.Group
	group.SetLimit(benchConcurrency)
	for i := range episodes {
		group.Go(func() error {
			return twoCalls(client, args[0], fmt.Sprintf("what is %d + 1?", i), `,"logprobs":true,"return_token_ids":true`)
		})
	}
	return group.Wait()
}

func twoCalls(client *http.Client, url, question, more string) error {
	var messages []map[string]string
	for _, text := range []string{question, "are you sure?"} {
		messages = append(messages, map[string]string{"role": "user", "content": text})
		list, err := json.Marshal(messages)
		if err != nil {
			return err
		}
		resp, err := client.Post(url+"/chat/completions", "application/json", strings.NewReader(fmt.Sprintf(`{"model":"policy","messages":%s%s}`, list, more)))
		if err != nil {
			return err
		}
		var answer struct {
			Choices []struct{ Message struct{ Content string } }
		}
		err = json.NewDecoder(resp.Body).Decode(&answer)
		resp.Body.Close()
		if err != nil || len(answer.Choices) == 0 {
			return fmt.Errorf("HTTP %d: %w", resp.StatusCode, err)
		}
		messages = append(messages, map[string]string{"role": "assistant", "content": answer.Choices[0].Message.Content})
	}
	return nil
}
