package rows

import (
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
)

// Trajectories writes the rows unchanged.
var Trajectories = exporters.Format{
	Name: "trajectories", For: exporters.Own, Help: "the trajectories themselves", Of: exporters.Groups,
	Exports: []exporters.Extension{exporters.Parquet}, Hub: 1,
	Table: exporters.Table(func(x *exporters.Item) []formats.Trajectory { return x.Rows }),
}
