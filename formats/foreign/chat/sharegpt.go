package chat

import (
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/records"
)

// ShareGPT reads conversations in the form of ShareGPT: turns with "from" and
// "value", beside a system prompt and tools; LLaMA-Factory's preferences and
// labels of such conversations; and Alpaca's instructions.
//
// It is the same reader as Importer. A turn from function_call is a message of the assistant with the calls that
// its value describes; observation is a message of a tool.
var ShareGPT = importers.Format{
	Name:       "sharegpt",
	Help:       "conversations of ShareGPT and LLaMA-Factory, instructions of Alpaca",
	Spec:       "https://llamafactory.readthedocs.io/en/latest/getting_started/data_preparation.html",
	Extensions: records.Extensions(),
	Fields:     Fields(),
	Columns:    true,
	Records:    importers.Rows,
	Parse:      Parse,
}
