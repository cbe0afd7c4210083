package plugin

import (
	"errors"
	"fmt"

	"github.com/rollmill/rollmill/storage/fault"
)

// Reason returns the error of Set for people: that the text is not of the
// setting's type, or what the setting itself reports.
func Reason(s *Setting, err error) error {
	var staged *fault.Error
	switch {
	case errors.As(err, &staged):
		return err
	case s.Type == Text || s.Type == Object:
		return err
	}
	return fmt.Errorf("it is not %s", s.Type)
}

// Badf refuses a text, with a hint; the caller adds the setting's name.
func Badf(hint, format string, args ...any) error {
	return badValue{fault.Errorf(fault.Usage, hint, format, args...)}
}

// badValue is not yet a whole message: the name of the setting belongs before it.
type badValue struct{ of *fault.Error }

func (b badValue) Error() string               { return b.of.Error() }
func (b badValue) Fault() (fault.Kind, string) { return b.of.Fault() }
