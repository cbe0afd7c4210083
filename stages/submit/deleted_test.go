package submit_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends/art/arttest"
	"github.com/rollmill/rollmill/stages/backends/openai/openaitest"
	"github.com/rollmill/rollmill/stages/submit"
	"github.com/rollmill/rollmill/storage/fault"
)

// TestDeletedRecordsTrainNothingTwice deletes each record of a submission, the
// receipt among them, and each pair. Then the same command attaches, or asks for
// a person, and so does another dataset of the epoch, even one that replaces the
// receipt. Nothing is sent. A short run deletes a third of the pairs.
func TestDeletedRecordsTrainNothingTwice(t *testing.T) {
	for name, begin := range map[string]func(t *testing.T) (order, submit.Options, func() int){
		"art": func(t *testing.T) (order, submit.Options, func() int) {
			server, place := place(t, arttest.Faults{})
			return place, options(t, place), server.Jobs
		},
		"art, sent again": func(t *testing.T) (order, submit.Options, func() int) {
			server, place := place(t, arttest.Faults{CloseAfter: new(int)})
			o := options(t, place)
			o.In.URI = curatedIn(t, opened(t, place.Ledger), t.TempDir()+"/curate", rowsOf(0, 1, 2)...)
			kind(t, o, fault.Person)
			server.Set(arttest.Faults{})
			again := o
			again.Resubmit = true
			completes(t, again)
			return place, o, server.Jobs
		},
		"openai": func(t *testing.T) (order, submit.Options, func() int) {
			server, o := tuned(t, openaitest.Faults{})
			return order{Ledger: filepath.Dir(o.Out), Out: o.Out}, o, func() int { return len(server.Jobs()) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			place, o, jobs := begin(t)
			o.MaxStaleness, o.LeaseTTL, o.Stall = 9, time.Second, 50*time.Millisecond
			if !strings.Contains(name, "again") {
				o.In.URI = curatedIn(t, opened(t, place.Ledger), t.TempDir()+"/curate", rowsOf(0, 1, 2)...)
			}
			o.Keys = listed(bucket(t, place.Ledger))
			completes(t, o)
			commands := []submit.Options{o}
			if !strings.Contains(name, "openai") { // which may have an epoch in several forms
				other := made(t, o, 0, 1)
				replacing := other
				replacing.Out, replacing.Receipt, replacing.Overwrite = o.Out, o.Receipt, true
				commands = append(commands, other, replacing)
			}
			records := newRecords(t, place, o.In.URI)
			pairs := records.pairs()
			attached, refused := 0, 0
			for n, gone := range pairs {
				if testing.Short() && len(gone) == 2 && n%3 > 0 {
					continue
				}
				for i, c := range commands {
					records.restore(t, gone)
					result, err := submit.Run(t.Context(), c)
					if n := jobs(); n != 1 {
						t.Errorf("without %v, command %d: %d jobs; %v, %+v", gone, i, n, err, result.Receipt)
					}
					if err == nil && i == 0 {
						attached++
					} else if err == nil {
						t.Errorf("without %v, command %d: %+v", gone, i, result.Receipt)
					} else if refused++; !isKind(err, fault.Person) {
						t.Errorf("without %v, command %d: %v", gone, i, err)
					}
				}
			}
			t.Logf("%d records, %d of them or pairs deleted, %d commands: %d attached, %d refused", len(records.files), len(pairs), len(commands),
				attached, refused)
		})
	}
}

func isKind(err error, want fault.Kind) bool {
	var e *fault.Error
	return errors.As(err, &e) && e.Kind == want
}

// records are the files of a submission, with its receipt.
type records struct {
	roots []string
	files map[string][]byte
	names []string
}

func newRecords(t *testing.T, place order, in string) *records {
	t.Helper()
	r := &records{roots: []string{filepath.Join(place.Ledger, ".rollmill/ledger"), filepath.Join(place.Ledger, ".rollmill/epochs"), place.Out},
		files: map[string][]byte{}}
	for _, root := range r.roots {
		filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				data, _ := os.ReadFile(path)
				r.files[path] = regexp.MustCompile(`"started": "[^"]*"`).ReplaceAll(data, []byte(`"started": "0"`)) // by a process that has ended
				r.names = append(r.names, path)
			}
			return nil
		})
	}
	if len(r.names) < 5 || r.files[filepath.Join(place.Out, receipts.File)] == nil {
		t.Fatalf("records: %v", r.names)
	}
	return r
}

// pairs returns each record and each pair of two.
func (r *records) pairs() (out [][]string) {
	for i, a := range r.names {
		out = append(out, []string{a})
		for _, b := range r.names[:i] {
			out = append(out, []string{a, b})
		}
	}
	return out
}

// restore puts all records back except some.
func (r *records) restore(t *testing.T, except []string) {
	t.Helper()
	for _, root := range r.roots {
		os.RemoveAll(root)
	}
	for path, data := range r.files {
		if slices.Contains(except, path) {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
