package calls_test

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/pipelines/convert/calls"
)

// BenchmarkJoin joins calls of ten messages, eight a conversation, and builds the trajectories. COUNT is how
// many calls. The heap is the largest that was seen at a conversation, with what is not collected yet.
func BenchmarkJoin(b *testing.B) {
	n, _ := strconv.Atoi(os.Getenv("COUNT"))
	n = max(n, 20_000) / 8 * 8
	for name, c := range map[string]struct{ session, hot bool }{"sessions": {session: true}, "alone": {}, "hot": {hot: true}} {
		b.Run(name, func(b *testing.B) {
			var peak uint64
			for range b.N {
				j := calls.NewJoiner(calls.Options{Dir: b.TempDir(), Memory: 256 << 20})
				for i := range n {
					at := i * 7919 % n
					by := ""
					if c.session {
						by = strconv.Itoa(at / 8)
					}
					call, err := calls.New(benchmarked(at/8, at%8, c.hot), by, validate.Source{File: "log", Record: int64(i)})
					if err == nil {
						err = j.Add(call)
					}
					if err != nil {
						b.Fatal(err)
					}
				}
				k := 0
				for v, err := range j.Conversations(b.Context()) {
					if err == nil {
						_, _, err = v.Item()
					}
					if err != nil || len(v.Calls) != 8 {
						b.Fatalf("%d calls, %v", len(v.Calls), err)
					}
					if k++; k%1000 == 1 {
						var m runtime.MemStats
						runtime.ReadMemStats(&m)
						peak = max(peak, m.HeapSys-m.HeapReleased)
					}
				}
				_ = j.Close()
			}
			b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "calls/s")
			b.ReportMetric(float64(peak)/1e6, "heap-MB")
		})
	}
}

// benchmarked is a call: the one of a turn, from 0, of a conversation.
func benchmarked(conversation, turn int, hot bool) importers.Item {
	const more = ": what comes next, and why do you think so? Add what is over to the tens."
	var c importers.Conversation
	c.Input(formats.Message{Role: "system", Content: "You are a careful assistant that adds numbers."})
	for k := range turn + 1 {
		question := fmt.Sprint("Question ", conversation, ".", k, more)
		if hot && k == 0 {
			question = "The question" + more
		}
		c.Input(formats.Message{Role: "user", Content: question})
		answer := formats.Message{Role: "assistant", Content: fmt.Sprint("Step ", conversation, ".", k, more)}
		if k < turn {
			c.Input(answer)
		} else {
			c.Sampled(answer, formats.Call{Target: true, Model: "m"})
		}
	}
	x := importers.Item{Row: formats.Trajectory{TrajectoryID: fmt.Sprint(conversation, "-", turn)}}
	x.Row.StartedAt = 1_700_000_000_000_000 + int64(conversation)*10_000 + int64(turn)*1_000_000
	x.Row.FinishedAt = x.Row.StartedAt + 500_000
	c.Into(&x.Row)
	return x
}
