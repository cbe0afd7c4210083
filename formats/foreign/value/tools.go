package value

import (
	"fmt"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// ChatTools returns the definitions of tools as JSON text, "" for none: of an array, or
// of a string that contains one. Functions whose members are not in a "function", as in
// the Responses API, become those of the chat completions API, which is what exports and
// chat templates know. A definition may be JSON text; an empty one is left out.
func ChatTools(v []byte) (string, error) {
	text, err := toolList(v)
	if err != nil || text == "" {
		return "", err
	}
	var out [][]byte
	for tool := range jsontext.Elements([]byte(text)) {
		if inner := []byte(jsontext.Unquote(tool)); len(inner) > 0 && inner[0] == '{' && jsontext.Valid(inner) {
			tool = []byte(jsontext.Compact(inner))
		}
		if string(tool) == "{}" {
			continue
		}
		o := jsontext.ParseObject(tool)
		kind := jsontext.Unquote(o.Get("type"))
		switch {
		case o == nil:
			return "", fmt.Errorf("a tool is %s, not an object", importers.Brief(tool))
		case !o.Has("function") && o.Has("name") && (kind == "function" || kind == ""):
			o.Drop("type")
			tool = jsontext.Object{{Key: "type", Raw: []byte(`"function"`)}, {Key: "function", Raw: o.Bytes()}}.Bytes()
		}
		out = append(out, tool)
	}
	if out == nil {
		return "", nil
	}
	return string(Join(out)), nil
}

// toolList returns the definitions of tools as JSON text: an array as it is, or a
// string that contains one; "" for null and for an empty list.
func toolList(v []byte) (string, error) {
	text := ""
	switch {
	case len(v) == 0 || string(v) == "null":
		return "", nil
	case v[0] == '[':
		text = jsontext.Compact(v)
	case v[0] == '"':
		inner := []byte(jsontext.Unquote(v))
		if len(inner) == 0 {
			return "", nil
		}
		if !jsontext.Valid(inner) || inner[jsontext.Space(inner, 0)] != '[' {
			return "", fmt.Errorf("tools are the text %s, which is not a JSON array", importers.Brief(inner))
		}
		text = jsontext.Compact(inner)
	default:
		return "", fmt.Errorf("tools are %s, neither a list nor JSON text", importers.Brief(v))
	}
	if text == "[]" {
		return "", nil
	}
	return text, nil
}

// Tools is ChatTools of what must be definitions of tools.
func Tools(v []byte) string {
	text, err := ChatTools(v)
	if err != nil {
		importers.Refuse(err)
	}
	return text
}
