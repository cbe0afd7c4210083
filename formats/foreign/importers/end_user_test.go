package importers

import "testing"

func TestEndUserNames(t *testing.T) {
	for name, want := range map[string]aboutUser{
		"user": aboutOne, "user_id": aboutOne, "userId": aboutOne, "userid": aboutOne, "USER-ID": aboutOne, "user.id": aboutOne, "enduser.id": aboutOne,
		"end_user": aboutOne, "EndUserID": aboutOne, "user.roles": aboutOne, "langfuse.user_id": aboutOne, "user_api_key_end_user_id": aboutOne,
		"llm.user": aboutOne, "safety_identifier": aboutOne, "customer_id": aboutOne, "account_uuid": aboutOne, "accountId": aboutOne,
		"email": aboutOne, "user_email": aboutOne, "phoneNumber": aboutOne, "userName": aboutOne, "ip": aboutOne, "client_ip": aboutOne,
		"net.peer.ip": aboutOne, "client.address": aboutOne, "network.peer.address": aboutOne, "sourceIPAddress": aboutOne, "REMOTE_ADDR": aboutOne,
		"requester_ip_address": aboutOne, "X-Forwarded-For": aboutOne, "x-real-ip": aboutOne, "http.request.header.x-forwarded-for": aboutOne,
		"address": aboutOne, "usr.id": aboutOne, "request.metadata": aboutOne,
		"users": aboutUsers, "emails": aboutUsers, "ip_addresses": aboutUsers,

		"session_id": aboutNobody, "user_session_id": aboutNobody, "user.session.id": aboutNobody, "trace_id": aboutNobody, "thread_id": aboutNobody,
		"server.address": aboutNobody, "user_agent": aboutNobody, "user_agent.original": aboutNobody, "metadata": aboutNobody, "description": aboutNobody,
		"model": aboutNobody, "tool_name": aboutNobody, "name": aboutNobody, "id": aboutNobody, "user_prompt": aboutNobody, "skip": aboutNobody,
		"agent.name": aboutNobody, "service.name": aboutNobody, "request.model": aboutNobody, "max_tokens": aboutNobody, "": aboutNobody,
	} {
		if got := ofEndUser.Of(name); got != want {
			t.Errorf("%q: %d, want %d", name, got, want)
		}
	}
}
