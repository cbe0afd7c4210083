package records

import (
	"bufio"
	"bytes"
	"errors"
	"unicode/utf8"

	"github.com/rollmill/rollmill/storage/fault"
)

var bom = []byte("\xef\xbb\xbf")

// skipBOM skips a UTF-8 byte order mark and refuses UTF-16, which some programs
// save as "Unicode text".
func skipBOM(name string, r *bufio.Reader) error {
	head, _ := r.Peek(3) // a read error is returned by the next read
	if len(head) >= 2 && (head[0] == 0xff && head[1] == 0xfe || head[0] == 0xfe && head[1] == 0xff) {
		return fault.Invalid(name, "save the file as UTF-8", nil, "the text is UTF-16")
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
