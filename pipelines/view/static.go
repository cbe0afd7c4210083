package view

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"time"

	"github.com/rollmill/rollmill/pipelines/look/page"
)

//go:embed static
var staticFiles embed.FS

const staticPath = "/static/"

// asset is a file that pages load. Its path below staticPath contains a digest: a browser keeps
// it for ever.
type asset struct {
	path string
	data []byte
}

// assets are the files by name.
type assets map[string]asset

// contentTypes are the types of files that are served; others are not.
var contentTypes = map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
	".svg": "image/svg+xml"}

// embedded returns the files in folder static. The style begins with that of every page.
func embedded() assets {
	a := assets{}
	list, err := staticFiles.ReadDir("static")
	if err != nil {
		panic(err) // the path is a constant
	}
	for _, f := range list {
		name := f.Name()
		if contentTypes[path.Ext(name)] == "" {
			continue
		}
		data, err := staticFiles.ReadFile("static/" + name)
		if err != nil {
			panic(err)
		}
		if name == "style.css" {
			data = append([]byte(page.Style), data...)
		}
		a.add(name, data)
	}
	a.add("reading.css", []byte(page.Reading))
	return a
}

func (a assets) add(name string, data []byte) { a[name] = asset{digest(data) + "/" + name, data} }

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:6])
}

// url returns the URL of a file, for templates.
func (a assets) url(name string) string { return staticPath + a[name].path }

func (a assets) serve(w http.ResponseWriter, r *http.Request) {
	name := path.Base(r.URL.Path)
	f, known := a[name]
	if !known || r.URL.Path != staticPath+f.path {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", contentTypes[path.Ext(name)])
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.data))
}
