package importers

import (
	"bytes"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
	"github.com/rollmill/rollmill/formats/secret"
)

// withhold takes what has the name of a secret out of the metadata of a row and out of
// the parameters of its calls, at every depth, and counts it; of a log also what holds an end
// user's id, name or address, which the item keeps for grouping.
func (r *Record) withhold(x *Item) {
	t, before := &x.Row, x.Row.Metadata
	r.withholdIn(&t.Metadata, scope{})
	if r.log && t.Metadata != before {
		x.Whole = before
	}
	for i := range t.Calls {
		r.withholdIn(&t.Calls[i].Sampling, scope{before: "request."})
	}
	if r.log {
		r.withholdIn(&t.Example, scope{})
		for i := range t.Candidates {
			r.withholdIn(&t.Candidates[i].Metadata, scope{})
		}
	}
}

func (r *Record) withholdIn(text *string, at scope) {
	v, before := formats.Bytes(*text), r.taken
	if !r.hides(v, at) {
		return
	}
	if out := r.open(nil, v, maxWithin, at); r.taken > before {
		*text = string(out)
	}
}

// hides reports whether JSON may have a member that is withheld, also in a text of JSON.
func (r *Record) hides(v []byte, at scope) bool {
	for i := bytes.IndexByte(v, '"'); i >= 0 && i < len(v); {
		end := jsontext.Skip(v, i)
		next := jsontext.Space(v, end)
		if next < len(v) && v[next] == ':' {
			name := formats.Text(jsontext.Key(v[i:end]))
			if secret.Names(name) || r.log && ofEndUser.Of(at.before+name) {
				return true
			}
		} else if isText(v[i:end]) && r.hides(formats.Bytes(jsontext.Unquote(v[i:end])), at) {
			return true
		}
		if i = end + bytes.IndexByte(v[end:], '"'); i < end {
			break
		}
	}
	return false
}

// isText reports whether a value is a text that may be JSON.
func isText(v []byte) bool {
	return len(v) > len(`"{}"`) && v[0] == '"' && (v[1] == '{' || v[1] == '[')
}

// open appends a valid value without what is withheld. A token beside its logprob is no secret.
func (r *Record) open(b, v []byte, depth int, at scope) []byte {
	first := len(b) + 1
	switch {
	case depth == 0:
	case v[0] == '{':
		b = append(b, '{')
		for key, inner := range jsontext.Members(v) {
			name := formats.Text(key)
			below, named := r.below(at, name, inner)
			switch {
			case named && !below.kept && below.before == "":
				r.LeftOut[strings.Clone(name)]++
				r.taken++
				continue
			case !named && secret.Member(name, inner) && !(name == "token" && bytes.Contains(v, []byte(`"logprob"`))):
				r.Withheld++
				r.taken++
				continue
			}
			if len(b) > first {
				b = append(b, ',')
			}
			b = r.open(append(jsontext.AppendString(b, name), ':'), inner, depth-1, below)
		}
		return append(b, '}')
	case v[0] == '[':
		b = append(b, '[')
		for inner := range jsontext.Elements(v) {
			if len(b) > first {
				b = append(b, ',')
			}
			b = r.open(b, inner, depth-1, at)
		}
		return append(b, ']')
	case isText(v):
		before := r.taken
		if inner := []byte(jsontext.Unquote(v)); jsontext.Valid(inner) {
			if out := r.open(nil, inner, depth-1, at); r.taken > before {
				return append(b, Quote(string(out))...)
			}
		}
	}
	return append(b, v...)
}

// endUsers are the last words, without separators, of names of members that hold an end user's
// id, name or address: those of OpenTelemetry, Langfuse, Phoenix, LangSmith, LiteLLM and Datadog, and of
// requests to OpenAI, Anthropic, Azure and Bedrock. It is the only list; import's version changes with it.
var endUsers = strings.Fields(`
	user usr enduser customer userid enduserid customerid useruuid customeruuid userhash useridentifier
	enduseridentifier pseudoid safetyidentifier promptcachekey accountid accountuuid memberid personid visitorid
	anonymousid distinctid deviceid installationid username userlogin login loginname nickname firstname lastname fullname givenname familyname surname
	email useremail emailaddress mail phone phonenumber telephone mobile requestmetadata
	ip ipv4 ipv6 ipaddr ipaddress clientip userip remoteip sourceip peerip realip xrealip remoteaddr remoteaddress
	remotehost clientaddr clientaddress peeraddr peeraddress peername sourceaddr sourceaddress forwarded forwardedfor
	xforwardedfor macaddress
	homeaddress postaladdress streetaddress billingaddress shippingaddress`)

// ofEndUser reports whether a name is that of a member about an end user, as is all that follows after
// a user and a dot, as in user.roles. Ids of sessions are nobody's.
var ofEndUser = jsontext.NewNames(func(name string) bool {
	words, is := jsontext.Words(name), false
	for i := range words {
		last := strings.Join(words[i:], "")
		if last == "sessionid" {
			return false
		}
		one := strings.TrimSuffix(strings.TrimSuffix(last, "s"), "e")
		is = is || slices.Contains(endUsers, last) || slices.Contains(endUsers, one) || last == "address" && i == 0
	}
	parts := strings.Split(name, ".")
	return is || slices.ContainsFunc(parts[:len(parts)-1], func(part string) bool {
		return slices.Contains([]string{"user", "usr", "enduser", "customer"}, squash(part))
	})
})

// squash returns a name as names are compared: without case and separators.
func squash(name string) string { return strings.Join(jsontext.Words(name), "") }

// scope is where a member is, for what its name says about end users.
type scope struct {
	before string // comes before its name: "request." in those of a request, whose metadata is about who asks
	kept   bool   // the user keeps all that is there
}

// below returns the scope within a member, and whether it holds an end user's id, name or address: then it
// is left out, unless it or something within is kept. What is empty, null or a bool says nothing.
func (r *Record) below(at scope, name string, v []byte) (below scope, named bool) {
	name = at.before + name
	switch string(v) {
	case `""`, "{}", "[]", "null", "true", "false":
		return scope{kept: at.kept}, false
	}
	if !r.log || at.kept || !ofEndUser.Of(name) {
		return scope{kept: at.kept}, false
	}
	if r.Options == nil {
		return scope{}, true
	}
	within := strings.TrimPrefix(name, "request.") + "."
	inside := func(keep string) bool { return strings.HasPrefix(keep, within) }
	if below.kept = r.keeps(name); !below.kept && v[0] == '{' && slices.ContainsFunc(r.Keep, inside) {
		below.before = name + "."
	}
	return below, true
}

// keeps reports whether the user keeps a member. A kept name stands for the members with that name or
// with one that has it between dots.
func (r *Record) keeps(name string) (kept bool) {
	parts := strings.Split(name, ".")
	for from := range parts {
		for to := from + 1; to <= len(parts); to++ {
			part := squash(strings.Join(parts[from:to], "."))
			for _, keep := range r.Keep {
				if part == squash(keep) {
					r.Kept[keep], kept = true, true
				}
			}
		}
	}
	return kept
}
