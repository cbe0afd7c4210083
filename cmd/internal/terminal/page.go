package terminal

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// Style is how a line is emphasized on a terminal.
type Style string

// The styles of lines: the numbers of ANSI's "select graphic rendition".
const (
	Plain Style = ""
	Bold  Style = "1"
	Good  Style = "32"
	Bad   Style = "31"
)

// screen is the terminal that stdout is connected to; its zero value is for none.
type screen struct {
	width, height int
	colours       bool
	pager         []string // a program and its arguments; none: text is written at once
}

// defaultPager is used when $PAGER is not set. -R passes colours on.
var defaultPager = []string{"less", "-R"}

// screenOf returns the screen of a run. Pipes and files have none.
func screenOf(s Streams) screen {
	f, ok := s.Out.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return screen{}
	}
	var out screen
	out.width, out.height, _ = term.GetSize(int(f.Fd()))
	noColour, _ := s.Lookup("NO_COLOR")
	kind, _ := s.Lookup("TERM")
	out.colours = noColour == "" && kind != "dumb"
	pager, set := s.Lookup("PAGER")
	if out.pager = strings.Fields(pager); !set {
		out.pager = defaultPager
	}
	return out
}

// Page prints like Print. On a terminal each line has the style that style returns for it,
// unless $NO_COLOR is set, and text that is longer than the screen goes through $PAGER. Lines
// are styled after control characters were made visible, so data cannot bring its own.
func (s *Console) Page(object any, text func(io.Writer) error, style func(line string) Style) error {
	if s.JSON || s.screen.height == 0 {
		return s.Print(object, text)
	}
	var b strings.Builder
	if err := text(&b); err != nil {
		return err
	}
	s.Board.Close()
	shown := Visible(s.Secrets.Redact(b.String()))
	long := s.screen.longer(shown)
	if s.screen.colours {
		shown = styled(shown, style)
	}
	if long && len(s.screen.pager) > 0 && s.throughPager(shown) {
		return nil
	}
	_, err := io.WriteString(s.Out, shown)
	return err
}

// longer reports whether a text does not fit on the screen with the prompt.
func (s screen) longer(text string) bool {
	rows := 0
	for line := range strings.Lines(text) {
		if rows += 1 + max(0, utf8.RuneCountInString(line)-2)/max(1, s.width); rows >= s.height {
			return true
		}
	}
	return false
}

func styled(text string, style func(line string) Style) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		body := strings.TrimSuffix(line, "\n")
		if how := style(body); how != Plain && body != "" {
			fmt.Fprintf(&b, "\x1b[%sm%s\x1b[0m%s", how, body, line[len(body):])
			continue
		}
		b.WriteString(line)
	}
	return b.String()
}

// throughPager shows a text in the pager. It returns false if the pager cannot be
// started; how it ends is the user's choice.
func (s *Console) throughPager(text string) bool {
	cmd := exec.Command(s.screen.pager[0], s.screen.pager[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(text), s.Out, s.Err
	if cmd.Start() != nil {
		return false
	}
	_ = cmd.Wait()
	return true
}

// Height returns the number of lines of the terminal that stdout is connected to,
// or a usual number for none.
func (s *Console) Height() int { return cmp.Or(s.screen.height, 40) }
