package chat

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"strings"
)

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
