package command_test

import (
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/stages/score/rewards/command"
	"github.com/rollmill/rollmill/stages/score/rewards/rewardtest"
)

// arrowProgram is program in the other protocol: each batch is answered by
// one, and a bad answer among its rows is misbehaved at.
func arrowProgram(mode string) {
	if mode == "chatty" {
		fmt.Print("loading the model\nit took 0.1 s: ")
	}
	in, err := ipc.NewReader(os.Stdin)
	if err != nil {
		if !strings.Contains(err.Error(), "EOF") { // closed before it was asked anything
			fmt.Fprintln(os.Stderr, "not a stream:", err)
			os.Exit(9)
		}
		return
	}
	answers := &arrowAnswers{mode: mode}
	for in.Next() {
		answers.to(in.RecordBatch())
	}
	if in.Err() != nil && in.Err() != io.EOF {
		fmt.Fprintln(os.Stderr, in.Err())
		os.Exit(9)
	}
}

type arrowAnswers struct {
	mode string
	out  *ipc.Writer
}

var answerFields = map[string]arrow.Field{
	"id":             {Name: "id", Type: arrow.BinaryTypes.String},
	"reward":         {Name: "reward", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	"text":           {Name: "reward", Type: arrow.BinaryTypes.String},
	"shaped_rewards": {Name: "shaped_rewards", Type: arrow.ListOf(arrow.PrimitiveTypes.Float32), Nullable: true},
	"error":          {Name: "error", Type: arrow.BinaryTypes.String, Nullable: true},
}

func (a *arrowAnswers) to(batch arrow.RecordBatch) {
	ids, texts := batch.Column(0).(*array.String), batch.Column(2).(*array.String)
	seeds, messages := batch.Column(5).(*array.Int64), batch.Column(7).(*array.List)
	columns := []string{"id", "reward", "shaped_rewards", "error"}
	bad := -1
	for i := range ids.Len() {
		if texts.Value(i) == badAnswer {
			bad = i
		}
	}
	if bad >= 0 {
		columns = arrowMisbehave(a.mode, columns)
	}
	var fields []arrow.Field
	for _, c := range columns {
		fields = append(fields, answerFields[c])
	}
	schema := arrow.NewSchema(fields, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for k := range ids.Len() {
		i := k
		if a.mode == "reversed" {
			i = ids.Len() - 1 - k
		}
		from, to := messages.ValueOffsets(i)
		row := arrowRow{id: ids.Value(i), reward: float64(len(texts.Value(i)) % 7), seed: seeds.Value(i), messages: int(to - from)}
		a.append(b, columns, row, i == bad)
	}
	if a.out == nil || bad >= 0 && len(columns) != 4 {
		a.out = ipc.NewWriter(os.Stdout, ipc.WithSchema(schema))
	}
	answer := b.NewRecordBatch()
	for range times(a.mode) {
		if err := a.out.Write(answer); err != nil {
			fmt.Fprintln(os.Stderr, "writing:", err)
			os.Exit(8)
		}
	}
}

type arrowRow struct {
	id       string
	reward   float64
	seed     int64
	messages int
}

func (a *arrowAnswers) append(b *array.RecordBuilder, columns []string, row arrowRow, bad bool) {
	for c, column := range columns {
		f := b.Field(c)
		switch {
		case column == "id" && bad && a.mode == "stranger":
			f.(*array.StringBuilder).Append("someone else")
		case column == "id":
			f.(*array.StringBuilder).Append(row.id)
		case column == "text":
			f.(*array.StringBuilder).Append("1")
		case column == "reward" && bad && a.mode == "nan":
			f.(*array.Float64Builder).Append(math.NaN())
		case column == "reward" && bad && (a.mode == "null" || a.mode == "error"):
			f.AppendNull()
		case column == "reward" && a.mode == "seed":
			f.(*array.Float64Builder).Append(float64(row.seed%5) + float64(len(os.Getenv("ROLLMILL_SEED"))))
		case column == "reward":
			f.(*array.Float64Builder).Append(row.reward)
		case column == "error" && bad && a.mode == "error":
			f.(*array.StringBuilder).Append("no such board")
		case column == "shaped_rewards" && a.mode == "shaped" && row.messages > 3:
			f.(*array.ListBuilder).Append(true)
			f.(*array.ListBuilder).ValueBuilder().(*array.Float32Builder).AppendValues([]float32{0.25, 0.5}, nil)
		default:
			f.AppendNull()
		}
	}
}

// arrowMisbehave does it, or says which columns to answer with.
func arrowMisbehave(mode string, columns []string) []string {
	switch mode {
	case "crash":
		fmt.Fprintln(os.Stderr, "Traceback: the board is bad")
		os.Exit(3)
	case "quit":
		os.Exit(0)
	case "hang":
		time.Sleep(time.Hour) // select {} may be found to be a deadlock
	case "endless":
		for {
			os.Stdout.WriteString(strings.Repeat("x", 1<<20))
		}
	case "flood":
		for {
			os.Stderr.WriteString(strings.Repeat("no! ", 1<<14))
			fmt.Println("no!")
		}
	case "prose":
		fmt.Println("I think it is good.")
	case "noid":
		return columns[1:]
	case "text":
		return []string{"id", "text"}
	}
	return columns
}

func TestArrowConformance(t *testing.T) {
	for _, mode := range []string{"plain", "chatty", "crash", "prose", "noid", "text", "stranger", "nan", "null", "error", "quit", "flood", "endless", "twice",
		"reversed", "seed", "shaped"} {
		t.Run(mode, func(t *testing.T) {
			bad := badAnswer
			if mode == "plain" || mode == "chatty" || mode == "prose" || mode == "twice" || mode == "reversed" || mode == "seed" || mode == "shaped" {
				bad = ""
			}
			rewardtest.Run(t, rewardtest.Suite{Kind: command.Arrow, Arguments: words("arrow-" + mode), Known: []string{"tree"}, Bad: bad})
		})
	}
}

// TestArrowFailures: one bad row in the middle of a batch costs its neighbours
// nothing, and its failure says what happened.
func TestArrowFailures(t *testing.T) {
	for mode, want := range map[string]score.Value{
		"crash":    {Failure: outcomes.RewardCrashed, Error: "exit status 3; stderr ends: Traceback: the board is bad"},
		"quit":     {Failure: outcomes.RewardCrashed, Error: "ended without an answer: exit status 0"},
		"hang":     {Failure: outcomes.RewardTimeout, Error: "no answer within " + slow.String()},
		"flood":    {Failure: outcomes.RewardAnswer, Error: `"no!" is not an answer, and neither is one of 1000 lines`},
		"endless":  {Failure: outcomes.RewardAnswer, Error: `x"... is not an answer, and neither is one of 1000 lines`},
		"noid":     {Failure: outcomes.RewardAnswer, Error: "needs the columns id and reward"},
		"text":     {Failure: outcomes.RewardAnswer, Error: "column reward, type utf8: not a float"},
		"stranger": {Failure: outcomes.RewardAnswer, Error: "not asked about"},
		"nan":      {Failure: outcomes.RewardNotFinite, Error: "NaN"},
		"null":     {Failure: outcomes.RewardError, Error: "null"},
		"error":    {Failure: outcomes.RewardError, Error: "no such board"},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			timeout := time.Minute
			if mode == "hang" {
				timeout = slow
			}
			r := madeOf(t, command.Arrow, words("arrow-"+mode), timeout)
			rows := rewardtest.Rows()
			rows[5].Answer = badAnswer
			for i, v := range rewardtest.Score(t, r, rows) {
				if i == 5 && (v.Failure != want.Failure || !strings.Contains(v.Error, want.Error)) {
					t.Errorf("the bad row is %+v, want %+v", v, want)
				}
				if i != 5 && (v.Failure != "" || v.Reward != float64(len(rows[i].Answer)%7)) {
					t.Errorf("row %d is %+v although only row 5 is bad", i, v)
				}
			}
		})
	}
}

// TestProtocolsAgree of what they share: ids, texts, seeds.
func TestProtocolsAgree(t *testing.T) {
	for _, mode := range []string{"plain", "error"} {
		lines := rewardtest.Score(t, madeOf(t, command.Kind, words(mode), time.Minute), append(rewardtest.Rows("tree"), rewardtest.Empty()...))
		batches := rewardtest.Score(t, madeOf(t, command.Arrow, words("arrow-"+mode), time.Minute), append(rewardtest.Rows("tree"), rewardtest.Empty()...))
		if diff := cmp.Diff(lines, batches); diff != "" {
			t.Errorf("%s (-JSON +Arrow):\n%s", mode, diff)
		}
	}
}

func madeOf(t *testing.T, kind score.RewardKind, arguments string, timeout time.Duration) score.Reward {
	t.Helper()
	r, err := kind.Make(arguments, score.Setup{Name: "tried", Timeout: timeout, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func times(mode string) int {
	if mode == "twice" {
		return 2
	}
	return 1
}
