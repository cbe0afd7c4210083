package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// endlessWaits lists, by folder and function, the waits without a context, a
// deadline or a default in the same place, each with what ends it.
var endlessWaits = map[string]string{
	"cmd/internal/terminal end":             "the bars are aborted before",
	"cmd/internal/terminal throughPager":    "the user ends the pager",
	"cmd/rollmill serveFor":                 "its context is cancelled before, and Serve gives requests a time",
	"formats/arrow Write":                   "the reader of ready hands each buffer back, also after a failure",
	"formats/dataset Write":                 "of digests, which are computed",
	"formats/dataset add":                   "of digests, which are computed",
	"formats/dataset drop":                  "of reads, whose storage gives each a time",
	"storage InOrder":                       "of reads, which have a time each",
	"storage DeleteAll":                     "of requests, which have a time each",
	"formats/dataset take":                  "of reads, whose storage gives each a time",
	"formats/parquet end":                   "of columns, which are encoded",
	"formats/parquet endPages":              "of pages, which are encoded",
	"formats/parquet ReadAt":                "of reads, whose storage gives each a time",
	"formats/parquet passed":                "of reads, whose storage gives each a time",
	"formats/parquet inTurn":                "of reads, whose storage gives each a time",
	"pipelines/look/query build":            "of reads, whose storage gives each a time",
	"pipelines/look/query Texts":            "of reads, whose storage gives each a time; the request's context ends them",
	"formats/parquet writeRanges":           "of reads, one for each range, whose storage gives each a time",
	"formats/parquet fetch":                 "of reads, whose storage gives each a time",
	"formats/parquet awaitRowGroup":         "of a row group, which is encoded and written",
	"pipelines/tidy survey":                 "of reads, whose storage gives each a time",
	"pipelines/look/model EachConversation": "of reads, whose storage gives each a time",
	"pipelines/look/serve counted":          "of reads, whose storage gives each a time",
	"pipelines/look/serve openAll":          "of reads, whose storage gives each a time",
	"pipelines/look/query matching":         "of rows in memory; the request's context ends them",
	"pipelines/look/serve Serve":            "the server is closed before, which ends it",
	"stages/backends/art Submit": "training is silent for as long as it takes; --read-timeout ends it sooner, and so does a connection " +
		"that is dead",
	"stages/backends/openai Do":           "the context of a question, a probe or a trajectory has a time",
	"stages/rollout/agents/nat post":      "the attempt's context has --trajectory-timeout",
	"stages/backends/command ask":         "the command's context kills it, WaitDelay closes its pipes, and the reader ends with them",
	"stages/backends/openai send":         "the pipe is closed before, which ends the writer",
	"stages/curate run":                   "the group's context ends every side",
	"stages/group readRuns":               "the group's context ends every side",
	"pipelines/convert each":              "of records, which are converted; reading them has a time, and the context ends it",
	"formats/dataset/lease Release":       "the renewal is stopped before, and each write has a time",
	"stages/rollout attempts":             "of attempts, each of which has --trajectory-timeout",
	"stages/rollout asked":                "ask abandons the agent a minute after the context's end",
	"stages/rollout replay":               "of attempts, each of which has --trajectory-timeout",
	"stages/rollout close":                "the keeper's channel is closed, and a segment has a minute",
	"stages/rollout run":                  "the keeper's channel is closed by close",
	"stages/rollout/tracing Close":        "its requests end with a context that has a few seconds from then on",
	"stages/rollout/agents close":         "the pipe has a deadline",
	"stages/rollout/watch Wait":           "of questions to endpoints, each of which has a time",
	"stages/rollout/recorder askSmall":    "the context of countTokens has the time of a call",
	"stages/rollout/recorder forwardAll":  "the context of pass has the time of a call",
	"stages/rollout/recorder send":        "each try's context has the time of a call",
	"stages/rollout/agents sync":          "the reader of the pipe has a deadline once the process has ended",
	"stages/internal/process Wait":        "of a program that is killed by its caller",
	"stages/internal/process wait":        "of a program that is killed by its caller; WaitDelay closes its pipes",
	"stages/internal/remote Do":           "limited gives it a time, and the callers that ask for none have one in their context",
	"stages/internal/process Run":         "of a program that its context kills",
	"stages/rollout/agents wait":          "of a process that is killed by its caller; the pipe has a deadline",
	"stages/rollout/agents/chat Run":      "of programs that the attempt's context kills",
	"stages/rollout/agents/command close": "Worker.Stop kills after its grace",
	"stages/rollout/recorder End":         "cutOff closes the connections of handlers that stay",
	"stages/rollout/recorder close":       "the health checks' context is cancelled before",
	"stages/score EachRow":                "of rows, whose questions and tests have a time each",
	"stages/score rows":                   "of programs, each of which has a time for an answer",
	"stages/score run":                    "the group's context ends every side",
	"stages/score/rewards/command Close":  "kill has a grace",
	"stages/score/rewards/command held":   "end, after the grace",
	"stages/score/rewards/judge Score":    "of questions whose requests have a time limit",
	"stages/score/rewards/teacher ask":    "takes back the place that this call holds",
	"stages/score/rewards/judge once":     "takes back the place that this call holds",
	"stages/submit end":                   "the renewal is stopped before, and each write has a time",
}

// readers lists packages in which a size may come from a file or a peer.
var readers = append([]string{"formats/dataset", "storage", "stages/internal/remote", "stages/backends/openai", "formats/spill"}, parsers...)

// unsized lists allocations of readers whose size is not bounded in the same
// place, each with what bounds it.
var unsized = map[string]string{
	"formats/arrow answers":          "checker.batch: maxRows",
	"formats/arrow next":             "maxMetadata, two lines above",
	"formats/dataset Each":           "a constant of each caller",
	"formats/dataset readAllRecords": "MaxShards, where the run is read",
	"formats/examples newTable":      "the examples that were read",
	"formats/examples keep":          "a constant",
	"formats/dataset build":          "runs of words of texts that are in memory",
	"formats/examples read":          "a span of our own file",
	"formats/examples add":           "a constant",
	"formats/parquet openAhead":      "guess",
	"formats/jsontext find":          "a constant",
	"formats/jsontext Bytes":         "of text that is in memory",
	"formats/parquet add":            "the ids of rows that are in memory, up to smallIDs",
	"formats/parquet extended":       "a page of values that are in memory",
	"formats/parquet deltas":         "prefixed: the values are claimed",
	"formats/parquet boundsOf":       "the pages of a chunk that is in memory",
	"formats/parquet begin":          "a range of a footer that check let through: see requestSize",
	"formats/parquet fetch":          "extents of a footer that check let through, of at most the limit of File.Ahead or one chunk",
	"formats/parquet fillBytes":      "rows that are in memory",
	"formats/parquet grown":          "values that claim paid for",
	"formats/parquet have":           "what is left of the chunk, which is in the file; a page's size is claimed before",
	"formats/parquet level":          "claimed three lines above",
	"formats/parquet newRequests":    "a constant",
	"formats/parquet next":           "readAhead",
	"formats/parquet readIndex":      "check, or boundsOf: maxIndex",
	"formats/parquet footerBytes":    "maxFooter",
	"formats/parquet readRange":      "pages of the input that are copied, within the chunk that its footer names",
	"formats/parquet textRoom":       "claimed one line above",
	"formats/records more":           "doubles what is there, up to text.limit",
	"formats/spill grow":             "doubles what is there, up to the sorter's memory",
	"formats/spill next":             "a record of our own file",
	"formats/completion appendIDs":   "commas that are there",
	"storage readLimited":            "limit, two lines above",
}

// TestWaitsEnd finds new waits that may never end.
func TestWaitsEnd(t *testing.T) {
	found := map[string]string{}
	eachFunction(t, func(dir string, set *token.FileSet, f *ast.FuncDecl) {
		for _, w := range endless(f.Body) {
			found[dir+" "+f.Name.Name] = fmt.Sprintf("%s: %s", set.Position(w.pos), w.what)
		}
	})
	compare(t, found, endlessWaits, "give it an end")
}

// TestSizesAreBounded finds new allocations whose size a file or a peer chooses.
func TestSizesAreBounded(t *testing.T) {
	found := map[string]string{}
	eachFunction(t, func(dir string, set *token.FileSet, f *ast.FuncDecl) {
		if !slices.Contains(readers, dir) {
			return
		}
		for _, m := range grown(f.Body) {
			found[dir+" "+f.Name.Name] = fmt.Sprintf("%s: %s", set.Position(m.pos), m.what)
		}
	})
	compare(t, found, unsized, "give it a bound")
}

// compare fails for code that was found but is not listed, and for lines of the
// list that were not found.
func compare(t *testing.T, found, listed map[string]string, hint string) {
	t.Helper()
	found, listed = lower(found), lower(listed)
	for name, what := range found {
		if listed[name] == "" {
			t.Errorf("%s: %s, or %q a line with the reason", what, hint, name)
		}
	}
	for name := range listed {
		if found[name] == "" {
			t.Errorf("%q is listed and is not found any more: remove the line", name)
		}
	}
}

// lower makes names those of rooms, in lower case: a function that another floor uses is exported.
func lower(list map[string]string) map[string]string {
	out := make(map[string]string, len(list))
	for name, what := range list {
		dir, function, _ := strings.Cut(name, " ")
		out[strings.ToLower(roomOf(dir)+" "+function)] = what
	}
	return out
}

// TestWaitsEndFinds checks that the lint finds faults.
func TestWaitsEndFinds(t *testing.T) {
	for text, want := range map[string]int{
		"func() { <-done }":                                                                       1,
		"func() { select { case <-done: } }":                                                      1,
		"func() { select { case <-done: case <-ctx.Done(): } }":                                   0,
		"func() { select { case <-done: case <-time.After(grace): } }":                            0,
		"func() { select { case v := <-in: _ = v; default: } }":                                   0,
		"func() { wg.Wait() }":                                                                    1,
		"func() { limiter.Wait(ctx) }":                                                            0,
		"func() { <-ctx.Done(); <-timer.C }":                                                      0,
		"func() { resp, err = client.Do(req) }":                                                   1,
		"func() { x.client().Do(req) }":                                                           1,
		"func() { once.Do(func() {}); s.once.Do(begin) }":                                         0,
		"func() { c, _ := context.WithTimeout(ctx, time.Second); client.Do(req.WithContext(c)) }": 0,
		"func() { select { case <-ctx.Done(): <-done; case <-timer.C: } }":                        1,
	} {
		e, err := parser.ParseExpr(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(endless(e)); got != want {
			t.Errorf("%s: %d waits", text, got)
		}
	}
	for text, want := range map[string]int{
		"func() { x = make([]byte, n) }":               1,
		"func() { x = make([]byte, len(a)+8) }":        0,
		"func() { x = make([]byte, min(n, 1<<20)) }":   0,
		"func() { x = make([]byte, 0, h.Length) }":     1,
		"func() { x = slices.Grow(x, int(n)) }":        1,
		"func() { x = make(map[string]int) }":          0,
		"func() { x = make([]byte, max(len(a), 16)) }": 0,
		"func() { buf.Grow(len(a) * 2) }":              0,
	} {
		e, err := parser.ParseExpr(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := len(grown(e)); got != want {
			t.Errorf("%s: %d sizes", text, got)
		}
	}
}

// spot is a position in the code and its fault.
type spot struct {
	pos  token.Pos
	what string
}

// endless returns the waits in a body that may never end: a receive or a select
// without a context, a deadline or a default, and the Wait of a program or of
// goroutines.
func endless(body ast.Node) (waits []spot) {
	inSelect := map[ast.Node]bool{}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectStmt:
			ends := false
			for _, c := range n.Body.List {
				clause := c.(*ast.CommClause)
				if clause.Comm == nil || ended(received(clause.Comm)) {
					ends = true
				}
				if clause.Comm != nil {
					ast.Inspect(clause.Comm, func(n ast.Node) bool {
						if n != nil {
							inSelect[n] = true
						}
						return true
					})
				}
			}
			if !ends {
				waits = append(waits, spot{n.Pos(), "a select without a context or a deadline"})
			}
		case *ast.UnaryExpr:
			if n.Op == token.ARROW && !inSelect[n] && !ended(n.X) {
				waits = append(waits, spot{n.Pos(), "a receive that only a sender ends"})
			}
		case *ast.CallExpr:
			if strings.HasSuffix(selector(n.Fun), ".Wait") && len(n.Args) == 0 {
				waits = append(waits, spot{n.Pos(), "a wait for a program or goroutines"})
			}
			if sends(n) && !timed(body) {
				waits = append(waits, spot{n.Pos(), "a request without a time of its own"})
			}
		}
		return true
	})
	return waits
}

// sends reports whether a call sends an HTTP request: client.Do(req), and not
// once.Do(f).
func sends(call *ast.CallExpr) bool {
	do, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || do.Sel.Name != "Do" || len(call.Args) != 1 {
		return false
	}
	of := ""
	switch x := do.X.(type) {
	case *ast.Ident:
		of = x.Name
	case *ast.SelectorExpr:
		of = x.Sel.Name
	}
	_, does := call.Args[0].(*ast.FuncLit)
	return !does && !strings.HasSuffix(strings.ToLower(of), "once")
}

// timed reports whether a function sets a deadline on a context.
func timed(body ast.Node) (yes bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			name := selector(call.Fun)
			yes = yes || strings.HasPrefix(name, "context.WithTimeout") || strings.HasPrefix(name, "context.WithDeadline")
		}
		return true
	})
	return yes
}

// received returns the channel that a case of a select reads from, or nil.
func received(s ast.Stmt) (channel ast.Expr) {
	ast.Inspect(s, func(n ast.Node) bool {
		if u, ok := n.(*ast.UnaryExpr); ok && u.Op == token.ARROW && channel == nil {
			channel = u.X
		}
		return true
	})
	return channel
}

// ended reports whether a channel belongs to a context, a timer or a ticker.
func ended(channel ast.Expr) bool {
	switch c := channel.(type) {
	case *ast.CallExpr:
		name := selector(c.Fun)
		return strings.HasSuffix(name, ".Done") || name == "time.After" || name == "time.Tick"
	case *ast.SelectorExpr:
		return c.Sel.Name == "C"
	}
	return false
}

// grown returns the allocations in a function whose size is neither a constant nor
// the length of an existing value.
func grown(body ast.Node) (made []spot) {
	ast.Inspect(body, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		if id, ok := call.Fun.(*ast.Ident); ok && id.Name == "make" && len(call.Args) > 1 {
			for _, size := range call.Args[1:] {
				if !sized(size) {
					made = append(made, spot{call.Pos(), "make with a size that is not bounded here"})
				}
			}
		}
		if name := selector(call.Fun); name == "slices.Grow" && !sized(call.Args[1]) ||
			strings.HasSuffix(name, ".Grow") && len(call.Args) == 1 && !sized(call.Args[0]) {
			made = append(made, spot{call.Pos(), "a growth that is not bounded here"})
		}
		return true
	})
	return made
}

// sized reports whether a size is bounded in place: constants, lengths, and sums
// and minima of them.
func sized(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.BasicLit:
		return true
	case *ast.ParenExpr:
		return sized(e.X)
	case *ast.BinaryExpr:
		return sized(e.X) && sized(e.Y)
	case *ast.CallExpr:
		switch name, _ := e.Fun.(*ast.Ident); {
		case name == nil:
			return strings.HasSuffix(selector(e.Fun), ".Len")
		case name.Name == "len" || name.Name == "cap":
			return true
		case name.Name == "min":
			for _, a := range e.Args {
				if sized(a) {
					return true
				}
			}
		case name.Name == "max":
			for _, a := range e.Args {
				if !sized(a) {
					return false
				}
			}
			return true
		case name.Name == "int" || name.Name == "int64":
			return sized(e.Args[0])
		}
	}
	return false
}
