package plugin

import (
	"fmt"
	"slices"
	"strings"
)

// Strings declares a list of texts.
func (d *Declarer) Strings(p *[]string, name, help string) *Setting {
	return List(d, p, name, help, anyText)
}

// Value is a field that reads its own text.
type Value interface {
	// Parse reads the texts, one unless the setting repeats. On an error the value is unchanged.
	Parse(texts []string) error
}

// Var declares a field that reads its own text. The identity holds the field itself, as JSON.
func Var[T any, P interface {
	*T
	Value
}](d *Declarer, p P, name, help string) *Setting {
	return d.add(name, help, Text, func() any { return *p }, func(texts []string) error { return p.Parse(texts) })
}

// Choice declares a text that must be one of a closed list, or the field's initial value.
func Choice[T ~string](d *Declarer, p *T, name, help string, choices ...T) *Setting {
	texts, initial := make([]string, len(choices)), *p
	for i, c := range choices {
		texts[i] = string(c)
	}
	s := scalar(d, p, name, help, Text, func(text string) (T, error) {
		if T(text) != initial && !slices.Contains(texts, text) {
			return "", &ChoiceError{Text: text, Choices: texts}
		}
		return T(text), nil
	})
	s.Choices = texts
	return s
}

// ChoiceError is the error of a text that is not in the list.
type ChoiceError struct {
	Text    string
	Choices []string
}

func (e *ChoiceError) Error() string {
	return fmt.Sprintf("%q is not one of %s", e.Text, strings.Join(e.Choices, ", "))
}

// Func declares a setting that is not a field of its own type: get returns the
// value for the identity, and set reads the text.
func (d *Declarer) Func(get func() any, set func(text string) error, name, help string) *Setting {
	return d.add(name, help, Text, get, func(texts []string) error { return set(strings.Join(texts, "\n")) })
}

// List declares a list of texts, each of which parse reads. An empty list is nil, as
// it is before it is given.
func List[T any](d *Declarer, p *[]T, name, help string, parse func(text string) (T, error)) *Setting {
	s := d.add(name, help, Text, func() any { return *p }, func(texts []string) error {
		var out []T
		for _, text := range texts {
			v, err := parse(text)
			if err != nil {
				return err
			}
			out = append(out, v)
		}
		*p = out
		return nil
	})
	s.Repeats = true
	return s
}
