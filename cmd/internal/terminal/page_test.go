package terminal

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
)

// TestPage checks colours and the pager on a terminal, and their absence
// elsewhere.
func TestPage(t *testing.T) {
	heading := func(line string) Style {
		if strings.HasPrefix(line, "#") {
			return Bold
		}
		return Plain
	}
	const text = "# one\n\x1b[31mtwo\n"
	const bare = "# one\n\\x1b[31mtwo\n"
	for _, c := range []struct {
		name   string
		screen screen
		want   string
	}{
		{"pipe", screen{}, bare},
		{"pipe with a pager", screen{pager: []string{"sed", "s/^/> /"}, colours: true}, bare},
		{"terminal", screen{width: 80, height: 24, colours: true, pager: []string{"sed", "s/^/> /"}}, "\x1b[1m# one\x1b[0m\n\\x1b[31mtwo\n"},
		{"no colours", screen{width: 80, height: 24}, bare},
		{"small", screen{width: 80, height: 2, pager: []string{"sed", "s/^/> /"}}, "> # one\n> \\x1b[31mtwo\n"},
		{"narrow", screen{width: 4, height: 4, pager: []string{"sed", "s/^/> /"}}, "> # one\n> \\x1b[31mtwo\n"},
		{"pager is gone", screen{width: 80, height: 2, pager: []string{"no-such-pager"}}, bare},
		{"pager off", screen{width: 80, height: 2}, bare},
	} {
		var out bytes.Buffer
		s := &Console{Streams: Streams{Out: &out, Err: io.Discard}, screen: c.screen, Board: &board{}}
		err := s.Page(nil, func(w io.Writer) error { _, err := fmt.Fprint(w, text); return err }, heading)
		if err != nil || out.String() != c.want {
			t.Errorf("%s: %q, %v, want %q", c.name, out.String(), err, c.want)
		}
	}
	if got := screenOf(Streams{Out: io.Discard}); got.height != 0 || got.colours || got.pager != nil {
		t.Errorf("%+v", got)
	}
}
