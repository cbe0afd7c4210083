package query

import (
	"context"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/countingtest"
	"github.com/rollmill/rollmill/storage/fault"
)

// TestSearch finds a text once in each message and answer that has it, in order, from
// a row on.
func TestSearch(t *testing.T) {
	rows := [][]formats.Trajectory{{
		{TrajectoryID: "a", ExampleID: "e", Answer: "the Straße", Status: "ok", Messages: []formats.Message{
			{Parent: -1, Role: "user", Content: "STRASSE straße straße"},
			{Role: "assistant", Reasoning: "none", ToolCalls: []formats.ToolCall{{Name: "map", Arguments: `{"q":"Straße"}`}}},
			{Parent: 1, Role: "tool", ContentParts: `[{"text":"` + strings.Repeat("é", 500) + `straße"}]`}}},
		{TrajectoryID: "b", ExampleID: "e", Generation: 1, Status: "ok", Answer: "stra"},
		{TrajectoryID: "c", ExampleID: "e", Generation: 2, Status: "ok", Messages: []formats.Message{{Parent: -1, Role: "user", Reasoning: "a STRAßE"}}},
	}}
	d := written(t, "mem://search/rollout", manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories}, rows, -1, nil)
	for _, c := range []struct {
		from int64
		want string
	}{
		{0, "a answer Straße, a content straße, a arguments Straße, a content_parts straße, c reasoning STRAßE"},
		{1, "c reasoning STRAßE"},
		{3, ""},
	} {
		var got []string
		err := Search(t.Context(), d, "straße", c.from, func(f Find) bool {
			got = append(got, f.TrajectoryID+" "+f.Column+" "+f.Text)
			if !utf8.ValidString(f.Before+f.After) || len(f.Before) > around+5 {
				t.Errorf("%+v", f)
			}
			return true
		}, func(int64) bool { return true })
		if err != nil || strings.Join(got, ", ") != c.want {
			t.Errorf("from %d: %q, %v", c.from, got, err)
		}
	}
	if err := Search(t.Context(), d, "x", 4, nil, nil); !errors.Is(err, fault.ErrInvalid) {
		t.Errorf("%v", err)
	}
}

// TestSearchStops checks that a search reads no further once it is told to stop.
func TestSearchStops(t *testing.T) {
	e := &epoch{root: "mem://search-stops/epoch-0"}
	e.write(t, randomtest.Options{Groups: 600, Messages: 4, SampledTokens: 400, PromptTokens: 300})
	var moved countingtest.Counter
	ctx, cancel := context.WithCancel(storage.Wrapping(t.Context(), moved.Wrap))
	d, err := dataset.Open(ctx, storage.Join(e.root, "rollout"), dataset.OpenOptions{IgnoreGates: true})
	if err != nil {
		t.Fatal(err)
	}
	finds := 0
	if err := Search(ctx, d, "e", 0, func(Find) bool { finds++; return finds < 20 }, func(int64) bool { return true }); err != nil || finds != 20 {
		t.Errorf("%d finds, %v", finds, err)
	}
	read := int64(0)
	if err := Search(ctx, d, "\x00", 0, nil, func(rows int64) bool { read = rows; return rows < 100 }); err != nil || read < 100 || read > 100+searchRows {
		t.Errorf("%d rows, %v", read, err)
	}
	if err := Search(ctx, d, "\x00", 0, nil, func(rows int64) bool {
		if read = rows; rows > 200 {
			cancel()
		}
		return true
	}); !errors.Is(err, context.Canceled) || read > 200+2*searchRows {
		t.Errorf("%d rows, %v", read, err)
	}
	t.Logf("%d of %d bytes were read", moved.Read(), d.Bytes)
}

// TestFolding compares the search in a text with a naive one.
func TestFolding(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		letters := rapid.StringOfN(rapid.SampledFrom([]rune("aAbBéÉß .")), 0, 12, -1)
		text, want := letters.Draw(t, "text"), rapid.StringOfN(rapid.SampledFrom([]rune("aAbBéÉß .")), 1, 3, -1).Draw(t, "want")
		w := newWanted(want)
		at, end := w.at(text)
		naive := strings.Contains(strings.ToLower(text), strings.ToLower(want))
		if (at >= 0) != naive || at >= 0 && !strings.EqualFold(text[at:end], want) {
			t.Fatalf("%d to %d, %v", at, end, naive)
		}
	})
}
