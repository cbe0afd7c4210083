package terminal

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/rollmill/rollmill/storage/fault"
)

// Ask asks the user on a terminal and returns the answer, or otherwise if the answer
// is empty. It asks again until check has no error. Without a terminal, and with
// --quiet or --json, it asks nothing and returns otherwise.
func (s *Console) Ask(question, otherwise string, check func(string) error) (string, error) {
	f, ok := s.In.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || s.Quiet || s.JSON {
		return otherwise, nil
	}
	if s.answers == nil {
		s.answers = bufio.NewScanner(f)
	}
	for {
		fmt.Fprintf(s.Stderr, "%s [%s] ", question, otherwise)
		if !s.answers.Scan() {
			return "", fault.Errorf(fault.Usage, "give the answers as flags",
				"no answer: %w", cmp.Or(s.answers.Err(), io.EOF))
		}
		answer := strings.TrimSpace(s.answers.Text())
		if answer == "" {
			return otherwise, nil
		}
		err := check(answer)
		if err == nil {
			return answer, nil
		}
		fmt.Fprintf(s.Stderr, "%v\n", err)
	}
}
