package rewards

import (
	"encoding/json"
	"reflect"

	"github.com/rollmill/rollmill/stages/score"
)

type call struct {
	name      string
	arguments map[string]any // nil: any
}

// madeBy returns the calls that the model made; arguments that are not an
// object match only an expected call without arguments.
func madeBy(row *score.Row) []call {
	var out []call
	for _, i := range row.Main() {
		m := &row.Messages[i]
		if !m.Sampled {
			continue
		}
		for _, c := range m.ToolCalls {
			made := call{name: c.Name}
			if json.Unmarshal([]byte(c.Arguments), &made.arguments) != nil {
				made.arguments = nil
			}
			out = append(out, made)
		}
	}
	return out
}

func exactly(wanted, made []call) float64 {
	if len(wanted) != len(made) {
		return 0
	}
	for i := range wanted {
		if !wanted[i].servedBy(made[i]) || wanted[i].arguments != nil && len(wanted[i].arguments) != len(made[i].arguments) {
			return 0
		}
	}
	return 1
}

// servedBy reports whether an actual call matches the expected one.
func (w call) servedBy(made call) bool {
	if w.name != made.name || w.arguments != nil && made.arguments == nil {
		return false
	}
	for key, value := range w.arguments {
		if got, ok := made.arguments[key]; !ok || !reflect.DeepEqual(got, value) {
			return false
		}
	}
	return true
}

// matched returns the largest number of expected calls that can be matched,
// each by a different call (augmenting paths; the lists are short).
func matched(wanted, made []call) int {
	server := make([]int, len(made)) // the wanted call each serves, plus 1
	var serve func(w int, tried []bool) bool
	serve = func(w int, tried []bool) bool {
		for m := range made {
			if tried[m] || !wanted[w].servedBy(made[m]) {
				continue
			}
			tried[m] = true
			if server[m] == 0 || serve(server[m]-1, tried) {
				server[m] = w + 1
				return true
			}
		}
		return false
	}
	found := 0
	for w := range wanted {
		if serve(w, make([]bool, len(made))) {
			found++
		}
	}
	return found
}
