package dataset

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/rollmill/rollmill/formats"
)

// compactedFormat is the format of the manifest of a compacted dataset. Versions
// that do not know about compaction refuse it; they would look for parts that
// were removed.
const compactedFormat = "rollmill-dataset/2.1"

// Compacted says which parts have the rows of a compacted dataset. It is next to
// the content, which still names the parts that the shards wrote: the identity
// and the digest stay, and so do Slice and the rows of each shard.
type Compacted struct {
	At       time.Time         `json:"at"` // by the store's clock, before the first part was written
	PartSize int64             `json:"part_size"`
	Parts    []Part            `json:"parts,omitempty"`  // of the main table, if it was compacted
	Tables   map[string][]Part `json:"tables,omitempty"` // of those further tables that were
}

// of returns the parts of a table; nil if it was not compacted.
func (c *Compacted) of(table string) []Part {
	switch {
	case c == nil:
		return nil
	case table == "":
		return c.Parts
	}
	return c.Tables[table]
}

func (c *Compacted) set(table string, parts []Part) {
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
	if parts := m.Compacted.of(table); parts != nil {
		return parts
	}
	t, _ := m.table(table)
	return t.Parts
}

// table returns a table as the shards wrote it, and whether there is one; "" is the
// main one.
func (m *Manifest) table(name string) (t Table, ok bool) {
	if name == "" {
		return Table{m.Rows, m.RowsDigest, m.Parts}, true
	}
	t, ok = m.Tables[name]
	return t, ok
}

// kindOf returns the row kind of a table.
func (m *Manifest) kindOf(table string) formats.Kind {
	if table == "" {
		return m.Kind
	}
	return formats.Kind(table)
}

// tables returns the names of the tables, the main one first.
func (m *Manifest) tables() []string {
	return append([]string{""}, slices.Sorted(maps.Keys(m.Tables))...)
}

// storedParts lists the parts of every table in which the rows are now.
func (m *Manifest) storedParts() (out []Part) {
	for _, table := range m.tables() {
		out = append(out, m.PartsOf(table)...)
	}
	return out
}

// namedParts lists all parts that the manifest names; some of those that the
// shards of a compacted dataset wrote may be gone.
func (m *Manifest) namedParts() []Part {
	if m.Compacted == nil {
		return m.allParts()
	}
	return append(m.allParts(), m.storedParts()...)
}

// StoredBytes returns the size of the parts in which the rows are now.
func (m *Manifest) StoredBytes() (bytes int64) {
	for _, p := range m.storedParts() {
		bytes += p.Bytes
	}
	return bytes
}

// checkCompacted compares the parts of the compaction with the tables.
func (m *Manifest) checkCompacted(seen map[string]bool) error {
	c := m.Compacted
	if (c != nil) != (m.Format == compactedFormat) && m.Format != prunedFormat {
		return fmt.Errorf("the format %q does not go with the field \"compacted\"", m.Format)
	}
	if c == nil {
		return nil
	}
	if m.Plain || c.At.IsZero() || c.Parts == nil && c.Tables == nil {
		return fmt.Errorf("the field \"compacted\" is not of a compaction")
	}
	for name := range c.Tables {
		if _, ok := m.Tables[name]; !ok || name == "" {
			return fmt.Errorf("the compacted table %q is not a table of the dataset", name)
		}
	}
	for _, name := range m.tables() {
		t, _ := m.table(name)
		if t.Parts = c.of(name); t.Parts == nil {
			continue
		}
		if err := t.check(name, m.Shards, seen); err != nil {
			return fmt.Errorf("compacted: %w", err)
		}
	}
	return nil
}
