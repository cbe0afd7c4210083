package view

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	"github.com/rollmill/rollmill/pipelines/report"
)

//go:embed static
var staticFiles embed.FS

const staticPath = "/static/"

// assets are the files that pages load, by their path below staticPath, which
// contains a digest: a browser keeps them for ever.
type assets struct {
	files map[string][]byte
	names map[string]string // from name to path
}

// contentTypes are the types of files that are served; others are not.
var contentTypes = map[string]string{"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8",
	"svg": "image/svg+xml"}

// embedded returns the files in folder static. The style begins with the report's.
func embedded() assets {
	a := assets{map[string][]byte{}, map[string]string{}}
	list, err := staticFiles.ReadDir("static")
	if err != nil {
		panic(err) // the path is a constant
	}
	for _, f := range list {
		if f.IsDir() || contentTypes[extension(f.Name())] == "" {
			continue
		}
		data, err := staticFiles.ReadFile("static/" + f.Name())
		if err != nil {
			panic(err)
		}
		if f.Name() == "style.css" {
			data = append([]byte(report.Style), data...)
		}
		path := digest(data) + "/" + f.Name()
		a.files[path], a.names[f.Name()] = data, path
	}
	return a
}

func extension(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:6])
}

// url returns the URL of a file, for templates.
func (a assets) url(name string) string { return staticPath + a.names[name] }

func (a assets) serve(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, staticPath)
	data, known := a.files[path]
	if !known {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", contentTypes[extension(path)])
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}
