package schema

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
)

// MarksKey is the key of Marks in the metadata of a part's footer.
const MarksKey = "rollmill"

// Marks is what a part records about its columns, as JSON in its footer. From
// it a reader of an older minor version knows how to digest columns that it
// does not know, and a reader of a newer version knows which columns must be
// there.
type Marks struct {
	Schema   string   `json:"schema"`             // SchemaVersion of the writer
	Volatile []string `json:"volatile,omitempty"` // paths as in Columns
	Payload  []string `json:"payload,omitempty"`  // columns of the row that payload_digest covers
}

// MarksOf returns the marks of a row type as JSON.
func MarksOf(row reflect.Type) string {
	m := Marks{Schema: Version}
	m.add("", row)
	text, _ := json.Marshal(m) // it has only strings
	return string(text)
}

func (m *Marks) add(prefix string, t reflect.Type) {
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

// ParseMarks parses what MarksOf returned. The marks of a file without any are
// zero.
func ParseMarks(text string) (m Marks, err error) {
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
