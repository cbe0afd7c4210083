package rows

import (
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// Exporter writes our own rows as JSON Lines, without loss: an object for
// each trajectory, with every column under our name and in the order of
// columns.md.
//
//   - A column that is null is left out, and so is an empty list that may be
//     null.
//   - Integers have all their digits. A reader that makes floats of them
//     (JavaScript) is exact up to 2^53; only policy_version can be larger.
//   - A float has the digits that read back as the same float of its width: 32
//     bits for logprobs, 64 for all others. NaN and the infinities are the
//     strings "NaN", "Infinity" and "-Infinity".
//   - Times are ISO 8601 with microseconds, in UTC.
//   - JSON that a column holds as text (example, tool_sets, sampling, metadata,
//     content_parts) is that text, with its spaces and the order of its keys.
//
// Columns of a newer minor version of the schema are not written. [Importer] reads
// a line.
var Exporter = exporters.Format{
	Name: "rows", For: exporters.Own, Help: "our own rows, all columns and without loss, which import reads",
	Of:      exporters.Rows,
	Exports: []exporters.Extension{exporters.JSONL},
	Lines: exporters.RawLines(func(dst []byte, x *exporters.Item) ([]byte, int64, error) {
		for i := range x.Rows {
			dst = append(Append(dst, &x.Rows[i]), '\n')
		}
		return dst, int64(len(x.Rows)), nil
	}),
}

// Append appends a row as a JSON object on one line.
func Append(dst []byte, t *formats.Trajectory) []byte { return appendRow(dst, t) }

var appendRow = jsontext.Rows[formats.Trajectory]()

// Trajectories writes the rows unchanged.
var Trajectories = exporters.Format{
	Name: "trajectories", For: exporters.Own, Help: "the trajectories themselves", Of: exporters.Groups,
	Exports: []exporters.Extension{exporters.Parquet},
	Table:   exporters.Table(func(x *exporters.Item) []formats.Trajectory { return x.Rows }),
}
