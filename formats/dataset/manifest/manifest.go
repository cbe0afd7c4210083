package manifest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"slices"
	"time"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/schema"
)

const (
	// FileName is the manifest's name in a dataset.
	FileName = "_dataset.json"
	// Format is the manifest's own format, "name/major".
	Format = "rollmill-dataset/2"
)

// UpgradeHint is the hint of an error about rows with columns that this version does not know.
const UpgradeHint = "upgrade rollmill to the version that wrote it; this one can show, audit and export it"

// Manifest describes a complete dataset. It is a pure function of the shard
// records. Other datasets refer to it by the SHA-256 of the bytes of the value
// of "dataset" as they are in the file, so that a reader need not know every
// field in it, and fields next to it may change.
type Manifest struct {
	Format  string `json:"format"`
	Content `json:"dataset"`
	Gates   []GateResult       `json:"gates,omitempty"`
	Timings map[string]float64 `json:"timings,omitempty"` // seconds, summed over shards; volatile
	Run     Run                `json:"run,omitzero"`
	Written time.Time          `json:"written,omitzero"` // when the last shard was complete; volatile; zero if an earlier version wrote it

	Compacted *Compacted `json:"compacted,omitempty"` // where the rows are now, if it was compacted

	raw   json.RawMessage            // of Content, as stored
	other map[string]json.RawMessage // fields next to it that a newer version added
}

// Run is the run that a dataset belongs to. It is in neither the identity nor
// the digest. The zero Run means that the dataset belongs to none.
type Run struct {
	ID   string `json:"id,omitempty"`   // random, from <root>/.rollmill/run.json
	Root string `json:"root,omitempty"` // where that file is; a hint, without credentials
}

// Content is what a manifest's digest covers: what the rows are, what they were
// made from, and which parts hold them. Numbers in Params are json.Number, so
// that integers stay exact.
type Content struct {
	Kind       schema.Kind        `json:"kind"`
	Schema     string             `json:"schema"` // schema.Version of the writer
	Stage      string             `json:"stage"`
	Version    int                `json:"stage_version"`
	Identity   string             `json:"identity"`
	Shards     int                `json:"shards"`
	Rows       int64              `json:"rows"`
	Bytes      int64              `json:"bytes"`
	RowsDigest formats.RowsDigest `json:"rows_digest"`
	Base       *Ref               `json:"base,omitempty"`
	Columns    formats.FieldNames `json:"columns,omitzero"` // of the task file
	Inputs     []Ref              `json:"inputs,omitempty"`
	Params     map[string]any     `json:"params,omitempty"`
	Files      map[string]string  `json:"files,omitempty"`
	Parts      []Part             `json:"parts"`
	Tables     map[string]Table   `json:"tables,omitempty"`
	Counts     map[string]int64   `json:"counts,omitempty"`   // rows by state
	Drops      map[string]int64   `json:"drops,omitempty"`    // rows by reason
	Failures   map[string]int64   `json:"failures,omitempty"` // rows by class
	Facts      map[string]float64 `json:"facts,omitempty"`    // sums that the stage reports: tokens, groups, ...
	// the stage's own state, the same from every shard: the curriculum, ...
	State json.RawMessage `json:"state,omitempty"`
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
	Footer    string  `json:"footer_digest"`        // SHA-256 of its footer, compared whenever it is opened
	RowGroups []int64 `json:"row_groups"`           // rows of each row group
	BaseFirst *int64  `json:"base_first,omitempty"` // of a thin part: the base row that its first row belongs to
}

// GateResult is the result of evaluating a gate.
type GateResult struct {
	Gate
	Value   float64 `json:"value"`
	Refused bool    `json:"refused"`
}

// Valid reports whether the id has the form of one.
func (r Run) Valid() bool { return runID.MatchString(r.ID) }

// Fingerprint returns the digest by which other datasets refer to this one.
func (m *Manifest) Fingerprint() string { return ShortSum(m.raw, sha256.Size) }

// Is reports whether a Ref refers to the dataset in its present state.
func (m *Manifest) Is(r *Ref) bool { return r != nil && m.Fingerprint() == r.Digest }

// ShortSum returns the first bytes of the SHA-256 of data, hex.
func ShortSum(data []byte, bytes int) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:bytes])
}

// Int returns an integer parameter, and whether it is there.
func (c *Content) Int(param string) (int64, bool) {
	n, ok := c.Params[param].(json.Number)
	if !ok {
		return 0, false
	}
	v, err := n.Int64()
	return v, err == nil
}

// Refusals returns the gates that refused the dataset.
func (m *Manifest) Refusals() []GateResult {
	return slices.DeleteFunc(slices.Clone(m.Gates), func(g GateResult) bool { return !g.Refused })
}

// AllParts lists the parts of every table as the shards wrote them.
func (m *Manifest) AllParts() []Part {
	out := append([]Part(nil), m.Parts...)
	for _, t := range m.Tables {
		out = append(out, t.Parts...)
	}
	return out
}

// Generation identifies a manifest among all that ever were at one place: it
// covers the names of the parts, and these cover the manifest that was
// replaced.
func (m *Manifest) Generation() string { return m.Fingerprint()[:16] }

var runID = regexp.MustCompile(`^[0-9a-f]{32}$`)

// Input returns the first input with a role, or nil.
func (c *Content) Input(role string) *Ref {
	if at := slices.IndexFunc(c.Inputs, func(r Ref) bool { return r.Role == role }); at >= 0 {
		return &c.Inputs[at]
	}
	return nil
}
