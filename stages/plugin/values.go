package plugin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/kballard/go-shellquote"
	"go.yaml.in/yaml/v4"
)

var errKeyValue = errors.New("write it as KEY=VALUE")

// Objects declares KEY=VALUE texts with typed values, parsed as YAML. The field
// is nil until one is given.
func (d *Declarer) Objects(p *map[string]any, name, help string) *Setting {
	return d.keyValues(Object, name, help, func() any { return *p }, func(list [][2]string) error {
		*p = nil
		for _, kv := range list {
			if *p == nil {
				*p = map[string]any{}
			}
			(*p)[kv[0]] = typed(kv[1])
		}
		return nil
	})
}

// typed returns the YAML value of a text, or the text itself.
func typed(text string) any {
	var v any
	if err := yaml.Load([]byte(text), &v); err != nil || v == nil && text != "null" {
		return text
	}
	return v
}

// Into declares KEY=VALUE texts that fill the fields of a struct by their yaml
// tags. Unknown keys are left to the struct's own reading.
func Into[T any](d *Declarer, p *T, name, help string) *Setting {
	s := d.add(name, help, Object, func() any { return *p }, func(texts []string) error {
		out := *p
		for _, text := range texts {
			key, value, err := keyValue(text)
			if err != nil {
				return err
			}
			data, err := yaml.Dump(map[string]any{key: typed(value)})
			if err == nil {
				err = yaml.Load(data, &out)
			}
			if err != nil {
				return fmt.Errorf("%q: %w", text, err)
			}
		}
		*p = out
		return nil
	})
	s.Repeats = true
	return s
}

// KeyValues declares NAME=VALUE texts. The field is nil until one is given.
func (d *Declarer) KeyValues(p *map[string]string, name, help string) *Setting {
	return d.keyValues(Text, name, help, func() any { return *p }, func(list [][2]string) error {
		out := map[string]string{}
		for _, kv := range list {
			out[kv[0]] = kv[1]
		}
		*p = out
		return nil
	})
}

// Lists declares NAME=VALUE texts in which a name may have several values.
func (d *Declarer) Lists(p *map[string][]string, name, help string) *Setting {
	return d.keyValues(Text, name, help, func() any { return *p }, func(list [][2]string) error {
		out := map[string][]string{}
		for _, kv := range list {
			out[kv[0]] = append(out[kv[0]], kv[1])
		}
		*p = out
		return nil
	})
}

func (d *Declarer) keyValues(t Type, name, help string, get func() any, keep func([][2]string) error) *Setting {
	s := d.add(name, help, t, get, func(texts []string) error {
		var list [][2]string
		for _, text := range texts {
			key, value, err := keyValue(text)
			if err != nil {
				return err
			}
			list = append(list, [2]string{key, value})
		}
		return keep(list)
	})
	s.Repeats = true
	return s
}

func keyValue(text string) (key, value string, err error) {
	key, value, ok := strings.Cut(text, "=")
	if !ok || key == "" {
		return "", "", fmt.Errorf("%q: %w", text, errKeyValue)
	}
	return key, value, nil
}

// Words declares a program and its arguments, split as a shell would.
func (d *Declarer) Words(p *[]string, name, help string) *Setting {
	return scalar(d, p, name, help, Text, splitWords)
}

func splitWords(text string) ([]string, error) {
	words, err := shellquote.Split(text)
	if err != nil {
		return nil, fmt.Errorf("%q: %w; quote the words as in a shell", text, err)
	}
	return words, nil
}

// File declares a field that load reads from the content of the file which the setting names.
func File[T any](d *Declarer, p *T, name, help string, load func(path string, data []byte) (T, error)) *Setting {
	return FileOr(d, p, name, help, nil, load)
}

// FileOr is File with words that stand for values. A file of such a name is ./WORD.
func FileOr[T any](d *Declarer, p *T, name, help string, words map[string]T,
	load func(path string, data []byte) (T, error)) *Setting {
	return scalar(d, p, name, help, Text, func(path string) (none T, err error) {
		if value, is := words[path]; is {
			return value, nil
		}
		data, err := ReadFile(context.Background(), path) // as for Key
		if err != nil {
			return none, err
		}
		return load(path, data)
	})
}

// JSONObjects declares a list of JSON objects.
func (d *Declarer) JSONObjects(p *[]map[string]any, name, help string) *Setting {
	return List(d, p, name, help, func(text string) (map[string]any, error) {
		var one map[string]any
		if err := json.Unmarshal([]byte(text), &one); err != nil || one == nil {
			return nil, fmt.Errorf("%q is not a JSON object, such as {\"type\":\"wandb\"}", text)
		}
		return one, nil
	})
}
