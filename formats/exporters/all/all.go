// Package all lists the formats in which batches are exported. To add one: see
// formats/exporters.
package all

import (
	"github.com/rollmill/rollmill/formats/exporters"
	"github.com/rollmill/rollmill/formats/exporters/arrow"
	"github.com/rollmill/rollmill/formats/exporters/art"
	"github.com/rollmill/rollmill/formats/exporters/atif"
	"github.com/rollmill/rollmill/formats/exporters/chat"
	"github.com/rollmill/rollmill/formats/exporters/csv"
	"github.com/rollmill/rollmill/formats/exporters/customizer"
	"github.com/rollmill/rollmill/formats/exporters/nemorl"
	"github.com/rollmill/rollmill/formats/exporters/openrlhf"
	"github.com/rollmill/rollmill/formats/exporters/otel"
	"github.com/rollmill/rollmill/formats/exporters/primerl"
	"github.com/rollmill/rollmill/formats/exporters/rows"
	"github.com/rollmill/rollmill/formats/exporters/scout"
	"github.com/rollmill/rollmill/formats/exporters/slime"
	"github.com/rollmill/rollmill/formats/exporters/sts"
	"github.com/rollmill/rollmill/formats/exporters/tokens"
	"github.com/rollmill/rollmill/formats/exporters/trajectories"
	"github.com/rollmill/rollmill/formats/exporters/trl"
	"github.com/rollmill/rollmill/formats/exporters/verifiers"
	"github.com/rollmill/rollmill/formats/exporters/verl"
)

// Formats lists every format, in the order in which backend file writes those
// that have Files. A submission's key holds that order, so a new format is added
// at the end.
var Formats = []exporters.Format{
	trajectories.Format,
	art.Format,
	art.Log1,
	art.Log2,
	trl.Preference,
	trl.KTO,
	trl.SFT,
	trl.Prompts,
	verl.Format,
	openrlhf.Prompts,
	openrlhf.Preferences,
	openrlhf.KTO,
	nemorl.Format,
	slime.Format,
	customizer.DPO,
	customizer.SFT,
	rows.Format,
	chat.Format,
	atif.Format,
	verifiers.Format,
	sts.Format,
	scout.Format,
	arrow.File,
	arrow.Stream,
	csv.Format,
	tokens.Format,
	otel.Format,
	primerl.Format,
}
