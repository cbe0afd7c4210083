package convert_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/chat"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/pipelines/convert"
	"github.com/rollmill/rollmill/storage/fault"
)

// The memory of a batch is used again while rows of later batches are read, but
// not before its rows are written: groups here end in other batches than they
// begin in, and one has more rows than all batches in work.
func TestRowsOutliveTheirBatch(t *testing.T) {
	var lines strings.Builder
	var want []string
	for g, size := range []int{1, 700, 3, 2500, 1, 12_000, 999, 2, 1500} {
		for i := range size {
			answer := fmt.Sprintf("answer %d of %d", i, g)
			want = append(want, answer)
			fmt.Fprintf(&lines, `{"id":"%d-%d","messages":[{"role":"user","content":"question %d"},{"role":"assistant","content":%q}],"n":%d}`+"\n", g, i, g,
				answer, len(want))
		}
	}
	for _, scattered := range []bool{false, true} {
		all := lines.String()
		if scattered {
			all += `{"messages":[{"role":"user","content":"question 0"},{"role":"assistant","content":"late"}]}` + "\n"
		}
		out := filepath.Join(t.TempDir(), "out")
		o := options(out, text("a", all))
		o.Format = chat.Importer
		if _, err := convert.Import(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		got := rows[formats.Trajectory](t, out, "")
		if scattered {
			if late := got[1].Messages[1].Content; late != "late" {
				t.Fatalf("%q", late)
			}
			got = append(got[:1], got[2:]...)
		}
		if len(got) != len(want) {
			t.Fatalf("%d rows, not %d", len(got), len(want))
		}
		for i := range got {
			r := &got[i]
			if len(r.Messages) != 2 || r.Messages[1].Content != want[i] || r.Answer != want[i] || !strings.Contains(r.Metadata, fmt.Sprintf(`"n":%d}`, i+1)) {
				t.Fatalf("row %d: %+v, not %q", i, r, want[i])
			}
		}
	}
}

// TestStopsWhileARecordIsConverted: the conversion of one record may take long,
// and an import that is told to stop does not wait for it.
func TestStopsWhileARecordIsConverted(t *testing.T) {
	begun, goOn := make(chan struct{}), make(chan struct{})
	defer close(goOn)
	o := options(filepath.Join(t.TempDir(), "out"), text("a", `{"id":"1"}`+"\n"))
	known := o.Format
	o.Format = known.ParsedBy(func(r *importers.Record) ([]importers.Item, error) {
		close(begun)
		<-goOn
		return known.Parse(r)
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := convert.Import(ctx, o)
		ended <- err
	}()
	<-begun
	cancel()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it waits for the record")
	}
}

// TestTooManyKeysAreRefused by file, line and cause.
func TestTooManyKeysAreRefused(t *testing.T) {
	var keys strings.Builder
	for i := range jsontext.MaxKeys + 1 {
		fmt.Fprintf(&keys, `,"k%d":1`, i)
	}
	const messages = `"messages":[{"role":"user","content":"q"},{"role":"assistant","content":"a"}]`
	o := options(filepath.Join(t.TempDir(), "out"), text("a", "{"+messages+"}\n{"+messages+`,"log":{`+keys.String()[1:]+"}}\n"))
	o.Format = chat.Importer
	_, err := convert.Import(t.Context(), o)
	if in, ok := errors.AsType[*fault.Error](err); !ok || fault.HintOf(in) == "" ||
		!strings.HasSuffix(err.Error(), "line 2: an object has more than 100000 keys, which are not read: log") {
		t.Errorf("got %v", err)
	}
}
