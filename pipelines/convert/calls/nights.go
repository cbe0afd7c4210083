package calls

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/dataset/manifest"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/parquet"
	"github.com/rollmill/rollmill/formats/parquet/reader"
	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/formats/spill"
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
		x := &c.Item
		meta, err := json.Marshal(waiting{c.By, x.ResponseID, c.At, x.NumberID, x.Epoch, x.Attempt, x.Row.Metadata})
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
			item := importers.Item{Row: rows[i], ResponseID: w.ResponseID,
				NumberID: w.NumberID, Epoch: w.Epoch, Attempt: w.Attempt}
			c, err = New(item, w.By, w.At)
			calls = append(calls, c)
		}
	}
	return calls, err
}

// Links returns digests by which a later call is known to go on from an earlier one, if one of its from is one
// of the other's to: of the value that names their attempt, else of the messages up to each answer in the
// prompt, and up to an answer of the call in each form in which clients send it back.
func (c *Call) Links() (from, to []Digest) {
	of := *c // what became of the call stays
	of.digest()
	if c.By != "" {
		return []Digest{of.meta.By}, []Digest{of.meta.By}
	}
	path := spill.Key(nil, of.meta.First.Hi, of.meta.First.Lo)
	for _, s := range of.meta.Steps {
		path = spill.Key(path, s.Returned)
		from = append(from, Digest(xxh3.Hash128(path)))
		path = spill.Key(path, s.Between)
	}
	for _, said := range of.meta.Said {
		for _, returned := range said[1:] {
			to = append(to, Digest(xxh3.Hash128(spill.Key(path, returned))))
		}
	}
	return from, to
}
