package sequences

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/formats/receipts"
)

// Tally is the balance of what went into sequences and what came out. In is Tokens plus Lost.
type Tally struct {
	Totals
	In           int64 `json:"tokens_in"`              // sampled by calls to the target
	Lost         int64 `json:"tokens_lost,omitempty"`  // of trajectories that gave no sequences
	Alternatives int64 `json:"alternatives,omitempty"` // tokens of answers that the agent did not choose; never in a sequence
	// prompt tokens that a trainer which shares prefixes would not compute again
	Shared int64 `json:"shared,omitempty"`
}

// Add counts a trajectory and its sequences. A nil Tally counts nothing.
func (t *Tally) Add(row *formats.Trajectory, list []Sequence) {
	if t == nil {
		return
	}
	t.Totals.Add(list)
	sampled := int64(0)
	for i := range row.Messages {
		if row.Trained(i) {
			sampled += int64(len(row.Messages[i].TokenIDs))
		}
	}
	t.In += sampled
	t.Lost += sampled - Tokens(list)
	for i := range row.Candidates {
		t.Alternatives += int64(len(row.Candidates[i].TokenIDs))
	}
	t.Shared += shared(list)
}

// Balance returns the tally as a receipt stores it.
func (t *Tally) Balance() receipts.Balance {
	return receipts.Balance{Trajectories: t.Trajectories, Sequences: t.Sequences, Tokens: t.Tokens, In: t.In, Lost: t.Lost,
		Alternatives: t.Alternatives, Shared: t.Shared}
}

// String returns how much of what was sampled is in sequences.
func (t *Tally) String() string { return Text(t.Balance()) }

// Text returns a balance for people.
func Text(b receipts.Balance) string {
	text := fmt.Sprintf("%d of %d sampled tokens in %s of %s", b.Tokens, b.In, plural.Of(b.Sequences, "sequence"),
		plural.Of(b.Trajectories, "trajectory"))
	if b.Shared > 0 {
		text += fmt.Sprintf("; %s repeat an earlier sequence", plural.Of(b.Shared, "prompt token"))
	}
	return text
}

// Texts returns a line for each balance: the names of the files that have it, and its text.
func Texts(files map[string]receipts.Balance) (lines []string) {
	names := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		names[Text(files[name])] = append(names[Text(files[name])], name)
	}
	for _, text := range slices.Sorted(maps.Keys(names)) {
		lines = append(lines, strings.Join(names[text], ", ")+": "+text)
	}
	return lines
}

// shared returns how many tokens of the prompts of a trajectory's sequences
// repeat a prefix of an earlier sequence.
func shared(list []Sequence) (n int64) {
	for i := range list {
		longest := 0
		for j := range list[:i] {
			longest = max(longest, repeated(&list[i], &list[j]))
		}
		n += int64(longest)
	}
	return n
}

// repeated returns how many first tokens of a's prompt are those of b.
func repeated(a, b *Sequence) (n int) {
	for n < len(a.Prompt) {
		switch {
		case n < len(b.Prompt) && a.Prompt[n] == b.Prompt[n]:
		case n >= len(b.Prompt) && n-len(b.Prompt) < len(b.Response) && a.Prompt[n] == b.Response[n-len(b.Prompt)]:
		default:
			return n
		}
		n++
	}
	return n
}
