package manifest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/storage/fault"
)

// Encode returns the bytes of the manifest's file. Content keeps the bytes that
// it was read with, so that writing other gates does not change the digest.
func (m *Manifest) Encode() []byte {
	var out bytes.Buffer
	field := func(name string, value []byte) {
		if out.Len() > 0 {
			out.WriteString(",")
		}
		out.WriteString("\n " + string(indented(name)) + ": ")
		out.Write(value)
	}
	field("format", indented(m.Format))
	field("dataset", m.raw)
	for _, f := range []struct {
		name  string
		is    bool
		value any
	}{{"gates", len(m.Gates) > 0, m.Gates}, {"timings", len(m.Timings) > 0, m.Timings},
		{"run", m.Run != (Run{}), m.Run}, {"written", !m.Written.IsZero(), m.Written}, {"compacted", m.Compacted != nil, m.Compacted}} {
		if f.is {
			field(f.name, indented(f.value))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.other)) {
		field(name, m.other[name])
	}
	return slices.Concat([]byte("{"), out.Bytes(), []byte("\n}\n"))
}

// Fix encodes the content, which does not change any more.
func (m *Manifest) Fix() { m.raw = indented(m.Content) }

// indented returns a value as a field of the manifest: the same bytes for equal values.
func indented(v any) []byte {
	data, err := json.MarshalIndent(v, " ", " ")
	if err != nil {
		panic("dataset: not JSON: " + err.Error()) // Identity and Commit have checked what callers pass in
	}
	return data
}

// encode returns JSON that is the same for equal values and ends in a newline.
func encode(v any) []byte {
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		panic("dataset: not JSON: " + err.Error())
	}
	return append(data, '\n')
}

func Decode(place string, data []byte) (*Manifest, error) {
	if p, err := decodePruned(place, data); err != nil {
		return nil, err
	} else if p != nil {
		return nil, p.gone(place)
	}
	if bytes.Contains(data[:min(len(data), 100)], []byte(CompactedFormat)) {
		return decodeAs(CompactedFormat, place, data)
	}
	return decodeAs(Format, place, data)
}

// decodeAs decodes a manifest, or what is left of one, of a format.
func decodeAs(format, place string, data []byte) (*Manifest, error) {
	if err := readable(format, place, data, "not a manifest"); err != nil {
		return nil, err
	}
	var m Manifest
	if err := cmp.Or(unmarshal(data, &m), unmarshal(data, &m.other)); err != nil {
		return nil, fault.Invalid(place, "", err, "not a manifest")
	}
	m.raw = m.other["dataset"]
	for _, known := range []string{"format", "dataset", "gates", "timings", "run", "written", "compacted"} {
		delete(m.other, known)
	}
	return &m, m.check(place)
}

func DecodeRecord(place string, data []byte) (Record, error) {
	if err := readable(Format, place, data, "damaged shard record"); err != nil {
		return Record{}, err
	}
	var r Record
	if err := unmarshal(data, &r); err != nil {
		return Record{}, fault.Invalid(place, "", err, "damaged shard record")
	}
	return r, r.check(place)
}

// readable refuses a file of another version, with an error that names the
// version. It reads nothing else, because other fields may have another meaning
// there.
func readable(format, place string, data []byte, otherwise string) error {
	var head struct {
		Format  string `json:"format"`
		Dataset struct {
			Schema string `json:"schema"`
		} `json:"dataset"`
	}
	if err := unmarshal(data, &head); err != nil {
		return fault.Invalid(place, "", err, "%s", otherwise)
	}
	if head.Format != format {
		return fault.Invalid(place, otherVersion(head.Format, format), nil, "format %q is not %q", head.Format, format)
	}
	major := func(v string) string { v, _, _ = strings.Cut(v, "."); return v }
	if ours := major(schema.Version); major(head.Dataset.Schema) != ours {
		return fault.Invalid(place, otherVersion(head.Dataset.Schema, schema.Version), nil,
			"schema version %q is not %s.x", head.Dataset.Schema, ours)
	}
	return nil
}

func otherVersion(theirs, ours string) string {
	if theirs < ours {
		return "an older rollmill wrote it; make it again with this one"
	}
	return "a newer rollmill wrote it; read it with that one"
}

// unmarshal decodes one JSON value and keeps its numbers as written.
func unmarshal(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if _, err := dec.Token(); err != io.EOF {
		return &json.SyntaxError{Offset: dec.InputOffset()}
	}
	return nil
}
