package manifest

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/rollmill/rollmill/formats/schema"
)

// CompactedFormat is the format of the manifest of a compacted dataset. Versions
// that do not know about compaction refuse it; they would look for parts that
// were removed.
const CompactedFormat = "rollmill-dataset/2.1"

// Compacted says which parts have the rows of a compacted dataset. It is next to
// the content, which still names the parts that the shards wrote: the identity
// and the digest stay, and so do Slice and the rows of each shard.
type Compacted struct {
	At       time.Time         `json:"at"` // by the store's clock, before the first part was written
	PartSize int64             `json:"part_size"`
	Parts    []Part            `json:"parts,omitempty"`  // of the main table, if it was compacted
	Tables   map[string][]Part `json:"tables,omitempty"` // of those further tables that were
}

// PartsOf returns the parts of a table; nil if it was not compacted.
func (c *Compacted) PartsOf(table string) []Part {
	switch {
	case c == nil:
		return nil
	case table == "":
		return c.Parts
	}
	return c.Tables[table]
}

// Removed reports whether a further table was removed alone, as workspaces may be: Compacted has a list without
// parts in its place.
func (m *Manifest) Removed(table string) bool {
	parts := m.Compacted.PartsOf(table)
	return table == schema.TableWorkspaces && parts != nil && len(parts) == 0
}

func (c *Compacted) SetParts(table string, parts []Part) {
	if table == "" {
		c.Parts = parts
		return
	}
	if c.Tables == nil {
		c.Tables = map[string][]Part{}
	}
	c.Tables[table] = parts
}

// PartsOf returns the parts that have the rows of a table; "" is the main one.
func (m *Manifest) PartsOf(table string) []Part {
	if parts := m.Compacted.PartsOf(table); parts != nil {
		return parts
	}
	t, _ := m.TableOf(table)
	return t.Parts
}

// TableOf returns a table as the shards wrote it, and whether there is one; "" is the main one.
func (m *Manifest) TableOf(name string) (t Table, ok bool) {
	if name == "" {
		return Table{m.Rows, m.RowsDigest, m.Parts}, true
	}
	t, ok = m.Tables[name]
	return t, ok
}

func (m *Manifest) KindOf(table string) schema.Kind {
	if table == "" {
		return m.Kind
	}
	return schema.Kind(table)
}

// TableNames returns the names of the tables, the main one first.
func (m *Manifest) TableNames() []string {
	return append([]string{""}, slices.Sorted(maps.Keys(m.Tables))...)
}

// StoredParts lists the parts of every table in which the rows are now.
func (m *Manifest) StoredParts() (out []Part) {
	for _, table := range m.TableNames() {
		out = append(out, m.PartsOf(table)...)
	}
	return out
}

// NamedParts lists all parts that the manifest names; some of those that the
// shards of a compacted dataset wrote may be gone.
func (m *Manifest) NamedParts() []Part {
	if m.Compacted == nil {
		return m.AllParts()
	}
	return append(m.AllParts(), m.StoredParts()...)
}

// StoredBytes returns the size of the parts in which the rows are now.
func (m *Manifest) StoredBytes() (bytes int64) {
	for _, p := range m.StoredParts() {
		bytes += p.Bytes
	}
	return bytes
}

// checkCompacted compares the parts of the compaction with the tables.
func (m *Manifest) checkCompacted(seen map[string]bool) error {
	c := m.Compacted
	if (c != nil) != (m.Format == CompactedFormat) && m.Format != prunedFormat {
		return fmt.Errorf("the format %q does not go with the field \"compacted\"", m.Format)
	}
	if c == nil {
		return nil
	}
	if c.At.IsZero() || c.Parts == nil && c.Tables == nil {
		return fmt.Errorf("the field \"compacted\" is not of a compaction")
	}
	for name := range c.Tables {
		if _, ok := m.Tables[name]; !ok || name == "" {
			return fmt.Errorf("the compacted table %q is not a table of the dataset", name)
		}
	}
	for _, name := range m.TableNames() {
		t, _ := m.TableOf(name)
		if t.Parts = c.PartsOf(name); t.Parts == nil || m.Removed(name) {
			continue
		}
		if err := t.check(name, m.Shards, seen); err != nil {
			return fmt.Errorf("compacted: %w", err)
		}
	}
	return nil
}

const Private = ".rollmill/" // files that only the tool reads

// MaxShards is the largest number of shards of a dataset.
const MaxShards = 99999

var partKey = regexp.MustCompile(`^(_[a-z_]+/)?part-(?:[0-9]{5}-of-[0-9]{5}|([0-9a-f]{16}))-[0-9]{5}-[0-9a-f]{8}\.parquet$`)

// PartName reports whether a key is the name of a part. If a compaction wrote the part,
// it also returns the generation of the manifest whose parts that compaction merged.
func PartName(key string) (compacts string, is bool) {
	m := partKey.FindStringSubmatch(key)
	if m == nil {
		return "", false
	}
	return m[2], true
}
