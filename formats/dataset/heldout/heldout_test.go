package heldout

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/parquet"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/storage/fault"
)

func file(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

func stored(t *testing.T, name string, rows ...formats.Trajectory) string {
	t.Helper()
	uri := "mem://heldout/" + t.Name() + "/" + name
	s, err := shards.Begin(t.Context(), uri, manifest.Spec{Stage: "rollout", Kind: schema.KindTrajectories}, shards.Options{})
	if err == nil {
		err = shards.NewTable[formats.Trajectory](s, "", -1).Write(t.Context(), rows)
	}
	if err == nil {
		_, err = s.Commit(t.Context(), shards.Outcome{})
	}
	if err != nil {
		t.Fatal(err)
	}
	return uri
}

func asking(text string) *formats.Trajectory {
	return &formats.Trajectory{Messages: []formats.Message{{Role: "user", Content: text}}}
}

// TestKindsOfFiles checks that words are found of every kind of file and dataset, and where the words are is shown.
func TestKindsOfFiles(t *testing.T) {
	said := sentence(1, 20)
	type row struct {
		Question string `parquet:"question"`
	}
	table := filepath.Join(t.TempDir(), "held.parquet")
	out, err := os.Create(table)
	if err == nil {
		w := parquet.NewWriter[row](out)
		err = w.Write([]row{{sentence(2, 20)}, {said}})
		err = errors.Join(err, w.Close(), out.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := fmt.Sprintf("{\"question\":%q}\n{\"question\":%q}\n", sentence(2, 20), said)
	for name, uri := range map[string]string{
		"lines":   file(t, "held.jsonl", lines),
		"json":    file(t, "held.json", "["+strings.Replace(strings.TrimSpace(lines), "\n", ",", 1)+"]"),
		"csv":     file(t, "held.csv", "question\n"+sentence(2, 20)+"\n"+said+"\n"),
		"parquet": table,
		"rollout": stored(t, "held", formats.Trajectory{Example: `{"question":"x"}`}, formats.Trajectory{Example: fmt.Sprintf(`{"question":%q}`, said)}),
	} {
		s, err := Open(t.Context(), Options{URIs: []string{uri}, Flag: "--held", Ngrams: 13, Warn: func(string) {}})
		if err != nil {
			t.Fatal(name, err)
		}
		hit := s.Holds(asking("Well: " + strings.ToUpper(said)))
		if hit == nil || hit.HeldRow != 1 || !strings.HasPrefix(hit.Text, "messages.user: Well: [") || !strings.Contains(hit.HeldText, "example.question: [") ||
			s.Sources[hit.Source] != uri {
			t.Errorf("%s: %+v", name, hit)
		}
		if len(s.Refs) != 1 || len(s.Refs[0].Digest) != 64 || s.Refs[0].Role != "holdout" {
			t.Errorf("%s: %+v", name, s.Refs)
		}
		if hit := s.Holds(asking(sentence(3, 200))); hit != nil {
			t.Errorf("%s: %s", name, hit)
		}
	}
}

// TestPartsOfARow checks every place of a row where words are compared, and what a policy sampled, which is not held out.
func TestPartsOfARow(t *testing.T) {
	said := sentence(1, 13)
	quoted, _ := json.Marshal(strings.ReplaceAll(said, " ", "\n"))
	message := func(m formats.Message) formats.Trajectory { return formats.Trajectory{Messages: []formats.Message{m}} }
	for name, row := range map[string]formats.Trajectory{
		"field":     {Example: `{"a":{"b":["x",` + string(quoted) + `]}}`},
		"text":      {Example: said},
		"system":    message(formats.Message{Role: "system", Content: said}),
		"parts":     message(formats.Message{Role: "user", ContentParts: `[{"type":"text","text":` + string(quoted) + `}]`}),
		"answer":    message(formats.Message{Role: "assistant", Content: said}),
		"reasoning": message(formats.Message{Role: "assistant", Reasoning: said}),
		"call":      message(formats.Message{Role: "assistant", ToolCalls: []formats.ToolCall{{Arguments: `{"code":` + string(quoted) + `}`}}}),
		"no JSON":   message(formats.Message{Role: "assistant", ToolCalls: []formats.ToolCall{{Arguments: `{"code":` + said}}}),
		"second":    {Messages: []formats.Message{{Role: "user", Content: sentence(9, 50)}, {Role: "user", Content: said}}},
	} {
		o := Options{URIs: []string{file(t, "held.jsonl", fmt.Sprintf("{\"q\":%q}\n", "So "+said))}, Ngrams: 13, Warn: func(string) {}}
		s, err := Open(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if s.Holds(&row) == nil {
			t.Errorf("%s is not compared", name)
		}
		row.ExampleID = "id"
		s, err = Open(t.Context(), Options{URIs: []string{stored(t, name, row)}, Ngrams: 13, Warn: func(string) {}})
		if err != nil {
			t.Errorf("%s is not learnt: %v", name, err)
		} else if s.Holds(asking("so, "+said)) == nil {
			t.Errorf("%s is not found", name)
		}
		if len(row.Messages) == 1 {
			row.Messages[0].Sampled = true
			if _, err := Open(t.Context(), Options{URIs: []string{stored(t, name+"-sampled", row)}, Ngrams: 13}); err == nil {
				t.Errorf("%s that was sampled is held out", name)
			}
		}
	}
}

// TestFields checks that words of other fields than those named are not held out.
func TestFields(t *testing.T) {
	uri := file(t, "held.jsonl", fmt.Sprintf("{\"q\":%q,\"instruction\":%q,\"answer\":\"42\"}\n", sentence(1, 20), sentence(2, 20)))
	warned := ""
	s, err := Open(t.Context(), Options{URIs: []string{uri}, Ngrams: 13, Fields: []string{"example.q", "example.answer"}, Warn: func(text string) { warned = text }})
	if err != nil {
		t.Fatal(err)
	}
	if s.Holds(asking(sentence(1, 20))) == nil || s.Holds(asking(sentence(2, 20))) != nil {
		t.Error("the fields that are compared are not those named")
	}
	if want := "held-out texts of fewer than 13 words are not compared, by field: map[example.answer:1]; 1 texts are"; warned != want {
		t.Errorf("%q, not %q", warned, want)
	}
}

// TestNothingHeldOut checks that what holds nothing out is refused by name.
func TestNothingHeldOut(t *testing.T) {
	for name, c := range map[string]struct {
		uri    string
		ngrams int
		fields []string
		want   string
	}{
		"empty lines":      {file(t, "a.jsonl", ""), 0, nil, "a.jsonl"},
		"empty CSV":        {file(t, "a.csv", "question\n"), 0, nil, "a.csv"},
		"empty Parquet":    {file(t, "a.parquet", ""), 13, nil, "a.parquet"},
		"rows of nothing":  {file(t, "b.jsonl", "{}\n{}\n"), 0, nil, "there is no example in it"},
		"no text":          {file(t, "c.jsonl", "{\"q\":1}\n"), 13, nil, "of 1 examples no text that is compared has"},
		"short texts":      {file(t, "d.jsonl", "{\"q\":\"a b c\"}\n"), 4, nil, "of 1 examples no text that is compared has"},
		"no such field":    {file(t, "e.jsonl", fmt.Sprintf("{\"q\":%q}\n", sentence(1, 20))), 13, []string{"q"}, "no text that is compared has 13 words"},
		"no JSON":          {file(t, "f.jsonl", "what\n"), 13, nil, "f.jsonl"},
		"no file":          {"nowhere.jsonl", 13, nil, `--held: "nowhere.jsonl": there is no task file`},
		"no dataset":       {t.TempDir(), 13, nil, "no dataset"},
		"an empty rollout": {stored(t, "empty"), 0, nil, "there is no example in it"},
		"fields alone":     {file(t, "g.jsonl", "{\"q\":1}\n"), 0, []string{"q"}, "no words to compare"},
		"less than none":   {file(t, "h.jsonl", "{\"q\":1}\n"), -1, nil, "no words to compare"},
	} {
		_, err := Open(t.Context(), Options{URIs: []string{c.uri}, Flag: "--held", Ngrams: c.ngrams, Fields: c.fields})
		if err == nil || !strings.Contains(err.Error(), c.want) && !strings.Contains(fault.HintOf(err), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Open(t.Context(), Options{Ngrams: 13}); err == nil {
		t.Error("nothing to compare with is accepted")
	}
}

// TestSecretsAreNotShown checks that no part of a secret that the process knows is shown, also where a text is cut.
func TestSecretsAreNotShown(t *testing.T) {
	known := &secret.Set{}
	known.Add("KEY", "hunter2-hunter3-hunter4")
	ctx := secret.With(t.Context(), known)
	text := "begin hunter2-hunter3-hunter4 " + sentence(1, 13)
	s, err := Open(ctx, Options{URIs: []string{file(t, "held.jsonl", fmt.Sprintf("{\"q\":%q}\n", text))}, Ngrams: 13, Warn: func(string) {}})
	if err != nil {
		t.Fatal(err)
	}
	hit := s.Holds(asking(text))
	if hit == nil || strings.Contains(hit.String(), "hunter") || strings.Contains(hit.Words, "hunter") {
		t.Errorf("%v", hit)
	}
}
