package show

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/rollmill/rollmill/formats/excerpt"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/formats/plural"
	"github.com/rollmill/rollmill/formats/schema"
	"github.com/rollmill/rollmill/pipelines/look/text"
)

// The screen that the summary fits, with one line left for the prompt.
const (
	screenWidth = 80
	screenLines = 23
)

// lacking names the rows of each kind that have a reason for what they lack.
var lacking = map[schema.Kind]string{schema.KindTrajectories: "failed", schema.KindScores: "unscored",
	schema.KindGroups: "excluded"}

// barWidth is the length of a histogram's longest bar.
const barWidth = 40

// WriteSummary writes the summary as text that fits a screen, or as Markdown.
func (v View) WriteSummary(w io.Writer, markdown bool) error {
	var b strings.Builder
	p := &text.Layout{W: &b, Markdown: markdown}
	if markdown {
		fmt.Fprintf(&b, "## Dataset %s\n\n", text.Span(text.Line(v.URI)))
	}
	v.summary(p)
	text := b.String()
	if !markdown {
		text = fitted(text)
	}
	_, err := io.WriteString(w, text)
	return err
}

func (v View) summary(p *text.Layout) {
	m, s := v.Manifest, v.Summary
	v.head(p)
	for _, list := range []struct {
		name   string
		counts map[string]int64
	}{{"status", s.Statuses}, {lacking[m.Kind], s.Lacking}, {"dropped", m.Drops}} {
		if len(list.counts) > 0 {
			p.Field(list.name, "%s", counted(list.counts))
		}
	}
	if s.Prompt.Max+s.Sampled.Max > 0 {
		sampled := "unknown"
		if s.Sampled.Count > 0 {
			sampled = s.Sampled.String()
		}
		p.Field("tokens", "prompt %s; sampled %s", s.Prompt, sampled)
	}
	v.rewards(p)
	for i, in := range m.Inputs {
		if i < 3 {
			p.Field("input", "%s (%s)", text.Line(in.URI), text.Line(in.Role))
		}
	}
	var params, tables []string
	for _, name := range slices.Sorted(maps.Keys(m.Params)) {
		params = append(params, text.Line(name)+" = "+excerpt.Start(text.Line(text.JSON(m.Params[name])), 16))
	}
	for _, name := range slices.Sorted(maps.Keys(m.Tables)) {
		tables = append(tables, fmt.Sprintf("%s, %s", text.Line(name), plural.Of(m.Tables[name].Rows, "row")))
	}
	if params != nil {
		p.Field("parameters", "%s", strings.Join(params, ", "))
	}
	if tables != nil {
		p.Field("tables", "%s", strings.Join(tables, "; "))
	}
	p.Field("next", "show %s", strings.Join(v.next(), "; "))
}

// rewards writes the rewards, with a histogram, and the advantages.
func (v View) rewards(p *text.Layout) {
	s := v.Summary
	if s.Reward.Count == 0 {
		return
	}
	p.Field("reward", "%s; %d of %d rows have one", s.Reward, s.Reward.Count, v.Manifest.Rows)
	maxCount := int64(1)
	for _, b := range s.Reward.Bins {
		maxCount = max(maxCount, b.Count)
	}
	for _, b := range s.Reward.Bins {
		p.Field("", "%-18s %s %d", b.Name(), bar(b.Count, maxCount), b.Count)
	}
	if s.Advantage.Count > 0 {
		p.Field("advantage", "%s; %d of %d rows have one", s.Advantage, s.Advantage.Count, v.Manifest.Rows)
	}
}

// eighths are the ends of bars.
var eighths = []rune(" ▏▎▍▌▋▊▉")

// bar draws a count as a bar. A count that is not 0 can be seen.
func bar(count, maxCount int64) string {
	n := int(float64(count) / float64(maxCount) * barWidth * 8)
	if count > 0 {
		n = max(n, 1)
	}
	text := strings.Repeat("█", n/8)
	if n%8 > 0 {
		text += string(eighths[n%8])
	}
	return text
}

func (s Spread) String() string {
	mean := s.Mean
	if math.Abs(mean) < 1e-12*max(math.Abs(s.Min), math.Abs(s.Max)) {
		mean = 0 // what adding up left of it
	}
	return fmt.Sprintf("mean %s, %s to %s", figure(mean), figure(s.Min), figure(s.Max))
}

// figure writes a number with four digits, and whole from 10,000 on, as counts of
// tokens are read.
func figure(v float64) string {
	if a := math.Abs(v); a >= 1e4 && a < 1e15 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// next returns the flags of show that go on from here.
func (v View) next() []string {
	out := []string{"--rows 20"}
	if v.Summary.Statuses[outcomes.StatusFailed] > 0 {
		out = append(out, "--failed")
	}
	if v.Summary.Lowest != "" {
		out = append(out, "--trajectory "+excerpt.Start(text.Line(v.Summary.Lowest), 24)+" (lowest reward)")
	}
	return out
}

// counted returns counts, the largest first.
func counted(counts map[string]int64) string {
	return plural.Counts(counts, func(name string, n int64) string { return fmt.Sprintf("%s %d", text.Line(name), n) })
}

// columns counts the columns of a line alike in every locale.
var columns = &runewidth.Condition{}

// fitted cuts a text to the screen: its lines at their ends, and of too many lines
// those before the last.
func fitted(text string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if n := len(lines); n > screenLines {
		lines = append(lines[:screenLines-1], lines[n-1])
	}
	for i, line := range lines {
		lines[i] = strings.TrimRight(columns.Truncate(line, screenWidth, "…"), " ")
	}
	return strings.Join(lines, "\n") + "\n"
}
