package behaviour

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/tree"
	"github.com/rollmill/rollmill/stages/score"
)

// facts are numbers of an attempt, or why they are not known.
var facts = []struct {
	name string
	of   func(*attempt) (n float64, unknown string)
}{
	{"repeated_calls", (*attempt).repeatedCalls}, {"idle_turns", (*attempt).idleTurns}, {"tool_errors_in_a_row", (*attempt).toolErrors},
	{"no_answer", (*attempt).noAnswer}, {"no_check", (*attempt).noCheck},
	{"copied_prompt", (*attempt).copiedPrompt}, {"copied_reference", (*attempt).copiedReference},
	{"length_ratio", (*attempt).lengthRatio},
}

var number = map[bool]float64{true: 1}

type attempt struct {
	*Settings
	*score.Row
	path   []int              // the main one
	turns  []*formats.Message // of it, that the model wrote
	prompt string             // text before these
	cut    string             // why not all that came before is on the path; "" if it is
	length int                // characters
	group  []int              // lengths
}

func (s *Settings) read(row *score.Row) *attempt {
	a := &attempt{Settings: s, Row: row, path: row.Main()}
	for _, i := range a.path {
		m := &a.Messages[i]
		if m.Branch == tree.BranchCompaction || m.Branch == tree.BranchHistory {
			a.cut = "what came before the context was compacted or edited is not on the main path"
		}
		if m.Sampled {
			a.turns = append(a.turns, m)
			a.length += utf8.RuneCountInString(chat.ContentText(m)) + utf8.RuneCountInString(m.Reasoning)
			for _, c := range m.ToolCalls {
				a.length += utf8.RuneCountInString(c.Arguments)
			}
		} else if a.turns == nil {
			a.prompt += chat.ContentText(m) + "\n"
		}
	}
	return a
}

func (a *attempt) repeatedCalls() (n float64, _ string) {
	keys, seen := tree.Keys{}, map[uint64]bool{}
	for _, i := range a.path {
		for _, c := range a.Messages[i].ToolCalls {
			key := keys.Call(c)
			n += number[seen[key] && a.Messages[i].Sampled]
			seen[key] = true
		}
	}
	return n, ""
}

func (a *attempt) idleTurns() (n float64, unknown string) {
	unknown = "the record names no tool"
	for i, m := range a.turns {
		if m.ToolCalls != nil || m.Call >= 0 && int(m.Call) < len(a.Calls) && a.Calls[m.Call].Tools >= 0 {
			unknown = ""
		}
		n += number[len(m.ToolCalls) == 0 && i < len(a.turns)-1]
	}
	return n, unknown
}

func (a *attempt) toolErrors() (most float64, _ string) {
	metadata := jsontext.ParseObject(formats.Bytes(a.Metadata))
	ofMessage, ofCall := jsontext.ParseObject(metadata.Get("message_fields")),
		jsontext.ParseObject(metadata.Get(formats.ToolErrorsField))
	run, open := 0.0, 0
	for _, i := range a.path {
		switch m := &a.Messages[i]; {
		case m.Role == "assistant" && open > 0:
			return 0, fmt.Sprintf("%d tool calls before message %d have no result in the record", open, i)
		case m.Role == "assistant":
			open = len(m.ToolCalls)
		case m.Role == "tool":
			failed, known := isError(jsontext.ParseObject(ofMessage.Get(strconv.Itoa(i))), string(ofCall.Get(m.ToolCallID)))
			if !known {
				return 0, fmt.Sprintf("the record does not say whether the tool result in message %d is an error", i)
			}
			run = (run + 1) * number[failed]
			most, open = max(most, run), open-1
		}
	}
	return most, ""
}

// isError is not known where nothing says it, or two differ: the Messages API, MCP and Pi, Codex, LangChain.
func isError(o jsontext.Object, ofCall string) (failed, known bool) {
	api, mcp, status := string(o.Get("is_error")), string(o.Get("isError")), string(o.Get("status"))
	success := string(jsontext.ParseObject(o.Get("output")).Get("success"))
	failed = ofCall == "true" || api == "true" || mcp == "true" || success == "false" || status == `"error"`
	return failed, failed != (ofCall == "false" || api == "false" || mcp == "false" || success == "true" || status == `"success"`)
}

func (a *attempt) noAnswer() (float64, string) {
	last := a.turns[len(a.turns)-1]
	return number[strings.TrimSpace(a.Answer) == "" || len(last.ToolCalls) > 0 && a.Answer == chat.ContentText(last)], ""
}

func (a *attempt) noCheck() (n float64, unknown string) {
	if n, unknown = 1, a.cut; a.Checks == "" {
		return 0, "checks= does not say which calls check"
	}
	for _, m := range a.turns {
		for _, c := range m.ToolCalls {
			if checks := among(a.Checks, c); checks || among(a.Changes, c) {
				n, unknown = number[!checks], ""
			}
		}
	}
	return n, unknown
}

// among reports whether a call is one of TOOL|TOOL:TEXT.
func among(list string, c formats.ToolCall) bool {
	return slices.ContainsFunc(strings.Split(list, "|"), func(tool string) bool {
		text, of := strings.CutPrefix(tool, c.Name+":")
		return list != "" && (tool == c.Name || of && strings.Contains(c.Arguments, text))
	})
}

func (a *attempt) copiedPrompt() (float64, string) {
	if answer := words(a.Answer); strings.Count(answer, " ") > a.Words {
		return number[strings.Contains(words(a.prompt), answer)], a.cut
	}
	return 0, ""
}

func (a *attempt) copiedReference() (float64, string) {
	field, err := a.Field(a.Reference)
	reference := ""
	if err == nil {
		reference, err = score.FieldText(field)
	}
	if err != nil {
		return 0, err.Error()
	}
	if answer := words(a.Answer); answer == words(reference) && answer != "  " {
		return number[strings.Contains(words(a.prompt), answer)], a.cut
	}
	return 0, ""
}

func (a *attempt) lengthRatio() (float64, string) {
	slices.Sort(a.group)
	n := len(a.group)
	median := float64(a.group[n/2]+a.group[(n-1)/2]) / 2
	if n == 1 || median == 0 {
		return 0, "its group has no other attempt, or a median of 0 characters"
	}
	return float64(a.length) / median, ""
}

// words returns a text's words with a blank around each.
func words(text string) string {
	other := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) }
	return " " + strings.Join(strings.FieldsFunc(strings.ToLower(text), other), " ") + " "
}
