package completion

import (
	"math"
	"strconv"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// RefusalOf returns the refusal in a message's content parts, or "".
func RefusalOf(m *formats.Message) (out string) {
	for part := range jsontext.Elements([]byte(m.ContentParts)) {
		out += jsontext.Unquote(jsontext.ParseObject(part).Get("refusal"))
	}
	return out
}

func ParseCount(raw []byte) int32 {
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f < 0 || f > math.MaxInt32 {
		return 0
	}
	return int32(f)
}

func Excerpt(b []byte) string {
	const limit = 200
	text := strconv.Quote(strings.ToValidUTF8(string(b[:min(len(b), limit)]), "?"))
	switch {
	case len(b) == 0:
		return "empty"
	case len(b) > limit:
		return text + "…"
	}
	return text
}

// ErrorText returns the message of an error body in any usual form.
func ErrorText(body []byte) string {
	o := jsontext.ParseObject(body)
	for _, key := range []string{"error", "message", "detail"} {
		v := o.Get(key)
		if text := jsontext.Unquote(jsontext.ParseObject(v).Get("message")); text != "" {
			return text
		}
		if text := jsontext.Unquote(v); text != "" {
			return text
		}
	}
	return Excerpt(body)
}
