package sandbox

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rollmill/rollmill/storage/regular"
)

// measures are the averages of one logged batch, as a line of history.jsonl:
// "step", "<split>/reward" and "<split>/<metric>".
type measures map[string]float64

const historyFile = "history.jsonl"

const maxState = 1 << 30 // bytes of a file in the sandbox's folder

// averages returns the averages of the trajectories of a batch.
func averages(step int, split string, groups []trajectoryGroup) measures {
	sums, counts := map[string]float64{}, map[string]float64{}
	note := func(name string, x float64) {
		sums[name] += x
		counts[name]++
	}
	for _, g := range groups {
		for _, t := range g.Trajectories {
			note("reward", *t.Reward)
			for name, x := range t.numbers() {
				note(name, x)
			}
		}
	}
	m := measures{"step": float64(step)}
	for name, sum := range sums {
		m[split+"/"+name] = sum / counts[name]
	}
	return m
}

// log keeps the averages and appends them to the model's history.
func (m *model) log(dir string, key modelKey, line measures) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.history = append(m.history, line)
	if dir == "" {
		return nil
	}
	body, err := json.Marshal(line)
	if err != nil {
		return err
	}
	f, err := regular.OpenFile(filepath.Join(modelDir(dir, key.project, key.name), historyFile),
		os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return fmt.Errorf("logging a batch: %w", err)
	}
	defer f.Close()
	_, err = f.Write(append(body, '\n'))
	return err
}

// loadHistory reads the history; it ignores a torn last line.
func loadHistory(dir string, key modelKey) []measures {
	body, err := regular.ReadFile(filepath.Join(modelDir(dir, key.project, key.name), historyFile), maxState)
	if err != nil {
		return nil
	}
	var all []measures
	for line := range strings.Lines(string(body)) {
		var m measures
		if json.Unmarshal([]byte(line), &m) == nil {
			all = append(all, m)
		}
	}
	return all
}

// best returns the step with the highest benchmark, or -1 if none was logged.
// With a smoothing below 1 each value is averaged with those before it.
func (m *model) best(benchmark string, smoothing float64) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	step, top, running, seen := -1, 0.0, 0.0, false
	for _, line := range m.history {
		x, ok := line[benchmark]
		if !ok {
			continue
		}
		if seen {
			x = smoothing*x + (1-smoothing)*running
		}
		running, seen = x, true
		if step < 0 || x > top {
			step, top = int(line["step"]), x
		}
	}
	return step
}
