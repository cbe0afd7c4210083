package cli

import (
	"cmp"
	"encoding/json"
	"net/url"
	"regexp"
	"strings"

	"github.com/rollmill/rollmill/stages/plugin"
)

// configName is the name of the schema of the config file among the schemas.
const configName = "config"

// node is a JSON schema, or a part of one.
type node map[string]any

// definitions are what a value of each type may be, as YAML has it: the type's own, or its text; nothing; or a
// variable that the file refers to.
var definitions = node{
	"variable":          node{"type": "string", "pattern": `\$\{[^}]*\}`},
	string(plugin.Text): node{"type": []string{"string", "number", "boolean", "null"}},
	string(plugin.Switch): either(node{"type": []string{"boolean", "null"}},
		node{"enum": []any{0, 1, "0", "1", "t", "f", "T", "F", "true", "false", "TRUE", "FALSE", "True", "False"}}),
	string(plugin.Integer): either(node{"type": []string{"integer", "null"}},
		node{"type": "string", "pattern": `^[+-]?(0[xX][0-9a-fA-F]+|0[oO]?[0-7]+|0[bB][01]+|[0-9]+)$`}),
	string(plugin.Number): either(node{"type": []string{"number", "null"}},
		node{"type": "string", "pattern": `^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$|^[+-]?[iI]nf$`}),
	string(plugin.Duration): either(node{"enum": []any{0, nil}},
		node{"type": "string", "pattern": `^[+-]?(0|([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`}),
	string(plugin.Object): either(node{"type": []string{"object", "null"}}, node{"type": "string", "pattern": "^[^=]+="}),
}

func ref(name string) node { return node{"$ref": "#/$defs/" + url.PathEscape(name)} }

// either returns the schema of a value that one of several describes, or a variable.
func either(schemas ...node) node { return node{"anyOf": append(schemas, ref("variable"))} }

// ConfigSchema returns the JSON schema of the config file, from the declarations of the
// settings. What a setting's own reading refuses, such as a number that is too large or an
// expression, it does not know.
func (a *App) ConfigSchema() string {
	all := a.schema()
	top := a.mapping("", all)
	top["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	top["title"] = "The config file: a section is a command, its keys are the command's flags"
	sections := top["properties"].(node)
	for _, name := range a.sections(all) {
		section := a.mapping(name, all)
		section["type"] = []string{"object", "null"}
		sections[name] = section
	}
	top["$defs"] = definitions
	data, _ := json.MarshalIndent(top, "", " ") // maps and texts
	return string(data) + "\n"
}

// mapping returns the schema of a section's keys.
func (a *App) mapping(section string, all map[string][]*option) node {
	keys := node{}
	for _, name := range a.keys(section, all) {
		o := optionNamed(all[section], name)
		for _, cmd := range a.runnable() { // a shared key is declared by commands
			o = cmp.Or(o, optionNamed(all[cmd.configSection()], name))
		}
		keys[name] = o.valueSchema()
	}
	return node{"type": "object", "additionalProperties": false, "properties": keys}
}

// valueSchema returns the schema of a key's value.
func (o *option) valueSchema() node {
	one := ref(string(o.Type))
	if o.Choices != nil { // a plug-in's name may be followed by its words
		names := strings.Join(each(o.Choices, regexp.QuoteMeta), "|")
		one = either(node{"enum": o.Choices}, node{"type": []string{"string", "null"}, "pattern": "^(" + names + ") *:"})
	}
	if o.Entry != nil {
		one = either(node{"type": []string{"object", "null"}, "additionalProperties": o.Entry}, node{"type": "string", "pattern": "^[^=]+="})
	}
	if o.Least != nil { // of a text only the sign
		one["minimum"], one["pattern"] = *o.Least, "^[^-]"
	}
	value := one
	if o.Repeats {
		value = node{"anyOf": []node{one, {"type": "array", "items": one}}}
		if o.Type == plugin.Text && o.Choices == nil {
			value["anyOf"] = append(value["anyOf"].([]node), node{"type": "object", "additionalProperties": one})
		}
	}
	value["description"] = o.Phrase()
	if o.Default != "" {
		value["description"] = o.Phrase() + " (default: " + o.Default + ")"
	}
	return value
}
