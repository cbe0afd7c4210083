package dataset

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/rollmill/rollmill/formats"
)

const (
	// ManifestFile is the manifest's name in a dataset.
	ManifestFile = "_dataset.json"
	// Format is the manifest's own format, "name/major".
	Format = "rollmill-dataset/1"
)

// Manifest describes a complete dataset. It is a pure function of the shard
// records.
type Manifest struct {
	Format     string             `json:"format"`
	Kind       formats.Kind       `json:"kind"`
	Schema     string             `json:"schema"` // formats.SchemaVersion of the writer
	Stage      string             `json:"stage"`
	Version    int                `json:"stage_version"`
	Identity   string             `json:"identity"`
	Shards     int                `json:"shards"`
	Rows       int64              `json:"rows"`
	Bytes      int64              `json:"bytes"`
	RowsDigest formats.RowsDigest `json:"rows_digest"`
	Base       *Ref               `json:"base,omitempty"`
	Inputs     []Ref              `json:"inputs,omitempty"`
	Params     map[string]any     `json:"params,omitempty"`
	Files      map[string]string  `json:"files,omitempty"`
	Parts      []Part             `json:"parts"`
	Tables     map[string]Table   `json:"tables,omitempty"`
	Counts     map[string]int64   `json:"counts,omitempty"`   // rows by state
	Drops      map[string]int64   `json:"drops,omitempty"`    // rows by reason
	Failures   map[string]int64   `json:"failures,omitempty"` // rows by class
	Facts      map[string]float64 `json:"facts,omitempty"`    // sums the stage wants known: tokens, groups, ...
	State      json.RawMessage    `json:"state,omitempty"`    // the stage's own, the same from every shard: the curriculum, ...
	Gates      []GateResult       `json:"gates,omitempty"`
	Timings    map[string]float64 `json:"timings,omitempty"` // seconds, summed over shards; volatile
}

// Table is a further table of a dataset.
type Table struct {
	Rows       int64              `json:"rows"`
	RowsDigest formats.RowsDigest `json:"rows_digest"`
	Parts      []Part             `json:"parts"`
}

// Part is one Parquet file.
type Part struct {
	Name      string  `json:"name"` // key within the dataset
	Shard     int     `json:"shard"`
	Rows      int64   `json:"rows"`
	Bytes     int64   `json:"bytes"`
	Digest    string  `json:"digest"`               // SHA-256 of the file, hex
	RowGroups []int64 `json:"row_groups"`           // rows of each row group
	BaseFirst *int64  `json:"base_first,omitempty"` // of a thin part: the base row its first row stands beside
}

// GateResult is what a gate found.
type GateResult struct {
	Gate
	Value   float64 `json:"value"`
	Refused bool    `json:"refused"`
}

// fingerprint is the digest by which other datasets refer to this one. It
// covers what the rows are and where they lie, neither timings nor gates.
func (m Manifest) fingerprint() string {
	m.Timings, m.Gates = nil, nil
	sum := sha256.Sum256(encode(m))
	return hex.EncodeToString(sum[:])
}

// refused lists the gates that refuse the dataset.
func (m *Manifest) refused() []GateResult {
	var out []GateResult
	for _, g := range m.Gates {
		if g.Refused {
			out = append(out, g)
		}
	}
	return out
}

// encode writes JSON that is the same for equal values, ending in a newline.
func encode(v any) []byte {
	data, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		panic("dataset: not JSON: " + err.Error()) // Identity and Commit have checked what callers hand in
	}
	return append(data, '\n')
}
