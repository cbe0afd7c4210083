package chat

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/png"
	"strings"
	"testing"
)

func TestRaster(t *testing.T) {
	encoded := func(width int) string {
		var b bytes.Buffer
		if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, 1))); err != nil {
			t.Fatal(err)
		}
		return base64.StdEncoding.EncodeToString(b.Bytes())
	}
	small := encoded(3)
	if got := (Part{URL: "data:image/x;y=\"><script>;base64," + small}).Raster(1000); got != "data:image/png;base64,"+small {
		t.Errorf("%q", got)
	}
	for _, url := range []string{"https://example.com/a.png", "data:image/svg+xml;base64,PHN2Zy8+", "data:text/html;base64," + small,
		"data:image/png;base64," + encoded(maxSide+1), "data:image/png;base64," + small + strings.Repeat("A", 1000), "data:image/png;base64,!"} {
		if got := (Part{URL: url}).Raster(1000); got != "" {
			t.Errorf("%.40s: %q", url, got)
		}
	}
}
