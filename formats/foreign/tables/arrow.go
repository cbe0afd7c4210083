// Package tables writes rows as tables that any tool opens: Arrow IPC and CSV.
// formats/records reads such files.
package tables

import (
	"io"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/arrow"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
)

// The Arrow formats are our rows as Arrow IPC, with every column: the file format
// (also called Feather 2) and the streaming format, which Hugging Face datasets
// stores.

// ArrowFile writes Arrow's file format.
var ArrowFile = exporters.Format{
	Name: "arrow", For: exporters.Tables, Help: "our rows in Arrow's file format, all columns", Of: exporters.Rows,
	Exports: []exporters.Extension{".arrow"},
	Other:   open(false),
}

// ArrowStream writes Arrow's streaming format.
var ArrowStream = exporters.Format{
	Name: "arrow-stream", For: exporters.Tables, Help: "our rows in Arrow's streaming format, all columns",
	Of:      exporters.Rows,
	Exports: []exporters.Extension{exporters.ArrowStream},
	Other:   open(true),
}

func open(stream bool) func(io.Writer) exporters.Sink {
	return func(out io.Writer) exporters.Sink {
		w, err := arrow.NewRowWriter[formats.Trajectory](out, stream)
		return &arrowSink{w, err}
	}
}

type arrowSink struct {
	*arrow.RowWriter[formats.Trajectory]
	failed error // of opening
}

func (s *arrowSink) Give(x *exporters.Item) error {
	if s.failed != nil {
		return s.failed
	}
	return s.Write(x.Rows)
}

func (s *arrowSink) Close() error {
	if s.failed != nil {
		return s.failed
	}
	return s.RowWriter.Close()
}
