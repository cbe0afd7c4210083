package gateway

import (
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/apis"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// apiOf returns the API that a call speaks: of the path, else that which the members of request and answer leave. answered
// is the API whose form the answer has; nil if there is none or it does not tell.
func apiOf(path string, request jsontext.Object, answered *apis.API) *apis.API {
	if path != "" {
		return byPath(path)
	}
	left := byMembers(request)
	if answered != nil {
		if left = slices.DeleteFunc(left, func(a *apis.API) bool { return a != answered }); len(left) == 0 {
			must.Fail("its response is one of %s, and its request is not", answered.Name)
		}
	}
	if len(left) > 1 {
		left = slices.DeleteFunc(left, func(a *apis.API) bool { return !speaks(request, a) })
	}
	if len(left) != 1 {
		must.Fail("nothing tells which API it speaks: add a member \"path\", such as /v1%s or /v1%s", apis.Chat.Route, apis.Messages.Route)
	}
	return left[0]
}

func byPath(path string) *apis.API {
	route, _, _ := strings.Cut(path, "?")
	for _, a := range apis.All { // the route of chat completions ends in that of completions
		if strings.HasSuffix(strings.TrimSuffix(route, "/"), a.Route) {
			return a
		}
	}
	must.Fail("its path %q is that of no API with an answer of a model", route)
	return nil
}

// byMembers returns the APIs whose prompt a request has.
func byMembers(o jsontext.Object) []*apis.API {
	prompt := o.Get("prompt")
	switch messages, input := o.Has("messages"), o.Has("input"); {
	case messages && !input:
		return []*apis.API{apis.Chat, apis.Messages}
	case input && !messages:
		return []*apis.API{apis.Responses, nil} // nil: one for embeddings
	case !messages && len(prompt) > 0 && (prompt[0] == '"' || prompt[0] == '['):
		return []*apis.API{apis.Completions}
	}
	must.Fail(`its request has not one of "messages", "input" and "prompt"`)
	return nil
}

// own are members of requests and of their tools, and roles, that one API alone has.
var own = map[*apis.API]struct{ members, tools, roles []string }{
	apis.Chat: {strings.Fields(`n stop seed max_completion_tokens frequency_penalty presence_penalty response_format stream_options logprobs
		functions parallel_tool_calls`), []string{"function"}, []string{"developer", "tool"}},
	apis.Messages:  {strings.Fields("system stop_sequences anthropic_version anthropic_beta"), []string{"input_schema"}, nil},
	apis.Responses: {strings.Fields("instructions previous_response_id max_output_tokens include reasoning text truncation tools"), nil, nil},
}

// speaks reports whether a request has something that only an API has.
func speaks(o jsontext.Object, a *apis.API) bool {
	of := own[a]
	if slices.ContainsFunc(of.members, o.Has) {
		return true
	}
	for tool := range jsontext.Elements(o.Get("tools")) {
		if slices.ContainsFunc(of.tools, jsontext.ParseObject(tool).Has) {
			return true
		}
	}
	for m := range jsontext.Elements(o.Get("messages")) {
		if slices.Contains(of.roles, jsontext.Unquote(jsontext.ParseObject(m).Get("role"))) {
			return true
		}
	}
	return false
}
