package chat

// Fields are the fields of a message that not every format has a place for.
type Fields uint8

const (
	HoldsName Fields = 1 << iota
	HoldsReasoning
	HoldsTools
)

// Why a format has no place for a message, in addition to Tools.
const (
	Reasoning = "reasoning" // an answer would leave without what the model thought before it
	Named     = "name"      // a message would leave without the name of its speaker
)

// Unheld returns the reason why a format that holds some fields cannot hold messages,
// "" for none. Every format that does not hold all fields asks it.
func Unheld(holds Fields, lists ...[]Message) string {
	for _, list := range lists {
		for i := range list {
			switch m := &list[i]; {
			case holds&HoldsTools == 0 && (m.Role == "tool" || m.ToolCallID != "" || len(m.ToolCalls) > 0):
				return Tools
			case holds&HoldsReasoning == 0 && m.Reasoning != "":
				return Reasoning
			case holds&HoldsName == 0 && m.Name != "":
				return Named
			}
		}
	}
	return ""
}
