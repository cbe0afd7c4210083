package tokens

import (
	"bytes"
	"slices"

	"github.com/rollmill/rollmill/formats/foreign/importers"
	"github.com/rollmill/rollmill/formats/foreign/must"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// sequence is a row of ids. Its other slices are as long, or nil.
type sequence struct {
	ids      []int32
	trains   []bool
	logprobs []*float32 // nil for null
	versions []int64    // negative: unknown
	real     []bool     // not padding
	region   int        // how many of the last ids are the response; -1 if no field says so
}

// readSequence reads the fields of a sequence, without its padding.
func (r *row) readSequence() *sequence {
	s := &sequence{region: -1}
	r.readIDs(s)
	for _, field := range []string{responseMask, responseLogprobs} {
		if r.has(field) {
			r.respond(s, len(r.list(field)), field)
		}
	}
	if n := r.whole(responseLength); n != nil {
		r.respond(s, int(*n), responseLength)
	}
	s.trains = make([]bool, len(s.ids))
	flags := func(field string, to []bool) {
		r.aligned(s, field, len(to), func(i int, v []byte) bool { return flag(v, &to[i]) }, "0, 1, true or false")
	}
	switch word, all := r.Mapped(unmasked); {
	case all && word != "response":
		must.Fail("--map unmasked=%s: the only word is response", word)
	case all && s.region >= 0 && !r.has(lossMask) && !r.has(responseMask):
		for i := range s.region {
			s.response(s.trains)[i] = true
		}
	case r.has(lossMask) == r.has(responseMask):
		must.Fail("it has either both or none of the columns %q and %q: name one mask "+
			"(--map loss_mask=COLUMN, or --map response_mask=COLUMN)", r.Column(lossMask), r.Column(responseMask))
	case r.has(lossMask):
		flags(lossMask, s.trains)
	default:
		flags(responseMask, s.response(s.trains))
	}
	if r.has(attentionMask) {
		s.real = make([]bool, len(s.ids))
		flags(attentionMask, s.real)
	}
	r.readLogprobs(s)
	r.readVersions(s)
	r.strip(s)
	return s
}

func (r *row) readIDs(s *sequence) {
	read := func(field string) {
		r.each(field, len(r.list(field)), "", func(_ int, v []byte) bool {
			id, ok := must.TokenID(bytes.TrimSuffix(v, []byte(".0")))
			s.ids = append(s.ids, id)
			return ok
		}, "a token id")
	}
	switch split := r.has(promptIDs) && r.has(responseIDs); {
	case r.has(inputIDs) && !r.has(promptIDs) && !r.has(responseIDs):
		read(inputIDs)
	case split && !r.has(inputIDs):
		read(promptIDs)
		before := len(s.ids)
		read(responseIDs)
		s.region = len(s.ids) - before
	default:
		must.Fail("it needs the ids in one of three forms: %q, or %q and %q, or %q (--map)", r.Column(inputIDs),
			r.Column(promptIDs), r.Column(responseIDs), r.Column(completionTokens))
	}
}

// respond says how many ids the response has, which no other field may contradict.
func (r *row) respond(s *sequence, n int, field string) {
	if s.region >= 0 && s.region != n || n < 0 || n > len(s.ids) {
		must.Fail("column %q says that the response has %d of %d ids, and another column has a response of %d",
			r.Column(field), n, len(s.ids), s.region)
	}
	s.region = n
}

// response returns what a slice has of the response.
func (s *sequence) response(of []bool) []bool { return of[len(of)-s.region:] }

// aligned is each for a field of all ids or of the response. The hint names the field that a
// shorter column may be.
func (r *row) aligned(s *sequence, field string, n int, read func(i int, v []byte) bool, want string) {
	of := "ids"
	if n != len(s.ids) {
		of = "ids of the response"
	} else if other := map[string]string{lossMask: responseMask, logprobs: responseLogprobs}[field]; other != "" {
		of = "ids (if it is of the response alone: --map " + other + "=" + r.Column(field) + ")"
	}
	r.each(field, n, of, read, want)
}

func (r *row) readLogprobs(s *sequence) {
	field, from := logprobs, 0
	switch {
	case r.has(logprobs) && r.has(responseLogprobs):
		must.Fail("it has both columns %q and %q", r.Column(logprobs), r.Column(responseLogprobs))
	case r.has(responseLogprobs):
		field, from = responseLogprobs, len(s.ids)-s.region
	case !r.has(logprobs):
		return
	}
	s.logprobs = make([]*float32, len(s.ids))
	ofOthers := false
	r.aligned(s, field, len(s.ids)-from, func(i int, v []byte) bool {
		p, ok := must.Logprob(v)
		if i += from; ok {
			s.logprobs[i] = &p
		}
		ofOthers = ofOthers || ok && p != 0 && !s.trains[i]
		return ok || string(v) == "null" && !s.trains[i]
	}, "a log probability")
	if ofOthers {
		r.meta.Add(r.Column(field), r.values[field]) // the columns hold those of answers
	}
}

// readVersions reads the version of each id, or those of ranges of the response.
func (r *row) readVersions(s *sequence) {
	if !r.has(versions) {
		return
	}
	s.versions = make([]int64, len(s.ids))
	list := r.list(versions)
	if len(list) > 0 && list[0][0] != '{' {
		r.aligned(s, versions, len(s.ids), func(i int, v []byte) bool {
			n := must.Whole(r.Column(versions), v)
			if s.versions[i] = -1; n != nil {
				s.versions[i] = *n
			}
			return true
		}, "a version")
		return
	}
	for i := range s.versions {
		s.versions[i] = -1
	}
	for _, v := range list {
		o, at := must.Object(versions, v), max(0, len(s.ids)-max(s.region, 0))
		start, end := must.Count("start", o.Get("start")), must.Count("end", o.Get("end"))
		n := must.Whole("policy_version", o.Get("policy_version"))
		if s.region < 0 || start > end || int(end) > s.region {
			must.Fail("column %q: the range %s is not in the response", r.Column(versions), importers.Brief(v))
		}
		for i := start; n != nil && i < end; i++ {
			s.versions[at+int(i)] = *n
		}
	}
}

// strip leaves out the padding, which is before the ids and after them.
func (r *row) strip(s *sequence) {
	if s.real == nil {
		return
	}
	from := max(0, slices.Index(s.real, true))
	to := len(s.real)
	for to > from && !s.real[to-1] {
		to--
	}
	if slices.Contains(s.real[from:to], false) {
		must.Fail("column %q has padding between ids", r.Column(attentionMask))
	}
	if slices.Contains(s.trains[:from], true) || slices.Contains(s.trains[to:], true) {
		must.Fail("column %q says that padding trains", r.Column(lossMask))
	}
	s.ids, s.trains = s.ids[from:to], s.trains[from:to]
	if s.logprobs != nil {
		s.logprobs = s.logprobs[from:to]
	}
	if s.versions != nil {
		s.versions = s.versions[from:to]
	}
}

// flag reads an element of a mask.
func flag(v []byte, to *bool) bool {
	switch string(v) {
	case "1", "1.0", "true":
		*to = true
	case "0", "0.0", "false":
	default:
		return false
	}
	return true
}

func asJSON(ids []int32) []byte {
	out, _ := jsontext.Append(nil, ids) // numbers always have a form
	return out
}
