package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/rollmill/rollmill/formats/secret"
)

// streams are the standard streams and the environment of a command. Tests inject
// their own.
type streams struct {
	in     io.Reader
	out    io.Writer
	stderr *stderr
	lookup func(string) (string, bool)

	environ []string // names of the environment's variables

	secrets *secret.Set // redacted in all that this process writes

	json, quiet bool
	logJSON     bool
	level       slog.Level
}

func newStreams(in io.Reader, out, err io.Writer, lookup func(string) (string, bool)) *streams {
	terminal := false
	if f, ok := err.(*os.File); ok {
		terminal = term.IsTerminal(int(f.Fd()))
	}
	secrets := knownSecrets(lookup)
	return &streams{in: in, out: out, stderr: &stderr{w: err, terminal: terminal, secrets: secrets}, lookup: lookup, secrets: secrets}
}

// logger returns a logger that writes to stderr in the chosen format.
func (s *streams) logger() *slog.Logger {
	o := &slog.HandlerOptions{Level: s.level}
	if s.logJSON {
		return slog.New(slog.NewJSONHandler(s.stderr, o))
	}
	if s.stderr.terminal {
		o.ReplaceAttr = func(groups []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey && len(groups) == 0 {
				return slog.Attr{}
			}
			return a
		}
	}
	return slog.New(slog.NewTextHandler(s.stderr, o))
}

// result prints the result of a command: one line, for people and for $(…), or
// one JSON object.
func (s *streams) result(line string, object any) error {
	return s.print(object, func(w io.Writer) error {
		_, err := fmt.Fprintln(w, line)
		return err
	})
}

// print writes an object to stdout: as one JSON object with --json, else as text.
// It redacts secrets and escapes control characters.
func (s *streams) print(object any, text func(io.Writer) error) error {
	if s.json {
		data, err := json.Marshal(object)
		if err == nil {
			_, err = fmt.Fprintf(s.out, "%s\n", visibleJSON(string(s.secrets.JSON(data))))
		}
		return err
	}
	var b strings.Builder
	if err := text(&b); err != nil {
		return err
	}
	_, err := io.WriteString(s.out, visible(s.secrets.Redact(b.String())))
	return err
}

// say prints a message on stderr, unless --quiet is set.
func (s *streams) say(format string, args ...any) {
	switch text := fmt.Sprintf(format, args...); {
	case s.quiet:
	case s.logJSON:
		s.logger().Info(text)
	default:
		fmt.Fprintln(s.stderr, text)
	}
}

// fail prints why a command failed, even with --quiet.
func (s *streams) fail(command string, code int, err error) {
	advice, what := hint(err), strings.TrimPrefix(err.Error(), command+": ")
	if s.logJSON {
		attrs := []any{"command", command, "exit", code}
		if advice != "" {
			attrs = append(attrs, "hint", advice)
		}
		s.logger().Error(what, attrs...)
		return
	}
	text := strings.TrimSpace("rollmill "+command) + ": " + what + "\n"
	if advice != "" {
		text += "hint: " + advice + "\n"
	}
	fmt.Fprint(s.stderr, text)
}

// uri returns a flag's value. For "-" it reads the value from stdin: the first
// line that is not empty, or the "uri" of the JSON object that --json printed.
func (s *streams) uri(flag, value string) (string, error) {
	if value != "-" {
		return value, nil
	}
	scan := bufio.NewScanner(s.in)
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
			return "", usage("", "--%s -: standard input has no \"uri\"", flag)
		}
		return object.URI, nil
	}
	if err := scan.Err(); err != nil {
		return "", fmt.Errorf("--%s -: reading standard input: %w", flag, err)
	}
	return "", usage("the previous command in the pipe printed no dataset; check whether it failed", "--%s -: standard input is empty", flag)
}
