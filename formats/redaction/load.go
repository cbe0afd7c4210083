package redaction

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/yamldoc"
	"github.com/rollmill/rollmill/storage/fault"
)

// The groups of detectors that a file may name.
const (
	groupKeys     = "keys"
	groupPersonal = "personal"
)

// Detectors returns the names of the built-in detectors with a phrase about
// each: those of keys, then those of personal data.
func Detectors() (out [][2]string) {
	for _, k := range keys {
		if k.help != "" {
			out = append(out, [2]string{k.name, k.help})
		}
	}
	for _, p := range personal {
		out = append(out, [2]string{p.name, p.help})
	}
	return out
}

// Load reads rules from YAML:
//
//	detectors: [keys, email]          # groups (keys, personal) and names
//	patterns:
//	  - {name: employee, regexp: 'E-[0-9]{6}'}
//	fields:
//	  - {path: example.user.email}    # masked
//	  - {path: metadata.host, action: remove}
//	messages:
//	  - {role: system, action: remove}
//	  - {tool: read_file}
//
// name is that of the file, for errors. An error is a fault.Error with
// the line and a hint.
func Load(name string, data []byte) (*Rules, error) {
	l := &loader{r: &Rules{}, File: yamldoc.File{Name: path.Base(name), Fail: func(place, hint, what string) error {
		return fault.Invalid(place, hint, nil, "%s", what)
	}}}
	root, err := l.Root(data)
	if err != nil {
		return nil, err
	}
	sections := map[string]func(*yaml.Node) error{"detectors": l.detectors, "patterns": l.patterns, "fields": l.fields,
		"messages": l.messages}
	nodes, err := l.mapping(root, []string{"detectors", "patterns", "fields", "messages"})
	if err != nil {
		return nil, err
	}
	for _, section := range []string{"detectors", "patterns", "fields", "messages"} {
		node := nodes[section]
		if node == nil {
			continue
		}
		if node.Kind != yaml.SequenceNode {
			return nil, l.Refuse(node, "write "+section+": and below it lines that begin with a hyphen",
				"%s is not a list", section)
		}
		for _, item := range node.Content {
			if err := sections[section](item); err != nil {
				return nil, err
			}
		}
	}
	return l.finish(root)
}

type loader struct {
	yamldoc.File
	r      *Rules
	on     map[string]bool // detectors
	custom []finder
	names  []string
}

// mapping returns the values of a mapping by key, and refuses unknown ones.
func (l *loader) mapping(n *yaml.Node, known []string) (map[string]*yaml.Node, error) {
	if n.Kind != yaml.MappingNode {
		return nil, l.Refuse(n, "write KEY: VALUE with the keys "+strings.Join(known, ", "), "not a mapping")
	}
	entries, err := l.Entries(n)
	out := map[string]*yaml.Node{}
	for _, p := range entries {
		if !slices.Contains(known, p.Key.Value) {
			return nil, l.Refuse(p.Key, "the keys are "+strings.Join(known, ", "), "unknown key %q", p.Key.Value)
		}
		out[p.Key.Value] = p.Value
	}
	return out, err
}

// texts returns the values of a mapping of texts.
func (l *loader) texts(n *yaml.Node, known ...string) (map[string]string, error) {
	nodes, err := l.mapping(n, known)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for key, value := range nodes {
		if value.Kind != yaml.ScalarNode || value.Value == "" {
			return nil, l.Refuse(value, "", "%s must be a text", key)
		}
		out[key] = value.Value
	}
	return out, nil
}

func (l *loader) detectors(n *yaml.Node) error {
	var names []string
	for _, d := range Detectors() {
		names = append(names, d[0])
	}
	if l.on == nil {
		l.on = map[string]bool{}
	}
	on := []string{n.Value}
	switch {
	case n.Value == groupKeys:
		on = names[:len(names)-len(personal)]
	case n.Value == groupPersonal:
		on = names[len(names)-len(personal):]
	case n.Kind != yaml.ScalarNode || !slices.Contains(names, n.Value):
		return l.Refuse(n, "the detectors are "+strings.Join(names, ", ")+"; keys and personal are all of one sort",
			"no detector %q", n.Value)
	}
	for _, name := range on {
		l.on[name] = true
	}
	return nil
}

var nameForm = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]*$`)

func (l *loader) patterns(n *yaml.Node) error {
	v, err := l.texts(n, "name", "regexp")
	if err != nil {
		return err
	}
	re, err := regexp.Compile(v["regexp"])
	switch {
	case !nameForm.MatchString(v["name"]):
		return l.Refuse(n, "name it with small letters, digits, - and _: it is written into the rows",
			"a pattern with the name %q", v["name"])
	case slices.Contains(l.names, v["name"]) ||
		slices.ContainsFunc(Detectors(), func(d [2]string) bool { return d[0] == v["name"] }):
		return l.Refuse(n, "give it another name", "the name %q is that of another pattern or of a detector", v["name"])
	case v["regexp"] == "":
		return l.Refuse(n, "add regexp: 'EXPRESSION'", "the pattern %q has no regexp", v["name"])
	case err != nil:
		return l.Refuse(n, "the syntax is that of RE2 (https://github.com/google/re2/wiki/Syntax); put it in single quotes",
			"the pattern %q: %v", v["name"], err)
	case re.MatchString(""):
		return l.Refuse(n, "require at least one character", "the pattern %q matches the empty text", v["name"])
	}
	l.names = append(l.names, v["name"])
	l.custom = append(l.custom, pattern(v["name"], len(keys)+len(personal)+len(l.custom), re))
	l.r.canonical.Patterns = append(l.r.canonical.Patterns, [2]string{v["name"], v["regexp"]})
	return nil
}

const removes = "remove"

// action returns what a rule does: it masks, the default, or removes.
func (l *loader) action(n *yaml.Node, v map[string]string) (string, error) {
	action := cmp.Or(v["action"], "mask")
	if action != "mask" && action != removes {
		return "", l.Refuse(n, "the actions are mask and remove", "no action %q", action)
	}
	return action, nil
}

func (l *loader) fields(n *yaml.Node) error {
	v, err := l.texts(n, "path", "action")
	if err != nil {
		return err
	}
	action, err := l.action(n, v)
	if err != nil {
		return err
	}
	parts := strings.Split(v["path"], ".")
	f := field{path: parts[1:], name: v["path"], remove: action == removes,
		put: string(jsontext.AppendString(nil, mark(v["path"])))}
	switch {
	case len(f.path) == 0 || slices.Contains(f.path, "") || parts[0] != "example" && parts[0] != "metadata":
		return l.Refuse(n, "write example.KEY.KEY or metadata.KEY; * stands for every key, and for every element of a list",
			"no field %q", v["path"])
	case parts[0] == "example":
		l.r.example = append(l.r.example, f)
	default:
		l.r.meta = append(l.r.meta, f)
	}
	l.r.canonical.Fields = append(l.r.canonical.Fields, [2]string{v["path"], action})
	return nil
}

func (l *loader) messages(n *yaml.Node) error {
	v, err := l.texts(n, "role", "tool", "action")
	if err != nil {
		return err
	}
	action, err := l.action(n, v)
	if err != nil {
		return err
	}
	m := message{role: v["role"], tool: v["tool"]}
	if m.name = m.role; m.role == "" {
		m.name = "tool " + m.tool
	}
	if (m.role == "") == (m.tool == "") {
		return l.Refuse(n, "write role: system, or tool: NAME for the results of a tool",
			"messages are named by a role or by a tool")
	}
	if action != removes {
		m.put = mark(m.name)
	}
	l.r.roles = append(l.r.roles, m)
	l.r.canonical.Messages = append(l.r.canonical.Messages, [3]string{m.role, m.tool, action})
	return nil
}

func (l *loader) finish(root *yaml.Node) (*Rules, error) {
	r := l.r
	var on []*key
	for i := range keys {
		if l.on[keys[i].name] {
			if on = append(on, &keys[i]); keys[i].help != "" {
				r.canonical.Detectors = append(r.canonical.Detectors, keys[i].name)
			}
		}
	}
	if len(on) > 0 {
		r.finders = append(r.finders, newScanner(on).find)
	}
	r.plain = true
	for i, p := range personal {
		if l.on[p.name] {
			r.plain = false
			r.finders = append(r.finders, func(dst []span, text string) []span {
				p.find(text, func(from, to int) { dst = append(dst, span{from, to, p.name, len(keys) + i}) })
				return dst
			})
			r.canonical.Detectors = append(r.canonical.Detectors, p.name)
		}
	}
	r.names = slices.Concat(r.canonical.Detectors, l.names)
	for _, f := range slices.Concat(r.example, r.meta) {
		r.names = append(r.names, f.name)
	}
	for _, m := range r.roles {
		r.names = append(r.names, m.name)
	}
	r.plain = r.plain && len(l.custom) == 0
	r.finders = append(r.finders, l.custom...)
	if r.canonical.Version = version; len(r.finders)+len(r.example)+len(r.meta)+len(r.roles) == 0 {
		return nil, l.Refuse(root, "switch detectors on (detectors: [keys]), or add patterns, fields or messages",
			"has no rules")
	}
	return r, nil
}
