package formats

import (
	"encoding/json"
	"strings"
)

// RawTemperature tells whether the call's log probabilities are those of the
// model before the temperature was applied, at a temperature other than 1:
// not of the distribution that was sampled. An engine's count as raw unless
// the call asked for processed ones (logprobs_mode "processed_logprobs").
func (c *Call) RawTemperature() (temperature float64, raw bool) {
	var s struct {
		Temperature *float64 `json:"temperature"`
		Mode        string   `json:"logprobs_mode"`
	}
	if json.Unmarshal([]byte(c.Sampling), &s) != nil || s.Temperature == nil || *s.Temperature == 1 || strings.HasPrefix(s.Mode, "processed") {
		return 1, false
	}
	return *s.Temperature, true
}
