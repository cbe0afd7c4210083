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
	return Entries(d, p, name, help, func(all map[string]any) (map[string]any, error) { return all, nil })
}

// Entries declares a field that parse makes of KEY=VALUE texts with typed values.
func Entries[T any](d *Declarer, p *T, name, help string, parse func(map[string]any) (T, error)) *Setting {
	return pairs(d, p, Object, name, help, func(all map[string]any, key, value string) { all[key] = typed(value) }, parse)
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
	return Entries(d, p, name, help, func(all map[string]any) (T, error) {
		out := *p
		data, err := yaml.Dump(all)
		if err == nil {
			err = yaml.Load(data, &out)
		}
		return out, err
	})
}

// KeyValues declares NAME=VALUE texts. The field is nil until one is given.
func (d *Declarer) KeyValues(p *map[string]string, name, help string) *Setting {
	return pairs(d, p, Text, name, help, func(all map[string]string, key, value string) { all[key] = value },
		func(all map[string]string) (map[string]string, error) { return all, nil })
}

// Lists declares NAME=VALUE texts in which a name may have several values.
func (d *Declarer) Lists(p *map[string][]string, name, help string) *Setting {
	return pairs(d, p, Text, name, help, func(all map[string][]string, key, value string) { all[key] = append(all[key], value) },
		func(all map[string][]string) (map[string][]string, error) { return all, nil })
}

// pairs declares KEY=VALUE texts that add puts into a map, of which parse makes the field.
func pairs[V, T any](d *Declarer, p *T, t Type, name, help string, add func(all map[string]V, key, value string),
	parse func(map[string]V) (T, error)) *Setting {
	s := d.add(name, help, t, func() any { return *p }, func(texts []string) error {
		all := map[string]V{}
		for _, text := range texts {
			key, value, err := keyValue(text)
			if err != nil {
				return err
			}
			add(all, key, value)
		}
		parsed, err := parse(all)
		if err == nil {
			*p = parsed
		}
		return err
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
