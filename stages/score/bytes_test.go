package score_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/rollmill/rollmill/formats/dataset"
	"github.com/rollmill/rollmill/stages/score"
	"github.com/rollmill/rollmill/storage"
	"github.com/rollmill/rollmill/storage/counting"
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

// TestARewardOverTheAnswerReadsLittle: bytes and requests are counted where
// storage moves them, on a local disk and in an object store.
func TestARewardOverTheAnswerReadsLittle(t *testing.T) {
	for name, root := range map[string]string{"disk": t.TempDir(), "store": "mem://little"} {
		t.Run(name, func(t *testing.T) {
			d := realistic(t, root+"/rollout", 200)
			var disk counting.Counter
			ctx := storage.Wrapping(t.Context(), disk.Wrap)
			if _, err := score.Run(ctx, options(t, root+"/rollout", root+"/score", "short=expr:len(answer) < 100 ? 1 : 0")); err != nil {
				t.Fatal(err)
			}
			out, err := dataset.Open(t.Context(), root+"/score", dataset.OpenOptions{})
			if err != nil {
				t.Fatal(err)
			}
			read, written := float64(disk.Read())/float64(d.Bytes), float64(out.Bytes)/float64(d.Bytes)
			t.Logf("of %d bytes read %.2f %% in %d ranges, wrote %.2f %%", d.Bytes, 100*read, disk.Ops("range"), 100*written)
			// Beside the columns, at most a MiB of each part is read ahead or to save a request.
			if n := float64(disk.Read() - int64(len(d.Parts))<<20); disk.Read() == 0 || n > 0.05*float64(d.Bytes) {
				t.Errorf("read %.2f %% of the base's bytes, not under 5 and a MiB a part (%s)", 100*read, &disk)
			}
			if written >= 0.02 {
				t.Errorf("wrote %.2f %% of the base's bytes, not under 2", 100*written)
			}
			for _, p := range d.Parts {
				most := 2 + 2*16*len(p.RowGroups) // the footer, and one or two a column
				if name == "store" {
					most = 3
				}
				if n := disk.Of("range", p.Name); n > most {
					t.Errorf("%d ranges of %s, which has %d row groups", n, p.Name, len(p.RowGroups))
				}
			}
		})
	}
}

// TestARewardReadsOnlyWhatItDeclares: with every column that it has no need of
// overwritten by garbage, a reward gives the same rows; one that needs these
// columns is told that the part is damaged.
func TestARewardReadsOnlyWhatItDeclares(t *testing.T) {
	in, out := t.TempDir()+"/rollout", t.TempDir()
	d := realistic(t, in, 6)
	specs := map[string]string{"head": "expr:len(answer) + completion_tokens", "text": "expr:len(messages)"}
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
		t.Error("without messages, a reward over the answer gives other rows")
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
