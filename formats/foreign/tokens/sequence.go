package tokens

import (
	"bytes"
	"slices"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/chat"
	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// sequence is a row of ids. What it has of each id is as long.
type sequence struct {
	*row
	ids      []int32
	response int // how many of the last ids are the response; -1 if no field says so
	trains   []bool
	logprobs []float32 // nil: unknown
	versions []int64   // negative: unknown
	from, to int       // before and after there is padding
	answers  []run
}

// run is an answer: a run of ones in the mask.
type run struct{ begin, end int }

// ofSequence are the fields that rows with lists of calls do not have.
var ofSequence = []string{inputIDs, promptIDs, responseIDs, lossMask, responseMask, responseLogprobs, attentionMask, versions}

func (s *sequence) read() {
	s.readIDs()
	s.readMask()
	s.readLogprobs()
	s.readVersions()
	s.readPadding()
	s.findAnswers()
	s.rest.Add(s.Column(promptTokens), s.values[promptTokens])
	delete(s.values, promptTokens) // which here are no lists of calls, nor these
	delete(s.values, logprobs)
}

func (s *sequence) readIDs() {
	whole, before, response := s.has(inputIDs), s.has(promptIDs), s.has(responseIDs)
	if whole == before || before != response {
		found := "it has no token ids"
		if whole || before || response {
			found = "its columns of token ids contradict"
		}
		must.Fail("%s: it needs the ids in one of three forms: %q, or %q and %q, or %q (--map)", found, s.Column(inputIDs),
			s.Column(promptIDs), s.Column(responseIDs), s.Column(completionTokens))
	}
	for _, field := range []string{inputIDs, promptIDs, responseIDs} {
		for _, v := range s.list(field, -1) {
			id, ok := must.TokenID(v)
			if s.ids = append(s.ids, id); !ok {
				must.Fail("column %q: %s is not a token id", s.Column(field), importers.Brief(v))
			}
		}
	}
	s.response = -1
	for _, field := range []string{responseIDs, responseMask, responseLogprobs} {
		if s.has(field) {
			s.responds(field, len(s.list(field, -1)))
		}
	}
	if n := s.count(responseLength); n != nil {
		s.responds(responseLength, int(*n))
	}
}

// responds sets how many ids the response has.
func (s *sequence) responds(field string, n int) {
	if s.response >= 0 && n != s.response || n > len(s.ids) {
		must.Fail("column %q says that the response has %d of %d ids, another one has %d", s.Column(field), n,
			len(s.ids), max(0, s.response))
	}
	s.response = n
}

// each returns the field of two that the row has, "" for none, and its values: of all ids, or of the response's behind nil.
func (s *sequence) each(what, ofAll, ofResponse string) (field string, values [][]byte) {
	switch {
	case s.has(ofAll) && s.has(ofResponse):
		must.Fail("it has two %s, %q and %q", what, s.Column(ofAll), s.Column(ofResponse))
	case s.has(ofAll):
		return ofAll, s.list(ofAll, len(s.ids))
	case s.has(ofResponse):
		return ofResponse, append(make([][]byte, len(s.ids)-s.response), s.list(ofResponse, s.response)...)
	}
	return "", nil
}

func (s *sequence) readMask() {
	field, values := s.each("masks", lossMask, responseMask)
	word, all := s.Mapped(unmasked)
	if all && word != "response" || field == "" && (!all || s.response < 0) {
		must.Fail("it has no mask: --map loss_mask=COLUMN, --map response_mask=COLUMN, or of a response --map unmasked=response")
	}
	for i := range s.ids {
		on := i >= len(s.ids)-s.response
		if field != "" {
			on = values[i] != nil && s.flag(field, i, values[i])
		}
		s.trains = append(s.trains, on)
	}
}

func (s *sequence) readLogprobs() {
	field, values := s.each("columns of logprobs", logprobs, responseLogprobs)
	ofOthers := false
	for i, v := range values {
		p, ok := must.Logprob(v)
		if !ok && (s.trains[i] || v != nil && string(v) != "null") {
			must.Fail("column %q: value %d is %s, not a log probability", s.Column(field), i, importers.Brief(v))
		}
		s.logprobs, ofOthers = append(s.logprobs, p), ofOthers || p != 0 && !s.trains[i]
	}
	if ofOthers {
		s.rest.Add(s.Column(field), s.values[field]) // the columns hold those of answers
	}
}

// readVersions reads the version of each id, or those of ranges of the response.
func (s *sequence) readVersions() {
	length, field := len(s.ids), "column "+s.Column(versions)
	if bytes.IndexByte(s.values[versions], '{') >= 0 {
		length = -1
	}
	s.versions = slices.Repeat([]int64{-1}, len(s.ids))
	last, before := 0, len(s.ids)-s.response
	for i, v := range s.list(versions, length) {
		first, end := i, i+1
		if length < 0 {
			o := must.Object(field, v)
			first, end = before+int(must.Count("start", o.Get("start"))), before+int(must.Count("end", o.Get("end")))
			if s.response < 0 || first < last || first > end || end > len(s.ids) {
				must.Fail("%s: the range %s is not in the response, or not after the one before", field, importers.Brief(v))
			}
			v = o.Get("policy_version")
		}
		last = end
		for n := must.Whole(field, v); n != nil && first < end; first++ {
			s.versions[first] = *n
		}
	}
}

// readPadding finds the padding, which is before the ids and after them.
func (s *sequence) readPadding() {
	real := slices.Repeat([]bool{true}, len(s.ids))
	for i, v := range s.list(attentionMask, len(s.ids)) {
		real[i] = s.flag(attentionMask, i, v)
	}
	s.from, s.to = max(0, slices.Index(real, true)), len(s.ids)
	for s.to > s.from && !real[s.to-1] {
		s.to--
	}
	for i := range s.ids {
		if !real[i] && (s.trains[i] || i >= s.from && i < s.to) {
			must.Fail("column %q: there is padding between ids, or padding that trains", s.Column(attentionMask))
		}
	}
}

// findAnswers finds the runs of ones. Without messages, which say how many there are, each has one version.
func (s *sequence) findAnswers() {
	end := s.from
	for i := s.from; i < s.to; i++ {
		switch last := len(s.answers) - 1; {
		case !s.trains[i]:
			continue
		case last >= 0 && i == end && (s.has(messages) || s.versions[i] == s.versions[i-1]):
			s.answers[last].end++
		default:
			s.answers = append(s.answers, run{i, i + 1})
		}
		end = i + 1
	}
	if rest, _ := jsontext.Append(nil, s.ids[end:s.to]); s.answers == nil { // numbers always have a form
		s.rest.Add(inputIDs, rest)
	} else if end < s.to {
		s.rest.Add("ids_after_the_last_answer", rest)
	}
}

// fill sets the columns of the messages that the assistant sampled, and of their calls.
func (s *sequence) fill(t *formats.Trajectory) {
	if len(t.Calls) != len(s.answers) {
		must.Fail("the assistant has %d messages that are sampled, and the ids have %d answers", len(t.Calls), len(s.answers))
	}
	t.TokenSource = s.Column(inputIDs)
	for i := range t.Messages {
		m := &t.Messages[i]
		if !m.Sampled {
			continue
		}
		a, call := s.answers[m.Call], &t.Calls[m.Call]
		ids, prompt := s.ids[a.begin:a.end:a.end], s.ids[s.from:a.begin:a.begin]
		if m.TokenIDs != nil && !slices.Equal(m.TokenIDs, ids) {
			must.Fail("message %d has token ids of its own, other than those of column %q", i, s.Column(inputIDs))
		}
		if m.TokenIDs, m.Logprobs = ids, nil; s.logprobs != nil {
			m.Logprobs = s.logprobs[a.begin:a.end:a.end]
		}
		m.PromptDeltaIDs, m.PrefixBreak = chat.PromptDelta(t.Messages, int(m.Parent), prompt, nil)
		call.PromptTokens, call.CompletionTokens = int32(len(prompt)), int32(len(ids))
		if of := s.versions[a.begin:a.end]; of[0] >= 0 && slices.Min(of) == slices.Max(of) {
			call.PolicyVersion = &of[0]
		}
	}
}

// list returns the elements of a field that is a list, or text with one, of a length unless it is negative.
func (r *row) list(field string, length int) [][]byte {
	if !r.has(field) {
		return nil
	}
	text, err := value.Array(r.values[field])
	if err != nil {
		must.Fail("column %q: %w", r.Column(field), err)
	}
	list := slices.Collect(jsontext.Elements([]byte(text)))
	if length >= 0 && len(list) != length {
		must.Fail("column %q has %d values for %d ids (a column of the response alone is --map response_mask=COLUMN, "+
			"or response_logprobs)", r.Column(field), len(list), length)
	}
	return list
}
