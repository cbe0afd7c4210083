package importers

import (
	"testing"

	"github.com/rollmill/rollmill/formats"
)

func TestEndUserNames(t *testing.T) {
	for name, want := range map[string]bool{
		"user": true, "user_id": true, "userId": true, "userid": true, "USER-ID": true, "user.id": true, "enduser.id": true,
		"end_user": true, "EndUserID": true, "user.roles": true, "langfuse.user_id": true, "user_api_key_end_user_id": true,
		"llm.user": true, "safety_identifier": true, "customer_id": true, "account_uuid": true, "accountId": true,
		"email": true, "user_email": true, "phoneNumber": true, "userName": true, "ip": true, "client_ip": true,
		"net.peer.ip": true, "client.address": true, "network.peer.address": true, "sourceIPAddress": true, "REMOTE_ADDR": true,
		"requester_ip_address": true, "X-Forwarded-For": true, "x-real-ip": true, "http.request.header.x-forwarded-for": true,
		"address": true, "usr.id": true, "request.metadata": true,
		"users": true, "emails": true, "ip_addresses": true,

		"session_id": false, "user_session_id": false, "user.session.id": false, "trace_id": false, "thread_id": false,
		"server.address": false, "user_agent": false, "user_agent.original": false, "metadata": false, "description": false,
		"model": false, "tool_name": false, "name": false, "id": false, "user_prompt": false, "skip": false,
		"agent.name": false, "service.name": false, "request.model": false, "max_tokens": false, "": false,
	} {
		if got := ofEndUser.Of(name); got != want {
			t.Errorf("%q: %t, want %t", name, got, want)
		}
	}
}

// TestShortIDs: an id may have two digits, and a text several addresses; what is empty says nothing.
func TestShortIDs(t *testing.T) {
	f := Format{Name: "f", Log: true}.ParsedBy(func(r *Record) ([]Item, error) {
		return []Item{{Row: formats.Trajectory{Metadata: string(r.Data)}}}, nil
	})
	p := f.Convert(Record{Data: []byte(`{"user_id":42,"customer":7,"emails":"a@b, c@d","user":{},"user_name":"","users":[],"userid":null,"ip":true,"n":1}`)})
	if p.Err != nil {
		t.Fatal(p.Err)
	}
	if got, want := p.Items[0].Row.Metadata, `{"user":{},"user_name":"","users":[],"userid":null,"ip":true,"n":1}`; got != want || len(p.LeftOut) != 3 {
		t.Errorf("got %s without %v, want %s", got, p.LeftOut, want)
	}
}
