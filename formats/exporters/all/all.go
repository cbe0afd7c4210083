// Package all lists the formats in which batches are exported.
package all

import (
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/art"
	"github.com/rollmill/rollmill/formats/customizer"
	"github.com/rollmill/rollmill/formats/exporters"
	"github.com/rollmill/rollmill/formats/nemorl"
	"github.com/rollmill/rollmill/formats/openrlhf"
	"github.com/rollmill/rollmill/formats/slime"
	"github.com/rollmill/rollmill/formats/trl"
	"github.com/rollmill/rollmill/formats/verl"
)

// Trajectories is the format with the rows unchanged.
const Trajectories = "trajectories"

// Formats is the list of formats.
var Formats = []exporters.Format{
	exporters.Table(Trajectories, exporters.Groups, func(x *exporters.Item) []formats.Trajectory { return x.Rows }),
	whole(exporters.RawLines("art", exporters.Groups, func(dst []byte, x *exporters.Item) ([]byte, int64, error) {
		return append(art.AppendGroup(dst, x.Rows), '\n'), 1, nil // without structs, for speed
	})),
	whole(exporters.Table("art-log-v1", exporters.Groups, func(x *exporters.Item) []art.LogRow { return art.LogRows(x.Rows, x.Before) })),
	whole(exporters.Table("art-log-v2", exporters.Groups, func(x *exporters.Item) []art.LogRow2 { return art.LogRows2(x.Rows, x.Before) })).
		Noted(art.LogVersionKey, art.LogVersion2),
	exporters.Either("trl-preference", exporters.Pairs, exporters.Pair(func(p trl.Preference) (trl.Preference, string) { return p, "" })),
	exporters.Either("trl-kto", exporters.Labels, exporters.Single(func(u trl.Unpaired) trl.Unpaired { return u })),
	exporters.Either("trl-sft", exporters.Top, exporters.Each(trl.Best)),
	exporters.Either("trl-prompts", exporters.Groups, exporters.Each(trl.PromptOf)),
	exporters.Table("verl", exporters.Groups, func(x *exporters.Item) []verl.Row {
		return exporters.Each(func(rows []formats.Trajectory) (verl.Row, string) { return verl.RowOf(rows, x.Given) })(x)
	}),
	exporters.Lines("openrlhf-prompts", exporters.Groups, exporters.Each(openrlhf.PromptOf)),
	exporters.Lines("openrlhf-preference", exporters.Pairs, exporters.Pair(func(p trl.Preference) (openrlhf.Preference, string) { return openrlhf.PreferenceOf(p), "" })),
	exporters.Lines("openrlhf-kto", exporters.Labels, exporters.Single(openrlhf.UnpairedOf)),
	exporters.Lines("nemo-rl-preference", exporters.Pairs, exporters.Pair(func(p trl.Preference) (nemorl.Row, string) { return nemorl.RowOf(p), "" })),
	exporters.Lines("slime", exporters.Groups, func(x *exporters.Item) []slime.Sample { return slime.Samples(x.Rows, x.Before, x.Given, x.Skip) }),
	exporters.Lines("customizer-dpo", exporters.Pairs, exporters.Pair(customizer.PreferenceOf)),
	exporters.Lines("customizer-sft", exporters.Top, exporters.Each(customizer.ConversationOf)),
}

func whole(f exporters.Format) exporters.Format {
	f.Whole = true
	return f
}

// Named returns the format with a name, which must be in the list.
func Named(name string) exporters.Format {
	for _, f := range Formats {
		if f.Name == name {
			return f
		}
	}
	panic("exporters: there is no format " + name)
}
