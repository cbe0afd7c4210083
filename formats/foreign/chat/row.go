package chat

import (
	"math"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/training"
)

// Row is one conversation.
type Row struct {
	Messages []jsontext.Raw `parquet:"messages,list" parquet-element:",json"`
	Tools    string         `parquet:"tools,optional"` // a JSON array

	TrajectoryID string   `parquet:"trajectory_id"`
	ExampleID    string   `parquet:"example_id,dict"`
	GroupID      string   `parquet:"group_id,optional,dict"`
	Run          string   `parquet:"run,dict"`
	Epoch        int32    `parquet:"epoch"`
	Generation   int32    `parquet:"generation"`
	Model        string   `parquet:"model,optional,dict"`
	Status       string   `parquet:"status,dict"`
	StopReason   string   `parquet:"stop_reason,dict"`
	Reward       *float64 `parquet:"reward,optional"`
	Rewards      string   `parquet:"rewards,optional"` // a JSON object
	Advantage    *float64 `parquet:"advantage,optional"`
	Example      string   `parquet:"example,optional"`  // a JSON object
	Metadata     string   `parquet:"metadata,optional"` // a JSON object
}

var appendRow = jsontext.Rows[Row]()

// weightsOf returns the weights of answers in the loss, by message, where they are not 1:
// 0 for those that do not train.
func weightsOf(t *formats.Trajectory, lose func(part string)) map[int]*float64 {
	weights := map[int]*float64{}
	for i := range t.Messages {
		if t.Messages[i].Role == "assistant" && !t.Trained(i) {
			weights[i] = new(float64)
		}
	}
	for i := range t.Losses {
		switch l := &t.Losses[i]; {
		case l.Loss != training.LossRL:
			lose("losses of single messages")
		case weights[int(l.Message)] == nil && l.Weight != 1:
			weights[int(l.Message)] = &l.Weight
		}
	}
	return weights
}

// lost says what a form for chat templates loses, by the reason of chat.Template.
var lost = map[string]string{
	chat.BadArguments: "tool arguments that are not a JSON object, which stay text",
	chat.BadNumbers:   "numbers in tool arguments that Hugging Face datasets changes, where arguments stay text",
}

// finite returns nil for a number that JSON does not have.
func finite(f *float64) *float64 {
	if f == nil || math.IsNaN(*f) || math.IsInf(*f, 0) {
		return nil
	}
	return f
}

// Rewards returns the components of a reward as a JSON object by name, null for
// one without a value; "" when there are none.
func Rewards(list []formats.NamedReward) string {
	if len(list) == 0 {
		return ""
	}
	out := []byte{'{'}
	for i, r := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(jsontext.AppendText(out, r.Name), ':')
		if r.Value == nil {
			out = append(out, "null"...)
			continue
		}
		out = jsontext.AppendNumber(out, *r.Value, 64)
	}
	return string(append(out, '}'))
}
