package submit

import (
	"bytes"
	"context"
	"io/fs"
	"testing"

	"github.com/rollmill/rollmill/formats"
)

// records is a store in memory.
type records map[string][]byte

func (r records) Read(_ context.Context, key string) ([]byte, error) {
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
	f.Add([]byte(`{"format":"` + formats.ReceiptFormat + `","metric_steps":[{ "loss": 1 }]}`))
	f.Add([]byte(`{}`))
	f.Add([]byte(`{"format":7}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		ctx := context.Background()
		s := records{formats.ReceiptFile: data}
		r, err := ReadReceipt(ctx, s)
		if err != nil {
			return
		}
		if err := WriteReceipt(ctx, s, r); err != nil {
			t.Fatal(err)
		}
		once := bytes.Clone(s[formats.ReceiptFile])
		again, err := ReadReceipt(ctx, s)
		if err != nil {
			t.Fatal(err)
		}
		if err := WriteReceipt(ctx, s, again); err != nil || !bytes.Equal(once, s[formats.ReceiptFile]) {
			t.Fatalf("%v\n%s\n%s", err, once, s[formats.ReceiptFile])
		}
	})
}
