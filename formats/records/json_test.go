package records

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// A text that is read in pieces gives the same result or error as one that is
// read at once.
func TestTextReadInPieces(t *testing.T) {
	words := []string{"NaN", "-Infinity", "Infinity", "-", "N", "Inf", `"`, `\`, `\"`, "é", "\ufffd", "漢", "1", ",", "\n", "\xff", "\xe6\xbc"}
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 4))
		var b strings.Builder
		last := len(words)
		if seed%4 > 0 {
			last -= 2 // valid
		}
		for range r.IntN(3000) {
			b.WriteString(words[r.IntN(last)])
		}
		in, err := File{Name: "x", R: strings.NewReader(b.String()), Size: int64(b.Len())}.text()
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(in)
		want, _ := jsontext.Standard([]byte(b.String()))
		switch bad := checkUTF8([]byte(b.String())); {
		case bad != nil && !errors.Is(err, errNotUTF8):
			t.Fatalf("seed %d: bytes that are not UTF-8: %v", seed, err)
		case bad == nil && (err != nil || !bytes.Equal(got, want)):
			t.Fatalf("seed %d: %v\n%q\n%q", seed, err, got, b.String())
		}
	}
}

func TestARecordWithoutEndIsRefusedBeforeItFillsTheMemory(t *testing.T) {
	err := all("x.json", io.NewSectionReader(opened{endless{}}, 0, 1<<40), 1<<40)
	if !errors.Is(err, formats.ErrInvalid) || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("got %v", err)
	}
}

// opened begins with an array of one text.
type opened struct{ io.ReaderAt }

func (o opened) ReadAt(p []byte, off int64) (int, error) {
	n, err := o.ReaderAt.ReadAt(p, off)
	for i := off; i < 2 && i-off < int64(n); i++ {
		p[i-off] = `["`[i]
	}
	return n, err
}

// An error reports its line, however far down it is.
func TestTheLineOfAMistakeInAnArray(t *testing.T) {
	text := "\n[" + strings.Repeat("{\"id\": \"some id\"} ,\n", 5000) + "{\"id\": 1,\n\"question\": oh}]"
	err := all("x.json", strings.NewReader(text), int64(len(text)))
	bad := (*formats.InputError)(nil)
	if !errors.As(err, &bad) || bad.Row != 5000 || !strings.Contains(err.Error(), "line 5003") {
		t.Errorf("got %v", err)
	}
}

// all reads every row of a file.
func all(name string, r io.ReaderAt, size int64) error {
	rows, err := File{Name: name, R: r, Size: size}.Read("")
	if err != nil {
		return err
	}
	for _, err := range rows {
		if err != nil {
			return err
		}
	}
	return nil
}

type endless struct{}

func (endless) ReadAt(p []byte, _ int64) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}
