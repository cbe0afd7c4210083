package tokens

import (
	"slices"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/foreign/value"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// sequence is a row of ids. Its other slices are as long, or nil.
type sequence struct {
	ids      []int32
	trains   []bool
	logprobs []float32
	versions []int64 // negative: unknown
}

// answer is what a call gave, behind its whole prompt.
type answer struct {
	prompt, ids []int32
	logprobs    []float32
	version     *int64
}

// readSequence reads the fields of a sequence, without its padding.
func (r *row) readSequence() *sequence {
	s := &sequence{}
	region := r.readIDs(s)
	r.readMask(s, region)
	r.readLogprobs(s, region)
	r.readVersions(s, region)
	if r.has(attentionMask) {
		r.strip(s, r.flags(attentionMask, len(s.ids)))
	}
	return s
}

// readIDs reads the ids, and returns how many of the last are the response; 0 if no field says so.
func (r *row) readIDs(s *sequence) (region int) {
	read := func(field string) []int32 {
		ids, err := value.TokenIDs(r.values[field])
		if err != nil {
			must.Fail("column %q: %w", r.Column(field), err)
		}
		return ids
	}
	split := r.has(promptIDs) && r.has(responseIDs)
	switch {
	case r.has(inputIDs) != split && r.has(promptIDs) == r.has(responseIDs):
		if s.ids = read(map[bool]string{true: promptIDs, false: inputIDs}[split]); split {
			response := read(responseIDs)
			s.ids, region = append(s.ids, response...), len(response)
		}
	default:
		must.Fail("it needs the ids in one of three forms: %q, or %q and %q, or %q (--map)", r.Column(inputIDs),
			r.Column(promptIDs), r.Column(responseIDs), r.Column(completionTokens))
	}
	for _, field := range []string{responseMask, responseLogprobs, responseLength} {
		if r.has(field) {
			n := 0
			if field != responseLength {
				n = len(r.list(field, -1))
			} else if given := r.number(field, 1<<31-1); given != nil {
				n = int(*given)
			}
			if region > 0 && n != region || n > len(s.ids) {
				must.Fail("column %q says that the response has %d of %d ids, another one has %d", r.Column(field), n,
					len(s.ids), region)
			}
			region = n
		}
	}
	return region
}

func (r *row) readMask(s *sequence, region int) {
	word, all := r.Mapped(unmasked)
	before := make([]bool, len(s.ids)-region)
	switch {
	case r.has(lossMask) && r.has(responseMask) || all && word != "response":
		must.Fail("it has two masks, %q and %q, or --map unmasked is not response", r.Column(lossMask),
			r.Column(responseMask))
	case r.has(lossMask):
		s.trains = r.flags(lossMask, len(s.ids))
	case r.has(responseMask):
		s.trains = append(before, r.flags(responseMask, region)...)
	case all && region > 0:
		s.trains = append(before, slices.Repeat([]bool{true}, region)...)
	default:
		must.Fail("it has no mask: --map loss_mask=COLUMN, or --map response_mask=COLUMN")
	}
}

func (r *row) readLogprobs(s *sequence, region int) {
	field, from := logprobs, 0
	switch {
	case r.has(logprobs) && r.has(responseLogprobs):
		must.Fail("it has both columns %q and %q", r.Column(logprobs), r.Column(responseLogprobs))
	case r.has(responseLogprobs):
		field, from = responseLogprobs, len(s.ids)-region
	case !r.has(logprobs):
		return
	}
	s.logprobs = make([]float32, len(s.ids))
	ofOthers := false
	for i, v := range r.list(field, len(s.ids)-from) {
		p, ok := must.Logprob(v)
		if i += from; !ok && (s.trains[i] || string(v) != "null") {
			must.Fail("column %q: value %d is %s, not a log probability", r.Column(field), i-from, importers.Brief(v))
		}
		s.logprobs[i], ofOthers = p, ofOthers || p != 0 && !s.trains[i]
	}
	if ofOthers {
		r.rest.Add(r.Column(field), r.values[field]) // the columns hold those of answers
	}
	delete(r.values, logprobs) // which is no list of answers
}

// readVersions reads the version of each id, or those of ranges of the response.
func (r *row) readVersions(s *sequence, region int) {
	if !r.has(versions) {
		return
	}
	list := r.list(versions, -1)
	if s.versions = slices.Repeat([]int64{-1}, len(s.ids)); len(list) == 0 || list[0][0] != '{' {
		for i, v := range r.list(versions, len(s.ids)) {
			if n := must.Whole("column "+r.Column(versions), v); n != nil {
				s.versions[i] = *n
			}
		}
		return
	}
	for _, v := range list {
		o := must.Object(versions, v)
		start, end := int(must.Count("start", o.Get("start"))), int(must.Count("end", o.Get("end")))
		if start > end || end > region {
			must.Fail("column %q: the range %s is not in the response", r.Column(versions), importers.Brief(v))
		}
		for i := start; i < end && o.Has("policy_version"); i++ {
			s.versions[len(s.ids)-region+i] = *must.Whole("policy_version", o.Get("policy_version"))
		}
	}
}

// strip leaves out the padding, which is before the ids and after them.
func (r *row) strip(s *sequence, real []bool) {
	from, to := max(0, slices.Index(real, true)), len(real)
	for to > from && !real[to-1] {
		to--
	}
	padding := append(s.trains[:from:from], s.trains[to:]...)
	if slices.Contains(real[from:to], false) || slices.Contains(padding, true) {
		must.Fail("column %q: there is padding between ids, or padding that trains", r.Column(attentionMask))
	}
	if s.ids, s.trains = s.ids[from:to], s.trains[from:to]; s.logprobs != nil {
		s.logprobs = s.logprobs[from:to]
	}
	if s.versions != nil {
		s.versions = s.versions[from:to]
	}
}

// answers returns the runs of ones.
func (s *sequence) answers(r *row) (out []answer) {
	same := func(a, b int) bool { return s.versions == nil || s.versions[a] == s.versions[b] }
	end := 0
	for begin := slices.Index(s.trains, true); begin >= 0; begin = slices.Index(s.trains[end:], true) {
		begin += end
		mixed := false
		for end = begin; end < len(s.ids) && s.trains[end]; end++ {
			if mixed = mixed || !same(begin, end); mixed && !r.has(messages) {
				break // messages say how many answers there are
			}
		}
		a := answer{prompt: s.ids[:begin:begin], ids: s.ids[begin:end:end]}
		if s.logprobs != nil {
			a.logprobs = s.logprobs[begin:end:end]
		}
		if s.versions != nil && s.versions[begin] >= 0 && (!mixed || !r.has(messages)) {
			a.version = &s.versions[begin]
		}
		out = append(out, a)
	}
	if rest, _ := jsontext.Append(nil, s.ids[end:]); out == nil { // numbers always have a form
		r.rest.Add(inputIDs, rest)
	} else if end < len(s.ids) {
		r.rest.Add("ids_after_the_last_answer", rest)
	}
	return out
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

func (r *row) flags(field string, length int) []bool {
	out := make([]bool, 0, length)
	for i, v := range r.list(field, length) {
		on, ok := flag(v)
		if out = append(out, on); !ok {
			must.Fail("column %q: value %d is %s, not 0, 1, true or false", r.Column(field), i, importers.Brief(v))
		}
	}
	return out
}

// flag reads an element of a mask.
func flag(v []byte) (on, ok bool) {
	on = slices.Contains([]string{"1", "1.0", "true"}, string(v))
	return on, on || slices.Contains([]string{"0", "0.0", "false"}, string(v))
}
