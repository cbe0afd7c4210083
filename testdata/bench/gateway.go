package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/outcomes"
)

// engineBody is the answer of the engine: four tokens, with logprobs and ids for who asks for them.
func engineBody(logprobs bool) []byte {
	entry := `{"token":"token_id:7","logprob":-0.5,"bytes":[119,111,114,100],"top_logprobs":[]}`
	more, prompt := "", ""
	if logprobs {
		more = `,"logprobs":{"content":[` + strings.Repeat(entry+",", 3) + entry + `]},"token_ids":[7,7,7,7]`
		prompt = `"prompt_token_ids":[1,2,3,4,5,6,7],`
	}
	return []byte(`{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"m",` + prompt + `"choices":[{"index":0,"message":{"role":"assistant",` +
		`"content":"word word word word"},"finish_reason":"stop"` + more + `}],"usage":{"prompt_tokens":7,"completion_tokens":4,"total_tokens":11}}`)
}

// serveEngine prints its URL and answers chat completions until its input ends.
func serveEngine() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	plain, whole := engineBody(false), engineBody(true)
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q, _ := io.ReadAll(r.Body)
		body := plain
		if bytes.Contains(q, []byte(`"logprobs":true`)) {
			body = whole
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.Write(body)
	}))
	fmt.Printf("http://%s\n", l.Addr())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// gateway is what calls go through. Its process is nil for none.
type gateway struct {
	name    string
	url     string
	key     string
	most    int // calls a second that it may get; 0: any number
	process *os.Process
	waiting chan *waiting // attempts of a rollout; nil: calls go to url

	took []time.Duration
	cpu  float64 // seconds
}

// waiting is an attempt that waits for its next call to be due.
type waiting struct {
	url   string
	left  int // calls
	ended chan struct{}
}

// attemptCalls is the number of calls of an attempt, of conversations of their own.
const attemptCalls = 10

// used returns the processor seconds that a process has had.
func (g *gateway) used() (seconds float64, err error) {
	if g.process == nil {
		return 0, nil
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", g.process.Pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	for _, ticks := range fields[11:13] {
		n, err := strconv.Atoi(ticks)
		if err != nil {
			return 0, err
		}
		seconds += float64(n) / 100
	}
	return seconds, nil
}

var callers = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2000}, Timeout: time.Minute}

// call sends a request of 1 kB.
func (g *gateway) call() error {
	url, number := g.url, 0
	if g.waiting != nil {
		at := <-g.waiting
		url, number = at.url, at.left
		defer func() {
			if at.left--; at.left == 0 {
				close(at.ended)
			} else {
				g.waiting <- at
			}
		}()
	}
	q, err := http.NewRequest("POST", url+"/chat/completions", strings.NewReader(fmt.Sprintf(
		`{"model":"m","messages":[{"role":"user","content":"%d: %s"}]}`, number, strings.Repeat("some words ", 86))))
	if err != nil {
		return err
	}
	q.Header.Set("Content-Type", "application/json")
	q.Header.Set("Authorization", "Bearer "+g.key)
	r, err := callers.Do(q)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err == nil && (r.StatusCode != http.StatusOK || !bytes.Contains(body, []byte("word word"))) {
		err = fmt.Errorf("%s: HTTP %d: %s", g.name, r.StatusCode, body)
	}
	return err
}

// load makes n calls at a rate. A call's time counts from when it was due, so that a gateway that falls behind shows it. What the
// gateway writes within a second counts too.
func (g *gateway) load(n, rate int) error {
	before, err := g.used()
	if err != nil {
		return err
	}
	took, failed := make([]time.Duration, n), make([]error, n)
	var all sync.WaitGroup
	began := time.Now()
	for i := range n {
		due := began.Add(time.Duration(i) * time.Second / time.Duration(rate))
		time.Sleep(time.Until(due))
		all.Go(func() {
			failed[i] = g.call()
			took[i] = time.Since(due)
		})
	}
	all.Wait()
	time.Sleep(time.Second)
	after, err := g.used()
	g.took, g.cpu = append(g.took, took...), g.cpu+after-before
	return errors.Join(append(failed, err)...)
}

func (g *gateway) at(share float64) float64 {
	slices.Sort(g.took)
	return g.took[int(share*float64(len(g.took)-1))].Seconds() * 1e3
}

func (g *gateway) cpuMS() float64 { return 1e3 * g.cpu / float64(len(g.took)) }

// gateways reads the words of the command line.
func gateways(ctx context.Context, args []string) error {
	var numbers []int
	for _, text := range append(strings.Split(args[3], ","), args[4:6]...) {
		n, err := strconv.Atoi(text)
		if err != nil {
			return err
		}
		numbers = append(numbers, n)
	}
	rates := len(numbers) - 2
	return compareGateways(ctx, args[0], args[1], args[2], numbers[:rates], numbers[rates], numbers[rates+1], args[6:])
}

// compareGateways starts the engine, BIFROST and a rollout of ROLLMILL in the folder, and makes the same calls directly and through
// both, in turns: rounds of some seconds at each rate.
func compareGateways(ctx context.Context, bifrost, rollmill, folder string, rates []int, seconds, rounds int, proxy []string) error {
	if err := errors.Join(os.RemoveAll(folder), os.MkdirAll(folder, 0o777)); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var started []*exec.Cmd
	defer func() {
		cancel()
		for _, c := range started { // ends what is left
			_ = c.Wait()
		}
	}()
	start := func(name string, words ...string) (*exec.Cmd, error) {
		log, err := os.Create(filepath.Join(folder, name+".log"))
		if err != nil {
			return nil, err
		}
		c := exec.CommandContext(ctx, words[0], words[1:]...)
		c.Stdout, c.Stderr = log, log
		if err := c.Start(); err != nil {
			return nil, err
		}
		started = append(started, c)
		return c, nil
	}
	engine, err := startEngine(ctx)
	if err != nil {
		return err
	}
	total := warm
	for _, r := range rates {
		total += rounds * r * seconds
	}
	address := freeAddress()
	peer, err := start("bifrost", bifrost, address, engine, filepath.Join(folder, "bifrost.jsonl"))
	if err != nil {
		return err
	}
	service, waiting := serveAttempts()
	examples, out := filepath.Join(folder, "examples.jsonl"), filepath.Join(folder, "rollout")
	var lines bytes.Buffer
	for i := range total / attemptCalls {
		fmt.Fprintf(&lines, "{\"id\":\"%d\",\"question\":\"?\"}\n", i)
	}
	if err := os.WriteFile(examples, lines.Bytes(), 0o666); err != nil {
		return err
	}
	recorder, err := start("rollmill", rollmill, "rollout", "--examples", examples, "--agent", "http: "+service, "--concurrency", "128", "--url",
		engine+"/v1", "--model", "m", "--generations", "1", "--out", out)
	if err != nil {
		return err
	}
	all := []*gateway{{name: "direct", url: engine + "/v1"}, {name: "bifrost core + file", url: "http://" + address + "/v1", process: peer.Process},
		{name: "rollmill rollout", process: recorder.Process, waiting: waiting}}
	if len(proxy) > 0 {
		port := freeAddress()
		if err := os.Setenv("UPSTREAM", engine+"/v1"); err != nil { // for its config: api_base: os.environ/UPSTREAM
			return err
		}
		c, err := start("litellm", append(proxy, "--port", port[strings.LastIndex(port, ":")+1:])...)
		if err != nil {
			return err
		}
		all = append(all, &gateway{name: "litellm + file", url: "http://" + port + "/v1", most: 20, key: os.Getenv("LITELLM_MASTER_KEY"), process: c.Process})
	}
	for _, g := range all {
		if err := g.ready(); err != nil {
			return fmt.Errorf("%w; see %s", err, folder)
		}
	}
	for _, rate := range rates {
		for _, g := range all {
			g.took, g.cpu = nil, 0
		}
		for round := range rounds {
			for i := range all {
				if g := all[(i+round)%len(all)]; g.most == 0 || rate <= g.most {
					if err := g.load(rate*seconds, rate); err != nil {
						return err
					}
				}
			}
		}
		printGateways(all, rate)
	}
	if err := recorder.Wait(); err != nil {
		return fmt.Errorf("rollout: %w; see %s", err, folder)
	}
	return checkGateway(ctx, out, total)
}

// warm is the number of calls before those that count: Bifrost's first call takes some 100 ms.
const warm = 200

// ready makes calls until one is answered, and the ones that warm it up.
func (g *gateway) ready() error {
	var err error
	for until := time.Now().Add(2 * time.Minute); time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		if err = g.call(); err == nil {
			break
		}
	}
	for i := 1; i < warm && err == nil; i++ {
		err = g.call()
	}
	return err
}

func startEngine(ctx context.Context) (url string, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	c := exec.CommandContext(ctx, self, "engine")
	if _, err := c.StdinPipe(); err != nil {
		return "", err
	}
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err == nil {
		_, err = fmt.Fscanln(out, &url)
	}
	return url, err
}

func freeAddress() string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// serveAttempts is the agent's service: an attempt waits until a call is due, and ends with it.
func serveAttempts() (url string, all chan *waiting) {
	all = make(chan *waiting, 1000)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var task struct {
			BaseURL string `json:"base_url"`
		}
		if err := json.NewDecoder(r.Body).Decode(&task); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		at := &waiting{url: task.BaseURL, left: attemptCalls, ended: make(chan struct{})}
		all <- at
		<-at.ended
		io.WriteString(w, "{}")
	}))
	return "http://" + l.Addr().String(), all
}

func printGateways(all []*gateway, rate int) {
	fmt.Printf("%d calls a second of 1 kB\n%-22s %12s %10s %10s %14s %14s\n", rate, "", "cpu ms/call", "p50 ms", "p99 ms", "added p50 ms", "added p99 ms")
	for _, g := range all {
		if len(g.took) > 0 {
			fmt.Printf("%-22s %12.2f %10.2f %10.2f %14.2f %14.2f\n", g.name, g.cpuMS(), g.at(.5), g.at(.99), g.at(.5)-all[0].at(.5), g.at(.99)-all[0].at(.99))
		}
	}
	peer, own := all[1], all[2]
	for _, r := range []struct {
		what      string
		own, peer float64
	}{{"processor", own.cpuMS(), peer.cpuMS()}, {"p50", own.at(.5), peer.at(.5)}, {"p99", own.at(.99), peer.at(.99)}} {
		fmt.Printf("%d calls a second, %s, rollmill to Bifrost's core with a file: %.2f (aim: below 1)\n", rate, r.what, r.own/r.peer)
	}
}

// checkGateway verifies that each call is in the dataset, with its tokens.
func checkGateway(ctx context.Context, uri string, total int) error {
	d, err := dataset.Open(ctx, uri, dataset.OpenOptions{})
	if err != nil {
		return err
	}
	n := 0
	for t, err := range dataset.Each[formats.Trajectory](ctx, d, "", d.All()) {
		if err != nil {
			return err
		}
		if n += len(t.Calls); t.Status != outcomes.StatusOK || t.SampledTokens != 4*attemptCalls {
			return fmt.Errorf("%s: %s, %d tokens: %s", t.TrajectoryID, t.Status, t.SampledTokens, t.Error)
		}
	}
	if n != total {
		return fmt.Errorf("%d calls of %d", n, total)
	}
	return nil
}
