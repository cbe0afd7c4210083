package pairs

import (
	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
)

// sharedPrompt finds where two main paths diverge: the number of equal messages. It
// returns a fact as refused if they are not two answers to one prompt.
func sharedPrompt(a, b *formats.Trajectory, pathA, pathB []int) (shared int, refused string) {
	shared = chat.Shared(a, b, pathA, pathB)
	switch {
	case shared == len(pathA) && shared == len(pathB):
		return shared, factPairsSame
	case shared == len(pathA) || shared == len(pathB):
		return shared, factPairsPrompts
	}
	i, j := pathA[shared], pathB[shared]
	if !a.Trained(i) || !b.Trained(j) || chat.ToolsOf(a, i) != chat.ToolsOf(b, j) {
		return shared, factPairsPrompts
	}
	return shared, ""
}
