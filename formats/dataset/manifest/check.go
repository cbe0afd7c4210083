package manifest

import (
	"fmt"
	"math"
	"strings"

	"github.com/rollmill/rollmill/storage/fault"
)

// check refuses a manifest that cannot be true: counts that do not add up, and
// parts outside the dataset.
func (m *Manifest) check(place string) error {
	bad := func(format string, args ...any) error {
		return fault.Invalid(place, "put the file back, or make the dataset again", nil, "damaged: "+format, args...)
	}
	if m.Run.ID != "" && !m.Run.Valid() {
		return bad("the id of its run is %q, not 32 hexadecimal digits", m.Run.ID)
	}
	if m.Shards < 0 || m.Shards > MaxShards {
		return bad("%d shards; a dataset has at most %d", m.Shards, MaxShards)
	}
	var bytes int64
	seen := map[string]bool{}
	for _, name := range m.TableNames() {
		t, _ := m.TableOf(name)
		if err := t.check(name, m.Shards, seen); err != nil {
			return bad("%s", err)
		}
		for _, p := range t.Parts {
			bytes += p.Bytes
		}
	}
	if bytes != m.Bytes {
		return bad("it counts %d bytes, its parts have %d", m.Bytes, bytes)
	}
	if err := m.checkCompacted(seen); err != nil {
		return bad("%s", err)
	}
	for _, counts := range []map[string]int64{m.Counts, m.Drops, m.Failures} {
		for name, n := range counts {
			if n < 0 {
				return bad("it counts %d of %q", n, name)
			}
		}
	}
	return nil
}

// check compares a table's counts with its parts.
func (t *Table) check(name string, shards int, seen map[string]bool) error {
	var rows int64
	for i := range t.Parts {
		p := &t.Parts[i]
		if err := p.check(name, shards); err != nil {
			return err
		}
		if seen[p.Name] {
			return fmt.Errorf("part %q comes twice", p.Name)
		}
		seen[p.Name] = true
		if rows += p.Rows; rows < 0 {
			return fmt.Errorf("table %q has too many rows", name)
		}
	}
	if rows != t.Rows || t.RowsDigest.Rows() != t.Rows {
		return fmt.Errorf("table %q has %d rows, its parts %d, its rows digest %d", name, t.Rows, rows, t.RowsDigest.Rows())
	}
	return nil
}

func (p *Part) check(table string, shards int) error {
	folder := ""
	if table != "" {
		folder = table + "/"
	}
	_, isPart := PartName(p.Name)
	switch {
	case !isPart || !strings.HasPrefix(p.Name, folder+"part-"):
		return fmt.Errorf("part %q", p.Name)
	case p.Shard < 0 || p.Shard >= shards:
		return fmt.Errorf("part %q is of shard %d of %d", p.Name, p.Shard, shards)
	case p.Rows < 0 || p.Bytes < 0 || p.BaseFirst != nil && (*p.BaseFirst < 0 || *p.BaseFirst > math.MaxInt64-p.Rows):
		return fmt.Errorf("part %q has %d rows and %d bytes", p.Name, p.Rows, p.Bytes)
	}
	var rows int64
	for _, n := range p.RowGroups {
		if n < 0 || n > p.Rows-rows {
			return fmt.Errorf("part %q has %d rows, its row groups more", p.Name, p.Rows)
		}
		rows += n
	}
	if rows != p.Rows {
		return fmt.Errorf("part %q has %d rows, its row groups %d", p.Name, p.Rows, rows)
	}
	return nil
}
