package terminal

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/storage/fault"
)

// Streams are the standard streams and the environment of a run. Tests inject their own.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
	Lookup   func(variable string) (string, bool) // in the environment
	Environ  []string                             // names of the environment's variables
	Asks     <-chan os.Signal                     // for each, the progress is printed; nil for none
}

// Console is what a run writes to, with what the global flags say of it.
type Console struct {
	Streams
	words   func(command, of, advice string) string // the advice as a command gives it
	Stderr  *stderr
	screen  screen
	Secrets *secret.Set // redacted in all that this process writes

	JSON    bool // the result is to be printed as JSON
	LogJSON bool // and so are messages
	Quiet   bool
	Level   slog.Level

	answers *bufio.Scanner // of a terminal; nil until it is asked

	Board   *board
	Retries atomic.Int64 // of requests to services and stores
}

// New returns the console of a run. secrets are redacted in all that it writes, and words
// returns advice as a command gives it, for the message of an error.
func New(s Streams, secrets *secret.Set, words func(command, of, advice string) string) *Console {
	terminal := false
	if f, ok := s.Err.(*os.File); ok {
		terminal = term.IsTerminal(int(f.Fd()))
	}
	c := &Console{Streams: s, words: words, Stderr: &stderr{w: s.Err, terminal: terminal, secrets: secrets},
		screen:  screenOf(s),
		Secrets: secrets}
	c.Board = &board{s: c, begun: time.Now()}
	return c
}

// Logger returns a logger that writes to stderr in the chosen format.
func (s *Console) Logger() *slog.Logger { return s.leveled(s.Level) }

// leveled returns a logger of its own level.
func (s *Console) leveled(level slog.Level) *slog.Logger {
	o := &slog.HandlerOptions{Level: level}
	if s.LogJSON {
		return slog.New(slog.NewJSONHandler(s.Stderr, o))
	}
	if s.Stderr.terminal {
		o.ReplaceAttr = func(groups []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey && len(groups) == 0 {
				return slog.Attr{}
			}
			return a
		}
	}
	return slog.New(slog.NewTextHandler(s.Stderr, o))
}

// Result prints the result of a command: one line, for people and for $(…), or one JSON object.
func (s *Console) Result(line string, object any) error { return s.PrintText(object, line+"\n") }

// PrintText is Print for a text that is made already.
func (s *Console) PrintText(object any, text string) error {
	return s.Print(object, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// Print writes an object to stdout: as one JSON object with --json, else as text.
// It redacts secrets and escapes control characters.
func (s *Console) Print(object any, text func(io.Writer) error) error {
	if s.JSON {
		return s.PrintJSON(object)
	}
	var b strings.Builder
	if err := text(&b); err != nil {
		return err
	}
	s.Board.Close()
	_, err := io.WriteString(s.Out, Visible(s.Secrets.Redact(b.String())))
	return err
}

// PrintJSON prints an object on one line of stdout, whatever the flags say. It
// redacts secrets and escapes control characters.
func (s *Console) PrintJSON(object any) error {
	s.Board.Close()
	data, err := json.Marshal(object)
	if err == nil {
		_, err = fmt.Fprintf(s.Out, "%s\n", visibleJSON(string(s.Secrets.JSON(data))))
	}
	return err
}

// Say prints a message on stderr, unless --quiet is set.
func (s *Console) Say(format string, args ...any) {
	switch text := fmt.Sprintf(format, args...); {
	case s.Quiet:
	case s.LogJSON:
		s.Logger().Info(text)
	default:
		fmt.Fprintln(s.Stderr, text)
	}
}

// Fail prints why a command failed, even with --quiet.
func (s *Console) Fail(command string, code int, err error) {
	what, advice := s.Worded(command, err)
	if s.LogJSON {
		attrs := []any{"command", command, "exit", code}
		if advice != "" {
			attrs = append(attrs, "hint", advice)
		}
		s.Logger().Error(what, attrs...)
		return
	}
	text := strings.TrimSpace("rollmill "+command) + ": " + what + "\n"
	if advice != "" {
		text += "hint: " + advice + "\n"
	}
	fmt.Fprint(s.Stderr, text)
}

// Worded returns the message and the hint of an error, as its command words them.
func (s *Console) Worded(command string, err error) (what, advice string) {
	what = strings.TrimPrefix(once(err.Error()), command+": ")
	return what, s.words(command, what, hint(err))
}

// URI returns a flag's value. For "-" it reads the value from stdin: the first
// line that is not empty, or the "uri" of the JSON object that --json printed.
func (s *Console) URI(flag, value string) (string, error) {
	if value != "-" {
		return value, nil
	}
	scan := bufio.NewScanner(s.In)
	scan.Buffer(nil, 1<<20)
	for scan.Scan() {
		line := strings.TrimSpace(scan.Text())
		if line == "" {
			continue
		}
		if !strings.HasPrefix(line, "{") {
			return line, nil
		}
		var object struct{ URI string }
		if err := json.Unmarshal([]byte(line), &object); err != nil || object.URI == "" {
			return "", fault.Errorf(fault.Usage, "", "--%s -: standard input has no \"uri\"", flag)
		}
		return object.URI, nil
	}
	if err := scan.Err(); err != nil {
		return "", fmt.Errorf("--%s -: reading standard input: %w", flag, err)
	}
	return "", fault.Errorf(fault.Usage, "the previous command in the pipe printed no dataset; check whether it failed",
		"--%s -: standard input is empty", flag)
}
