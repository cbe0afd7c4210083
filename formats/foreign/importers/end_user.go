package importers

import (
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats/jsontext"
)

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
