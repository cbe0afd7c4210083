package recorder

import (
	"github.com/rollmill/rollmill/formats/jsontext"
)

// learn makes a chunk with one choice, which was read in full, the template of the
// next ones, if match can read such chunks.
func (l *chunkTemplate) learn(b []byte, cuts []cut, c *choice) {
	if l.unused == maxUnused || len(b) > maxLearned {
		return
	}
	l.unused++
	*l = chunkTemplate{chunk: append(l.chunk[:0], b...), cuts: append(l.cuts[:0], cuts...), holes: l.holes[:0], choice: c,
		unused: l.unused}
	l.known = l.learnChunk()
}

func (l *chunkTemplate) learnChunk() bool {
	choices := 0
	for key, v := range jsontext.Members(l.chunk) {
		if string(key) != "choices" {
			continue
		}
		for choice := range jsontext.Elements(v) {
			if choices++; !l.learnChoice(choice) {
				return false
			}
		}
	}
	return choices == 1
}

// learnChoice reports whether it knows what a member of a choice changes; so do
// the functions below.
func (l *chunkTemplate) learnChoice(choice []byte) bool {
	for key, v := range jsontext.Members(choice) {
		ok := true
		switch string(key) {
		case "delta":
			ok = l.learnDelta(v)
		case "text":
			l.addHole(contentHole, v, '"')
		case "logprobs":
			ok = l.learnLogprobs(v)
		case "token_ids":
			ok = isNull(v) || l.addHole(idsHole, v, '[')
		case "message", "response_token_ids", "meta_info", "provider_specific_fields":
			ok = isNull(v)
		}
		if !ok {
			return false
		}
	}
	return true
}

func (l *chunkTemplate) learnDelta(delta []byte) bool {
	if len(delta) > len("{}") {
		l.deltas++
	}
	thoughts := 0
	for key, v := range jsontext.Members(delta) {
		switch string(key) {
		case "content":
			if v[0] == '[' {
				return false
			}
			l.addHole(contentHole, v, '"')
		case "refusal":
			l.addHole(refusalHole, v, '"')
		case "reasoning", "reasoning_content":
			if l.addHole(reasoningHole, v, '"') {
				thoughts++
			}
		case "tool_calls":
			for range jsontext.Elements(v) {
				return false
			}
		case "function_call", "provider_specific_fields":
			if !isNull(v) {
				return false
			}
		case "generation_token_ids", "generation_log_probs", "prompt_token_ids":
			return false
		}
	}
	return thoughts <= 1
}

func (l *chunkTemplate) learnLogprobs(v []byte) bool {
	for key, v := range jsontext.Members(v) {
		switch {
		case v[0] != '[':
		case string(key) == "content" && !l.token:
			n := 0
			for entry := range jsontext.Elements(v) {
				if n++; !l.learnEntry(entry) {
					return false
				}
			}
			if n != 1 {
				return false
			}
			l.token = true
		default:
			return false
		}
	}
	return true
}

func (l *chunkTemplate) learnEntry(entry []byte) bool {
	logprobs, tokens, ids := 0, 0, 0
	for key, v := range jsontext.Members(entry) {
		switch string(key) {
		case "logprob":
			logprobs++
			if !l.addHole(logprobHole, v, v[0]) || v[0] != '-' && v[0]-'0' > 9 {
				return false
			}
		case "token":
			if tokens++; !l.addHole(tokenHole, v, '"') {
				return false
			}
		case "id":
			if ids++; !l.addHole(idHole, v, v[0]) || v[0]-'0' > 9 {
				return false
			}
		default:
			l.addHole(listHole, v, '[')
		}
	}
	return logprobs == 1 && tokens <= 1 && ids <= 1
}

// addHole adds a value that may differ, and reports whether it begins with this byte.
func (l *chunkTemplate) addHole(kind holeKind, v []byte, begins byte) bool {
	if len(v) == 0 || v[0] != begins {
		return false
	}
	from := cap(l.chunk) - cap(v) // v is a part of it
	l.holes = append(l.holes, hole{kind: kind, from: from, to: from + len(v)})
	return true
}

func isNull(v []byte) bool { return string(v) == "null" }
