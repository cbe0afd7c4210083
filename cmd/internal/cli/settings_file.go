package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/rollmill/rollmill/stages/plugin"
)

// Setting is one value or several, as text.
type Setting struct {
	Values []string
	List   bool   // written as one
	Where  string // source, for errors: rollmill.yaml:12, --set, or the variable's name
}

// Settings maps sections to keys to values.
type Settings map[string]map[string]Setting

// Add stores a setting.
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
func (a *App) parse(path string, data []byte, schema map[string][]*option, lookup func(string) (string, bool)) (Settings,
	map[string]Expansion, error) {
	p := &parser{app: a, name: filepath.Base(path), lookup: lookup, schema: schema, out: Settings{},
		expanded: map[string]Expansion{}}
	root, err := p.document(data)
	if err != nil || root == nil {
		return nil, nil, err
	}
	return p.out, p.expanded, p.top(root)
}

type parser struct {
	app    *App
	name   string
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

func (p *parser) at(n *yaml.Node) string { return fmt.Sprintf("%s:%d", p.name, n.Line) }

// document returns the root node of the only document, or nil if it is empty.
func (p *parser) document(data []byte) (*yaml.Node, error) {
	loader, err := yaml.NewLoader(strings.NewReader(string(data)))
	if err != nil {
		return nil, err
	}
	var doc, second yaml.Node
	switch err := loader.Load(&doc); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, p.broken(err)
	}
	if err := loader.Load(&second); !errors.Is(err, io.EOF) {
		return nil, Usagef("", "%s: more than one document", p.name)
	}
	root := resolve(&doc)
	if root.Kind == yaml.DocumentNode && len(root.Content) == 1 {
		root = resolve(root.Content[0])
	}
	if empty(root) {
		return nil, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, Usagef("", "%s: not a mapping of sections", p.at(root))
	}
	return root, nil
}

// broken returns a usage error with the line at which YAML parsing failed.
func (p *parser) broken(err error) error {
	var at *yaml.LoadError
	if !errors.As(err, &at) {
		return Usagef("", "%s: %w", p.name, err)
	}
	line := at.Mark.Line
	// a quote or bracket begins there; a block's first line is not at fault
	if at.ContextMark.Line > 0 && !strings.Contains(at.ContextMsg, "block") {
		line = at.ContextMark.Line
	}
	return Usagef("look for a wrong indentation, a tab, or an unclosed quote or bracket", "%s:%d: not YAML: %s", p.name,
		line, at.Message)
}

func (p *parser) top(root *yaml.Node) error {
	return p.pairs(root, func(key, value *yaml.Node) error {
		if key.Value == "" || p.schema[key.Value] == nil {
			if value.Kind == yaml.MappingNode {
				return p.app.checkKey(p.at(key), key.Value, "", p.schema)
			}
			return p.add("", key, value)
		}
		if empty(value) {
			return nil
		}
		if value.Kind != yaml.MappingNode {
			return Usagef("", "%s: section %s is not a mapping", p.at(value), key.Value)
		}
		return p.pairs(value, func(k, v *yaml.Node) error { return p.add(key.Value, k, v) })
	})
}

// pairs calls f for each pair of a mapping and refuses a duplicate key.
func (p *parser) pairs(n *yaml.Node, f func(key, value *yaml.Node) error) error {
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := resolve(n.Content[i]), resolve(n.Content[i+1])
		if key.Kind != yaml.ScalarNode {
			return Usagef("", "%s: a key must be a word", p.at(key))
		}
		if line, ok := seen[key.Value]; ok {
			return Usagef("", "%s: %q is already set on line %d", p.at(key), key.Value, line)
		}
		seen[key.Value] = key.Line
		if err := f(key, value); err != nil {
			return err
		}
	}
	return nil
}

// add stores one setting. A key without a value is treated as absent.
func (p *parser) add(section string, key, value *yaml.Node) error {
	if err := p.app.checkKey(p.at(key), section, key.Value, p.schema); err != nil {
		return err
	}
	if empty(value) {
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
	st := Setting{Where: p.at(n)}
	var err error
	add := func(prefix string, n *yaml.Node) error {
		if n.Kind != yaml.ScalarNode {
			return Usagef("", "%s: a value must be text, a number, true or false", p.at(n))
		}
		text, err := p.expand(n)
		st.Values = append(st.Values, prefix+text)
		return err
	}
	switch n.Kind {
	case yaml.SequenceNode:
		st.List = true
		for i := 0; err == nil && i < len(n.Content); i++ {
			err = add("", resolve(n.Content[i]))
		}
	case yaml.MappingNode:
		st.List = true
		err = p.pairs(n, func(k, v *yaml.Node) error {
			if !object {
				return add(k.Value+"=", v)
			}
			text, err := p.json(v)
			st.Values = append(st.Values, k.Value+"="+text)
			return err
		})
	default:
		err = add("", n)
	}
	return st, err
}

// json returns a node as JSON, after it expands environment variables.
func (p *parser) json(n *yaml.Node) (string, error) {
	if err := p.expandAll(n); err != nil {
		return "", err
	}
	var v any
	if err := n.Load(&v); err != nil {
		return "", Usagef("", "%s: %w", p.at(n), err)
	}
	data, err := json.Marshal(v)
	if err != nil {
		return "", Usagef("", "%s: %w", p.at(n), err)
	}
	return string(data), nil
}

// expandAll expands every scalar below a node. An unquoted scalar may become a
// number.
func (p *parser) expandAll(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode && reference.MatchString(n.Value) {
		text, err := p.expand(n)
		if n.Value = text; n.Style == 0 {
			n.Tag = ""
		}
		return err
	}
	for _, inner := range n.Content {
		if err := p.expandAll(resolve(inner)); err != nil {
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
			err = Usagef("write the text itself, or take it from the examples' fields; $${ is a literal ${",
				"%s: %s takes no %s: rows hold this text as the model read it", p.at(n), p.key, ref)
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
			err = Usagef("set it in the environment, or write ${"+name+":-default}", "%s: ${%s} is not set", p.at(n), name)
		}
		return fallback
	})
	return text, err
}

func resolve(n *yaml.Node) *yaml.Node {
	for i := 0; n.Kind == yaml.AliasNode && n.Alias != nil && i < 100; i++ {
		n = n.Alias
	}
	return n
}

func empty(n *yaml.Node) bool {
	return n.Kind == 0 || n.Kind == yaml.ScalarNode && n.Tag == "!!null"
}
