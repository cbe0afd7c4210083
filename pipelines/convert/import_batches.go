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
}
