package main

// The value of a win above 1.
const (
	bonusMade   = 1.0  // the line is complete
	bonusForced = 0.75 // no reply can prevent it
)

// Judge computes the values of positions by searching the game tree, and caches
// them. It is not safe for concurrent use.
type Judge struct {
	chance map[node]float64
	forced map[node]bool
}

type node struct {
	board Board
	me    Mark
	turn  Mark
}

// NewJudge returns a judge with an empty cache.
func NewJudge() *Judge {
	return &Judge{chance: map[node]float64{}, forced: map[node]bool{}}
}

// Value returns the value for me of a board on which I have just moved: the
// expected result (win 1, draw ½, loss 0) against an opponent who moves at random,
// and more than 1 if I have won or a win is certain.
func (j *Judge) Value(b Board, me Mark) float64 {
	switch at := (node{b, me, me.Other()}); {
	case b.Won(me):
		return 1 + bonusMade
	case j.mustWin(at):
		return 1 + bonusForced
	default:
		return j.expect(at)
	}
}

// expect returns the expected result if the opponent moves at random and I move as
// well as possible.
func (j *Judge) expect(n node) (v float64) {
	if v, ok := j.chance[n]; ok {
		return v
	}
	defer func() { j.chance[n] = v }()
	switch {
	case n.board.Won(n.me):
		return 1
	case n.board.Won(n.me.Other()):
		return 0
	}
	free := n.board.Moves()
	if len(free) == 0 {
		return 0.5
	}
	best, sum := 0.0, 0.0
	for _, square := range free {
		v := j.expect(node{n.board.With(square, n.turn), n.me, n.turn.Other()})
		best, sum = max(best, v), sum+v
	}
	if n.turn == n.me {
		return best
	}
	return sum / float64(len(free))
}

// mustWin reports whether I can win against every reply.
func (j *Judge) mustWin(n node) (wins bool) {
	if w, ok := j.forced[n]; ok {
		return w
	}
	defer func() { j.forced[n] = wins }()
	if n.board.Over() {
		return n.board.Won(n.me)
	}
	own := n.turn == n.me
	for _, square := range n.board.Moves() {
		if j.mustWin(node{n.board.With(square, n.turn), n.me, n.turn.Other()}) == own {
			return own // one good move of mine decides, and so does one refutation
		}
	}
	return !own
}

// Total returns the reward of a game from the values of the model's moves: their
// weighted mean, in which earlier moves count more, plus the largest excess above
// 1, which decreases with the number of the move.
func Total(values []float64) float64 {
	var sum, weights, bonus float64
	weight, fade := 1.0, 1.0
	for _, v := range values {
		sum += weight * min(v, 1)
		weights += weight
		bonus = max(bonus, fade*(v-1))
		weight *= 0.8
		fade *= 0.95
	}
	if weights == 0 {
		return 0
	}
	return sum/weights + bonus
}
