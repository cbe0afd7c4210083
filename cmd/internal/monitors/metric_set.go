package monitors

import (
	"maps"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
)

// set is the metrics of a file.
type set map[string]*dto.MetricFamily

// add adds a value with labels, given as names and values.
func (s set) add(m metric, value float64, labels ...string) {
	family := s[m.name]
	if family == nil {
		family = &dto.MetricFamily{Name: &m.name, Help: &m.help, Type: &m.kind}
		s[m.name] = family
	}
	x := &dto.Metric{}
	for i := 0; i < len(labels); i += 2 {
		text := valid(labels[i+1])
		x.Label = append(x.Label, &dto.LabelPair{Name: &labels[i], Value: &text})
	}
	if m.kind == counter {
		x.Counter = &dto.Counter{Value: &value}
	} else {
		x.Gauge = &dto.Gauge{Value: &value}
	}
	family.Metric = append(family.Metric, x)
}

// valid returns a text that may be a label's value.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

func (s set) stage(g stageMetrics) {
	split := "training"
	if g.Validation {
		split = "validation"
	}
	add := func(m metric, value float64, label ...string) {
		s.add(m, value, append([]string{"run", g.Run, "split", split, "stage", g.Stage}, label...)...)
	}
	table := func(m metric, label string, counts map[string]int64) {
		for _, name := range slices.Sorted(maps.Keys(counts)) {
			add(m, float64(counts[name]), label, name)
		}
	}
	if g.Epoch != nil {
		add(epoch, float64(*g.Epoch))
	}
	if !g.Begun.IsZero() {
		add(done, float64(g.Done))
		until := g.At
		if !g.Ended.IsZero() {
			until = g.Ended
		}
		add(seconds, until.Sub(g.Begun).Seconds())
		add(retries, float64(g.Retries))
	}
	if g.Total > 0 {
		add(expected, float64(g.Total))
	}
	if g.Spend.Tokens() > 0 {
		add(tokens, float64(g.Spend.PromptTokens), "kind", "prompt")
		add(tokens, float64(g.Spend.CompletionTokens), "kind", "completion")
	}
	if g.Spend.Cost > 0 {
		add(cost, g.Spend.Cost)
	}
	r := g.Report
	if r == nil {
		table(failures, "class", g.Failures)
		return
	}
	table(rows, "state", r.Counts)
	table(drops, "reason", r.Drops)
	table(failures, "class", r.Failures)
	switch g.Stage {
	case "score":
		if n := r.Counts["scored"]; n > 0 {
			add(reward, r.Facts["reward_sum"]/float64(n), "reward", "")
		}
		for _, fact := range slices.Sorted(maps.Keys(r.Facts)) {
			name, ok := strings.CutSuffix(strings.TrimPrefix(fact, "rewards."), ".sum")
			if n := r.Facts["rewards."+name+".scored"]; ok && n > 0 {
				add(reward, r.Facts[fact]/n, "reward", name)
			}
		}
	case "submit":
		for _, name := range slices.Sorted(maps.Keys(r.Facts)) {
			add(trainer, r.Facts[name], "name", name)
		}
	}
}
