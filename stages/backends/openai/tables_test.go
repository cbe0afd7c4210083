package openai_test

import (
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages/backends"
	"github.com/rollmill/rollmill/stages/backends/backendtest"
	"github.com/rollmill/rollmill/stages/backends/openai"
	"github.com/rollmill/rollmill/stages/backends/openai/openaitest"
)

// DPO trains on the batch's pairs: several of a group, those of examples held
// out in the other file; without a table the note says what is compared.
func TestPairsOfTheBatch(t *testing.T) {
	tr, server := start(t, openaitest.Faults{}, method(openai.DPO), func(c *openai.Config) { c.Validation, c.SplitSeed = 0.4, 1 })
	if tables := tr.Describe().Compares; len(tables) != 1 || tables[0] != schema.TablePairs {
		t.Errorf("%v", tables)
	}
	none, err := tr.Preflight(t.Context(), backendtest.Batch(), func(p backends.Problem) { t.Errorf("%+v", p) })
	if err != nil || !strings.HasSuffix(none.Notes[0], "; there are no _pairs, so each group's best is compared with its worst") || none.Sequences != 3 {
		t.Errorf("%+v, %v", none, err)
	}
	tr.Use(backendtest.Tables(), nil)
	stats, err := tr.Preflight(t.Context(), backendtest.Batch(), func(p backends.Problem) { t.Errorf("%+v", p) })
	if err != nil || strings.Contains(stats.Notes[0], "_pairs") || stats.Sequences != 9 || stats.Groups != 3 {
		t.Errorf("%+v, %v", stats, err)
	}
	if _, err := submit(t, tr); err != nil {
		t.Fatal(err)
	}
	train, held := strings.Split(strings.TrimSpace(server.File("training")), "\n"), strings.Split(strings.TrimSpace(server.File("validation")), "\n")
	if len(train)+len(held) != 9 || len(train)%3 != 0 || len(held)%3 != 0 {
		t.Fatalf("%d and %d lines", len(train), len(held))
	}
	for i, answers := range [][2]string{{"3", "0"}, {"3", "1"}, {"2", "0"}} {
		if !strings.Contains(train[i], `"preferred_output":[{"role":"assistant","content":"answer `+answers[0]+`"}]`) ||
			!strings.Contains(train[i], `"non_preferred_output":[{"role":"assistant","content":"answer `+answers[1]+`"}]`) {
			t.Errorf("%d: %s", i, train[i])
		}
	}
	if sft, _ := start(t, openaitest.Faults{}); sft.Describe().Compares != nil {
		t.Error("conversations are not made of pairs")
	}
}

// A pair that has no line is refused by its ids, and none of it is sent.
func TestAPairWithoutALine(t *testing.T) {
	tr, _ := start(t, openaitest.Faults{}, method(openai.DPO))
	var long formats.Pair
	for rows := range backendtest.Batch() {
		long = backendtest.PairOf(rows, 3, 0)
		long.Chosen = backendtest.Chat(rows[3].Messages[1], rows[3].Messages[0], rows[3].Messages[1])
		break
	}
	tr.Use(backendtest.TablesOf([]formats.Pair{long}, nil), nil)
	var problems []backends.Problem
	if _, err := tr.Preflight(t.Context(), backendtest.Batch(), func(p backends.Problem) { problems = append(problems, p) }); err != nil {
		t.Fatal(err)
	}
	if len(problems) != 2 || problems[0].Reason != openai.NoRow || problems[0].TrajectoryID != long.ChosenID ||
		!strings.HasSuffix(problems[0].Detail, "turns") || problems[1].Reason != openai.TooFew {
		t.Errorf("%+v", problems)
	}
}

// Of each group the best conversations, as many as are asked for.
func TestTheBestConversations(t *testing.T) {
	for best, want := range map[int]string{0: "3", 2: "3 2", -1: "3 2 1 0", -2: "3 2"} {
		tr, server := start(t, openaitest.Faults{}, func(c *openai.Config) {
			if c.Best = best; best == -2 {
				c.Floor = new(0.5)
			}
		})
		if _, err := submit(t, tr); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(server.File("training")), "\n")
		answers := strings.Fields(want)
		if len(lines) != 3*len(answers) {
			t.Fatalf("%d: %d lines", best, len(lines))
		}
		for i, answer := range answers {
			if !strings.Contains(lines[i], `"what is example-0"`) || !strings.Contains(lines[i], `"content":"answer `+answer+`"`) {
				t.Errorf("%d: %s", best, lines[i])
			}
		}
	}
}
