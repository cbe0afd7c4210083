package sandbox

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// Sample is what was drawn for one choice of an answer.
type Sample struct {
	ID        string // of the response
	Choice    int
	Stream    bool
	PromptIDs []int
	TokenIDs  []int
	Logprobs  []float64
}

// completion is a chat call being answered.
type completion struct {
	request chatRequest
	id      string
	created int64
	served  served
	prompt  []int
	answers []answer
}

func (s *Server) chat(w http.ResponseWriter, r *http.Request) {
	c, bad := s.complete(w, r)
	if bad != nil {
		bad.write(w)
		return
	}
	s.counts.add(count(0, c.answers).CompletionTokens)
	for i, a := range c.answers {
		if s.opts.Sampled != nil {
			s.opts.Sampled(Sample{ID: c.id, Choice: i, Stream: c.request.Stream, PromptIDs: c.prompt,
				TokenIDs: a.ids, Logprobs: a.logprobs})
		}
	}
	if c.request.Stream {
		stream(w, c)
		return
	}
	body, err := json.Marshal(c.response())
	if err != nil {
		newAPIError(500, "server_error", "", "", "%v", err).write(w)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Write(body)
}

// complete reads a request and draws its answers.
func (s *Server) complete(w http.ResponseWriter, r *http.Request) (*completion, *apiError) {
	var id [12]byte
	rand.Read(id[:])
	c := &completion{id: "chatcmpl-" + hex.EncodeToString(id[:]), created: s.opts.Now().Unix()}
	body := http.MaxBytesReader(w, r.Body, 64<<20)
	if err := json.NewDecoder(body).Decode(&c.request); err != nil {
		return nil, badRequest("", "could not read the request body: %v", err)
	}
	var bad *apiError
	if c.served, bad = s.serving(c.request.Model); bad != nil {
		return nil, bad
	}
	turns, bad := c.request.turns()
	if bad != nil {
		return nil, bad
	}
	c.prompt = promptTokens(turns)
	draw, choices, bad := c.request.sampling(len(c.prompt))
	if bad != nil {
		return nil, bad
	}
	v := readView(turns)
	for i := range choices {
		c.answers = append(c.answers, c.served.policy.sample(v, draw, i))
	}
	return c, nil
}

func (c *completion) response() chatResponse {
	out := c.frame("chat.completion")
	out.Usage = count(len(c.prompt), c.answers)
	if c.request.ReturnTokenIDs {
		out.PromptTokenIDs = c.prompt
	}
	for i, a := range c.answers {
		choice := chatChoice{
			Index:        i,
			Message:      c.message(i),
			Logprobs:     c.request.logprobs(a, 0, len(a.logprobs)),
			FinishReason: &a.finish,
			StopReason:   a.stopped,
		}
		if c.request.ReturnTokenIDs {
			choice.TokenIDs = a.ids
		}
		out.Choices = append(out.Choices, choice)
	}
	return out
}

// message returns a whole answer. An incomplete tool call is left out, as its
// tokens are left out of a stream.
func (c *completion) message(choice int) *chatText {
	a := c.answers[choice]
	if a.calls == nil {
		return &chatText{Role: "assistant", Content: &a.text}
	}
	return &chatText{Role: "assistant", ToolCalls: c.toolCalls(choice)}
}

func (c *completion) frame(object string) chatResponse {
	return chatResponse{
		ID: c.id, Object: object, Created: c.created, Model: c.request.Model,
		Fingerprint: fmt.Sprintf("step-%d", c.served.step), Choices: []chatChoice{},
	}
}

// stream sends the answers a token at a time, as server-sent events.
func stream(w http.ResponseWriter, c *completion) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	for _, e := range c.events() {
		body, err := json.Marshal(e)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		w.Write(bytes.Join([][]byte{[]byte("data: "), body, []byte("\n\n")}, nil))
		flush(w)
	}
	w.Write([]byte("data: [DONE]\n\n"))
}

func (c *completion) events() []chatResponse {
	var all []chatResponse
	for i, a := range c.answers {
		begin := c.frame("chat.completion.chunk")
		if c.request.ReturnTokenIDs && i == 0 {
			begin.PromptTokenIDs = c.prompt
		}
		begin.Choices = []chatChoice{{Index: i, Delta: &chatText{Role: "assistant", Content: new(string)}}}
		all = append(all, begin)
		all = c.tokenEvents(all, i, a)
	}
	if c.request.StreamOptions.IncludeUsage {
		end := c.frame("chat.completion.chunk")
		end.Usage = count(len(c.prompt), c.answers)
		all = append(all, end)
	}
	return all
}

func (c *completion) tokenEvents(all []chatResponse, index int, a answer) []chatResponse {
	rest := a.text // a stop string may have truncated it
	for k, id := range a.ids {
		piece := ""
		if id != tokenEnd {
			piece = tokenText(id)
		}
		piece = piece[:min(len(piece), len(rest))]
		rest = rest[len(piece):]
		delta := &chatText{Content: &piece}
		if a.calls != nil {
			delta = &chatText{ToolCalls: c.piece(index, k)}
		}
		choice := chatChoice{
			Index:    index,
			Delta:    delta,
			Logprobs: c.request.logprobs(a, min(k, len(a.logprobs)), min(k+1, len(a.logprobs))),
		}
		if c.request.ReturnTokenIDs {
			choice.TokenIDs = a.ids[k : k+1]
		}
		if k == len(a.ids)-1 {
			choice.FinishReason, choice.StopReason = &a.finish, a.stopped
		}
		e := c.frame("chat.completion.chunk")
		e.Choices = []chatChoice{choice}
		all = append(all, e)
	}
	return all
}

func flush(w http.ResponseWriter) { http.NewResponseController(w).Flush() }

// listModels answers GET /v1/models.
func (s *Server) listModels(w http.ResponseWriter, r *http.Request) {
	type entry struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Created int64  `json:"created"`
		OwnedBy string `json:"owned_by"`
		MaxLen  int    `json:"max_model_len"`
	}
	list := []entry{}
	for _, id := range s.servedNames() {
		list = append(list, entry{id, "model", s.opts.Now().Unix(), "rollmill", maxContext})
	}
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": list})
}

// splitStep splits "name@3"; step is -1 if there is none.
func splitStep(model string) (name string, step int) {
	at := strings.LastIndexByte(model, '@')
	if at < 0 {
		return model, -1
	}
	n, err := strconv.Atoi(model[at+1:])
	if err != nil || n < 0 {
		return model, -1
	}
	return model[:at], n
}
