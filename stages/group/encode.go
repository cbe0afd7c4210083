package group

import (
	"encoding/binary"
	"math"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/spill"
)

// appendRow encodes what a group's numbers need of a row.
func appendRow(b []byte, key string, r *row, tokens int32, components bool) []byte {
	b = binary.AppendVarint(b, int64(r.Epoch))
	b = appendText(b, key)
	b = appendText(b, r.ExampleID)
	b = appendText(b, r.Status)
	b = appendNumber(b, r.Reward)
	b = binary.AppendVarint(b, int64(tokens))
	if !components {
		return binary.AppendUvarint(b, 0)
	}
	b = binary.AppendUvarint(b, uint64(len(r.Rewards)))
	for i := range r.Rewards {
		c := &r.Rewards[i]
		b = appendText(b, c.Name)
		b = appendNumber(b, &c.Weight)
		b = appendNumber(b, c.Value)
	}
	return b
}

func decodeRow(value []byte) (m formats.Member, tokens int32) {
	d := decoder{value}
	m.Epoch = int32(d.integer())
	m.GroupID = groupID(d.text(), m.Epoch)
	m.ExampleID, m.Status, m.Reward = d.text(), d.text(), d.number()
	tokens = int32(d.integer())
	for range d.count() {
		c := formats.NamedReward{Name: d.text()}
		c.Weight = *d.number()
		c.Value = d.number()
		m.Rewards = append(m.Rewards, c)
	}
	return m, tokens
}

// finding is the result for a row.
type finding struct {
	group     string
	first     int64 // the group's first row
	advantage *float64
	none      string // why there is none
	stats     *found // in the group's first row; else nil
}

// found is the result for a whole group.
type found struct {
	Stats          formats.GroupStats
	Compared, Flat bool
}

func (f finding) append(b []byte) []byte {
	b = appendText(b, f.group)
	b = binary.AppendVarint(b, f.first)
	b = appendNumber(b, f.advantage)
	b = appendText(b, f.none)
	if f.stats == nil {
		return b
	}
	return spill.Append(b, f.stats)
}

func decodeFinding(value []byte) (f finding) {
	d := decoder{value}
	f.group, f.first, f.advantage, f.none = d.text(), d.integer(), d.number(), d.text()
	if len(d.b) > 0 {
		f.stats = &found{}
		spill.Decode(d.b, f.stats)
	}
	return f
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

func appendNumber(b []byte, x *float64) []byte {
	if x == nil {
		return append(b, 0)
	}
	return binary.LittleEndian.AppendUint64(append(b, 1), math.Float64bits(*x))
}

// decoder reads what this process wrote.
type decoder struct{ b []byte }

func (d *decoder) integer() int64 {
	x, n := binary.Varint(d.b)
	d.b = d.b[n:]
	return x
}

func (d *decoder) count() uint64 {
	x, n := binary.Uvarint(d.b)
	d.b = d.b[n:]
	return x
}

func (d *decoder) text() string {
	n := d.count()
	s := string(d.b[:n])
	d.b = d.b[n:]
	return s
}

func (d *decoder) number() *float64 {
	there := d.b[0]
	if d.b = d.b[1:]; there == 0 {
		return nil
	}
	x := math.Float64frombits(binary.LittleEndian.Uint64(d.b))
	d.b = d.b[8:]
	return &x
}
