package plugin

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Variable is a field that an environment variable fills, without a flag: a
// key, or a variable that the clients of a service read, too.
type Variable struct {
	Name   string
	Secret bool

	field *string
}

// Set fills the field.
func (v Variable) Set(text string) { *v.field = text }

// Variable declares a field that an environment variable fills.
func (d *Declarer) Variable(p *string, name string) {
	d.variables = append(d.variables, Variable{Name: name, field: p})
}

// SecretVariable is Variable for a key. The value is never written anywhere.
func (d *Declarer) SecretVariable(p *string, name string) {
	d.variables = append(d.variables, Variable{Name: name, Secret: true, field: p})
}

// Variables returns the environment variables that fill fields of settings,
// including keys, and of all plug-ins that they choose among.
func Variables(s Settings) []Variable { return declare(s).variables }

// Key declares a key that is in the file which the setting names, or else in
// the first of the environment variables that is set. Resolve fills the field.
func (d *Declarer) Key(p *string, name, help string, variables ...string) *Setting {
	path := ""
	s := d.String(&path, name, help)
	s.key = &key{field: p, file: &path, variables: variables}
	for _, v := range variables {
		d.SecretVariable(new(string), v) // Resolve looks it up
	}
	return s
}

type key struct {
	field, file *string
	variables   []string
}

// Resolve fills the field of a setting that was declared with Key, and returns the key and its
// source; "" for other settings. The error says what is wrong with the file.
func (s *Setting) Resolve(lookup func(string) (string, bool)) (value, from string, err error) {
	if s.key == nil {
		return "", "", nil
	}
	if path := *s.key.file; path != "" {
		data, err := ReadFile(context.Background(), path) // a signal ends the process while settings are read
		if err != nil {
			return "", "", fmt.Errorf("--%s: %w", s.Name, err)
		}
		value, from = strings.TrimSpace(string(data)), s.Name
		if value == "" {
			return "", "", fmt.Errorf("--%s %q is empty", s.Name, path)
		}
	}
	for _, v := range s.key.variables {
		if text, ok := lookup(v); ok && value == "" {
			value, from = text, v
		}
	}
	*s.key.field = value
	return value, from, nil
}

// SecretVariables returns the names of the variables that hold keys, each once.
func SecretVariables(s Settings) []string {
	var names []string
	for _, v := range Variables(s) {
		if v.Secret && !slices.Contains(names, v.Name) {
			names = append(names, v.Name)
		}
	}
	return names
}
