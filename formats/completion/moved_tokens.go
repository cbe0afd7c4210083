package completion

import (
	"slices"

	"github.com/rollmill/rollmill/formats/jsontext"
)

// readMetaInfo reads SGLang's [[logprob, id, text]…].
func (t *tokens) readMetaInfo(raw []byte) {
	list := jsontext.ParseObject(raw).Get("output_token_logprobs")
	if list == nil || string(list) == "null" {
		return
	}
	var logprobs [][]byte
	for triple := range jsontext.Elements(list) {
		n := 0
		for v := range jsontext.Elements(triple) {
			switch n++; n {
			case 1:
				logprobs = append(logprobs, v)
			case 2:
				t.addID(metaInfo, parseID(v))
			}
		}
	}
	t.addFallback(logprobs)
}

// readProvider reads the tokens that LiteLLM moves to provider_specific_fields, token_ids as those of a source. It
// returns what the agent sees of the members, and whether that is less.
func (t *tokens) readProvider(raw []byte, from source, a *Answer, see View) (rest jsontext.Object, less bool) {
	for _, f := range jsontext.ParseObject(raw) {
		hidden := !see.IDs
		switch f.Key {
		case "token_ids":
			t.readIDs(from, f.Raw)
		case "response_token_ids":
			t.readIDs(movedResponseIDs, f.Raw)
		case "generation_token_ids":
			t.readIDs(movedMessageIDs, f.Raw)
		case "prompt_token_ids":
			a.setPrompt(f.Raw)
		case "generation_log_probs":
			t.addFallback(slices.Collect(jsontext.Elements(f.Raw)))
			hidden = !see.Logprobs
		case "logprobs":
			t.addFallback(nil)
			t.fallback.readLogprobs(new(cursor).over(f.Raw))
			hidden = !see.Logprobs
		case "meta_info":
			t.readMetaInfo(f.Raw)
			hidden = false // nobody asked for it
		default:
			hidden = false
		}
		if less = less || hidden; !hidden {
			rest = append(rest, f)
		}
	}
	return rest, less
}

// readMessage reads the tokens that NeMo puts into the message itself, or a gateway into its provider_specific_fields.
func (t *tokens) readMessage(at *cursor, raw []byte, a *Answer, see View) {
	o := jsontext.ParseObject(raw)
	if ids := o.Get("generation_token_ids"); ids != nil {
		t.readIDs(messageIDs, ids)
	}
	if ids := o.Get("prompt_token_ids"); ids != nil {
		a.setPrompt(ids)
	}
	if list := o.Get("generation_log_probs"); list != nil {
		t.addFallback(slices.Collect(jsontext.Elements(list)))
	}
	moved := o.Get("provider_specific_fields")
	if rest, less := t.readProvider(moved, movedInsideIDs, a, see); less {
		from := cap(at.b) - cap(moved) // it is a part of it
		at.cut(from, from+len(moved), string(rest.Bytes()))
	}
}

// addFallback keeps logprobs from an unusual place, for the case that the usual one is empty.
func (t *tokens) addFallback(logprobs [][]byte) {
	if t.fallback == nil {
		t.fallback = &tokens{}
	}
	t.fallback.listed = true
	for _, v := range logprobs {
		t.fallback.addLogprob(v)
	}
}

// withLogprobs returns the tokens with logprobs: t, or else its fallback.
func (t *tokens) withLogprobs() *tokens {
	if len(t.logprobs) == 0 && t.fallback != nil {
		return t.fallback
	}
	return t
}
