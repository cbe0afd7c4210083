package cli

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/rollmill/rollmill/formats/yamldoc"
	"github.com/rollmill/rollmill/stages/plugin"
)

// Setting is one value or several, as text; none of a key without a value.
type Setting struct {
	Values []string
	List   bool   // written as one
	Where  string // source, for errors: rollmill.yaml:12, --set, or the variable's name
}

// Settings maps sections to keys to values.
type Settings map[string]map[string]Setting

func (s Settings) Add(section, key string, st Setting) {
	if s[section] == nil {
		s[section] = map[string]Setting{}
	}
	s[section][key] = st
}

// Expansion is the value that the file took from an environment variable.
type Expansion struct {
	Value  string
	Public bool // also used in a setting that is meant to be written into rows
}

// parse reads a config file: global and shared keys, and a section per
// command. Every value stays text until its flag parses it. parse also returns
// the values of the environment variables that the file used, by name, even when
// it returns an error. Errors are usage errors that name the file and line.
func (a *App) parse(path string, data []byte, schema map[string][]*option,
	lookup func(string) (string, bool)) (Settings,
	map[string]Expansion, error) {
	p := &parser{app: a, lookup: lookup, schema: schema, out: Settings{}, expanded: map[string]Expansion{}}
	p.File = yamldoc.File{Name: filepath.Base(path), Fail: func(place, hint, what string) error {
		return Usagef(hint, "%s: %s", place, what)
	}}
	root, err := p.Root(data)
	if err != nil {
		return nil, nil, err
	}
	return p.out, p.expanded, p.top(root)
}

type parser struct {
	yamldoc.File
	app    *App
	lookup func(string) (string, bool)
	schema map[string][]*option
	out    Settings

	key      string // the key being read
	expanded map[string]Expansion
}

// is reports whether the option of a key has a property, in any section.
func (p *parser) is(key string, property func(*option) bool) bool {
	for _, options := range p.schema {
		if o := optionNamed(options, key); o != nil && property(o) {
			return true
		}
	}
	return false
}

func (p *parser) top(root *yaml.Node) error {
	return p.each(root, func(key, value *yaml.Node) error {
		if key.Value == "" || p.schema[key.Value] == nil {
			if value.Kind == yaml.MappingNode && !slices.Contains(p.app.Shared, key.Value) {
				return p.app.checkKey(p.At(key), key.Value, "", p.schema)
			}
			return p.add("", key, value)
		}
		if yamldoc.Null(value) {
			return nil
		}
		if value.Kind != yaml.MappingNode {
			return p.Refuse(value, "", "section %s is not a mapping", key.Value)
		}
		return p.each(value, func(k, v *yaml.Node) error { return p.add(key.Value, k, v) })
	})
}

// each calls f for each pair of a mapping.
func (p *parser) each(n *yaml.Node, f func(key, value *yaml.Node) error) error {
	entries, err := p.Entries(n)
	for i := 0; err == nil && i < len(entries); i++ {
		err = f(entries[i].Key, entries[i].Value)
	}
	return err
}

func (p *parser) add(section string, key, value *yaml.Node) error {
	if err := p.app.checkKey(p.At(key), section, key.Value, p.schema); err != nil {
		return err
	}
	if yamldoc.Null(value) {
		p.out.Add(section, key.Value, Setting{Where: p.At(value)})
		return nil
	}
	p.key = key.Value
	object := p.is(key.Value, func(o *option) bool { return o.Type == plugin.Object })
	st, err := p.setting(value, object)
	if err != nil {
		return err
	}
	p.out.Add(section, key.Value, st)
	return nil
}

// setting converts a node to text values. The node is a scalar, a list of
// scalars, or a mapping of scalars, which becomes a list of KEY=VALUE. The
// values of an object may have any type; they become JSON.
func (p *parser) setting(n *yaml.Node, object bool) (Setting, error) {
	st := Setting{Where: p.At(n)}
	var err error
	add := func(prefix string, n *yaml.Node) error {
		if n.Kind != yaml.ScalarNode {
			return p.Refuse(n, "", "a value must be text, a number, true or false")
		}
		text, err := p.expand(n)
		st.Values = append(st.Values, prefix+text)
		return err
	}
	switch n.Kind {
	case yaml.SequenceNode:
		st.List = true
		for i := 0; err == nil && i < len(n.Content); i++ {
			err = add("", n.Content[i])
		}
	case yaml.MappingNode:
		st.List = true
		err = p.each(n, func(k, v *yaml.Node) error {
			if !object {
				return add(k.Value+"=", v)
			}
			text, err := p.json(k.Value, v)
			st.Values = append(st.Values, k.Value+"="+text)
			return err
		})
	default:
		err = add("", n)
	}
	return st, err
}

// json returns the node of an object's key as JSON, after it expands environment variables.
func (p *parser) json(key string, n *yaml.Node) (string, error) {
	if err := p.expandAll(n); err != nil {
		return "", err
	}
	var v any
	if err := n.Load(&v); err != nil {
		return "", p.Refuse(n, "", "%v", err)
	}
	data, err := json.Marshal(v)
	if err != nil {
		return "", p.Refuse(n, "", "%s: %q: %s", p.key, key, strings.TrimPrefix(err.Error(), "json: "))
	}
	return string(data), nil
}

// expandAll expands every scalar below a node. An unquoted scalar may become a number.
func (p *parser) expandAll(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode && reference.MatchString(n.Value) {
		text, err := p.expand(n)
		if n.Value = text; n.Style == 0 {
			n.Tag = ""
		}
		return err
	}
	for _, inner := range n.Content {
		if err := p.expandAll(inner); err != nil {
			return err
		}
	}
	return nil
}

var reference = regexp.MustCompile(`\$?\$\{[^}]*\}`)

// expand replaces references to environment variables: ${NAME}, or
// ${NAME:-default}. $${ is a literal ${.
func (p *parser) expand(n *yaml.Node) (string, error) {
	var err error
	text := reference.ReplaceAllStringFunc(n.Value, func(ref string) string {
		if strings.HasPrefix(ref, "$$") {
			return ref[1:]
		}
		if p.is(p.key, func(o *option) bool { return o.Prompt }) {
			err = p.Refuse(n, "write the text itself, or take it from the examples' fields; $${ is a literal ${",
				"%s takes no %s: rows hold this text as the model read it", p.key, ref)
			return ""
		}
		name, fallback, hasDefault := strings.Cut(ref[2:len(ref)-1], ":-")
		if v, ok := p.lookup(name); ok && (v != "" || !hasDefault) {
			if v != "" {
				public := p.is(p.key, func(o *option) bool { return o.Public })
				p.expanded[name] = Expansion{v, p.expanded[name].Public || public}
			}
			return v
		}
		if !hasDefault {
			err = p.Refuse(n, "set it in the environment, or write ${"+name+":-default}", "${%s} is not set", name)
		}
		return fallback
	})
	return text, err
}
