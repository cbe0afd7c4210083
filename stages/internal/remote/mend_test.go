package remote

import "testing"

// TestMend reads the errors of OpenAI, Anthropic, Gemini, DeepSeek, OpenRouter, Moonshot, LiteLLM, Groq and vLLM: who refuses everybody,
// and who this request or until later.
func TestMend(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		want   string
	}{
		{429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, MendBill},
		{400, `{"error":{"message":"Billing hard limit has been reached","code":"billing_hard_limit_reached"}}`, MendBill},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API"}}`, MendBill},
		{402, `{"error":{"message":"Insufficient Balance"}}`, MendBill},
		{403, `{"error":{"message":"no","type":"exceeded_current_quota_error"}}`, MendBill},
		{429, `{"error":{"message":"Budget has been exceeded! Current cost: 1","type":"budget_exceeded","code":"400"}}`, MendBill},
		{401, ``, MendKey},
		{403, `{"error":{"message":"no access to model policy"}}`, MendKey},
		{400, `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]`, MendKey},
		{404, `{"object":"error","message":"The model m does not exist","type":"NotFoundError","code":404}`, MendModel},
		{400, `{"error":{"message":"gone","code":"model_decommissioned"}}`, MendModel},

		{429, `{"error":{"message":"Rate limit reached","code":"rate_limit_exceeded"}}`, ""},
		{429, `[{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details.","status":"RESOURCE_EXHAUSTED"}}]`, ""},
		{403, `{"error":{"message":"Your input was flagged","metadata":{}}}`, ""},
		{403, `{"error":{"message":"no","code":"content_filter"}}`, ""},
		{400, `{"error":{"message":"this model's maximum context length is 10 tokens; you sent: what does the error insufficient_quota of a billing_ API mean?"}}`, ""},
		{500, `insufficient_quota`, ""},
		{503, ``, ""},
		{0, ``, ""},
	} {
		if got := Mend(c.status, Words([]byte(c.body))); got != c.want {
			t.Errorf("%d %s: %q, want %q", c.status, c.body, got, c.want)
		}
	}
}
