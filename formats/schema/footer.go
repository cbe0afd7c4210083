package schema

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
)

// FooterKey is the key of a Footer in the metadata of a part's footer.
const FooterKey = "rollmill"

// Footer is what a part records about its columns, as JSON. From it a reader of a newer version
// knows which columns must be there, and any other program how to digest the rows.
type Footer struct {
	Schema   string   `json:"schema"`             // SchemaVersion of the writer
	Volatile []string `json:"volatile,omitempty"` // paths as in Columns
	Payload  []string `json:"payload,omitempty"`  // columns of the row that payload_digest covers
}

// FooterOf returns the Footer of a row type as JSON.
func FooterOf(row reflect.Type) string {
	m := Footer{Schema: Version}
	m.add("", row)
	text, _ := json.Marshal(m) // it has only strings
	return string(text)
}

func (m *Footer) add(prefix string, t reflect.Type) {
	for _, f := range FieldsOf(t) {
		if f.Payload {
			m.Payload = append(m.Payload, prefix+f.Name)
		}
		inner := f.Type
		if inner.Kind() == reflect.Slice {
			inner = inner.Elem()
		}
		if f.Volatile {
			m.Volatile = append(m.Volatile, prefix+f.Name)
		} else if inner.Kind() == reflect.Struct {
			m.add(prefix+f.Name+".", inner)
		}
	}
}

// ParseFooter parses what FooterOf returned. It is zero for a file without one.
func ParseFooter(text string) (m Footer, err error) {
	if text != "" {
		err = json.Unmarshal([]byte(text), &m)
	}
	return m, err
}

// Missing returns a column that rows of a kind have in a version of the schema
// and that is not among a file's columns; "" when none is missing.
func Missing(kind Kind, schema string, have []string) string {
	there := make(map[string]bool, len(have))
	for _, name := range have {
		there[name] = true
	}
	for _, c := range Columns(kind) {
		if !there[c.Path] && !Newer(c.Since, schema) {
			return c.Path
		}
	}
	return ""
}

// Newer reports whether schema version a is a later minor version than b.
func Newer(a, b string) bool { return minor(a) > minor(b) }

func minor(version string) int {
	_, text, _ := strings.Cut(version, ".")
	n, _ := strconv.Atoi(text)
	return n
}
