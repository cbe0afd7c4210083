package starter

import "slices"

// kind is what an agent may be written in.
type kind struct {
	Name   string
	Words  string // of the key agent, without quotes
	Note   string // what it needs
	Reward string // of the key reward; "" for a built-in one
	Tasks  string // how --examples names the tasks of others that it attempts; "" for rows
}

const (
	pythonAgent  = "command: python3 -m rollmill agent.py:solve"
	pythonReward = "command:python3 -m rollmill reward.py:score"
	storedReward = "stored" // of the environment itself
	pip          = "needs `pip install rollmill"
)

var kinds = []kind{
	{"python", pythonAgent, pip + "`", pythonReward, ""},
	{"prompt", "chat", "no program: a conversation from templates over the example's fields", "", ""},
	{"program", "command: sh agent.sh", "", "command:sh reward.sh", ""},
	{"openai-tools", pythonAgent, pip + " openai`", pythonReward, ""},
	{"anthropic", pythonAgent, pip + " anthropic`", pythonReward, ""},
	{"langgraph", pythonAgent, pip + " langgraph langchain-openai`", pythonReward, ""},
	{"service", "http: http://127.0.0.1:9100", "start it first: python3 service.py", pythonReward, ""},
	{"harbor", "harbor", "needs podman or docker; harness: COMMAND runs another agent in the container", storedReward, "harbor:"},
	{"verifiers", "verifiers", "needs `pip install rollmill verifiers`, and the environment's package", storedReward, "verifiers:"},
}

// Agents are what an agent may be written in, the default first.
var Agents = names()

func names() (out []string) {
	for _, k := range kinds {
		out = append(out, k.Name)
	}
	return out
}

// Kind returns what the agent is written in.
func (c Choices) Kind() kind {
	return kinds[slices.IndexFunc(kinds, func(k kind) bool { return k.Name == c.Agent })]
}

// Workers is how many processes make attempts, 0 for an agent without workers.
func (c Choices) Workers() int {
	switch {
	case c.Kind().Words != pythonAgent:
		return 0
	case c.Engine == Sandbox: // it answers at once
		return 2
	}
	return 8
}

// sum is a task of arithmetic.
type sum struct{ ID, Question, Answer string }

// Sums are the tasks. Those of the sandbox are what its policy can learn; an engine's
// grow, so that some attempts fail.
func (c Choices) Sums() []sum {
	if c.Engine == Sandbox {
		return []sum{{"1", "1 + 1", "2"}, {"2", "1 + 2", "3"}, {"3", "3 + 1", "4"}, {"4", "2 + 3", "5"}, {"5", "1 + 5", "6"},
			{"6", "4 + 3", "7"}, {"7", "2 + 6", "8"}, {"8", "5 + 4", "9"}}
	}
	return []sum{{"1", "47 + 86", "133"}, {"2", "24 * 7", "168"}, {"3", "318 - 475", "-157"}, {"4", "47 * 83", "3901"},
		{"5", "612 * 39", "23868"}, {"6", "358 * 274", "98092"}, {"7", "9 * (83 - 27) + 4", "508"},
		{"8", "4817 * 3906", "18815202"}}
}

// AnswerKey is the column with the reference answer, "" if there is none.
func (c Choices) AnswerKey() string {
	if c.Tasks == nil {
		return "answer"
	}
	return c.Tasks.Answer
}

// Numbers reports whether the reference answers are numbers.
func (c Choices) Numbers() bool { return c.Tasks == nil || c.Tasks.Numbers }

// Reward is the reward of the config.
func (c Choices) Reward() string {
	switch own := c.Kind().Reward; {
	case own == storedReward:
		return own
	case own == pythonReward || own != "" && c.Tasks == nil:
		return "right=" + own
	case c.AnswerKey() == "":
		return "right=expr:len(answer) > 0 ? 1 : 0"
	case c.Numbers():
		return "right=match:number,field=" + c.AnswerKey()
	}
	return "right=match:contains,field=" + c.AnswerKey()
}
