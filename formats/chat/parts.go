package chat

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"path"
	"strings"

	"github.com/rollmill/rollmill/formats"
)

// Part is a part of a message's content: text, or an image.
type Part struct {
	Text string
	URL  string // of an image, perhaps a data URL; "" for text
}

// PartsOf returns the content of a message as parts: one text for a plain one.
// It reads the parts of OpenAI's chat and responses APIs. other has the types of
// parts that are neither text nor an image; they are left out.
func PartsOf(m *formats.Message) (parts []Part, other []string) {
	if m.ContentParts == "" {
		return []Part{{Text: m.Content}}, nil
	}
	var list []struct {
		Type     string          `json:"type"`
		Text     *string         `json:"text"`
		ImageURL json.RawMessage `json:"image_url"`
	}
	if json.Unmarshal([]byte(m.ContentParts), &list) != nil {
		return nil, []string{"unknown"}
	}
	for _, p := range list {
		switch p.Type {
		case "text", "input_text", "output_text":
			if p.Text == nil {
				other = append(other, p.Type+" without text")
				continue
			}
			parts = append(parts, Part{Text: *p.Text})
		case "image_url", "input_image":
			if url := imageURL(p.ImageURL); url != "" {
				parts = append(parts, Part{URL: url})
				continue
			}
			other = append(other, p.Type)
		default:
			other = append(other, p.Type)
		}
	}
	return parts, other
}

// imageURL reads a URL, or an object that holds one.
func imageURL(data []byte) string {
	var text string
	if json.Unmarshal(data, &text) == nil {
		return text
	}
	var object struct {
		URL string `json:"url"`
	}
	_ = json.Unmarshal(data, &object) // "" for anything else
	return object.URL
}

// MediaType returns the media type of an image's URL, from a data URL or the
// extension of its path; "" when neither says it.
func (p Part) MediaType() string {
	if rest, ok := strings.CutPrefix(p.URL, "data:"); ok {
		kind, _, _ := strings.Cut(rest, ",")
		kind, _, _ = strings.Cut(kind, ";")
		return kind
	}
	name, _, _ := strings.Cut(p.URL, "?")
	return imageTypes[strings.ToLower(path.Ext(name))]
}

// imageTypes are the media types of images, by extension.
var imageTypes = map[string]string{".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".png": "image/png", ".gif": "image/gif",
	".webp": "image/webp"}

// maxSide is the largest width or height of an image that a page shows, in pixels.
const maxSide = 4096

var rasters = []struct {
	media  string
	config func(io.Reader) (image.Config, error)
}{{"image/png", png.DecodeConfig}, {"image/jpeg", jpeg.DecodeConfig}, {"image/gif", gif.DecodeConfig}}

// Raster returns the image of a data URL as a new data URL, in which nothing is
// left of the text of the first. It is "" unless its bytes are a PNG, JPEG or GIF of
// a moderate size, and the URL has at most that many bytes.
func (p Part) Raster(limit int) string {
	_, data, found := strings.Cut(p.URL, ";base64,")
	if !found || !strings.HasPrefix(p.URL, "data:image/") || len(p.URL) > limit {
		return ""
	}
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return ""
	}
	for _, r := range rasters {
		if c, err := r.config(bytes.NewReader(raw)); err == nil && c.Width <= maxSide && c.Height <= maxSide {
			return "data:" + r.media + ";base64," + base64.StdEncoding.EncodeToString(raw)
		}
	}
	return ""
}
