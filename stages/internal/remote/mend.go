package remote

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/rollmill/rollmill/storage/fault"
)

// What a person has to mend before a service answers anybody.
const (
	MendBill  = "bill"
	MendKey   = "key"
	MendModel = "model" // or the address: a wrong one is as unknown as a model
)

// Mend returns what a person has to mend before a service that refused a request answers any;
// "" if it refused this request alone, or if time may mend it. words are those of the error.
func Mend(status int, words string) string {
	has := func(list ...string) bool {
		return slices.ContainsFunc(list, func(w string) bool { return strings.Contains(words, w) })
	}
	switch {
	case status == http.StatusPaymentRequired:
		return MendBill
	case status/100 != 4:
		return ""
	case has("insufficient_quota", "exceeded_current_quota", "billing_", "credit balance", "insufficient balance", "insufficient_balance",
		"insufficient credit", "insufficient_credit", "budget_exceeded", "budget has been exceeded", "api usage limits", "arrearage"):
		return MendBill
	case status == http.StatusUnauthorized, has("invalid_api_key", "api key not valid", "api_key_invalid"):
		return MendKey
	case status == http.StatusForbidden && !has("content_filter", "content filter", "content_policy", "content policy", "flagged", "moderation", "safety"):
		return MendKey
	case status == http.StatusNotFound, status == http.StatusGone, has("model_not_found", "model_decommissioned"):
		return MendModel
	}
	return ""
}

// MendOf is Mend of the error of a request.
func MendOf(err error) string {
	var e *Error
	if !errors.As(err, &e) {
		return ""
	}
	return Mend(e.Status, Words(e.Answer))
}

// maxWords is how much of an error's message counts: what follows may be a copy of the request.
const maxWords = 80

// Words returns the words of an error answer by which Mend knows it: code, type, and the beginning of the message.
func Words(body []byte) string {
	var list []json.RawMessage // Gemini answers with a list of one
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var o map[string]any
	_ = json.Unmarshal(body, &o)
	if inner, ok := o["error"].(map[string]any); ok {
		o = inner
	}
	text := func(key string) string { s, _ := o[key].(string); return s }
	return WordsOf(text("code"), text("type"), cmp.Or(text("message"), text("error"), text("detail"), string(body)))
}

// WordsOf is Words of an error that was read.
func WordsOf(code, kind, message string) string {
	return strings.ToLower(code + " " + kind + " " + message[:min(len(message), maxWords)])
}

// Refuses returns the error of a service that refuses everybody until what is mended. key names where its key
// comes from.
func Refuses(what, key, format string, args ...any) *fault.Error {
	hint := map[string]string{
		MendBill:  "pay the bill or raise the limit of the account",
		MendKey:   "give a valid key, with access to the model: " + key,
		MendModel: "check the URL and the model's name, and that the model is loaded",
	}[what]
	return fault.Errorf(fault.Budget, hint+"; then run the same command again, which keeps what is finished", "%w",
		fmt.Errorf(format, args...))
}
