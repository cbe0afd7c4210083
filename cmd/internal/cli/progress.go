package cli

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rollmill/rollmill/formats/secret"
	"github.com/rollmill/rollmill/stages"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// progressInterval is the time between progress lines when stderr is not a
// terminal.
const progressInterval = 15 * time.Second

// stderr writes log lines, messages and errors to standard error, above the
// progress bars if there are any. It redacts the secrets of this process and
// escapes control characters.
type stderr struct {
	w        io.Writer
	terminal bool

	secrets *secret.Set

	mu   sync.Mutex
	bars *mpb.Progress
	live int
}

// Write writes whole lines.
func (t *stderr) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := visible(t.secrets.Redact(string(p)))
	if t.bars != nil {
		if _, err := t.bars.Write([]byte(text)); err == nil {
			return len(p), nil
		}
	}
	_, err := io.WriteString(t.w, text)
	return len(p), err
}

// meter returns a meter for a stage: a bar on a terminal, else lines at intervals
// of progressInterval.
func (s *console) meter(stage, unit string, total int64) stages.Meter {
	switch {
	case s.quiet:
		return stages.Env{}.Meter(stage, unit, total)
	case s.stderr.terminal && !s.LogJSON:
		return s.stderr.bar(stage, unit, total)
	}
	return &lines{s: s, stage: stage, unit: unit, total: total, begin: time.Now(), last: time.Now()}
}

// lines is a meter that prints lines.
type lines struct {
	s           *console
	stage, unit string
	total       int64

	mu          sync.Mutex
	done        int64
	note        string
	begin, last time.Time
}

func (l *lines) Add(n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.done += n
	if time.Since(l.last) >= progressInterval {
		l.last = time.Now()
		l.s.Say("%s", l.text())
	}
}

func (l *lines) Note(text string) {
	l.mu.Lock()
	l.note = text
	l.mu.Unlock()
}

// Done prints nothing, because the summary of the stage follows.
func (l *lines) Done() {}

func (l *lines) text() string {
	text := fmt.Sprintf("%s: %d %s", l.stage, l.done, l.unit)
	if l.total > 0 {
		text = fmt.Sprintf("%s: %d of %d %s", l.stage, l.done, l.total, l.unit)
	}
	if rate := float64(l.done) / time.Since(l.begin).Seconds(); rate > 0 {
		text += fmt.Sprintf(", %.3g/s", rate)
	}
	if l.note != "" {
		text += ", " + l.note
	}
	return text
}

// bar is a meter that redraws a progress bar.
type bar struct {
	t    *stderr
	bar  *mpb.Bar
	note atomic.Pointer[string]
	once sync.Once
}

func (t *stderr) bar(stage, unit string, total int64) stages.Meter {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.bars == nil {
		t.bars = mpb.New(mpb.WithOutput(t.w), mpb.WithWidth(40), mpb.WithAutoRefresh())
	}
	t.live++
	b := &bar{t: t}
	note := decor.Any(func(decor.Statistics) string {
		if text := b.note.Load(); text != nil {
			return " " + *text
		}
		return ""
	})
	counters := decor.CountersNoUnit("%d/%d " + unit)
	if total <= 0 {
		counters = decor.CurrentNoUnit("%d " + unit)
	}
	b.bar = t.bars.AddBar(total,
		mpb.PrependDecorators(decor.Name(stage+" ", decor.WCSyncWidthR), counters),
		mpb.AppendDecorators(decor.OnComplete(decor.AverageETA(decor.ET_STYLE_GO), ""), note))
	return b
}

func (b *bar) Add(n int64)      { b.bar.IncrInt64(n) }
func (b *bar) Note(text string) { b.note.Store(&text) }

// Done stops the bar where it is. After the last bar, output goes directly to the
// terminal again.
func (b *bar) Done() {
	b.once.Do(func() {
		b.bar.Abort(false)
		t := b.t
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.live--; t.live == 0 {
			t.bars.Wait()
			t.bars = nil
		}
	})
}
