// Package trl writes the rows that Hugging Face TRL's trainers load. They are
// those of package chat, as they are.
package trl

import (
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/exporters"
)

var (
	preferences   = exporters.Pair(func(p chat.Preference) (chat.Preference, string) { return p, "" })
	answers       = exporters.Single(func(u chat.Unpaired) chat.Unpaired { return u })
	conversations = exporters.Each(chat.Best)
	prompts       = exporters.Each(chat.PromptOf)
)

// Preference is a preference dataset, for DPO and similar methods.
var Preference = exporters.Format{
	Name: "trl-preference", Help: "TRL's preference rows", Of: exporters.Pairs, Files: []exporters.Extension{exporters.JSONL, exporters.Parquet}, Hub: 2,
	Lines: exporters.Lines(preferences), Table: exporters.Table(preferences),
}

// KTO is an unpaired preference dataset.
var KTO = exporters.Format{
	Name: "trl-kto", Help: "TRL's unpaired preference rows: single answers, good or bad", Of: exporters.Labels, Files: []exporters.Extension{exporters.JSONL}, Hub: 4,
	Lines: exporters.Lines(answers), Table: exporters.Table(answers),
}

// SFT is a language modelling dataset.
var SFT = exporters.Format{
	Name: "trl-sft", Help: "TRL's conversations", Of: exporters.Top, Files: []exporters.Extension{exporters.JSONL}, Hub: 3,
	Lines: exporters.Lines(conversations), Table: exporters.Table(conversations),
}

// Prompts is a prompt-only dataset.
var Prompts = exporters.Format{
	Name: "trl-prompts", Help: "TRL's prompt-only rows, for GRPO and RLOO", Of: exporters.Groups, Files: []exporters.Extension{exporters.JSONL}, Hub: 5,
	Lines: exporters.Lines(prompts), Table: exporters.Table(prompts),
}
