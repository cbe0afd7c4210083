package importers

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats/jsontext"
)

// Metadata collects what a source has and no column holds. Its zero value is empty.
type Metadata struct {
	fields   jsontext.Builder
	messages []*ofMessage
	at       map[int]*ofMessage
}

// ofMessage are the fields of the message with an index.
type ofMessage struct {
	index  int
	fields jsontext.Builder
}

// Grow makes room for n names.
func (m *Metadata) Grow(n int) { m.fields.Object = slices.Grow(m.fields.Object, n) }

// Add keeps a value under its name in the source. null is not kept. A name that
// was added before gets the new value.
func (m *Metadata) Add(name string, value []byte) {
	if len(value) > 0 && string(value) != "null" {
		m.fields.Set(name, value)
	}
}

// OfMessage keeps a value of the message with an index, in the field "message_fields".
func (m *Metadata) OfMessage(index int, name string, value []byte) {
	of := m.at[index]
	if of == nil {
		if of = (&ofMessage{index: index}); m.at == nil {
			m.at = map[int]*ofMessage{}
		}
		m.at[index] = of
		m.messages = append(m.messages, of)
	}
	of.fields.Set(name, value)
}

// Keep is OfMessage for a value that is there and not null.
func (m *Metadata) Keep(index int, name string, value []byte) {
	if len(value) > 0 && string(value) != "null" {
		m.OfMessage(index, name, value)
	}
}

// AddRest adds the members of an object but for those with a column.
func (m *Metadata) AddRest(o jsontext.Object, columns ...string) {
	for _, f := range o {
		if !slices.Contains(columns, f.Key) {
			m.Add(f.Key, f.Raw)
		}
	}
}

// KeepRest keeps the members of an object but for those with a column.
func (m *Metadata) KeepRest(index int, o jsontext.Object, columns ...string) {
	for _, f := range o {
		if !slices.Contains(columns, f.Key) {
			m.Keep(index, f.Key, f.Raw)
		}
	}
}

// NonEmptyOfMessage keeps the members of an object but for those that are null or empty.
func (m *Metadata) NonEmptyOfMessage(index int, o jsontext.Object) {
	for _, f := range o {
		switch string(f.Raw) {
		case "null", "{}", "[]":
		default:
			m.OfMessage(index, f.Key, f.Raw)
		}
	}
}

// String returns the JSON object, "" when nothing was added.
func (m *Metadata) String() string {
	fields := m.fields.Object
	if len(m.messages) > 0 {
		var messages jsontext.Object
		for _, of := range m.messages {
			messages = append(messages, jsontext.Member{Key: strconv.Itoa(of.index), Raw: of.fields.Bytes()})
		}
		fields = append(fields[:len(fields):len(fields)], jsontext.Member{Key: "message_fields", Raw: messages.Bytes()})
	}
	if len(fields) == 0 {
		return ""
	}
	size, valid := 1, true
	for i := range fields {
		size += len(fields[i].Key) + len(fields[i].Raw) + 4
		valid = valid && jsontext.Valid(fields[i].Raw)
	}
	if !valid {
		return jsontext.Compact(fields.Bytes())
	}
	var b strings.Builder
	b.Grow(size)
	var key [64]byte
	for i := range fields {
		b.WriteByte("{,"[min(i, 1)])
		b.Write(jsontext.AppendString(key[:0], fields[i].Key))
		b.WriteByte(':')
		jsontext.WriteCompact(&b, fields[i].Raw)
	}
	b.WriteByte('}')
	return strings.ToValidUTF8(b.String(), "\uFFFD")
}
