package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
	"go.yaml.in/yaml/v4"
)

// parseConfig reads a config file: global and shared keys, and a section per
// command. Every value stays text until its flag reads it. What came out of
// environment variables is returned by name, too.
func parseConfig(path string, data []byte, lookup func(string) (string, bool)) (settings map[string]map[string]setting, expanded map[string]expansion, err error) {
	p := &configParser{name: filepath.Base(path), lookup: lookup, schema: schema(), out: map[string]map[string]setting{}, expanded: map[string]expansion{}}
	root, err := p.document(data)
	if err != nil || root == nil {
		return nil, nil, err
	}
	return p.out, p.expanded, p.top(root)
}

type configParser struct {
	name   string
	lookup func(string) (string, bool)
	schema map[string][]cli.Flag
	out    map[string]map[string]setting

	key      string // being read
	expanded map[string]expansion
}

// expansion is what the config file took from an environment variable.
type expansion struct {
	value  string
	public bool // also the value of a setting that is written into rows by intent
}

// publicKey reports whether a setting is written into rows by intent.
func publicKey(key string) bool {
	return strings.HasSuffix(key, "model") || slices.Contains([]string{"run", "root", "in", "out", "examples", "policy", "system", "user", "request"}, key)
}

func (p *configParser) at(n *yaml.Node) string { return fmt.Sprintf("%s:%d", p.name, n.Line) }

// document returns the one document's node, nil when it is empty.
func (p *configParser) document(data []byte) (*yaml.Node, error) {
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
		return nil, usage("", "%s: more than one document", p.name)
	}
	root := resolve(&doc)
	if root.Kind == yaml.DocumentNode && len(root.Content) == 1 {
		root = resolve(root.Content[0])
	}
	if empty(root) {
		return nil, nil
	}
	if root.Kind != yaml.MappingNode {
		return nil, usage("", "%s: not a mapping of sections", p.at(root))
	}
	return root, nil
}

// broken says where a file stops being YAML.
func (p *configParser) broken(err error) error {
	var at *yaml.LoadError
	if !errors.As(err, &at) {
		return usage("", "%s: %w", p.name, err)
	}
	line := at.Mark.Line
	if at.ContextMark.Line > 0 {
		line = at.ContextMark.Line
	}
	return usage("look for a quote or bracket left open, or a tab", "%s:%d: not YAML: %s", p.name, line, at.Message)
}

func (p *configParser) top(root *yaml.Node) error {
	return p.pairs(root, func(key, value *yaml.Node) error {
		if _, ok := p.schema[key.Value]; !ok || key.Value == "" {
			if value.Kind == yaml.MappingNode {
				return checkKey(p.at(key), key.Value, "", p.schema)
			}
			return p.add("", key, value)
		}
		if empty(value) {
			return nil
		}
		if value.Kind != yaml.MappingNode {
			return usage("", "%s: section %s is not a mapping", p.at(value), key.Value)
		}
		return p.pairs(value, func(k, v *yaml.Node) error { return p.add(key.Value, k, v) })
	})
}

// pairs walks a mapping, refusing a key that comes twice.
func (p *configParser) pairs(n *yaml.Node, f func(key, value *yaml.Node) error) error {
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := resolve(n.Content[i]), resolve(n.Content[i+1])
		if key.Kind != yaml.ScalarNode {
			return usage("", "%s: a key must be a word", p.at(key))
		}
		if line, ok := seen[key.Value]; ok {
			return usage("", "%s: %q stands already in line %d", p.at(key), key.Value, line)
		}
		seen[key.Value] = key.Line
		if err := f(key, value); err != nil {
			return err
		}
	}
	return nil
}

// add keeps one setting. A key without a value counts as not there.
func (p *configParser) add(section string, key, value *yaml.Node) error {
	if err := checkKey(p.at(key), section, key.Value, p.schema); err != nil {
		return err
	}
	if empty(value) {
		return nil
	}
	p.key = key.Value
	st, err := p.setting(value, slices.Contains(objects, key.Value))
	if err != nil {
		return err
	}
	if p.out[section] == nil {
		p.out[section] = map[string]setting{}
	}
	p.out[section][key.Value] = st
	return nil
}

// setting turns a node into texts: a scalar, a list of scalars, or a mapping
// of scalars, which is a list of KEY=VALUE. The values of an object may be
// anything; they become JSON.
func (p *configParser) setting(n *yaml.Node, object bool) (setting, error) {
	st := setting{where: p.at(n)}
	var err error
	add := func(prefix string, n *yaml.Node) error {
		if n.Kind != yaml.ScalarNode {
			return usage("", "%s: a value must be text, a number, true or false", p.at(n))
		}
		text, err := p.expand(n)
		st.values = append(st.values, prefix+text)
		return err
	}
	switch n.Kind {
	case yaml.SequenceNode:
		st.list = true
		for i := 0; err == nil && i < len(n.Content); i++ {
			err = add("", resolve(n.Content[i]))
		}
	case yaml.MappingNode:
		st.list = true
		err = p.pairs(n, func(k, v *yaml.Node) error {
			if !object {
				return add(k.Value+"=", v)
			}
			text, err := p.json(v)
			st.values = append(st.values, k.Value+"="+text)
			return err
		})
	default:
		err = add("", n)
	}
	return st, err
}

// json writes a node as JSON, environment variables put in.
func (p *configParser) json(n *yaml.Node) (string, error) {
	if err := p.expandAll(n); err != nil {
		return "", err
	}
	var v any
	if err := n.Load(&v); err != nil {
		return "", usage("", "%s: %w", p.at(n), err)
	}
	data, err := json.Marshal(v)
	if err != nil {
		return "", usage("", "%s: %w", p.at(n), err)
	}
	return string(data), nil
}

// expandAll expands every scalar below a node. What stood without quotes may
// become a number.
func (p *configParser) expandAll(n *yaml.Node) error {
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

// expand puts in environment variables: ${NAME}, or ${NAME:-otherwise}. $${
// stands for itself.
func (p *configParser) expand(n *yaml.Node) (string, error) {
	var err error
	text := reference.ReplaceAllStringFunc(n.Value, func(ref string) string {
		if strings.HasPrefix(ref, "$$") {
			return ref[1:]
		}
		name, otherwise, hasOtherwise := strings.Cut(ref[2:len(ref)-1], ":-")
		if v, ok := p.lookup(name); ok && (v != "" || !hasOtherwise) {
			if v != "" {
				p.expanded[name] = expansion{v, p.expanded[name].public || publicKey(p.key)}
			}
			return v
		}
		if !hasOtherwise {
			err = usage("set it in the environment, or write ${"+name+":-otherwise}", "%s: ${%s} is not set", p.at(n), name)
		}
		return otherwise
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
