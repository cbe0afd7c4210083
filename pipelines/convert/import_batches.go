package convert

import (
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/redaction"
	"github.com/rollmill/rollmill/pipelines/convert/calls"
)

// parsed is a record with its rows.
type parsed struct {
	importers.Parsed
	rows  []row
	fresh bool // it has members that no record before it has
}

// row is a trajectory on its way into a group.
type row struct {
	*importers.Item
	own      string // the source's id, else a digest of the content
	size     int    // about so many bytes
	redacted redaction.Counts
	call     *calls.Call // that it is, if calls are merged
}

// A batch of records is converted at once. The records of a batch have about so
// many bytes, and all batches in work together so many.
const (
	batchBytes = 256 << 10
	batchRows  = 1024
	inWork     = 32 << 20
)

// batch is a few records of a file, in order.
type batch struct {
	file    int
	records []importers.Record
	bytes   int64
	held    int64 // of inWork
	done    chan struct{}
	parsed  []parsed
	err     error // the file cannot be read any further

	rows []row          // of parsed: most records have one
	room importers.Room // of the rows
	end  int64          // how many rows there are up to the end of the batch
}

// reset empties a batch of which nothing is used any more.
func (b *batch) reset() {
	clear(b.records)
	clear(b.parsed)
	clear(b.rows)
	b.room.Reset()
	*b = batch{records: b.records[:0], parsed: b.parsed[:0], rows: b.rows[:0], room: b.room}
}

// batches keeps the memory of batches until their rows are written, and then for other batches.
type batches struct {
	used  []*batch
	spare chan *batch
}

// get returns an empty batch. It is safe for concurrent use.
func (m *batches) get(file int) *batch {
	select {
	case b := <-m.spare:
		b.file = file
		return b
	default:
		return &batch{file: file}
	}
}

// put takes a batch back. Rows are needed no more if they are among the first so many.
func (m *batches) put(b *batch, written int64) {
	m.used = append(m.used, b)
	for len(m.used) > 0 && m.used[0].end <= written {
		m.used[0].reset()
		select {
		case m.spare <- m.used[0]:
		default:
		}
		m.used[0], m.used = nil, m.used[1:]
	}
}
