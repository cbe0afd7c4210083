// Package behaviour counts what a reader of an attempt would notice. To add a fact: its definition in about, and a
// line in facts.
package behaviour

import (
	"context"

	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/plugin"
	"github.com/rollmill/rollmill/stages/score"
)

const about = `Each fact is a reward NAME_FACT of weight 0, for expressions, curate --filter and show --where:

  repeated_calls        tool calls whose tool and arguments, equal as JSON, an earlier call has
  idle_turns            turns before the last one that call no tool, if the attempt has tools
  tool_errors_in_a_row  the longest run of tool results that the record calls errors
  no_answer             1 if the answer is empty or the text beside a tool call, else 0
  no_check              1 if no call of checks= follows the last of changes=, or if there is none, else 0
  copied_prompt         1 if the prompt has the answer's words, copy-words= or more, in a row, else 0
  copied_reference      1 if the answer's words are the reference's and in a row in the prompt, else 0
  length_ratio          characters that the model wrote, by the median of the group's scored attempts

They are of the main path, and so not of other branches, sub-agents, answers that were not chosen
or what was asked again; a fork's are also of what it repeats. What a compacted context keeps is no
new call. The prompt is what comes before the model's first message; words are letters and digits in
lower case. What the record does not tell is null, with the reason. It tells errors of tools by is_error,
isError, output.success or status (error, success) of the message in metadata.message_fields (imports), or
by the call's id in metadata.rollmill_tool_errors (rollouts).
`

var Kind = score.RewardKind{Kind: plugin.Kind[score.RewardSettings]{
	Name: "behaviour", About: about,
	Help: "count what a reader would notice: repeated calls and errors, ends without answer or check, copies, length",
	New:  func() score.RewardSettings { return &Settings{Words: 8, Reference: "answer"} },
}}

type Settings struct {
	Checks, Changes, Reference string
	Words                      int
}

func (s *Settings) Declare(d *plugin.Declarer) {
	d.String(&s.Checks, "checks", "take calls of these `TOOLS`, separated by |, as checks; TOOL:TEXT is a call of TOOL whose arguments have TEXT")
	d.String(&s.Changes, "changes", "take calls of these `TOOLS`, written as in checks=, as changes that a check has to follow")
	d.Int(&s.Words, "copy-words", "look in the prompt for answers of at least `N` words").Min(1)
	d.String(&s.Reference, "field", "take the reference from this `FIELD` of the example")
}

func (s *Settings) Reward(score.Setup) (score.Reward, error) {
	return reward{s}, nil
}

type reward struct{ *Settings }

func (reward) Close() error { return nil }

func (reward) Describe() score.Description {
	d := score.Description{Detail: score.Text, Columns: []string{"answer", "metadata"}, NoValue: true, Relative: true, Local: true}
	for _, f := range facts {
		d.Parts = append(d.Parts, f.name)
	}
	return d
}

func (r reward) Score(ctx context.Context, rows []*score.Row, values []score.Value) error {
	attempts, lengths := make([]*attempt, len(rows)), map[string][]int{}
	for i, row := range rows {
		a := r.read(row)
		if attempts[i] = a; a.turns != nil {
			lengths[a.Group()] = append(lengths[a.Group()], a.length)
		}
	}
	for i, a := range attempts {
		a.group, values[i] = lengths[a.Group()], score.Value{Parts: make([]score.Part, len(facts))}
		for k, f := range facts {
			n, unknown := 0.0, "the model wrote no message of the main path"
			if a.turns != nil {
				n, unknown = f.of(a)
			}
			if values[i].Parts[k].Value = &n; unknown != "" {
				values[i].Parts[k] = score.Part{Failure: outcomes.RewardMissing, Error: unknown}
			}
		}
	}
	return ctx.Err()
}
