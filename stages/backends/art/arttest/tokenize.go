package arttest

import (
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats/foreign/art"
	"github.com/rollmill/rollmill/formats/foreign/art/wiretest"
)

// look reads a batch as the trainer's tokenizer does. sound is false where Python would raise.
func (b *Batch) look(d Dialect) (trainable, sound bool) {
	sound = true
	for _, g := range b.Groups {
		rewards := make([]float64, len(g.Trajectories))
		for i, t := range g.Trajectories {
			rewards[i] = *t.Reward
		}
		for i, advantage := range art.Advantages(rewards, true) {
			if advantage == 0 {
				continue
			}
			t := g.Trajectories[i]
			histories := []wiretest.History{t.History}
			if d != V03 {
				histories = append(histories, t.AdditionalHistories...)
			}
			for _, h := range histories {
				some, ok := b.history(h, d)
				trainable, sound = trainable || some, sound && ok
			}
		}
	}
	return trainable, sound
}

func (b *Batch) history(h wiretest.History, d Dialect) (trainable, sound bool) {
	if d == V05 || d == Frontend {
		return b.plain(h)
	}
	last := -1
	for i, e := range h.Entries {
		if e.Choice != nil && e.Choice.Logprobs != nil {
			last = i
		}
	}
	for _, e := range h.Entries[:last+1] {
		switch {
		case e.Choice == nil:
			if e.Message.Role == "assistant" && d != V03 {
				b.Plain++
			}
		case e.Choice.Logprobs == nil, len(e.Choice.Logprobs.Content) == 0:
			return false, false // AssertionError, IndexError
		default:
			for _, t := range e.Choice.Logprobs.Content {
				id, ok := tokenID(t.Token)
				if !ok {
					return false, false // ValueError
				}
				b.Tokens = append(b.Tokens, id)
			}
		}
	}
	return last >= 0, true
}

// tokenID returns the number in "token_id:<n>".
func tokenID(token string) (int32, bool) {
	digits, found := strings.CutPrefix(token, "token_id:")
	n, err := strconv.ParseInt(digits, 10, 32)
	return int32(n), found && err == nil && n >= 0
}

// plain reads a history where a choice arrives as a plain object.
func (b *Batch) plain(h wiretest.History) (trainable, sound bool) {
	allowed, _ := b.Dev["allow_training_without_logprobs"].(bool)
	for _, e := range h.Entries {
		switch {
		case e.Choice != nil:
			return false, false // KeyError: 'role'
		case e.Message.Role != "assistant" || !allowed:
		case len(e.Message.ToolCalls) > 0:
			return false, false // ValueError
		default:
			b.Plain++
			b.Texts = append(b.Texts, e.Message.Content)
			trainable = true
		}
	}
	return trainable, true
}
