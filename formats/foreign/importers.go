package foreign

import (
	"github.com/rollmill/rollmill/formats/foreign/art"
	"github.com/rollmill/rollmill/formats/foreign/atif"
	"github.com/rollmill/rollmill/formats/foreign/chat"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/inspect"
	"github.com/rollmill/rollmill/formats/foreign/nat"
	"github.com/rollmill/rollmill/formats/foreign/nemogym"
	"github.com/rollmill/rollmill/formats/foreign/otel"
	"github.com/rollmill/rollmill/formats/foreign/rows"
	"github.com/rollmill/rollmill/formats/foreign/scout"
	"github.com/rollmill/rollmill/formats/foreign/sts"
	"github.com/rollmill/rollmill/formats/foreign/verifiers"
)

// Importers lists every format, in the order of help.
var Importers = []importers.Format{
	chat.Importer,
	chat.ShareGPT,
	rows.Importer,
	atif.Importer,
	art.Importer,
	nat.Importer,
	verifiers.Importer,
	nemogym.Importer,
	sts.Importer,
	inspect.Importer,
	scout.Importer,
	otel.Importer,
}
