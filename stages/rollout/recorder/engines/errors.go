package engines

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/completion"
	"github.com/rollmill/rollmill/formats/outcomes"
	"github.com/rollmill/rollmill/stages/internal/remote"
	"github.com/rollmill/rollmill/storage/fault"
)

// statusError turns an engine's error answer into the error of a try: a temporary one, or a refusal.
func statusError(r *Result) error {
	text := fmt.Sprintf("HTTP %d: %s", r.Status, completion.ErrorText(r.Body))
	if r.Status/100 == 3 {
		text = fmt.Sprintf("HTTP %d: the engine redirects elsewhere, which is not followed; give its address "+
			"itself (--url)", r.Status)
		r.Body = nil // the agent must not follow it either
	}
	err := &refusedError{r}
	mend := remote.Mend(r.Status, remote.Words(r.Body))
	if mend == "" && (r.Status >= 500 && r.Status != http.StatusNotImplemented ||
		slices.Contains([]int{http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests}, r.Status)) {
		r.Failure = &completion.Failure{Class: outcomes.FailEngine, Text: text}
		return remote.RetryAfter(err, r.Header)
	}
	r.Failure = &completion.Failure{Class: outcomes.FailEngineRefused, Text: text, TooLong: tooLong(text), Mend: mend}
	return fault.Permanent(err)
}

// tooLong reports whether an engine refused a prompt that does not fit its
// context, by the messages of vLLM, OpenAI, SGLang and llama.cpp.
func tooLong(text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc([]string{"maximum context length", "context_length_exceeded", "exceed_context_size",
		"exceeds the available context size",
		"longer than the model's context length"}, func(words string) bool { return strings.Contains(text, words) })
}

// notForwarded are headers that belong to one connection, or that the recorder sets itself.
var notForwarded = []string{"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade", "Host", "Content-Length", "Accept-Encoding", "Content-Encoding", "Authorization",
	"X-Api-Key",
	// These make some servers act on another method or path.
	"X-Http-Method-Override", "X-Http-Method", "X-Method-Override", "X-Original-Url", "X-Rewrite-Url"}

func Forward(to, from http.Header) {
	maps.Copy(to, from)
	for _, name := range notForwarded {
		to.Del(name)
	}
}
