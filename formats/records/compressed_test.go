package records

import (
	"bytes"
	"compress/gzip"
	"errors"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/rollmill/rollmill/storage/fault"
)

func TestCompressedFiles(t *testing.T) {
	text := strings.Repeat("{\"id\":1}\n", 10000)
	var zipped, packed bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	p, err := zstd.NewWriter(&packed)
	if err != nil {
		t.Fatal(err)
	}
	packed.Write(p.EncodeAll([]byte(text), nil))
	for name, data := range map[string][]byte{"x.jsonl.gz": zipped.Bytes(), "s3://b/X.JSONL.ZST?region=x": packed.Bytes()} {
		read := func(data []byte) (n int, err error) {
			rows := File{Name: name, R: bytes.NewReader(data), Size: int64(len(data))}.Read("")
			for _, err := range rows {
				if err != nil {
					return n, err
				}
				n++
			}
			return n, nil
		}
		if n, err := read(data); n != 10000 || err != nil {
			t.Errorf("%s: %d rows, %v", name, n, err)
		}
		for _, damaged := range [][]byte{data[:len(data)/2], []byte("{\"id\":1}\n"), nil} {
			if _, err := read(damaged); !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s cut to %d bytes: %v", name, len(damaged), err)
			}
		}
	}
}
