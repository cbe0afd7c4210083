package chat

import (
	"slices"
	"strings"

	"github.com/rollmill/rollmill/formats"
	"github.com/rollmill/rollmill/formats/jsontext"
)

// Text returns a message's content as one text, its parts on lines of their
// own, and what that leaves out: types of parts.
func Text(m *formats.Message) (text string, lost []string) {
	parts, lost := PartsOf(m)
	var texts []string
	for _, p := range parts {
		if p.URL != "" {
			lost = append(lost, "image_url")
			continue
		}
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, "\n"), lost
}

// IsText reports whether a message's content is text: plain, or parts that are nothing
// but texts. What providers note beside them for their caches does not count.
func IsText(m *formats.Message) bool {
	if m.ContentParts == "" {
		return true
	}
	some := false
	for part := range jsontext.Elements([]byte(m.ContentParts)) {
		text := false
		for key, v := range jsontext.Members(part) {
			switch string(key) {
			case "type":
				if !slices.Contains([]string{`"text"`, `"input_text"`, `"output_text"`}, string(v)) {
					return false
				}
			case "text":
				text = v[0] == '"'
			case "cache_control":
			default:
				if string(v) != "null" && string(v) != "[]" {
					return false
				}
			}
		}
		if !text {
			return false
		}
		some = true
	}
	return some
}

// Media returns the type of a message's first part that is an image, audio, video
// or a file, of which token ids hold nothing; "" for none.
func Media(m *formats.Message) string {
	for part := range jsontext.Elements([]byte(m.ContentParts)) {
		o := jsontext.ParseObject(part)
		kind := jsontext.Unquote(o.Get("type"))
		if isMedia(kind) {
			return kind
		}
		for _, f := range o { // a part may lack its type
			if isMedia(f.Key) {
				return f.Key
			}
		}
	}
	return ""
}

func isMedia(word string) bool {
	return slices.ContainsFunc([]string{"image", "audio", "video", "file", "document"}, func(s string) bool {
		return strings.Contains(word, s)
	})
}
