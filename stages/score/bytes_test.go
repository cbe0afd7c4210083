package score_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/dataset/shards"
	"github.com/rollmill/rollmill/formats/randomtest"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/countingtest"
	"github.com/rollmill/rollmill/storage/s3test"
)

// realistic writes such trajectories, and opens them.
func realistic(t testing.TB, uri string, groups int) *dataset.Dataset {
	t.Helper()
	if err := writeRealistic(t.Context(), uri, groups, 0.05); err != nil {
		t.Fatal(err)
	}
	d, err := dataset.Open(t.Context(), uri, dataset.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestARewardOverTheAnswerReadsLittle: every byte is counted, and every range
// noted, where storage moves it: on a local disk, in memory, and at an object
// store's server. What is read of a part are its footer and the columns that
// the reward declares; not a byte of the messages, the tokens or the example.
func TestARewardOverTheAnswerReadsLittle(t *testing.T) {
	s3 := s3test.Start(t)
	places := map[string]func(string) string{
		"disk": func(name string) string { return t.TempDir() + "/" + name },
		"mem":  func(name string) string { return "mem://little/" + name },
		"s3":   func(name string) string { return s3.URI("little/" + name) },
	}
	if testing.Short() {
		delete(places, "mem") // read as s3 is
	}
	for name, place := range places {
		t.Run(name, func(t *testing.T) {
			in, to := place("rollout"), place("score")
			d := realistic(t, in, 200)
			var moved countingtest.Counter
			ctx := storage.Wrapping(t.Context(), moved.Wrap)
			if _, err := score.Run(ctx, options(t, in, to, "short=expr:len(answer) < 100 ? 1 : 0")); err != nil {
				t.Fatal(err)
			}
			out, err := dataset.Open(t.Context(), to, dataset.OpenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			declared, forbidden := int64(0), int64(0)
			for _, p := range d.Parts {
				chunks, footer := layout(t, in, p)
				for column, chunk := range chunks {
					if light(column) {
						declared += chunk.size()
						continue
					}
					forbidden += chunk.size()
					for _, span := range moved.Spans(p.Name) {
						if span.First < chunk.End && chunk.First < span.End {
							t.Errorf("%s: bytes %d to %d were read, of column %s at %d to %d", p.Name, span.First, span.End, column, chunk.First, chunk.End)
						}
					}
				}
				declared += footer
				limit := 2 + 2*16*len(p.RowGroups) // the footer, and one or two a column
				if name != "disk" {
					limit = 3
				}
				if n := moved.Of("range", p.Name); n == 0 || n > limit {
					t.Errorf("%d ranges of %s, which has %d row groups", n, p.Name, len(p.RowGroups))
				}
			}
			read, written := float64(moved.Read())/float64(d.Bytes), float64(out.Bytes)/float64(d.Bytes)
			t.Logf("of %d bytes read %.2f %% in %d ranges, where the columns have %.2f %%; wrote %.2f %%", d.Bytes, 100*read, moved.Ops("range"),
				100*float64(declared)/float64(d.Bytes), 100*written)
			// Manifests and records come on top, and what was guessed to be the footer.
			if limit := declared + declared/4 + 64<<10; moved.Read() == 0 || moved.Read() > limit {
				t.Errorf("read %d bytes, more than the %d of what is declared and a bit (%s)", moved.Read(), limit, &moved)
			}
			if float64(forbidden) < 0.9*float64(d.Bytes) {
				t.Errorf("only %d bytes must not be read", forbidden)
			}
			if written >= 0.02 {
				t.Errorf("wrote %.2f %% of the base's bytes, not under 2", 100*written)
			}
		})
	}
}

// TestNoTokenIsReadForTheMessages, nor for the example.
func TestNoTokenIsReadForTheMessages(t *testing.T) {
	s3 := s3test.Start(t)
	for name, root := range map[string]string{"disk": t.TempDir(), "s3": s3.URI("untouched")} {
		in := storage.Join(root, "rollout")
		rows := 240
		if testing.Short() {
			rows = 120
		}
		d := realistic(t, in, rows)
		for i, spec := range []string{"expr:len(messages) + len(example)", "match:contains", "steps:len(message.content)"} {
			var moved countingtest.Counter
			if _, err := score.Run(storage.Wrapping(t.Context(), moved.Wrap), options(t, in, storage.Join(root, fmt.Sprint("score-", i)), spec)); err != nil {
				t.Fatal(err)
			}
			for _, p := range d.Parts {
				chunks, _ := layout(t, in, p)
				for column, chunk := range chunks {
					tokens := strings.Contains(column, ".token_ids.") || strings.Contains(column, ".logprobs.") || strings.Contains(column, ".token_texts.") ||
						strings.Contains(column, ".prompt_delta_ids.")
					for _, span := range moved.Spans(p.Name) {
						if tokens && span.First < chunk.End && chunk.First < span.End {
							t.Errorf("%s, %s: bytes %d to %d were read, of column %s at %d to %d", name, spec, span.First, span.End, column,
								chunk.First, chunk.End)
						}
					}
				}
			}
		}
	}
}

// chunk is where a column of a row group lies.
type chunk countingtest.Span

func (c chunk) size() int64 { return c.End - c.First }

// layout finds a part's columns, by name and row group, and what the guess at
// its footer reads.
func layout(t *testing.T, uri string, p manifest.Part) (chunks map[string]chunk, footer int64) {
	t.Helper()
	b, err := storage.Open(t.Context(), uri)
	if err != nil {
		t.Fatal(err)
	}
	src, err := b.Open(t.Context(), p.Name)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	file, err := parquet.OpenFile(src, p.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	chunks = map[string]chunk{}
	for i, g := range file.Metadata().RowGroups {
		for _, c := range g.Columns {
			m := c.MetaData
			first := m.DataPageOffset
			if m.DictionaryPageOffset > 0 && m.DictionaryPageOffset < first {
				first = m.DictionaryPageOffset
			}
			chunks[fmt.Sprintf("%s#%d", strings.Join(m.PathInSchema, "."), i)] = chunk{first, first + m.TotalCompressedSize}
		}
	}
	return chunks, 512 << 10
}

// light tells whether a column's bytes may be read when nothing asks for
// messages, calls, tokens or the example. They lie side by side, so that one
// that is not asked for may lie between two that are.
func light(column string) bool {
	column, _, _ = strings.Cut(column, "#")
	for _, heavy := range []string{"example", "messages.list.element.content", "messages.list.element.content_parts", "messages.list.element.reasoning",
		"messages.list.element.tool_calls.list.element.arguments", "messages.list.element.token_ids", "messages.list.element.logprobs",
		"messages.list.element.prompt_delta_ids", "candidates.list.element.content"} {
		if column == heavy || strings.HasPrefix(column, heavy+".") {
			return false
		}
	}
	return true
}

// TestARewardReadsOnlyWhatItDeclares: with every column that it has no need of
// overwritten by garbage, a reward gives the same rows; one that needs these
// columns is told that the part is damaged.
func TestARewardReadsOnlyWhatItDeclares(t *testing.T) {
	in, out := t.TempDir()+"/rollout", t.TempDir()
	d := realistic(t, in, 6)
	specs := map[string]string{"light": "expr:len(answer) + completion_tokens", "head": "expr:len(answer) + len(example)", "text": "expr:len(messages)"}
	want := map[string]string{}
	for needs, spec := range specs {
		want[needs] = run(t, options(t, in, out+"/"+needs, spec)).RowsDigest
	}
	garbage(t, in, d, "messages.list.element.token_ids", "messages.list.element.logprobs", "messages.list.element.prompt_delta_ids")
	for needs, spec := range specs {
		if got := run(t, options(t, in, out+"/tokens-gone-"+needs, spec)).RowsDigest; got != want[needs] {
			t.Errorf("without tokens, %s gives other rows", needs)
		}
	}
	garbage(t, in, d, "messages", "calls", "tool_sets", "candidates", "payload_digest")
	if got := run(t, options(t, in, out+"/messages-gone", specs["head"])).RowsDigest; got != want["head"] {
		t.Error("without messages, a reward over the example gives other rows")
	}
	garbage(t, in, d, "example")
	if got := run(t, options(t, in, out+"/example-gone", specs["light"])).RowsDigest; got != want["light"] {
		t.Error("without the example, a reward over the answer gives other rows")
	}
	if _, err := score.Run(context.WithoutCancel(t.Context()), options(t, in, out+"/head-gone", specs["head"])); err == nil {
		t.Error("a reward over the example did not notice that it is garbage")
	}
	if _, err := score.Run(context.WithoutCancel(t.Context()), options(t, in, out+"/text-gone", specs["text"])); err == nil {
		t.Error("a reward over the messages did not notice that they are garbage")
	}
}

// garbage overwrites the chunks of columns, which leaves the parts' sizes and
// footers as they are.
func garbage(t *testing.T, folder string, d *dataset.Dataset, columns ...string) {
	t.Helper()
	spoilt := 0
	for _, p := range d.Parts {
		f, err := os.OpenFile(filepath.Join(folder, p.Name), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parquet.OpenFile(f, p.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range file.Metadata().RowGroups {
			for _, c := range g.Columns {
				m := c.MetaData
				path := strings.Join(m.PathInSchema, ".")
				for _, column := range columns {
					if path != column && !strings.HasPrefix(path, column+".") {
						continue
					}
					first := m.DataPageOffset
					if m.DictionaryPageOffset > 0 && m.DictionaryPageOffset < first {
						first = m.DictionaryPageOffset
					}
					if _, err := f.WriteAt([]byte(strings.Repeat("\xA5", int(m.TotalCompressedSize))), first); err != nil {
						t.Fatal(err)
					}
					spoilt++
				}
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if spoilt == 0 {
		t.Fatalf("no column is one of %v", columns)
	}
}

// writeRealistic writes trajectories of the size that real ones have: 20
// messages and about 2,000 sampled tokens each.
func writeRealistic(ctx context.Context, uri string, groups int, failures float64) error {
	shard, err := shards.Begin(ctx, uri, manifest.Spec{Stage: "rollout", Version: 1, Kind: schema.KindTrajectories}, shards.Options{})
	if err != nil {
		return err
	}
	table := shards.NewTable[formats.Trajectory](shard, "", -1)
	for group := range randomtest.Trajectories(3, randomtest.Options{Groups: groups, Generations: 8, Messages: 20, SampledTokens: 2000, Failures: failures}) {
		if err := table.Write(ctx, group); err != nil {
			return errors.Join(err, shard.Discard())
		}
	}
	_, err = shard.Commit(ctx, shards.Outcome{})
	return err
}
