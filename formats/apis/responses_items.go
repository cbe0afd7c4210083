package apis

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/completion"
	"github.com/rollmill/rollmill/formats/jsontext"
)

type responsesItem struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Status    string          `json:"status"`
	Role      string          `json:"role,omitempty"`
	Summary   []struct{}      `json:"summary,omitzero"` // of reasoning: empty
	Encrypted string          `json:"encrypted_content,omitempty"`
	Content   []responsesPart `json:"content,omitempty"`
	CallID    *string         `json:"call_id,omitempty"`
	Name      *string         `json:"name,omitempty"`
	Namespace string          `json:"namespace,omitempty"`
	Arguments *string         `json:"arguments,omitempty"`
	Input     *string         `json:"input,omitempty"`
}

type responsesPart struct {
	Type        string          `json:"type"`
	Text        *string         `json:"text,omitempty"`
	Refusal     *string         `json:"refusal,omitempty"`
	Annotations []struct{}      `json:"annotations,omitzero"`
	Logprobs    json.RawMessage `json:"logprobs,omitempty"`
}

// items returns the items of an answer. An empty answer has one empty text, so that clients send it back.
func (q *Request) items(a *completion.Answer, m *formats.Message, top jsontext.Object) (out []*responsesItem) {
	refusal := completion.RefusalOf(m)
	texts, thoughts, last := 0, 0, (*responsesItem)(nil)
	for _, p := range a.SplitSegments(m.Reasoning, chat.ContentText(m)) {
		if p.Reasoning {
			out = append(out, q.reasoningItem(p.Text, thoughts))
			thoughts++
			continue
		}
		last = q.messageItem(texts, outputText(p.Text))
		out = append(out, last)
		texts++
	}
	switch {
	case refusal != "":
		if len(out) == 0 || out[len(out)-1] != last {
			last = q.messageItem(texts)
			out = append(out, last)
		}
		last.Content = append(last.Content, responsesPart{Type: "refusal", Refusal: &refusal})
	case last == nil && len(m.ToolCalls) == 0:
		last = q.messageItem(0, outputText(""))
		out = append(out, last)
	}
	if last != nil && last.Content[0].Type == "output_text" {
		last.Content[0].Logprobs = q.logprobs(top)
	}
	for k, c := range m.ToolCalls {
		out = append(out, q.callItem(k, c))
	}
	if m.FinishReason == "length" {
		out[len(out)-1].Status = "incomplete"
	}
	return out
}

// itemID names the k-th item of a kind.
func (q *Request) itemID(kind string, k int) string {
	id := kind + strings.TrimPrefix(q.ID, "resp_")
	if k > 0 {
		id += fmt.Sprintf("_%d", k)
	}
	return id
}

func (q *Request) reasoningItem(text string, k int) *responsesItem {
	item := responsesItem{Type: "reasoning", ID: q.itemID("rs_", k), Summary: []struct{}{}, Status: "completed",
		Content: []responsesPart{{Type: "reasoning_text", Text: &text}}}
	if q.responses.encrypted {
		item.Encrypted = sealPrefix + base64.StdEncoding.EncodeToString([]byte(text))
	}
	return &item
}

func (q *Request) messageItem(k int, parts ...responsesPart) *responsesItem {
	return &responsesItem{Type: "message", ID: q.itemID("msg_", k), Status: "completed", Role: "assistant",
		Content: parts}
}

func outputText(text string) responsesPart {
	return responsesPart{Type: "output_text", Text: &text, Annotations: []struct{}{}, Logprobs: emptyList}
}

func (q *Request) callItem(k int, c formats.ToolCall) *responsesItem {
	id := strings.TrimPrefix(q.ID, "resp_")
	item := responsesItem{Type: "function_call", ID: fmt.Sprintf("fc_%s_%d", id, k), Status: "completed",
		CallID: &c.ID, Name: &c.Name, Arguments: &c.Arguments}
	if q.responses.custom[c.Name] {
		input := customInput(c.Arguments)
		item.Type, item.ID, item.Arguments, item.Input = "custom_tool_call", fmt.Sprintf("ctc_%s_%d", id, k), nil, &input
	}
	if space := q.responses.spaces[c.Name]; space != "" {
		name := strings.TrimPrefix(c.Name, space+"__")
		item.Name, item.Namespace = &name, space
	}
	return &item
}

// logprobs returns those of the whole answer if the agent asked for them.
func (q *Request) logprobs(top jsontext.Object) json.RawMessage {
	if q.View.Logprobs {
		for choice := range jsontext.Elements(top.Get("choices")) {
			list := jsontext.ParseObject(jsontext.ParseObject(choice).Get("logprobs")).Get("content")
			if len(list) > 0 && list[0] == '[' && json.Valid(list) {
				return list
			}
			break
		}
	}
	return emptyList
}
