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
	var bad badValue
	switch {
	case errors.As(err, &staged), errors.As(err, &bad):
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

func (b badValue) Error() string { return b.of.Error() }

func (b badValue) Fault() (fault.Kind, string) { return b.of.Fault() }

// None is embedded in the Settings of a plug-in without settings of its own.
type None struct{}

// Declare declares nothing.
func (*None) Declare(*Declarer) {}

// NewNone returns the settings of a plug-in that has none.
func NewNone() *None { return &None{} }

// SpecForm returns the setting as it is written in a spec.
func (s *Setting) SpecForm() string {
	if s.whole || s.first {
		return s.Placeholder()
	}
	return s.Name + "=" + s.Placeholder()
}

// FirstInSpec marks the setting that a spec string gives first, without a key.
func (s *Setting) FirstInSpec() *Setting { s.first = true; return s }

// WholeSpec marks the setting that takes a spec's arguments as one text.
func (s *Setting) WholeSpec() *Setting { s.whole = true; return s }

// LastInSpec marks the setting that takes everything after its key, including commas.
func (s *Setting) LastInSpec() *Setting { s.last = true; return s }
