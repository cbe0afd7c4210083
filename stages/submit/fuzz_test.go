package submit

import (
	"bytes"
	"context"
	"io/fs"
	"testing"

	"github.com/rollmill/rollmill/formats/receipts"
)

// records is a store in memory.
type records map[string][]byte

func (r records) ReadLimited(_ context.Context, key string, _ int64) ([]byte, error) {
	if data, ok := r[key]; ok {
		return data, nil
	}
	return nil, fs.ErrNotExist
}

func (r records) Create(ctx context.Context, key string, data []byte) error {
	if _, ok := r[key]; ok {
		return fs.ErrExist
	}
	return r.Write(ctx, key, data)
}

func (r records) Write(_ context.Context, key string, data []byte) error {
	r[key] = bytes.Clone(data)
	return nil
}

// A receipt that is read is written as one that is read as the same.
func FuzzReceipt(f *testing.F) {
	f.Add([]byte(`{"format":"` + receipts.Format + `","metric_steps":[{ "loss": 1 }]}`))
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"format":7}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		ctx := context.Background()
		s := records{receipts.File: data}
		r, err := ReadReceipt(ctx, s)
		if err != nil {
			return
		}
		if err := WriteReceipt(ctx, s, r); err != nil {
			t.Fatal(err)
		}
		once := bytes.Clone(s[receipts.File])
		again, err := ReadReceipt(ctx, s)
		if err != nil {
			t.Fatal(err)
		}
		if err := WriteReceipt(ctx, s, again); err != nil || !bytes.Equal(once, s[receipts.File]) {
			t.Fatalf("%v\n%s\n%s", err, once, s[receipts.File])
		}
	})
}

// Whatever the records of an attempt say, the ledger yields one whose records
// agree, or says which of them is damaged.
func FuzzLedger(f *testing.F) {
	kinds := []string{"intent", "lease", "sent", "taken", "job", "done"}
	good := map[string]string{
		"intent": `{"format":"` + ledgerFormat + `","key":"k","attempt":1,"token":"k-1","owner":{"id":"a"},"target":{"backend":"art"},"lease_seconds":60}`,
		"lease":  `{"owner":"a"}`,
		"sent":   `{"owner":"a","at":"2026-01-02T03:04:05Z"}`,
		"taken":  `{"owner":"b","at":"2026-01-02T03:04:05Z"}`,
		"job":    `{"owner":"a","job":"j-1"}`,
		"done":   `{"owner":"a","receipt":{"format":"` + receipts.Format + `","key":"k","state":"completed"},"at":"2026-01-02T03:04:05Z"}`,
	}
	for i, kind := range kinds {
		for _, text := range []string{good[kind], "{}", "null", "", "[]", good["done"], good["intent"]} {
			f.Add(uint8(i), uint8(0xff), []byte(text))
			f.Add(uint8(i), uint8(1|1<<i), []byte(text))
		}
	}
	f.Fuzz(func(t *testing.T, which, there uint8, data []byte) {
		s := records{}
		l := &ledger{store: s, key: "k"}
		for i, kind := range kinds {
			if there&(1<<i) != 0 {
				s[l.path(1, kind)] = []byte(good[kind])
			}
		}
		s[l.path(1, kinds[int(which)%len(kinds)])] = data
		a, err := l.last(context.Background())
		if err != nil || a == nil || a.damage != nil {
			if a != nil && a.damage != nil && (a.damage.Record == "" || a.damage.What == "") {
				t.Fatalf("a damage without a name: %+v", a.damage)
			}
			return
		}
		if a.Key != "k" || a.Attempt != 1 || a.Owner.ID == "" || (a.job != nil || a.done != nil && a.done.Receipt != nil) && a.sent == nil {
			t.Fatalf("%+v", a)
		}
	})
}
