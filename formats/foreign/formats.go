// Package foreign lists the formats of other programs: those that export writes
// (Exporters) and those that import reads (Importers). A format is a folder below,
// with its reader and its writer side by side; trainers and tables only have
// writers. What a format is, package exporters and package importers define.
//
// To add one: a folder or a file, a line in one of the lists, and files for the
// suite, foreigntest.
package foreign

import (
	"github.com/rollmill/rollmill/formats/foreign/art"
	"github.com/rollmill/rollmill/formats/foreign/atif"
	"github.com/rollmill/rollmill/formats/foreign/chat"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/foreign/finetune"
	"github.com/rollmill/rollmill/formats/foreign/gateway"
	"github.com/rollmill/rollmill/formats/foreign/harbor"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/nat"
	"github.com/rollmill/rollmill/formats/foreign/nemogym"
	"github.com/rollmill/rollmill/formats/foreign/openenv"
	"github.com/rollmill/rollmill/formats/foreign/otel"
	"github.com/rollmill/rollmill/formats/foreign/rows"
	"github.com/rollmill/rollmill/formats/foreign/sts"
	"github.com/rollmill/rollmill/formats/foreign/tables"
	"github.com/rollmill/rollmill/formats/foreign/tokens"
	"github.com/rollmill/rollmill/formats/foreign/trainers"
	"github.com/rollmill/rollmill/formats/foreign/verifiers"
)

// Importers lists every format, in the order of help.
var Importers = []importers.Format{
	chat.Importer,
	chat.ShareGPT,
	rows.Importer,
	tokens.Importer,
	atif.Importer,
	art.Importer,
	nat.Importer,
	verifiers.Importer,
	nemogym.Importer,
	sts.Importer,
	otel.Importer,
	gateway.LiteLLM,
	gateway.Calls,
	openenv.Importer,
	harbor.Importer,
}

// Exporters lists every format, in the order in which backend file writes those
// that have Files. A submission's key holds that order, so a new format is added
// at the end.
var Exporters = []exporters.Format{
	rows.Trajectories,
	art.Exporter,
	art.Log1,
	art.Log2,
	trainers.TRLPreference,
	trainers.TRLKTO,
	trainers.TRLSFT,
	trainers.TRLPrompts,
	trainers.Verl,
	trainers.OpenRLHFPrompts,
	trainers.OpenRLHFPreferences,
	trainers.OpenRLHFKTO,
	trainers.NemoRL,
	trainers.Slime,
	finetune.CustomizerDPO,
	finetune.CustomizerSFT,
	rows.Exporter,
	chat.Exporter,
	atif.Exporter,
	verifiers.Exporter,
	sts.Exporter,
	tables.ArrowFile,
	tables.ArrowStream,
	tables.CSV,
	trainers.Sequences,
	otel.Exporter,
	trainers.PrimeRL,
	harbor.Exporter,
}
