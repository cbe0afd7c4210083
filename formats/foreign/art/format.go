package art

import (
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/validate"
)

// Exporter writes the groups that an ART server accepts, one a line.
var Exporter = exporters.Format{
	Name: "art", Use: validate.ForGRPO, For: exporters.Training, Help: "ART's trajectory groups, one a line",
	Of: exporters.Groups, Whole: true,
	Files: []exporters.Extension{exporters.JSONL},
	Notes: notes, Credit: exporters.OfTrajectories,
	Lines: exporters.RawLines(func(dst []byte, x *exporters.Item) ([]byte, int64, error) {
		return append(AppendGroup(dst, x.Rows), '\n'), 1, nil // without structs, for speed
	}),
	Drift: func() exporters.Drift { return &Drift{Scale: true} },
}

const notes = `ART renders each history with its tokenizer's chat template, and puts the tokens
that were sampled in the place of the trained turns. It gives the template the
tools of the history, which are in the row as the policy was offered them, and the
arguments of tool calls as they are in the row: the JSON text that was sampled. A
template that needs an object fails, or writes that text in quotes.

ART 0.5.17 wraps each tool in "type" and "function" once more, and renders the tool
calls of a trained turn once more after its tokens. ART 0.4.11 does neither.
`

// Log1 writes version 1 of ART's trajectory log.
var Log1 = exporters.Format{
	Name: "art-log-v1", For: exporters.Viewing, Help: "ART's trajectory log of 0.5, for people and its viewers",
	Of:    exporters.Groups,
	Whole: true, Files: []exporters.Extension{exporters.Parquet},
	Table: exporters.Table(func(x *exporters.Item) []LogRow { return LogRows(x.Rows, x.Before) }),
}

// Log2 writes version 2 of ART's trajectory log.
var Log2 = exporters.Format{
	Name: "art-log-v2", For: exporters.Viewing, Help: "ART's trajectory log of version 2, which keeps everything",
	Of:    exporters.Groups,
	Whole: true, Files: []exporters.Extension{exporters.Parquet},
	Table: exporters.NotedTable(LogVersionKey, LogVersion2,
		func(x *exporters.Item) []LogRow2 { return LogRows2(x.Rows, x.Before) }),
}
