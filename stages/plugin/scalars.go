package plugin

import (
	"strconv"
	"strings"
	"time"
)

// String declares a text.
func (d *Declarer) String(p *string, name, help string) *Setting {
	return scalar(d, p, name, help, Text, anyText)
}

// Bool declares a switch.
func (d *Declarer) Bool(p *bool, name, help string) *Setting {
	return scalar(d, p, name, help, Switch, strconv.ParseBool)
}

// Int declares a whole number.
func (d *Declarer) Int(p *int, name, help string) *Setting {
	return scalar(d, p, name, help, Integer, strconv.Atoi)
}

// Int64 declares a whole number of 64 bits.
func (d *Declarer) Int64(p *int64, name, help string) *Setting {
	return scalar(d, p, name, help, Integer, parseInt64)
}

// Float declares a number.
func (d *Declarer) Float(p *float64, name, help string) *Setting {
	return scalar(d, p, name, help, Number, parseFloat)
}

// Duration declares a time.
func (d *Declarer) Duration(p *time.Duration, name, help string) *Setting {
	return scalar(d, p, name, help, Duration, time.ParseDuration)
}

// OptionalString declares a text that is nil until it is given.
func (d *Declarer) OptionalString(p **string, name, help string) *Setting {
	return optional(d, p, name, help, Text, anyText)
}

// OptionalInt declares a whole number that is nil until it is given.
func (d *Declarer) OptionalInt(p **int, name, help string) *Setting {
	return optional(d, p, name, help, Integer, strconv.Atoi)
}

// OptionalInt64 declares a whole number that is nil until it is given.
func (d *Declarer) OptionalInt64(p **int64, name, help string) *Setting {
	return optional(d, p, name, help, Integer, parseInt64)
}

// OptionalFloat declares a number that is nil until it is given.
func (d *Declarer) OptionalFloat(p **float64, name, help string) *Setting {
	return optional(d, p, name, help, Number, parseFloat)
}

// scalar declares a field with one text.
func scalar[T any](d *Declarer, p *T, name, help string, t Type, parse func(string) (T, error)) *Setting {
	var s *Setting
	s = d.add(name, help, t, func() any { return *p }, func(texts []string) error {
		v, err := parse(strings.Join(texts, "\n"))
		if err == nil {
			err = s.check(v)
		}
		if err == nil {
			*p = v
		}
		return err
	})
	return s
}

// optional declares a field that is nil until it is given.
func optional[T any](d *Declarer, p **T, name, help string, t Type, parse func(string) (T, error)) *Setting {
	var s *Setting
	s = d.add(name, help, t, func() any {
		if *p == nil {
			return nil
		}
		return **p
	}, func(texts []string) error {
		v, err := parse(strings.Join(texts, "\n"))
		if err == nil {
			err = s.check(v)
		}
		if err == nil {
			*p = &v
		}
		return err
	})
	s.Optional = true
	return s
}

func anyText(text string) (string, error)     { return text, nil }
func parseInt64(text string) (int64, error)   { return strconv.ParseInt(text, 0, 64) }
func parseFloat(text string) (float64, error) { return strconv.ParseFloat(text, 64) }
