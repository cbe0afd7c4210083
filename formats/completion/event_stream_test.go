package completion_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/rollmill/rollmill/formats/completion"
)

func TestEventStream(t *testing.T) {
	for in, want := range map[string]string{
		"":                            "",
		"a":                           "a",
		"\r":                          "\n",
		"\xef\xbb":                    "\xef\xbb",
		"\xef\xbb\xbf":                "",
		"\xef\xbb\xbfa\xef\xbb\xbf\n": "a\xef\xbb\xbf\n",
		"\xef\xbb\xbf\r\n\n":          "\n\n",
		"a\r\nb\rc\nd":                "a\nb\nc\nd",
		"a\r\r\n\n\r\n\n\r":           "a\n\n\n\n\n\n",
	} {
		broken := errors.New("broken")
		for _, end := range []error{io.EOF, broken, io.ErrUnexpectedEOF} {
			for name, r := range map[string]func(io.Reader) io.Reader{"whole": func(r io.Reader) io.Reader { return r }, "by byte": iotest.OneByteReader,
				"with the error": iotest.DataErrReader} {
				out, err := io.ReadAll(completion.EventStream(r(io.MultiReader(strings.NewReader(in), iotest.ErrReader(end)))))
				if string(out) != want || err != nil != (end != io.EOF) || err != nil && err != end {
					t.Errorf("%q %s, then %v: %q, %v", in, name, end, out, err)
				}
			}
		}
	}
}
