package recorder

// strip removes from an answer, or a chunk of one, what this package asked for
// and the agent did not. What needs no change keeps its bytes. keep is false
// for a chunk of which nothing is left.
func (q *request) strip(body []byte) (out []byte, keep bool) {
	top := parseObject(body)
	changed := false
	if !q.wantsIDs {
		changed = top.drop("prompt_token_ids")
	}
	if q.stream && !q.wantsUsage {
		if top.has("usage") && len(compact(top.get("choices"))) <= len("[]") {
			return nil, false // the chunk that only carries the usage
		}
		if !top.has("usage") {
			changed = top.drop("usage") || changed
		}
	}
	if choices, did := q.stripChoices(top.get("choices")); did {
		top.set("choices", choices)
		changed = true
	}
	if !changed {
		return body, true
	}
	return top.bytes(), true
}

func (q *request) stripChoices(list []byte) (out []byte, changed bool) {
	out = []byte{'['}
	for raw := range elements(list) {
		c := parseObject(raw)
		did := false
		if !q.wantsLogprobs {
			did = c.has("logprobs")
			if did {
				c.set("logprobs", []byte("null"))
			}
		}
		if !q.wantsIDs {
			for _, key := range []string{"token_ids", "response_token_ids", "prompt_token_ids"} {
				did = c.drop(key) || did
			}
		}
		if did {
			raw, changed = c.bytes(), true
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, raw...)
	}
	return append(out, ']'), changed
}
