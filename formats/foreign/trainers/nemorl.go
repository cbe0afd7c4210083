package trainers

import (
	"cmp"

	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/foreign/exporters"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/validate"
)

// NemoRL writes the JSON lines that NeMo-RL's PreferenceDataset loads:
// a context and its completions by rank; 0 is the best. Its trainers for DPO and
// reward models give no tools to the chat template, so a row for which the policy
// was offered tools is refused.
var NemoRL = exporters.Format{
	Name: "nemo-rl-preference", Use: validate.ForDPO, For: exporters.Training, Help: "NeMo-RL's pairs by rank", Of: exporters.Pairs,
	Files: []exporters.Extension{exporters.JSONL},
	Form:  3, Notes: nemoRLNotes, Lines: exporters.Lines(exporters.One(nemoRLRow)),
}

const nemoRLNotes = exporters.TemplateNotes + `
NeMo-RL gives no tools to the chat template of a pair, so rows for which the
policy was offered tools are refused, too, as "tools".
`

// Row is one pair. The loader adds the column task_name and fails when it is
// already there (0.6 and later; earlier versions do not need it).
type Row struct {
	Context     []jsontext.Raw `json:"context"`
	Completions []Completion   `json:"completions"`
}

// Completion is an answer with its rank.
type Completion struct {
	Rank       int            `json:"rank"`
	Completion []jsontext.Raw `json:"completion"`
}

func nemoRLRow(x *exporters.Item) (Row, string) {
	p := x.Pair
	made, reason := x.Templates(p.Prompt, p.Chosen, p.Rejected)
	return Row{made[0], []Completion{{0, made[1]}, {1, made[2]}}}, cmp.Or(reason, chat.NoTools(p.Tools))
}
