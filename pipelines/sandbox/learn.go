package sandbox

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// sample is one token that the policy wrote and is trained on.
type sample struct {
	view   *view
	phase  phase
	word   int
	old    float64 // log probability when it was written; NaN: use the current one
	weight float64 // tokens share their trajectory's weight
	gain   float64 // advantage
}

// optimiser is Adam's state, saved with the weights.
type optimiser struct {
	Mean, Square []float64
	Steps        int
}

const (
	adamMean   = 0.9
	adamSquare = 0.99
	adamTiny   = 1e-8
)

// rules of a training call, as the client set them.
type rules struct {
	rate    float64
	low     float64 // the ratio of new to old probability counts from 1-low
	high    float64 // to 1+high
	penalty float64 // coefficient of the divergence from the untrained policy
}

// metrics of one gradient step.
type metrics struct{ loss, policyLoss, kl, entropy, gradNorm float64 }

// learner is a running gradient ascent, on a copy of the policy's weights.
type learner struct {
	policy   *policy
	base     *policy
	opt      *optimiser
	rules    rules
	gradient []float64
	h, dh    []float64 // the hidden layer and its derivative
	ref      []float64 // the untrained policy's hidden layer
}

func newLearner(p, base *policy, opt *optimiser, r rules) *learner {
	return &learner{
		policy: p, base: base, opt: opt, rules: r,
		gradient: make([]float64, len(p.weights)),
		h:        make([]float64, p.hidden), dh: make([]float64, p.hidden), ref: make([]float64, base.hidden),
	}
}

// step takes one gradient step over the samples, in their order.
func (l *learner) step(samples []sample) metrics {
	clear(l.gradient)
	var m metrics
	var total float64
	for _, s := range samples {
		total += s.weight
	}
	for i := range samples {
		l.add(&samples[i], samples[i].weight/total, &m)
	}
	for _, g := range l.gradient {
		m.gradNorm += g * g
	}
	m.gradNorm = math.Sqrt(m.gradNorm)
	m.loss = m.policyLoss + l.rules.penalty*m.kl
	l.ascend()
	return m
}

// add accumulates the gradient of one sample's clipped objective.
func (l *learner) add(s *sample, weight float64, m *metrics) {
	var logp [words]float64
	l.policy.logits(s.view, s.phase, l.h, &logp)
	normalise(logp[:])
	now, old := logp[s.word], s.old
	if math.IsNaN(old) {
		old = now
	}
	ratio := math.Exp(now - old)
	clipped := min(max(ratio, 1-l.rules.low), 1+l.rules.high)
	push := 0.0 // derivative of the objective by the token's log probability
	if ratio*s.gain <= clipped*s.gain {
		push = ratio * s.gain
	}
	m.policyLoss -= weight * min(ratio*s.gain, clipped*s.gain)
	if l.rules.penalty > 0 {
		push -= l.rules.penalty * l.distance(s, now, weight, m)
	}
	for _, x := range logp {
		m.entropy -= weight * x * math.Exp(x)
	}
	if push != 0 {
		l.backward(s, weight*push, &logp)
	}
}

// distance estimates the divergence from the untrained policy and returns its derivative.
func (l *learner) distance(s *sample, now, weight float64, m *metrics) float64 {
	var ref [words]float64
	l.base.logits(s.view, s.phase, l.ref, &ref)
	normalise(ref[:])
	d := ref[s.word] - now
	m.kl += weight * (math.Exp(d) - d - 1)
	return 1 - math.Exp(d)
}

func (l *learner) backward(s *sample, push float64, logp *[words]float64) {
	n := l.policy.hidden
	w2 := l.policy.second()
	g1, g2, g3 := l.gradient[:inputs*n], l.gradient[inputs*n:(inputs+words)*n], l.gradient[(inputs+words)*n:]
	clear(l.dh)
	for w, x := range logp {
		d := -push * math.Exp(x)
		if w == s.word {
			d += push
		}
		row, grow := w2[w*n:][:n], g2[w*n:][:n]
		for i, h := range l.h {
			grow[i] += d * h
			l.dh[i] += d * row[i]
		}
		g3[w] += d
	}
	for i, h := range l.h {
		if h <= 0 {
			l.dh[i] = 0
		}
	}
	for _, in := range s.view.active {
		floats.Add(g1[in*n:][:n], l.dh)
	}
	floats.Add(g1[(inputPhase+int(s.phase))*n:][:n], l.dh)
}

func (l *learner) ascend() {
	o := l.opt
	o.Steps++
	fixMean := 1 - math.Pow(adamMean, float64(o.Steps))
	fixSquare := 1 - math.Pow(adamSquare, float64(o.Steps))
	for i, g := range l.gradient {
		o.Mean[i] = adamMean*o.Mean[i] + (1-adamMean)*g
		o.Square[i] = adamSquare*o.Square[i] + (1-adamSquare)*g*g
		l.policy.weights[i] += l.rules.rate * (o.Mean[i] / fixMean) / (math.Sqrt(o.Square[i]/fixSquare) + adamTiny)
	}
}
