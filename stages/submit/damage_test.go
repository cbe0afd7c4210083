package submit_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats/receipts"
	"github.com/rollmill/rollmill/stages/backends/art/arttest"
	"github.com/rollmill/rollmill/stages/submit"
	"github.com/rollmill/rollmill/storage/fault"
)

// record finds a record of the ledger by its name.
func record(t *testing.T, ledger, name string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(ledger, ".rollmill/ledger/*/1", name+".json"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s: %v, %v", name, found, err)
	}
	return found[0]
}

// TestDamagedLedgerNeedsPerson damages each record in many ways: submit ends
// with exit code 6 and says what to do, or the record is as good as before;
// nothing is sent, and nothing panics.
func TestDamagedLedgerNeedsPerson(t *testing.T) {
	count := number("COUNT", 20)
	for _, name := range []string{"intent", "sent", "done"} {
		t.Run(name, func(t *testing.T) {
			server, place := place(t, arttest.Faults{})
			o := options(t, place)
			completes(t, o)
			path := record(t, place.Ledger, name)
			good, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			os.Remove(filepath.Join(place.Out, receipts.File))
			ways := [][]byte{nil, []byte("{}"), []byte("null"), []byte("[]"), []byte("{"), good[:len(good)/2], []byte(`{"format":"rollmill-ledger/1"}`),
				bytes.ReplaceAll(good, []byte(":"), nil), []byte(`{"owner":"x","void":true,"receipt":{}}`), []byte(`{"owner":"x","receipt":{}}`),
				bytes.Repeat([]byte("["), 20000)}
			r := rand.New(rand.NewPCG(1, uint64(len(name))))
			for range count {
				bad := bytes.Clone(good)
				switch at := r.IntN(len(bad)); r.IntN(3) {
				case 0:
					bad[at] ^= 1 << r.IntN(7)
				case 1:
					bad = bad[:at]
				default:
					bad = append(bad[:at:at], bad[min(len(bad), at+1+r.IntN(40)):]...)
				}
				ways = append(ways, bad)
			}
			refused := 0
			for i, bad := range ways {
				if err := os.WriteFile(path, bad, 0o600); err != nil {
					t.Fatal(err)
				}
				for _, look := range []func() error{
					func() error { _, err := submit.Run(t.Context(), o); return err },
					func() error {
						_, err := submit.Job(t.Context(),
							submit.JobOptions{Key: filepath.Base(filepath.Dir(filepath.Dir(path))), Ledger: o.Ledger, Trainer: o.Trainer})
						return err
					},
					func() error {
						_, err := submit.List(t.Context(), bucket(t, place.Ledger), listed(bucket(t, place.Ledger)), o.Clock)
						return err
					},
				} {
					err := look()
					var e *fault.Error
					if err != nil && (!errors.As(err, &e) || e.Kind != fault.Person && e.Kind != fault.Usage || e.Help == "") {
						t.Fatalf("damage %d: %v (%T)\n%s", i, err, err, bad)
					}
					if err != nil {
						refused++
					}
				}
				if server.Jobs() != 1 {
					t.Fatalf("damage %d: %d jobs\n%s", i, server.Jobs(), bad)
				}
				os.Remove(filepath.Join(place.Out, receipts.File))
			}
			t.Logf("%d kinds of damage to %s: %d refusals of three commands", len(ways), name, refused)
		})
	}
}

// TestPersonSettlesDamagedLedger: with a flag each way out works.
func TestPersonSettlesDamagedLedger(t *testing.T) {
	for _, trained := range []bool{true, false} {
		server, place := place(t, arttest.Faults{})
		o := options(t, place)
		completes(t, o)
		if err := os.WriteFile(record(t, place.Ledger, "done"), []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		os.Remove(filepath.Join(place.Out, receipts.File))
		e := kind(t, o, fault.Person)
		if !strings.Contains(e.Error(), "1/done.json") || !strings.Contains(fault.HintOf(e), "--assume-trained") {
			t.Errorf("%v; %s", e, fault.HintOf(e))
		}
		settled := o
		settled.AssumeTrained, settled.Resubmit, settled.MaxStaleness = trained, !trained, 9
		completes(t, settled)
		want := 2
		if trained {
			want = 1
		}
		if r := completes(t, o); !r.Attached || server.Jobs() != want {
			t.Errorf("%+v, %d jobs, want %d", r.Receipt, server.Jobs(), want)
		}
	}
}

// TestLedgerRecordsAreReadInBounds: a record of a terabyte is refused unread.
func TestLedgerRecordsAreReadInBounds(t *testing.T) {
	_, place := place(t, arttest.Faults{})
	o := options(t, place)
	completes(t, o)
	os.Remove(filepath.Join(place.Out, receipts.File))
	for _, name := range []string{"intent", "done"} {
		if err := os.Truncate(record(t, place.Ledger, name), 1<<40); err != nil {
			t.Skip(err)
		}
		if _, err := submit.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "at most") || errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
	}
	if err := os.WriteFile(filepath.Join(place.Out, receipts.File), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(place.Out, receipts.File), 1<<40); err != nil {
		t.Skip(err)
	}
	if _, err := submit.ReadReceipt(t.Context(), o.Receipt); err == nil || !strings.Contains(fmt.Sprint(err), "at most") {
		t.Error(err)
	}
}
