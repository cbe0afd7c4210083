package cli

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"

	"github.com/rollmill/rollmill/stages/plugin"
)

// schemaList returns what `rollmill help schemas` prints: the name and the title
// of each schema.
func (a *App) schemaList() string {
	var b strings.Builder
	b.WriteString("JSON schemas of the messages to and from programs (rollmill help schema NAME prints one):\n")
	for _, name := range namesIn(a.Schemas, ".json") {
		var schema struct{ Title string }
		text, _ := a.schemaText(name)
		_ = json.Unmarshal([]byte(text), &schema) // a schema without a title is still listed
		fmt.Fprintf(&b, "  %-16s  %s\n", name, schema.Title)
	}
	return b.String()
}

// schemaText returns the text of a schema.
func (a *App) schemaText(name string) (string, error) {
	text, err := fs.ReadFile(a.Schemas, name+".json")
	if err != nil {
		names := namesIn(a.Schemas, ".json")
		return "", Usagef(plugin.Nearest(name, names, "schemas are "+strings.Join(names, ", ")),
			"there is no schema %q", name)
	}
	return string(text), nil
}
