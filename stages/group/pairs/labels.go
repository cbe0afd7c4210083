package pairs

import (
	"context"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/chat/trainset"
	"github.com/rollmill/rollmill/formats/training"
)

// labels labels each member that has a reward. A member without trained
// messages has no answer to label.
func (p *Writer) labels(ctx context.Context, members []formats.Member, all []formats.Trajectory) error {
	var out []formats.Label
	for i := range members {
		m, t := &members[i], &all[i]
		if m.NoAdvantage == training.NoAdvantageFailed || m.Reward == nil {
			continue
		}
		path := t.Main()
		at := slices.IndexFunc(path, t.Trained)
		if at < 0 {
			continue
		}
		x := formats.Label{
			TrajectoryID: m.TrajectoryID, ExampleID: m.ExampleID, GroupID: m.GroupID, Epoch: m.Epoch,
			Generation: m.Generation,
			Desirable:  *m.Reward >= p.minDesirable, Reward: *m.Reward,
			Prompt: chat.JSON(t, path[:at]), Completion: chat.JSON(t, path[at:]), Tools: chat.ToolsOf(t, path[at]),
		}
		fact := FactUndesirable
		if x.Desirable {
			fact = FactDesirable
		}
		p.Facts[fact]++
		p.Facts[FactLabels]++
		p.labelBytes += x.Size()
		if _, reason := trainset.Labelled(&x); reason != "" {
			p.Facts[factLabelsUnfit+reason]++
		}
		out = append(out, x)
	}
	if err := p.label.Write(ctx, out); err != nil || p.labelBytes < formats.PairBytes {
		return err
	}
	p.labelBytes = 0
	return p.label.EndRowGroup()
}
