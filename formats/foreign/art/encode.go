package art

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/validate"
)

// floor replaces a logprob of minus infinity, which JSON cannot represent; vLLM
// sends the same value.
const floor = validate.LogprobFloor

// AppendGroup appends a group in ART's format, on one line. The rows must have passed Check.
func AppendGroup(dst []byte, rows []formats.Trajectory) []byte {
	return appendGroup(dst, rows, false)
}

// AppendPlainGroup appends a group whose sampled messages are plain ones, for
// servers that receive a choice as a plain object and lose it (0.5.2 to
// 0.5.17): these train on the text, tokenized again, without the sampled ids
// and logprobs. The rows must have passed Check with Limits.Plain.
func AppendPlainGroup(dst []byte, rows []formats.Trajectory) []byte {
	return appendGroup(dst, rows, true)
}

func appendGroup(dst []byte, rows []formats.Trajectory, plain bool) []byte {
	dst = append(dst, `{"trajectories":[`...)
	for i := range rows {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendTrajectory(dst, &rows[i], plain)
	}
	return append(dst, `],"exceptions":[]}`...)
}

func appendTrajectory(dst []byte, t *formats.Trajectory, plain bool) []byte {
	sequences := Sequences(t, func(string, string, ...any) {})
	dst = append(dst, '{')
	if len(sequences) == 0 {
		dst = append(dst, `"messages_and_choices":[]`...)
	} else {
		dst = appendHistory(dst, t, sequences[0], plain)
		sequences = sequences[1:]
	}
	dst = append(dst, `,"additional_histories":[`...)
	for i, s := range sequences {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(appendHistory(append(dst, '{'), t, s, plain), '}')
	}
	dst = append(dst, `],"reward":`...)
	reward := 0.0
	if t.Reward != nil {
		reward = *t.Reward
	}
	dst = jsontext.AppendNumber(dst, reward, 64)
	dst = appendMetrics(append(dst, `,"metrics":{`...), t.Rewards)
	dst = appendMetadata(append(dst, `},"metadata":`...), t)
	return append(dst, `,"logs":[]}`...)
}

func appendMetadata(dst []byte, t *formats.Trajectory) []byte {
	dst = jsontext.AppendText(append(dst, `{"scenario_id":`...), t.ExampleID)
	dst = jsontext.AppendText(append(dst, `,"trajectory_id":`...), t.TrajectoryID)
	return append(dst, '}')
}

func appendMetrics(dst []byte, rewards []formats.NamedReward) []byte {
	first := true
	for _, r := range rewards {
		if r.Value == nil {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(jsontext.AppendText(dst, r.Name), ':')
		dst = jsontext.AppendNumber(dst, *r.Value, 64)
	}
	return dst
}

// appendHistory appends a sequence. A plain one ends with its last sampled
// message, because ART would train on an assistant message after it.
func appendHistory(dst []byte, t *formats.Trajectory, s Sequence, plain bool) []byte {
	dst = append(dst, `"messages_and_choices":[`...)
	for at, i := range s.Path {
		if plain && at > s.last {
			break
		}
		if at > 0 {
			dst = append(dst, ',')
		}
		if t.Trained(i) && at <= s.last && !plain {
			dst = appendChoice(dst, &t.Messages[i])
		} else {
			dst = appendMessage(dst, &t.Messages[i])
		}
	}
	dst = append(dst, `],"tools":`...)
	if s.Tools < 0 {
		return append(dst, "null"...)
	}
	return appendJSON(dst, t.ToolSets[s.Tools])
}

// appendJSON appends JSON text on one line.
func appendJSON(dst []byte, text string) []byte {
	if !strings.ContainsAny(text, "\r\n") {
		return append(dst, text...)
	}
	var out bytes.Buffer
	if err := json.Compact(&out, []byte(text)); err != nil {
		return append(dst, "null"...)
	}
	return append(dst, out.Bytes()...)
}

func appendMessage(dst []byte, m *formats.Message) []byte {
	content, _ := text(m)
	dst = jsontext.AppendText(append(dst, `{"role":`...), m.Role)
	dst = jsontext.AppendText(append(dst, `,"content":`...), content)
	if m.Name != "" {
		dst = jsontext.AppendText(append(dst, `,"name":`...), m.Name)
	}
	if m.ToolCallID != "" {
		dst = jsontext.AppendText(append(dst, `,"tool_call_id":`...), m.ToolCallID)
	}
	if len(m.ToolCalls) > 0 {
		dst = appendToolCalls(append(dst, `,"tool_calls":`...), m.ToolCalls)
	}
	return append(dst, '}')
}

func appendToolCalls(dst []byte, calls []formats.ToolCall) []byte {
	dst = append(dst, '[')
	for i, call := range calls {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = jsontext.AppendText(append(dst, `{"id":`...), call.ID)
		dst = jsontext.AppendText(append(dst, `,"type":"function","function":{"name":`...), call.Name)
		dst = jsontext.AppendText(append(dst, `,"arguments":`...), call.Arguments)
		dst = append(dst, `}}`...)
	}
	return append(dst, ']')
}

func appendChoice(dst []byte, m *formats.Message) []byte {
	dst = jsontext.AppendText(append(dst, `{"finish_reason":`...), finish(m))
	dst = append(dst, `,"index":0,"message":`...)
	dst = appendMessage(dst, m)
	dst = append(dst, `,"logprobs":{"content":[`...)
	for i, id := range m.TokenIDs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"token":"token_id:`...)
		dst = strconv.AppendInt(dst, int64(id), 10)
		dst = append(dst, `","bytes":null,"logprob":`...)
		dst = appendLogprob(dst, m.Logprobs, i)
		dst = append(dst, `,"top_logprobs":[]}`...)
	}
	return append(dst, `],"refusal":null}}`...)
}

func appendLogprob(dst []byte, logprobs []float32, i int) []byte {
	p := float64(floor)
	if i < len(logprobs) && logprobs[i] >= -math.MaxFloat32 {
		p = float64(logprobs[i])
	}
	return jsontext.AppendNumber(dst, p, 32)
}
