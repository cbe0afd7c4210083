package terminal

import (
	"strings"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// bar shows a gauge on a terminal.
type bar struct {
	t   *stderr
	bar *mpb.Bar
}

func (t *stderr) bar(g *gauge) *bar {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.bars == nil {
		t.bars = mpb.New(mpb.WithOutput(t.w), mpb.WithAutoRefresh())
	}
	t.live++
	text := func(part func(state) string) decor.Decorator {
		return decor.Any(func(decor.Statistics) string { return Visible(t.secrets.Redact(part(g.state()))) })
	}
	total := g.state().Total
	if total == 0 {
		return &bar{t: t, bar: t.bars.New(0, mpb.NopStyle(), mpb.PrependDecorators(text(state.line)))}
	}
	tail := func(s state) string { return strings.Replace(s.tail(), ",", "", 1) }
	return &bar{t: t, bar: t.bars.AddBar(total, mpb.BarWidth(20), mpb.PrependDecorators(text(state.head)),
		mpb.AppendDecorators(text(tail)))}
}

func (b *bar) set(s state) { b.bar.SetCurrent(s.Done) }

// end leaves the bar where it is. After the last bar, output goes directly to the
// terminal again.
func (b *bar) end() {
	b.bar.Abort(false)
	t := b.t
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.live--; t.live == 0 {
		t.bars.Wait()
		t.bars = nil
	}
}
