package plot

import (
	"bytes"
	"encoding/xml"
	"math"
	"testing"

	"github.com/rollmill/rollmill/formats/decision"
	"github.com/rollmill/rollmill/pipelines/look/history"
)

func TestRewardsOfDifferentNamesShareNoAxis(t *testing.T) {
	mean := 0.5
	of := func(name string) *history.Sample {
		return &history.Sample{Mean: &mean, Rewards: map[string]float64{name: 1}, Weights: map[string]float64{name: 1}}
	}
	if p := panels([]history.Epoch{{Train: of("tree"), Validation: of("won")}}); len(p) != 2 || p[0].axis != "training reward: tree" ||
		p[1].axis != "validation reward: won" {
		t.Errorf("different rewards: %+v", p)
	}
	if p := panels([]history.Epoch{{Train: of("won"), Validation: of("won")}}); len(p) != 1 || len(p[0].lines) != 3 {
		t.Errorf("the same reward: %+v", p)
	}
	further := map[string]*history.Sample{"strict": of("won"), "validation/strict": of("won")}
	if p := panels([]history.Epoch{{Train: of("won"), Scores: further}}); len(p) != 3 || p[0].axis != "mean reward" || p[1].axis != "reward: strict" ||
		p[2].axis != "reward: validation/strict" {
		t.Errorf("further scores: %+v", p)
	}
}

func TestEveryPanelNamesItsAxes(t *testing.T) {
	of := func(name string) *history.Sample {
		return &history.Sample{Mean: new(0.5), Rewards: map[string]float64{name: 1}, Weights: map[string]float64{name: 1}}
	}
	run := history.Run{Epochs: []history.Epoch{{Train: of("tree"), Validation: of("won"), Curriculum: &history.Curriculum{CurriculumState: decision.CurriculumState{Share: 1}}}}}
	plots, err := RewardFigure(run).plots(light)
	if err != nil || len(plots) != 3 {
		t.Fatalf("%d plots, %v", len(plots), err)
	}
	for _, p := range plots {
		if p.X.Label.Text != "epoch" || p.Y.Label.Text == "" {
			t.Errorf("axes %q and %q", p.X.Label.Text, p.Y.Label.Text)
		}
	}
}

func TestFiguresAreXMLAndHaveASansFace(t *testing.T) {
	mean := 0.5
	for n, run := range []history.Run{{}, {Root: `<&">`, Epochs: []history.Epoch{{Train: &history.Sample{Mean: &mean}}}}} {
		data, err := RewardFigure(run).svg(light)
		if err != nil {
			t.Fatal(err)
		}
		if err := xml.Unmarshal(data, new(struct{})); err != nil || !bytes.Contains(data, []byte("sans-serif")) || bytes.Contains(data, []byte("Serif")) {
			t.Errorf("figure %d: %v", n, err)
		}
	}
	wide := Scatter{Title: "reward"}
	for i := range 5000 {
		wide.Points = append(wide.Points, [2]float64{math.Sin(float64(i)), math.Cos(float64(i) / 3)})
	}
	for _, s := range []Scatter{{}, {Points: [][2]float64{{1, 1}, {1, 0}}}, wide} {
		if _, err := s.SVG(); err != nil {
			t.Error(err)
		}
		if _, err := s.PNG(); err != nil {
			t.Error(err)
		}
	}
}

func TestWholeTicks(t *testing.T) {
	for _, high := range []float64{0.5, 1, 15, 99, 1234} {
		ticks := wholeTicks(16).Ticks(-0.5, high)
		if len(ticks) == 0 || len(ticks) > 17 || ticks[0].Label != "0" {
			t.Errorf("to %v: %v", high, ticks)
		}
	}
}

func TestCountsNest(t *testing.T) {
	var c Counts
	for i := range 100_000 {
		c.Add(float64(i) * 1.5)
	}
	c.Add(math.NaN())
	c.Add(1e30)
	if c.N != 100_001 || len(c.bins) > maxBins || c.low() != 0 || c.high() > 1e30 || c.high() < 0.99e30 {
		t.Errorf("%d values in %d bins from %v to %v", c.N, len(c.bins), c.low(), c.high())
	}
}
