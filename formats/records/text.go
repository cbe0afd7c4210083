package records

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
)

var bom = []byte("\xef\xbb\xbf")

// skipBOM skips a UTF-8 byte order mark and refuses UTF-16, which some programs
// save as "Unicode text".
func skipBOM(name string, r *bufio.Reader) error {
	head, _ := r.Peek(3) // a read error is returned by the next read
	if len(head) >= 2 && (head[0] == 0xff && head[1] == 0xfe || head[0] == 0xfe && head[1] == 0xff) {
		return formats.Invalid(name, "save the file as UTF-8", nil, "the text is UTF-16")
	}
	if bytes.Equal(head, bom) {
		_, err := r.Discard(3)
		return err
	}
	return nil
}

var errNotUTF8 = errors.New("the text is not UTF-8")

func checkUTF8(b []byte) error {
	if !utf8.Valid(b) {
		return errNotUTF8
	}
	return nil
}

// text is a JSON file's text, checked to be UTF-8 and with non-standard words
// replaced, as by jsontext.Standard: encoding/json does not read them.
type text struct {
	words   []word // that were replaced; restore puts them back
	keep    bool   // words
	in      *bufio.Reader
	limit   int64 // how far the text may be read; 0: to its end
	tooLong error // the error of reading further; nil: errLongRecord
	given   int64
	buf     []byte
	out     []byte // bytes of buf that were not returned yet
	quoted  bool
	escaped bool
	err     error
}

var (
	errLongRecord    = fmt.Errorf("a record is longer than %d MiB", MaxRecord>>20)
	errLongColumnMap = fmt.Errorf("one object is longer than %d MiB", maxColumnMap>>20)
)

func (s File) text() (*text, error) {
	in := s.Reader()
	return &text{in: in}, skipBOM(s.Name, in)
}

// failed reports whether reading the text failed.
func (t *text) failed() bool { return t.err != nil && t.err != io.EOF }

// Read implements io.Reader.
func (t *text) Read(p []byte) (int, error) {
	if t.limit > 0 && t.given > t.limit {
		t.err = cmp.Or(t.tooLong, errLongRecord)
		return 0, t.err
	}
	if len(t.out) == 0 {
		t.fill()
	}
	if len(t.out) == 0 {
		return 0, t.err
	}
	n := copy(p, t.out)
	t.out = t.out[n:]
	t.given += int64(n)
	return n, nil
}

func (t *text) fill() {
	const enough = 4 << 10
	b := t.buf[:0]
	for len(b) < enough && t.err == nil {
		c, size, err := t.in.ReadRune()
		switch {
		case err != nil:
			t.err = err
			continue
		case c == utf8.RuneError && size == 1:
			if _, t.err = t.in.Peek(utf8.UTFMax); t.err == nil || t.err == io.EOF {
				t.err = errNotUTF8
			}
			continue
		case t.escaped:
			t.escaped = false
		case t.quoted && c == '\\':
			t.escaped = true
		case c == '"':
			t.quoted = !t.quoted
		case !t.quoted && (c == 'N' || c == 'I' || c == '-'):
			if n := t.notANumber(); n > 0 {
				if t.keep {
					t.words = append(t.words, word{t.given + int64(len(b)), c})
				}
				_, t.err = t.in.Discard(n)
				b = append(b, "null"...)
				continue
			}
		}
		b = utf8.AppendRune(b, c)
	}
	t.buf, t.out = b, b
}

// word is a non-standard word, by its first letter.
type word struct {
	at     int64 // in the text
	letter rune
}

// restore returns the value that ends at an offset of the text with its words as
// they were written. Values are restored in order.
func (t *text) restore(v []byte, end int64) []byte {
	words, from := map[rune]string{'N': "NaN", 'I': "Infinity", '-': "-Infinity"}, end-int64(len(v))
	var out []byte
	at := 0
	for len(t.words) > 0 && t.words[0].at < end {
		if i := int(t.words[0].at - from); i >= at {
			out = append(append(out, v[at:i]...), words[t.words[0].letter]...)
			at = i + len("null")
		}
		t.words = t.words[1:]
	}
	if at == 0 {
		return v
	}
	return append(out, v[at:]...)
}

// notANumber returns the length of the rest of such a word after its first
// letter.
func (t *text) notANumber() int {
	if t.in.UnreadRune() != nil {
		return 0
	}
	b, _ := t.in.Peek(len("-Infinity"))
	_, _, _ = t.in.ReadRune() // again
	return max(0, jsontext.NotANumber(b)-1)
}
