package calls

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/parquet"
	"github.com/rollmill/rollmill/formats/parquet/reader"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/formats/tree"
	"github.com/rollmill/rollmill/formats/validate"
	"github.com/rollmill/rollmill/storage/fault"
)

// waiting is what the row of a call in a file has in its metadata.
type waiting struct {
	By, ResponseID string
	At             validate.Source
	NumberID       bool
	Epoch          *int32
	Attempt        *int64
	Metadata       string // the row's own
}

// Encode returns calls as a Parquet file, which this and later versions decode. Secrets are removed.
func Encode(secrets *secret.Set, calls []*Call) ([]byte, error) {
	rows := make([]formats.Trajectory, len(calls))
	for i, c := range calls {
		rows[i] = c.Item.Row
		meta, err := json.Marshal(waiting{c.By, c.Item.ResponseID, c.At, c.Item.NumberID, c.Item.Epoch, c.Item.Attempt, rows[i].Metadata})
		if err != nil {
			return nil, err
		}
		rows[i].Metadata = string(meta)
	}
	secret.Rows(secrets, rows)
	return parquet.Encode(rows, func(*parquet.Writer[formats.Trajectory]) {})
}

// DecodeFile returns the calls of a file that Encode wrote. place is its name.
func DecodeFile(place string, data []byte) ([]*Call, error) {
	f, err := parquet.Open(bytes.NewReader(data), int64(len(data)), place)
	if err != nil {
		return nil, err
	}
	r, err := parquet.NewReader[formats.Trajectory](f, 0, f.Rows())
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if newer := r.Unknown(); len(newer) > 0 {
		return nil, fault.Invalid(place, manifest.UpgradeHint, nil, "it has columns that this version does not know: %s",
			strings.Join(newer, ", "))
	}
	rows, err := reader.ReadAll(r.Read, f.Rows())
	var calls []*Call
	for i := 0; i < len(rows) && err == nil; i++ {
		var w waiting
		if err = json.Unmarshal([]byte(rows[i].Metadata), &w); err == nil {
			rows[i].Metadata = w.Metadata
			var c *Call
			item := importers.Item{Row: rows[i], ResponseID: w.ResponseID, NumberID: w.NumberID, Epoch: w.Epoch, Attempt: w.Attempt}
			c, err = New(item, w.By, w.At)
			calls = append(calls, c)
		}
	}
	return calls, err
}

// Answers returns digests of the messages up to each answer of the call: later calls that go on from it have
// them among those that Continues returns. Reasoning, and text beside calls of tools, is not part of them,
// since clients leave it out of a history.
func (c *Call) Answers() (out []Digest) {
	prompt, choices := c.split()
	var p path
	for i := range prompt {
		p.add(&prompt[i])
	}
	for i := range choices {
		q := path{buf: bytes.Clone(p.buf)}
		out = append(out, q.add(&choices[i]))
	}
	return out
}

// Continues returns a digest for each answer in the prompt of the call, see Answers.
func (c *Call) Continues() (out []Digest) {
	prompt, _ := c.split()
	var p path
	for i := range prompt {
		if of := p.add(&prompt[i]); prompt[i].Role == "assistant" {
			out = append(out, of)
		}
	}
	return out
}

// path is the keys of messages.
type path struct {
	keys tree.Keys
	buf  []byte
}

func (p *path) add(m *formats.Message) Digest {
	key := uint64(0)
	if m.Role != "assistant" {
		key = p.keys.Of(m)
	} else {
		said := *m
		said.Reasoning, said.Content = "", strings.TrimSpace(chat.Thinking.ReplaceAllString(chat.ContentText(m), ""))
		if tree.TextOnly(m.ContentParts) {
			said.ContentParts = ""
		}
		if len(m.ToolCalls) > 0 {
			said.Content = ""
		}
		key = p.keys.Returned(&said)
	}
	p.buf = number(p.buf, key)
	return Digest(xxh3.Hash128(p.buf))
}
