package formats

import "encoding/json"

// Which distribution an engine's logprobs are from (column calls.logprobs_mode).
const (
	LogprobsRaw       = "raw"       // the model's, before temperature, penalties and truncation
	LogprobsProcessed = "processed" // from the distribution that was sampled
)

// Sampling is the content of column calls.sampling: how tokens were chosen. A
// setting that was not sent is nil.
type Sampling struct {
	Temperature       *float64        `json:"temperature"`
	TopP              *float64        `json:"top_p"`
	TopK              *float64        `json:"top_k"`
	MinP              *float64        `json:"min_p"`
	PresencePenalty   *float64        `json:"presence_penalty"`
	FrequencyPenalty  *float64        `json:"frequency_penalty"`
	RepetitionPenalty *float64        `json:"repetition_penalty"`
	LogitBias         json.RawMessage `json:"logit_bias"`
	ToolChoice        json.RawMessage `json:"tool_choice"`
	ResponseFormat    json.RawMessage `json:"response_format"`
	StructuredOutputs json.RawMessage `json:"structured_outputs"`
	GuidedJSON        json.RawMessage `json:"guided_json"`
	GuidedRegex       json.RawMessage `json:"guided_regex"`
	GuidedChoice      json.RawMessage `json:"guided_choice"`
	GuidedGrammar     json.RawMessage `json:"guided_grammar"`
	Text              struct {
		Format json.RawMessage `json:"format"`
	} `json:"text"`

	AmbiguousCalls bool `json:"ambiguous_tool_calls"`
	NoUsage        bool `json:"no_usage"`
	Auxiliary      bool `json:"auxiliary"`
}

// Members of column calls.sampling that the recording proxy adds.
const (
	AmbiguousCalls = "ambiguous_tool_calls" // a stream whose tool calls clients read differently
	NoUsage        = "no_usage"             // nothing says how many tokens the answer has
	AuxiliaryCall  = "auxiliary"            // not part of the agent's work, so it does not train; see tree.Auxiliary
)

// Settings returns the call's sampling settings; none is set when the column
// does not hold such an object.
func (c *Call) Settings() Sampling {
	var s Sampling
	_ = json.Unmarshal([]byte(c.Sampling), &s) // a field of another type counts as not sent
	return s
}

// Truncated returns the settings that excluded tokens from sampling.
func (s *Sampling) Truncated() []string {
	var out []string
	if s.TopP != nil && *s.TopP < 1 {
		out = append(out, "top_p")
	}
	if s.TopK != nil && *s.TopK > 0 {
		out = append(out, "top_k")
	}
	if s.MinP != nil && *s.MinP > 0 {
		out = append(out, "min_p")
	}
	return out
}

// Reshaped returns the settings, except temperature, that changed the probabilities of tokens.
func (s *Sampling) Reshaped() []string {
	var out []string
	for _, p := range []struct {
		name    string
		value   *float64
		neutral float64
	}{{"presence_penalty", s.PresencePenalty, 0}, {"frequency_penalty", s.FrequencyPenalty, 0},
		{"repetition_penalty", s.RepetitionPenalty, 1}} {
		if p.value != nil && *p.value != p.neutral {
			out = append(out, p.name)
		}
	}
	if given(s.LogitBias) && string(s.LogitBias) != "{}" {
		out = append(out, "logit_bias")
	}
	return out
}

// Constrained returns the field that requested a grammar, which masks tokens, or "".
func (s *Sampling) Constrained() string {
	switch string(s.ToolChoice) {
	case "", "null", `"auto"`, `"none"`:
	default:
		return "tool_choice"
	}
	for _, f := range []struct {
		name  string
		value json.RawMessage
	}{{"response_format", s.ResponseFormat}, {"text.format", s.Text.Format}, {"structured_outputs", s.StructuredOutputs},
		{"guided_json", s.GuidedJSON}, {"guided_regex", s.GuidedRegex}, {"guided_choice", s.GuidedChoice},
		{"guided_grammar", s.GuidedGrammar}} {
		var typed struct {
			Type string `json:"type"`
		}
		if given(f.value) && (json.Unmarshal(f.value, &typed) != nil || typed.Type != "text") {
			return f.name
		}
	}
	return ""
}

func given(v json.RawMessage) bool { return len(v) > 0 && string(v) != "null" }

// RawTemperature reports whether the call's logprobs are those of the model
// before the temperature was applied, at a temperature other than 1, and so not
// those of the sampled distribution. Logprobs count as raw unless the engine
// was found to return processed ones; the settings of the request do not prove
// that.
func (c *Call) RawTemperature() (temperature float64, raw bool) {
	s := c.Settings()
	if s.Temperature == nil || *s.Temperature == 1 || c.LogprobsMode == LogprobsProcessed {
		return 1, false
	}
	return *s.Temperature, true
}
