package records

import (
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rollmill/rollmill/storage/fault"
)

// The values of an array come as they are written, wherever the pieces end in which
// the text is read.
func TestValuesOfAnArrayComeAsWritten(t *testing.T) {
	values := []string{"NaN", "-Infinity", "Infinity", "-1.5e3", "true", `"]"`, `"\\\"[{,"`, "[1, [2,\n3]]", `{"é": "\ufffd"}`, `{"a": {"b": NaN}}`, "{}"}
	spaces := []string{"", "", " ", "\n", "\t\r\n  "}
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 4))
		var want []string
		text := spaces[r.IntN(len(spaces))] + "["
		for i := range r.IntN(30) {
			value := values[r.IntN(len(values))]
			if r.IntN(4) == 0 {
				value = `"` + strings.Repeat("漢x", r.IntN(40_000)) + `"`
			}
			if want = append(want, value); i > 0 {
				text += ","
			}
			text += spaces[r.IntN(len(spaces))] + value + spaces[r.IntN(len(spaces))]
		}
		text += "]" + spaces[r.IntN(len(spaces))]
		rows := File{Name: "x.json", R: strings.NewReader(text), Size: int64(len(text)), Buffer: 1 + r.IntN(100)}.Read("")
		var got []string
		for row, err := range rows {
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			got = append(got, string(row.Object))
		}
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: %d values of %d", seed, len(got), len(want))
		}
	}
}

func TestWhatIsNoArray(t *testing.T) {
	long := strings.Repeat("x", 200_000)
	for text, want := range map[string]string{
		"[1 2]":                                 "line 1 is not JSON: expected comma after array element",
		"[1,\n]":                                "line 2 is not JSON: invalid character ']' looking for beginning of value",
		"[tru]":                                 "line 1 is not JSON: invalid character ']' in literal true (expecting 'e')",
		"[\"a\nb\"]":                            "line 2 is not JSON: invalid character '\\n' in string literal",
		"[12a]":                                 "line 1 is not JSON: expected comma after array element",
		"[{\"a\":1":                             "line 1 is not JSON: unexpected EOF",
		"[1,\n":                                 "line 1 is not JSON: EOF",
		"\n[1\n\n":                              "line 2: the array does not end",
		"[1]\n\x00":                             "line 2: something follows the array",
		"[NaN]\n\n]":                            "line 3: something follows the array",
		"[\"" + long + "\xff\"]":                "the text is not UTF-8",
		"\xff":                                  "the text is not UTF-8",
		" nul":                                  "begins with \"nul\"",
		"{\"a\": \n {\"0\": oh}}":               "line 2 is not JSON: invalid character 'o' looking for beginning of value",
		"{\"a\": {\"0\": \"":                    "line 1 is not JSON: unexpected EOF",
		"{\"a\": {\"0\": 1}}\n\n{}":             "line 3: a second value follows the first",
		"{\"a\": {\"0\": \"" + long + "\"}}\n7": "line 2: a second value follows the first",
	} {
		if err := all("x.json", strings.NewReader(text), int64(len(text))); !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v; want %q", text, err, want)
		}
	}
}

func TestARecordWithoutEndIsRefusedBeforeItFillsTheMemory(t *testing.T) {
	err := all("x.json", io.NewSectionReader(opened{endless{}}, 0, 1<<40), 1<<40)
	if !errors.Is(err, fault.ErrInvalid) || !strings.Contains(err.Error(), "longer than") {
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
	bad := (*fault.Error)(nil)
	if !errors.As(err, &bad) || bad.Row != 5000 || !strings.Contains(err.Error(), "line 5003") {
		t.Errorf("got %v", err)
	}
}

// all reads every row of a file.
func all(name string, r io.ReaderAt, size int64) error {
	rows := File{Name: name, R: r, Size: size}.Read("")
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
