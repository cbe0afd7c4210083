package view

import (
	"fmt"
	"time"

	"github.com/rollmill/rollmill/pipelines/look/text"
	"github.com/rollmill/rollmill/pipelines/report"
)

// Prices are what a million tokens cost; 0 is not known.
type Prices struct{ Prompt, Completion float64 }

// of returns what calls cost.
func (p Prices) of(c report.Cost) float64 {
	return (float64(c.PromptTokens)*p.Prompt + float64(c.CompletionTokens)*p.Completion) / 1e6
}

// window is the time over which the present rate is measured.
const window = time.Minute

// tiles returns how far a rollout is, how fast it is, and what it used.
func (j *journal) tiles(p Prices, now time.Time) []report.Tile {
	rows, failed := j.segments.Rows+j.parts.Rows, j.segments.Failed+j.parts.Failed
	prompt, completion := j.segments.Prompt+j.parts.Prompt, j.segments.Completion+j.parts.Completion
	total, all := int64(0), len(j.expected) == j.under.Shards
	for _, n := range j.expected {
		total += n
		all = all && n > 0
	}
	out := []report.Tile{{Name: "Finished", Value: text.Thousands(rows)}}
	if all && total > 0 {
		out[0].Note = fmt.Sprintf("%.1f %% of %s", 100*float64(rows)/float64(total), text.Thousands(total))
	}
	rate, overall := j.rates(now)
	t := report.Tile{Name: "Rate", Value: fmt.Sprintf("%.1f per minute", rate*60),
		Note: fmt.Sprintf("in the last minute; %.1f on the whole", overall*60)}
	out = append(out, t)
	if all && total > rows && rate > 0 {
		left := time.Duration(float64(total-rows) / rate * float64(time.Second))
		out = append(out, report.Tile{Name: "Time left", Value: left.Round(time.Second).String(),
			Note: "at the last minute's rate"})
	}
	share := ""
	if rows > 0 {
		share = fmt.Sprintf("%.1f %%", 100*float64(failed)/float64(rows))
	}
	out = append(out, report.Tile{Name: "Failed", Value: text.Thousands(failed), Note: share},
		report.Tile{Name: "Tokens", Value: text.Thousands(prompt + completion),
			Note: fmt.Sprintf("%s prompt, %s completion", text.Thousands(prompt), text.Thousands(completion))})
	if p != (Prices{}) {
		spend := p.of(report.Cost{PromptTokens: prompt, CompletionTokens: completion})
		out = append(out, report.Tile{Name: "Spend", Value: fmt.Sprintf("%.4f", spend), Note: "at the given prices"})
	}
	if j.under.Shards > 1 {
		out = append(out, report.Tile{Name: "Shards", Value: fmt.Sprintf("%d of %d", len(j.under.Finished), j.under.Shards),
			Note: "finished"})
	}
	return append(out, report.Tile{Name: "Last written", Value: since(j.under.Changed) + " ago"})
}

// rates returns the attempts per second that ended within the window before now, and
// those of the whole time.
func (j *journal) rates(now time.Time) (rate, overall float64) {
	var first, last int64
	from, n := now.Add(-window).UnixMicro(), 0
	for _, a := range j.attempts {
		if a.FinishedAt == 0 {
			continue
		}
		if first == 0 || a.StartedAt < first {
			first = a.StartedAt
		}
		last = max(last, a.FinishedAt)
		if a.FinishedAt >= from {
			n++
		}
	}
	if last <= first {
		return 0, 0
	}
	span := min(window.Seconds(), float64(now.UnixMicro()-first)/1e6) // a rollout may be younger than the window
	return float64(n) / max(span, 1e-6), float64(len(j.attempts)) / (float64(last-first) / 1e6)
}
