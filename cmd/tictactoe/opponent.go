package main

import (
	"crypto/sha256"
	"encoding/binary"
	"strconv"
)

// Reply returns the opponent's move: each free square is equally likely, but the
// move is always the same for the same seed and board. So all games of an example
// have the same opponent, and a game can be replayed.
func Reply(seed int64, b Board) int {
	free := b.Moves()
	return free[int(pick(seed, "reply", b.String())%uint64(len(free)))]
}

func pick(seed int64, names ...string) uint64 {
	text := strconv.FormatInt(seed, 10)
	for _, n := range names {
		text += "\x00" + n
	}
	sum := sha256.Sum256([]byte(text))
	return binary.BigEndian.Uint64(sum[:8])
}
