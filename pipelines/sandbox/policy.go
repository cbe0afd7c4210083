package sandbox

import (
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
)

// The inputs of the network: the state of each square and line, and the
// position within the answer. A few of them are 1 at a time, the others 0.
const (
	inputSquares = 0                 // 9 squares, own or other
	inputLines   = inputSquares + 18 // 8 lines: 1 or 2 own and no other, 1 or 2 other and no own
	inputPhase   = inputLines + 32
	inputs       = inputPhase + int(phases)
)

// phase is the position within the answer, which its last token determines.
type phase int

const (
	phaseStart phase = iota
	phaseOpen        // after <move>
	phaseCell        // after a square
	phaseClose       // after </move>
	phases
)

func phaseAfter(id int) phase {
	switch {
	case isDigit(byte(id)) && id < 256:
		return phaseClose
	case id == tokenOpen:
		return phaseOpen
	case id == tokenClose:
		return phaseClose
	case id >= tokenCell:
		return phaseCell
	default:
		return phaseStart
	}
}

// The prior: what the policy knows before any training, as a pretrained model would. It writes
// well-formed moves to free squares, each with equal probability, and errs now and then.
const (
	priorForm  = 9 // of the one word that the form allows, over any other
	priorTaken = 6 // of a free square over a taken one
)

func prior(v *view, p phase, w int) float64 {
	id := firstWord + w
	switch {
	case p == phaseOpen && id >= tokenCell:
		if !v.sum && v.board[id-tokenCell] != free {
			return priorForm - priorTaken
		}
		return priorForm
	case p == phaseStart && id == tokenOpen, p == phaseCell && id == tokenClose, p == phaseClose && id == tokenEnd:
		return priorForm
	default:
		return 0
	}
}

// policy is a network of two layers; its output is added to the prior and goes
// through a softmax over the words. It is immutable once it serves.
type policy struct {
	hidden  int
	weights []float64 // inputs × hidden, words × hidden, words
}

func weightCount(hidden int) int { return inputs*hidden + words*hidden + words }

// newPolicy returns an untrained policy: a random first layer, and a second one
// so small that the prior alone decides.
func newPolicy(hidden int, seed int64) *policy {
	p := &policy{hidden: hidden, weights: make([]float64, weightCount(hidden))}
	random := rand.New(rand.NewPCG(uint64(seed), 0x726f6c6c6d696c6c))
	for i := range inputs * hidden {
		p.weights[i] = random.NormFloat64() * 0.3
	}
	for i := range words * hidden {
		p.weights[inputs*hidden+i] = random.NormFloat64() * 0.01
	}
	return p
}

func (p *policy) second() []float64 { return p.weights[inputs*p.hidden : (inputs+words)*p.hidden] }

// view is a prompt as the network sees it.
type view struct {
	board  board
	sum    bool  // the nine squares stand for the digits 1 to 9
	active []int // inputs that are 1, without the phase
}

// begin returns the phase in which an answer begins: that to a sum is one digit.
func (v *view) begin() phase {
	if v.sum {
		return phaseOpen
	}
	return phaseStart
}

// token returns the token that the policy writes for a word.
func (v *view) token(w int) int {
	if v.sum && firstWord+w >= tokenCell {
		return '1' + firstWord + w - tokenCell
	}
	return firstWord + w
}

// word is the inverse of token; it is below 0 for a token that is no word.
func (v *view) word(id int) int {
	if v.sum && id > '0' && id <= '9' {
		return tokenCell - firstWord + id - '1'
	}
	return id - firstWord
}

func newView(b board, sum bool) *view {
	v := &view{board: b, sum: sum}
	for i, s := range b {
		if s != free {
			v.active = append(v.active, inputSquares+2*i+int(s)-1)
		}
	}
	for i, l := range boardLines {
		var count [3]int
		for _, sq := range l {
			count[b[sq]]++
		}
		switch o, e := count[own], count[other]; {
		case e == 0 && (o == 1 || o == 2):
			v.active = append(v.active, inputLines+4*i+o-1)
		case o == 0 && (e == 1 || e == 2):
			v.active = append(v.active, inputLines+4*i+e+1)
		}
	}
	return v
}

// logits fills out with the unnormalised log probability of every word and h
// with the hidden layer.
func (p *policy) logits(v *view, ph phase, h []float64, out *[words]float64) {
	n, w1, w2, bias := p.hidden, p.weights, p.second(), p.weights[(inputs+words)*p.hidden:]
	copy(h, w1[(inputPhase+int(ph))*n:][:n])
	for _, in := range v.active {
		floats.Add(h, w1[in*n:][:n])
	}
	for i, x := range h {
		h[i] = max(x, 0)
	}
	for w := range out {
		row := w2[w*n:][:n]
		sum := bias[w] + prior(v, ph, w)
		for i, x := range h {
			sum += row[i] * x
		}
		out[w] = sum
	}
}

// normalise turns logits into log probabilities.
func normalise(logits []float64) {
	floats.AddConst(-floats.LogSumExp(logits), logits)
}
