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

// people are names of which all that follows after a dot is about an end user, as in user.roles.
var people = []string{"user", "usr", "enduser", "customer"}

// aboutUser is what the name of a member says about an end user.
type aboutUser uint8

const (
	aboutNobody aboutUser = iota
	aboutUsers            // if it is a list
	aboutOne
)

// ofEndUser finds what names say about end users. Ids of sessions are nobody's.
var ofEndUser = jsontext.NewNames(func(name string) aboutUser {
	words, about := jsontext.Words(name), aboutNobody
	for i := range words {
		switch last := strings.Join(words[i:], ""); {
		case last == "sessionid":
			return aboutNobody
		case slices.Contains(endUsers, last), last == "address" && i == 0:
			about = aboutOne
		case slices.Contains(endUsers, strings.TrimSuffix(strings.TrimSuffix(last, "s"), "e")):
			about = max(about, aboutUsers)
		}
	}
	parts := strings.Split(name, ".")
	ofPeople := func(part string) bool { return slices.Contains(people, squash(part)) }
	if slices.ContainsFunc(parts[:len(parts)-1], ofPeople) {
		about = aboutOne
	}
	return about
})

// squash returns a name as names are compared: without case and separators.
func squash(name string) string { return strings.Join(jsontext.Words(name), "") }

// scope is where a member is, for what its name says about end users.
type scope struct {
	before string // comes before its name: "request." in those of a request, whose metadata is about who asks
	kept   bool   // the user keeps all that is there
}

// below returns the scope within a member, and whether it holds an end user's id, name or address: then it
// is left out, unless it or something within is kept.
func (r *Record) below(at scope, name string, v []byte) (below scope, named bool) {
	if name = at.before + name; !r.log || at.kept || !private(name, v) {
		return scope{kept: at.kept}, false
	}
	if r.keeps(name) {
		return scope{kept: true}, true
	}
	within := func(keep string) bool {
		return v[0] == '{' && strings.HasPrefix(keep, strings.TrimPrefix(name, "request.")+".")
	}
	if r.Options != nil && slices.ContainsFunc(r.Keep, within) {
		below.before = name + "."
	}
	return below, true
}

// private reports whether a member holds an end user's id, name or address.
func private(name string, v []byte) bool {
	if len(v) == len(`""`) || strings.IndexByte("ntf", v[0]) >= 0 { // what is empty, null or a bool says nothing
		return false
	}
	about := ofEndUser.Of(name)
	return about == aboutOne || about == aboutUsers && v[0] == '['
}

// keeps reports whether the user keeps a member. A kept name stands for the members with that name or
// with one that has it between dots.
func (r *Record) keeps(name string) bool {
	if r.Options == nil {
		return false
	}
	var all []string
	parts := strings.Split(name, ".")
	for from := range parts {
		for to := from; to < len(parts); to++ {
			all = append(all, squash(strings.Join(parts[from:to+1], ".")))
		}
	}
	kept := false
	for _, keep := range r.Keep {
		if slices.Contains(all, squash(keep)) {
			if kept = true; r.Kept == nil {
				r.Kept = map[string]bool{}
			}
			r.Kept[keep] = true
		}
	}
	return kept
}

// leave counts a member that is left out.
func (r *Record) leave(name string) {
	if r.LeftOut == nil {
		r.LeftOut = map[string]int64{}
	}
	r.LeftOut[strings.Clone(name)]++
}

// taken returns how many members are not in the rows, for whatever reason.
func (r *Record) taken() (n int64) {
	for _, of := range r.LeftOut {
		n += of
	}
	return n + int64(r.Withheld)
}
